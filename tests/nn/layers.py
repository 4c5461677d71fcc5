"""The table of layers: constructor arguments and inputs of one call of each, compared with torch's layer in `test_layers.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Floats:
    """A float32 input, normal unless bounds are given."""

    shape: tuple[int, ...]
    low: float | None = None
    high: float = 1.0

    def draw(self, random: np.random.Generator) -> np.ndarray:
        if self.low is None:
            return random.standard_normal(self.shape).astype(np.float32)
        return random.uniform(self.low, self.high, self.shape).astype(np.float32)


@dataclass(frozen=True)
class Ints:
    """An int64 input in ``[low, high)``."""

    shape: tuple[int, ...]
    high: int
    low: int = 0

    def draw(self, random: np.random.Generator) -> np.ndarray:
        return random.integers(self.low, self.high, self.shape)


@dataclass(frozen=True)
class Given:
    """An input with these values."""

    values: Any
    dtype: str = "float32"

    def draw(self, random: np.random.Generator) -> np.ndarray:
        return np.array(self.values, self.dtype)


def f(*shape: int, low: float | None = None, high: float = 1.0) -> Floats:
    return Floats(shape, low, high)


@dataclass(frozen=True)
class Layer:
    """One layer: ``getattr(nn, name)(*args, **kwargs)(*inputs)``.

    Attributes:
        grad: whether gradients are compared.
    """

    name: str
    args: tuple = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    inputs: tuple = ()
    grad: bool = True

    def __str__(self) -> str:
        return f"{self.name}{self.args}{self.kwargs or ''}"


def layer(name: str, *args: Any, inputs: tuple, grad: bool = True, **kwargs: Any) -> Layer:
    return Layer(name, args, kwargs, inputs, grad)


SEQUENCE, IMAGE, VOLUME = f(2, 4, 9), f(2, 4, 8, 8), f(2, 4, 6, 6, 6)
PLAIN = f(3, 4)
SIGNS = Given([1, -1, 1])

ACTIVATIONS = [
    *(layer(name, inputs=(PLAIN,)) for name in (
        "ReLU", "ReLU6", "SELU", "Hardsigmoid", "Hardswish", "SiLU", "Mish", "Sigmoid", "Tanh", "LogSigmoid", "Softsign", "Tanhshrink", "ELU",
        "CELU", "GELU", "GLU", "Hardshrink", "Softshrink", "Softplus", "Hardtanh", "LeakyReLU", "PReLU",
    )),
    layer("Threshold", 0.1, 2.0, inputs=(PLAIN,)),
    layer("LeakyReLU", 0.2, inputs=(PLAIN,)),
    layer("GELU", "tanh", inputs=(PLAIN,)),
    layer("Hardtanh", -0.5, 0.5, inputs=(PLAIN,)),
    layer("PReLU", 4, 0.1, inputs=(PLAIN,)),
    layer("RReLU", inputs=(PLAIN,)),
    layer("Softmax", 1, inputs=(PLAIN,)),
    layer("Softmin", 1, inputs=(PLAIN,)),
    layer("LogSoftmax", -1, inputs=(PLAIN,)),
    layer("Softmax2d", inputs=(IMAGE,)),
]  # fmt: skip

LINEAR = [
    layer("Identity", 1, inputs=(PLAIN,)),
    layer("Linear", 4, 5, inputs=(PLAIN,)),
    layer("Linear", 4, 5, bias=False, inputs=(f(2, 3, 4),)),
    layer("Bilinear", 4, 3, 5, inputs=(PLAIN, f(3, 3))),
    layer("Flatten", inputs=(IMAGE,)),
    layer("Unflatten", 1, (2, 2), inputs=(PLAIN,)),
    layer("Embedding", 7, 4, padding_idx=-1, inputs=(Ints((2, 3), 7),)),
    layer("Embedding", 7, 4, scale_grad_by_freq=True, inputs=(Ints((5,), 3),)),
    layer("EmbeddingBag", 7, 4, inputs=(Ints((3, 4), 7),)),
    layer("EmbeddingBag", 7, 4, mode="sum", inputs=(Ints((5,), 7), Given([0, 2], "int64"))),
]

CONVOLUTIONS = [
    layer("Conv1d", 4, 6, 3, inputs=(SEQUENCE,)),
    layer("Conv1d", 4, 6, 4, padding="same", padding_mode="circular", inputs=(SEQUENCE,)),
    layer("Conv2d", 4, 6, 3, stride=2, padding=1, groups=2, inputs=(IMAGE,)),
    layer("Conv2d", 4, 6, (3, 2), padding=(1, 2), dilation=2, bias=False, padding_mode="reflect", inputs=(IMAGE,)),
    layer("Conv2d", 4, 6, 3, padding="same", inputs=(f(4, 8, 8),)),
    layer("Conv3d", 4, 2, 3, padding="valid", inputs=(VOLUME,)),
    layer("ConvTranspose1d", 4, 6, 3, stride=2, inputs=(SEQUENCE,)),
    layer("ConvTranspose2d", 4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, inputs=(IMAGE,)),
    layer("ConvTranspose3d", 4, 2, 2, bias=False, inputs=(VOLUME,)),
    layer("Unfold", 3, padding=1, inputs=(IMAGE,)),
    layer("Fold", (4, 5), (2, 2), inputs=(f(2, 12, 12),)),
]

NORMALIZATIONS = [
    layer("BatchNorm1d", 4, inputs=(PLAIN,)),
    layer("BatchNorm1d", 4, affine=False, inputs=(SEQUENCE,)),
    layer("BatchNorm2d", 4, momentum=None, inputs=(IMAGE,)),
    layer("BatchNorm2d", 4, track_running_stats=False, inputs=(IMAGE,)),
    layer("BatchNorm2d", 4, bias=False, inputs=(IMAGE,)),
    layer("BatchNorm3d", 4, eps=1e-3, inputs=(VOLUME,)),
    layer("InstanceNorm1d", 4, inputs=(SEQUENCE,)),
    layer("InstanceNorm2d", 4, affine=True, track_running_stats=True, inputs=(IMAGE,)),
    layer("InstanceNorm2d", 4, inputs=(f(4, 8, 8),)),
    layer("InstanceNorm3d", 4, inputs=(VOLUME,)),
    layer("LayerNorm", 4, inputs=(PLAIN,)),
    layer("LayerNorm", (8, 8), bias=False, inputs=(IMAGE,)),
    layer("LayerNorm", 4, elementwise_affine=False, inputs=(PLAIN,)),
    layer("GroupNorm", 2, 4, inputs=(IMAGE,)),
    layer("RMSNorm", 4, inputs=(PLAIN,)),
    layer("LocalResponseNorm", 2, inputs=(IMAGE,)),
    layer("SyncBatchNorm", 4, inputs=(IMAGE,)),  # one process
    layer("CrossMapLRN2d", 3, inputs=(IMAGE,), grad=False),  # torch's backward is not the derivative of its forward
]

POOLINGS = [
    layer("MaxPool1d", 2, inputs=(SEQUENCE,)),
    layer("MaxPool2d", 3, stride=2, padding=1, inputs=(IMAGE,)),
    layer("MaxPool2d", 2, return_indices=True, inputs=(IMAGE,)),
    layer("MaxPool3d", 2, ceil_mode=True, inputs=(VOLUME,)),
    layer("MaxUnpool2d", 2, inputs=(f(1, 1, 2, 2), Given([[[[0, 2], [8, 10]]]], "int64"))),
    layer("MaxUnpool1d", 2, inputs=(f(1, 1, 3), Given([[[0, 3, 5]]], "int64"))),
    layer("MaxUnpool3d", 2, inputs=(f(1, 1, 1, 1, 2), Given([[[[[0, 3]]]]], "int64"))),
    layer("AvgPool1d", 2, inputs=(SEQUENCE,)),
    layer("AvgPool2d", 3, stride=2, padding=1, count_include_pad=False, inputs=(IMAGE,)),
    layer("AvgPool3d", 2, divisor_override=3, inputs=(VOLUME,)),
    layer("LPPool1d", 2, 3, inputs=(SEQUENCE,)),
    layer("LPPool2d", 2, 3, stride=2, inputs=(IMAGE,)),
    layer("LPPool3d", 2, 2, inputs=(f(2, 3, 4, 4, 4, low=0.1),)),
    layer("AdaptiveMaxPool1d", 3, inputs=(SEQUENCE,)),
    layer("AdaptiveMaxPool2d", (3, None), inputs=(IMAGE,)),
    layer("AdaptiveMaxPool3d", 2, return_indices=True, inputs=(VOLUME,)),
    layer("AdaptiveAvgPool1d", 3, inputs=(SEQUENCE,)),
    layer("AdaptiveAvgPool2d", (3, 5), inputs=(IMAGE,)),
    layer("AdaptiveAvgPool3d", 2, inputs=(VOLUME,)),
    layer("FractionalMaxPool2d", 2, output_ratio=0.5, inputs=(IMAGE,)),
    layer("FractionalMaxPool2d", (2, 3), output_size=(3, 2), return_indices=True, inputs=(f(4, 8, 8),)),
    layer("FractionalMaxPool3d", 2, output_ratio=(0.5, 0.4, 0.6), inputs=(VOLUME,)),
]

RESIZINGS = [
    layer("ReflectionPad1d", 2, inputs=(SEQUENCE,)),
    layer("ReflectionPad2d", (1, 2, 3, 0), inputs=(IMAGE,)),
    layer("ReflectionPad3d", 1, inputs=(VOLUME,)),
    layer("ReplicationPad1d", 2, inputs=(SEQUENCE,)),
    layer("ReplicationPad2d", 2, inputs=(IMAGE,)),
    layer("ReplicationPad3d", 1, inputs=(VOLUME,)),
    layer("CircularPad1d", 2, inputs=(SEQUENCE,)),
    layer("CircularPad2d", 1, inputs=(IMAGE,)),
    layer("CircularPad3d", 1, inputs=(VOLUME,)),
    layer("ConstantPad1d", 2, 1.5, inputs=(SEQUENCE,)),
    layer("ConstantPad2d", (1, -1, 0, 2), 1.5, inputs=(IMAGE,)),
    layer("ConstantPad3d", 1, 2.0, inputs=(VOLUME,)),
    layer("ZeroPad1d", 2, inputs=(SEQUENCE,)),
    layer("ZeroPad2d", 2, inputs=(IMAGE,)),
    layer("ZeroPad3d", 1, inputs=(VOLUME,)),
    layer("Upsample", scale_factor=2, inputs=(IMAGE,)),
    layer("Upsample", (5, 6), mode="bilinear", align_corners=False, inputs=(IMAGE,)),
    layer("UpsamplingNearest2d", scale_factor=2, inputs=(IMAGE,)),
    layer("UpsamplingBilinear2d", scale_factor=2, inputs=(IMAGE,)),
    layer("PixelShuffle", 2, inputs=(IMAGE,)),
    layer("PixelUnshuffle", 2, inputs=(IMAGE,)),
    layer("ChannelShuffle", 2, inputs=(IMAGE,)),
    layer("CosineSimilarity", inputs=(PLAIN, f(3, 4))),
    layer("PairwiseDistance", inputs=(PLAIN, f(3, 4))),
]

DROPOUTS = [
    *(layer(name, 0.4, inputs=(inputs,)) for name, inputs in (
        ("Dropout", PLAIN), ("Dropout1d", SEQUENCE), ("Dropout2d", IMAGE), ("Dropout3d", VOLUME), ("AlphaDropout", PLAIN),
        ("FeatureAlphaDropout", IMAGE),
    )),
]  # fmt: skip

CLASSES = Ints((3,), 4)
LOSSES = [
    *(layer(name, inputs=(PLAIN, f(3, 4))) for name in ("L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss", "PoissonNLLLoss", "KLDivLoss")),
    layer("MSELoss", reduction="sum", inputs=(PLAIN, f(3, 4))),
    layer("KLDivLoss", reduction="batchmean", log_target=True, inputs=(PLAIN, f(3, 4))),
    layer("NLLLoss", inputs=(PLAIN, CLASSES)),
    layer("NLLLoss2d", inputs=(f(2, 3, 2, 2), Ints((2, 2, 2), 3))),
    layer("CrossEntropyLoss", label_smoothing=0.1, inputs=(PLAIN, CLASSES)),
    layer("CrossEntropyLoss", ignore_index=1, reduction="none", inputs=(PLAIN, CLASSES)),
    layer("LinearCrossEntropyLoss", 4, 5, inputs=(PLAIN, CLASSES)),
    layer("GaussianNLLLoss", full=True, inputs=(PLAIN, f(3, 4), f(3, 4, low=0.5, high=2.0))),
    layer("BCELoss", inputs=(f(3, 4, low=0.1, high=0.9), f(3, 4, low=0.0, high=1.0))),
    layer("BCEWithLogitsLoss", inputs=(PLAIN, f(3, 4, low=0.0, high=1.0))),
    layer("HingeEmbeddingLoss", inputs=(f(3), SIGNS)),
    layer("SoftMarginLoss", inputs=(f(3), SIGNS)),
    layer("MultiLabelMarginLoss", inputs=(PLAIN, Given([[1, 2, -1, 0], [0, -1, 1, 2], [3, 1, 2, 0]], "int64"))),
    layer("MultiLabelSoftMarginLoss", inputs=(PLAIN, Given([[1, 0, 1, 0], [0, 0, 1, 1], [1, 1, 1, 0]]))),
    layer("MultiMarginLoss", inputs=(PLAIN, CLASSES)),
    layer("CosineEmbeddingLoss", inputs=(PLAIN, f(3, 4), SIGNS)),
    layer("MarginRankingLoss", inputs=(f(3), f(3), SIGNS)),
    layer("TripletMarginLoss", swap=True, inputs=(PLAIN, f(3, 4), f(3, 4))),
    layer("TripletMarginWithDistanceLoss", inputs=(PLAIN, f(3, 4), f(3, 4))),
    layer("CTCLoss", inputs=(f(5, 2, 4), Given([[1, 2], [3, 1]], "int64"), Given([5, 4], "int64"), Given([2, 1], "int64"))),
    layer("CTCLoss", 3, "sum", True, inputs=(f(5, 2, 4), Given([1, 1, 2, 0], "int64"), Given([2, 5], "int64"), Given([2, 2], "int64"))),
    layer("AdaptiveLogSoftmaxWithLoss", 8, 10, (3, 6), 2.0, inputs=(f(4, 8), Ints((4,), 10))),
]

RECURRENT = [
    layer("RNN", 4, 3, inputs=(f(5, 2, 4),)),
    layer("RNN", 4, 3, 2, "relu", batch_first=True, bidirectional=True, inputs=(f(2, 5, 4),)),
    layer("GRU", 4, 3, inputs=(f(5, 2, 4), f(1, 2, 3))),
    layer("GRU", 4, 3, num_layers=2, bias=False, bidirectional=True, inputs=(f(5, 4),)),
    layer("LSTM", 4, 3, inputs=(f(5, 2, 4),)),
    layer("LSTM", 4, 3, num_layers=2, bidirectional=True, batch_first=True, proj_size=2, inputs=(f(2, 5, 4),)),
    layer("RNNCell", 4, 3, nonlinearity="relu", inputs=(f(2, 4),)),
    layer("RNNCell", 4, 3, bias=False, inputs=(f(4), f(3))),
    layer("GRUCell", 4, 3, inputs=(f(2, 4), f(2, 3))),
    layer("LSTMCell", 4, 3, inputs=(f(2, 4),)),
]

ATTENTION = [
    layer("MultiheadAttention", 4, 2, inputs=(f(3, 2, 4), f(5, 2, 4), f(5, 2, 4))),
    layer("MultiheadAttention", 4, 2, batch_first=True, add_bias_kv=True, add_zero_attn=True, inputs=(f(2, 3, 4), f(2, 5, 4), f(2, 5, 4))),
    layer("MultiheadAttention", 4, 2, bias=False, kdim=3, vdim=5, inputs=(f(3, 4), f(6, 3), f(6, 5))),
    layer("TransformerEncoderLayer", 4, 2, 8, 0.0, inputs=(f(3, 2, 4),)),
    layer("TransformerEncoderLayer", 4, 2, 8, 0.0, "gelu", batch_first=True, norm_first=True, inputs=(f(2, 3, 4),)),
    layer("TransformerDecoderLayer", 4, 2, 8, 0.0, inputs=(f(3, 2, 4), f(5, 2, 4))),
    layer("Transformer", 4, 2, 1, 2, 8, 0.0, batch_first=True, inputs=(f(2, 3, 4), f(2, 5, 4))),
]

PAIR, CHANCES = (PLAIN, f(3, 4)), (f(3, 4, low=0.1, high=0.9), f(3, 4, low=0.0, high=1.0))
#: Further settings of the same layers.
SETTINGS = [
    *(layer(name, reduction=reduction, inputs=PAIR) for name, reduction in (
        ("L1Loss", "none"), ("SmoothL1Loss", "sum"), ("HuberLoss", "none"), ("KLDivLoss", "sum"), ("PoissonNLLLoss", "none"),
    )),
    *(layer(name, reduction="none", inputs=CHANCES) for name in ("BCELoss", "BCEWithLogitsLoss")),
    layer("SmoothL1Loss", beta=0.3, inputs=PAIR),
    layer("HuberLoss", delta=0.3, inputs=PAIR),
    layer("PoissonNLLLoss", log_input=False, full=True, inputs=(f(3, 4, low=0.1, high=3.0), f(3, 4, low=0.0, high=5.0))),
    layer("NLLLoss", ignore_index=2, reduction="sum", inputs=(PLAIN, CLASSES)),
    layer("CrossEntropyLoss", inputs=(f(2, 3, 4), Ints((2, 4), 3))),
    layer("CrossEntropyLoss", label_smoothing=0.3, reduction="sum", inputs=(f(2, 3, 4), f(2, 3, 4, low=0.0))),
    layer("CrossEntropyLoss", inputs=(f(4), Given(2, "int64"))),
    layer("GaussianNLLLoss", reduction="none", eps=0.1, inputs=(*PAIR, f(3, 1, low=0.01, high=2.0))),
    layer("MultiMarginLoss", p=2, margin=0.5, reduction="none", inputs=(PLAIN, CLASSES)),
    layer("MultiLabelMarginLoss", reduction="none", inputs=(f(4), Given([1, -1, 0, 2], "int64"))),
    layer("CosineEmbeddingLoss", margin=0.2, reduction="none", inputs=(*PAIR, SIGNS)),
    layer("TripletMarginLoss", p=1, margin=0.5, reduction="none", inputs=(*PAIR, f(3, 4))),
    layer("TripletMarginWithDistanceLoss", swap=True, margin=0.2, reduction="none", inputs=(*PAIR, f(3, 4))),
    layer("AdaptiveLogSoftmaxWithLoss", 8, 10, (3, 6), 2.0, True, inputs=(f(8), Given(7, "int64"))),  # no gradient for the other cluster
    layer("Embedding", 7, 4, max_norm=1.0, norm_type=1.0, padding_idx=2, inputs=(Ints((2, 3), 7),)),
    layer("EmbeddingBag", 7, 4, mode="max", inputs=(Ints((3, 4), 7),)),
    layer("EmbeddingBag", 7, 4, mode="sum", include_last_offset=True, inputs=(Ints((5,), 7), Given([0, 2, 5], "int64"))),
    layer("EmbeddingBag", 7, 4, padding_idx=1, max_norm=0.5, inputs=(Ints((3, 4), 3),)),
    layer("Conv1d", 4, 6, 3, padding=2, padding_mode="replicate", inputs=(SEQUENCE,)),
    layer("Conv3d", 4, 4, (1, 2, 3), (1, 2, 1), (0, 1, 1), groups=4, inputs=(VOLUME,)),
    layer("ConvTranspose1d", 4, 6, 3, 2, 1, 1, 2, dilation=2, inputs=(f(4, 9),)),
    layer("BatchNorm2d", 4, affine=False, track_running_stats=False, inputs=(IMAGE,)),
    layer("InstanceNorm1d", 4, 0.1, 0.3, True, True, inputs=(f(4, 9),)),
    layer("GroupNorm", 4, 4, 1e-2, False, inputs=(SEQUENCE,)),
    layer("RMSNorm", (4, 9), eps=1e-3, inputs=(SEQUENCE,)),
    layer("LocalResponseNorm", 3, 0.1, 0.5, 2.0, inputs=(SEQUENCE,)),
    layer("Softplus", 2.0, 1.0, inputs=(PLAIN,)),
    layer("RReLU", 0.2, 0.4, inputs=(PLAIN,)),
    layer("MaxPool1d", 3, 2, 1, 2, True, True, inputs=(SEQUENCE,)),
    layer("AvgPool2d", (3, 2), (2, 1), (1, 0), True, inputs=(IMAGE,)),
    layer("LPPool2d", 3.0, (2, 3), inputs=(f(2, 3, 6, 6, low=0.1),)),
    layer("Fold", (4, 5), (2, 3), 1, (1, 0), inputs=(f(12, 15),)),
    layer("PairwiseDistance", 1.0, 0.0, True, inputs=PAIR),
    layer("CosineSimilarity", 0, 1e-3, inputs=PAIR),
    layer("Upsample", scale_factor=(1.5, 2), mode="bicubic", align_corners=True, inputs=(IMAGE,)),
    layer("Upsample", scale_factor=2.3, mode="linear", recompute_scale_factor=True, inputs=(SEQUENCE,)),
    layer("Upsample", (3, 4, 5), mode="trilinear", inputs=(VOLUME,)),
    layer("RNN", 4, 3, nonlinearity="relu", bias=False, inputs=(f(5, 2, 4), f(1, 2, 3))),
    layer("GRU", 4, 3, 2, batch_first=True, dropout=0.5, inputs=(f(2, 5, 4),)),
    layer("LSTM", 4, 3, 2, dropout=0.3, bidirectional=True, inputs=(f(5, 2, 4),)),
    layer("MultiheadAttention", 4, 2, dropout=0.4, inputs=(f(3, 2, 4), f(3, 2, 4), f(3, 2, 4))),
    layer("TransformerEncoderLayer", 4, 2, 8, 0.3, inputs=(f(3, 2, 4),)),
    layer("TransformerDecoderLayer", 4, 2, 8, 0.3, "gelu", norm_first=True, bias=False, inputs=(f(3, 2, 4), f(5, 2, 4))),
    layer("Transformer", 4, 2, 1, 1, 8, 0.2, "gelu", norm_first=True, inputs=(f(3, 2, 4), f(5, 2, 4))),
    layer("Dropout", 1.0, inputs=(PLAIN,)),
]  # fmt: skip

LAYERS: list[Layer] = [
    *ACTIVATIONS, *LINEAR, *CONVOLUTIONS, *NORMALIZATIONS, *POOLINGS, *RESIZINGS, *DROPOUTS, *LOSSES, *RECURRENT, *ATTENTION, *SETTINGS,
]  # fmt: skip
#: Those that are compared under the immediate executor too: one of each kind, on shapes that others use as well.
IMMEDIATE = [
    ACTIVATIONS[1], LINEAR[1], LINEAR[6], CONVOLUTIONS[2], NORMALIZATIONS[2], NORMALIZATIONS[10], POOLINGS[2], RESIZINGS[16], DROPOUTS[0],
    LOSSES[10], RECURRENT[2], ATTENTION[1],
]  # fmt: skip
