"""Calls of the look-ups (`pytorchlike/aten/embedding.py`)."""

from .sample import Sample, T

FLOATING = ("float32", "float64")
F = "nn.functional."
INDICES = T(values=[[0, 2], [2, 4]], dtype="int64")
FLAT = T(values=[0, 2, 2, 4], dtype="int64")
OFFSETS = T(values=[0, 3, 3], dtype="int64")

SAMPLES = [
    Sample(F + "embedding", INDICES, T(5, 3), dtypes=FLOATING),
    Sample(F + "embedding", T(values=[1, 0], dtype="int32"), T(5, 3), padding_idx=0),
    Sample(F + "embedding", INDICES, T(5, 3), -1, scale_grad_by_freq=True, gradgrad=False),
    Sample(F + "embedding", INDICES, T(5, 3, grad=False), max_norm=1.0),
    Sample("embedding", T(5, 3), INDICES),
    Sample(F + "embedding_bag", FLAT, T(5, 3), OFFSETS, dtypes=FLOATING, gradgrad=False),
    Sample(F + "embedding_bag", INDICES, T(5, 3), mode="sum", per_sample_weights=T(2, 2), gradgrad=False),
    Sample(F + "embedding_bag", INDICES, T(5, 3), mode="max", gradgrad=False),
    Sample(F + "embedding_bag", FLAT, T(5, 3), OFFSETS, padding_idx=2, include_last_offset=True, gradgrad=False),
    Sample("embedding_bag", T(5, 3), FLAT, OFFSETS, gradgrad=False),
    # An index behind the last bag: torch leaves the gradient of its row uninitialised (sum), or counts it (mean).
    Sample("embedding_bag", T(5, 3), FLAT, OFFSETS, False, 1, include_last_offset=True, grad=False, gradgrad=False),
    Sample("embedding_bag", T(5, 3), FLAT, OFFSETS, False, 2, gradgrad=False),
    Sample("embedding_bag", T(5, 3), FLAT, OFFSETS, False, 0, False, T(4), False, 2, gradgrad=False),
    Sample(F + "embedding_bag", FLAT, T(5, 3), OFFSETS, mode="sum", include_last_offset=True, grad=False, gradgrad=False),
    Sample(F + "one_hot", INDICES),
    Sample(F + "one_hot", INDICES, 7),
    Sample(F + "one_hot", T(0, dtype="int64"), 3),
]

#: Calls that torch refuses: ours must raise the same error.
REFUSED = [
    Sample(F + "embedding", T(values=[0, 5], dtype="int64"), T(3, 2)),
    Sample(F + "embedding", T(values=[0, -1], dtype="int64"), T(3, 2)),
    Sample(F + "embedding", T(2), T(3, 2)),
    Sample(F + "embedding", T(values=[0, 1], dtype="int16"), T(3, 2)),
    Sample(F + "embedding", INDICES, T(5)),
    Sample(F + "embedding", INDICES, T(5, 2), padding_idx=5),
    Sample(F + "embedding_bag", FLAT, T(5, 3)),
    Sample(F + "embedding_bag", FLAT, T(5, 3), OFFSETS, mode="prod"),
    Sample("embedding_bag", T(5, 3), FLAT, OFFSETS, False, 3),
    Sample(F + "one_hot", T(2, dtype="int32")),
    Sample(F + "one_hot", T(values=[0, -1], dtype="int64")),
    Sample(F + "one_hot", T(values=[0, 3], dtype="int64"), 3),
    Sample(F + "one_hot", T(0, dtype="int64")),
]
