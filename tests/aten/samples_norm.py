"""Calls of the normalisations (`pytorchlike/aten/norm.py`)."""

from .sample import Sample, T

FLOATING = ("float32", "float64")
F = "nn.functional."
ZEROS, ONES = T(values=[0.0, 0.0, 0.0], grad=False), T(values=[1.0, 1.0, 1.0], grad=False)

SAMPLES = [
    Sample(F + "batch_norm", T(4, 3, 5), ZEROS, ONES, T(3), T(3), True, dtypes=FLOATING),
    Sample(F + "batch_norm", T(4, 3), None, None, training=True, eps=0.1),
    Sample(F + "batch_norm", T(2, 3, 2, 2), ZEROS, T(values=[1.0, 4.0, 0.5], grad=False), T(3), None, momentum=0.3),
    Sample(F + "batch_norm", T(2, 3, 2, 2), T(values=[0.1, -1.0, 2.0], grad=False), ONES, T(3), T(3)),
    Sample(
        F + "batch_norm",
        T(4, 3),
        T(values=[0.0] * 3, grad=False, dtype="float32"),
        T(values=[1.0] * 3, grad=False, dtype="float32"),
        T(3, dtype="float32"),
        T(3, dtype="float32"),
        True,
        dtypes=("bfloat16",),
        gradgrad=False,
    ),  # fmt: skip
    Sample("batch_norm", T(4, 3), T(3), T(3), None, None, True, 0.1, 1e-5, False),
    Sample(F + "layer_norm", T(2, 3, 4), (4,), T(4), T(4), dtypes=FLOATING),
    Sample(F + "layer_norm", T(2, 3, 4), [3, 4], T(3, 4)),
    Sample(F + "layer_norm", T(values=[[2.0, 2.0, 2.0], [1.0, 2.0, 4.0]]), (3,), eps=0.01),
    Sample("layer_norm", T(2, 5), (5,), T(5, dtype="float32"), T(5, dtype="float32"), dtypes=("bfloat16",), gradgrad=False),
    Sample(F + "rms_norm", T(2, 3, 4), (4,), T(4), dtypes=FLOATING),
    Sample(F + "rms_norm", T(2, 3, 4, low=-1e-3, high=1e-3), (3, 4), eps=1e-4),
    Sample("rms_norm", T(2, 5), (5,), T(5), dtypes=("bfloat16",), gradgrad=False),
    Sample(F + "group_norm", T(2, 4, 3), 2, T(4), T(4), dtypes=FLOATING),
    Sample(F + "group_norm", T(2, 6, 2, 2), 3),
    Sample("group_norm", T(2, 4), 1, T(4), None, 0.1),
    Sample(F + "instance_norm", T(2, 3, 4), ZEROS, ONES, T(3), T(3), dtypes=FLOATING),
    Sample(F + "instance_norm", T(2, 3, 2, 2)),
    Sample(F + "instance_norm", T(2, 3, 4), ZEROS, ONES, T(3), T(3), False),
    Sample(F + "local_response_norm", T(2, 5, 4), 3, 0.5, 0.75, 2.0, dtypes=FLOATING),
    Sample(F + "local_response_norm", T(2, 5, 2, 2), 2),
    Sample(F + "normalize", T(3, 4), dtypes=FLOATING),
    Sample(F + "normalize", T(2, 3, 4), 1.0, dim=-1),
    Sample(F + "batch_norm", T(0), T(0, grad=False), T(0, grad=False), training=True, grad=False),
    Sample(F + "rms_norm", T(2, 3), (3,), dtypes=("complex64",), gradgrad=False),
    Sample(F + "local_response_norm", T(1, 3, 2, dtype="int64"), 2),
    Sample(F + "local_response_norm", T(0, 3, 2, dtype="int64"), 2),
]

#: Calls that torch refuses: ours must raise the same error.
REFUSED = [
    Sample(F + "batch_norm", T(1, 3), ZEROS, ONES, training=True),
    Sample(F + "batch_norm", T(2, 3), T(4, grad=False), ONES),
    Sample(F + "batch_norm", T(2, 3), ZEROS, ONES, T(4)),
    Sample(F + "batch_norm", T(2, 3), None, None),
    Sample(F + "batch_norm", T(2, 3), ZEROS, None, training=True),
    Sample(F + "batch_norm", T(2, 3, dtype="int64"), ZEROS, ONES),
    Sample(F + "batch_norm", T(2, 3, dtype="float64"), ZEROS, ONES, training=True),
    Sample(F + "layer_norm", T(2, 3), (4,)),
    Sample(F + "layer_norm", T(2, 3), (3,), T(2)),
    Sample(F + "layer_norm", T(2, 3), (3,), T(3), T(2)),
    Sample(F + "layer_norm", T(2, 3), ()),
    Sample(F + "layer_norm", T(2, 3, dtype="int64"), (3,)),
    Sample(F + "layer_norm", T(2, 3, dtype="float64"), (3,), T(3), T(3)),
    Sample(F + "layer_norm", T(2, 3), (3,), T(3, dtype="float64"), T(3, dtype="float64")),
    Sample(F + "group_norm", T(2, 3), 2),
    Sample(F + "group_norm", T(2, 4), 2, T(3)),
    Sample(F + "group_norm", T(4), 2),
    Sample(F + "group_norm", T(1, 2), 2),
    Sample(F + "instance_norm", T(2, 3, 1)),
    Sample(F + "instance_norm", T(2, 3, 4), use_input_stats=False),
    Sample(F + "instance_norm", T(2, 3, 4), T(4, grad=False), T(4, grad=False)),
    Sample(F + "rms_norm", T(2, 3), (4,)),
    Sample(F + "rms_norm", T(2, 3), (3,), T(2)),
    Sample(F + "local_response_norm", T(3), 2),
    Sample(F + "normalize", T(3)),
]
