"""Calls of the convolutions (`pytorchlike/aten/conv.py`)."""

from .sample import Sample, T

FLOATING = ("float32", "float64")

SAMPLES = [
    Sample("conv1d", T(2, 3, 7), T(4, 3, 3), T(4), dtypes=FLOATING),
    Sample("conv1d", T(3, 7), T(4, 3, 3), T(4), stride=2, padding=1, dilation=2),
    Sample("nn.functional.conv1d", T(2, 3, 7), T(4, 3, 4), padding="same", dilation=2),
    Sample("nn.functional.conv1d", T(2, 4, 7), T(8, 1, 3), T(8), padding=1, groups=4),
    Sample("conv1d", T(2, 2, 5, dtype="complex64", grad=False), T(3, 2, 2, dtype="complex64", grad=False), grad=False),
    Sample("conv2d", T(2, 3, 5, 6), T(4, 3, 3, 2), T(4), dtypes=FLOATING),
    Sample("conv2d", T(2, 3, 5, 6), T(4, 3, 3, 2), None, (2, 1), (1, 0), (1, 2), 1),
    Sample("nn.functional.conv2d", T(2, 4, 5, 5), T(6, 2, 3, 3), T(6), stride=2, padding=1, groups=2),
    Sample("nn.functional.conv2d", T(2, 3, 5, 5), T(3, 1, 3, 3), stride=2, padding=(1, 2), dilation=(1, 2), groups=3),
    Sample("nn.functional.conv2d", T(2, 3, 5, 5), T(4, 3, 1, 1), T(4), stride=2),
    Sample("nn.functional.conv2d", T(2, 3, 5, 5), T(4, 3, 2, 3), padding="same"),
    Sample("nn.functional.conv2d", T(3, 5, 5), T(4, 3, 2, 3), T(4), padding="valid"),
    Sample("conv2d", T(1, 3, 4, 4, dtype="int64"), T(2, 3, 3, 3, dtype="int64")),
    Sample("conv2d", T(0, 3, 5, 5), T(4, 3, 3, 3), T(4)),
    Sample("conv2d", T(2, 3, 5, 5), T(4, 3, 3, 3), T(4), dtypes=("bfloat16",), gradgrad=False),
    Sample("conv3d", T(1, 2, 4, 3, 4), T(3, 2, 2, 2, 2), T(3), stride=(1, 2, 1), padding=1),
    Sample("conv3d", T(2, 3, 3, 4), T(4, 1, 2, 2, 2), padding="same", groups=2),  # channels do not fit
    Sample("conv3d", T(2, 3, 3, 4), T(4, 1, 2, 2, 2), padding="same", groups=2, dilation=1),
    Sample("conv_transpose1d", T(2, 3, 5), T(3, 4, 3), T(4), stride=2, padding=1, output_padding=1, dtypes=FLOATING),
    Sample("conv_transpose1d", T(4, 5), T(4, 1, 3), groups=4, dilation=2),
    Sample("conv_transpose2d", T(2, 4, 3, 4), T(4, 3, 3, 2), T(6), stride=(2, 1), padding=(1, 0), output_padding=(1, 0), groups=2),
    Sample("nn.functional.conv_transpose2d", T(3, 3, 4), T(3, 2, 2, 2), None, 2),
    Sample("conv_transpose3d", T(1, 2, 2, 3, 2), T(2, 3, 2, 2, 2), T(3), stride=2, padding=1, dilation=(1, 2, 1)),
    Sample("conv_tbc", T(5, 2, 3), T(3, 3, 4), T(4), 1),
    Sample("conv2d", T(1, 2, 5, 5), T(3, 2, 3, 3), T(3), dtypes=("bfloat16", "float16"), grad=False),
]

#: Calls that torch refuses: ours must raise the same error.
REFUSED = [
    Sample("conv2d", T(1, 3, 5, 5), T(4, 2, 3, 3)),
    Sample("conv2d", T(1, 3, 5, 5), T(4, 3, 3)),
    Sample("conv2d", T(3, 5), T(4, 3, 3, 3)),
    Sample("conv2d", T(1, 3, 5, 5), T(4, 3, 3, 3), T(5)),
    Sample("conv2d", T(1, 3, 2, 2), T(4, 3, 3, 3)),
    Sample("conv2d", T(1, 4, 5, 5), T(3, 2, 3, 3), groups=2),
    Sample("conv2d", T(1, 4, 5, 5), T(4, 2, 3, 3), groups=0),
    Sample("conv2d", T(1, 3, 5, 5), T(4, 3, 3, 3, dtype="float64")),
    Sample("conv2d", T(1, 3, 5, 5), T(4, 3, 3, 3), T(4, dtype="float64")),
    Sample("conv2d", T(1, 3, 5, 5), T(4, 3, 3, 3), stride=0),
    Sample("conv2d", T(1, 3, 5, 5), T(4, 3, 3, 3), padding=-1),
    Sample("conv2d", T(1, 3, 5, 5), T(4, 3, 3, 3), dilation=0),
    Sample("conv2d", T(1, 3, 5, 5), T(4, 3, 3, 3), stride=(1, 1, 1)),
    Sample("conv2d", T(1, 3, 5, 5), T(4, 3, 3, 3), stride=2, padding="same"),
    Sample("conv2d", T(1, 3, 5, 5), T(4, 3, 3, 3), padding="full"),
    Sample("conv1d", T(3, 5), T(4, 3, 3, 3)),
    Sample("conv_transpose2d", T(1, 3, 5, 5), T(4, 2, 3, 3)),
    Sample("conv_transpose2d", T(1, 3, 5, 5), T(3, 2, 3, 3), T(5)),
    Sample("conv_transpose2d", T(1, 3, 5, 5), T(3, 2, 3, 3), output_padding=1),
    Sample("conv_transpose2d", T(1, 3, 1, 1), T(3, 2, 1, 1), padding=2),
]
