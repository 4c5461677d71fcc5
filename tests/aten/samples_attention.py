"""Calls of attention and of dropout where nothing is random (`pytorchlike/aten/attention.py`, `dropout.py`)."""

from .sample import Sample, T

FLOATING = ("float32", "float64")
F = "nn.functional."
ATTENTION = F + "scaled_dot_product_attention"
SEEN = T(values=[[True, False, False], [True, False, True]], dtype="bool")
BLIND = T(values=[[False, False, False], [True, True, False]], dtype="bool")


def multi_head(query, key, value, **arguments):
    """A call with embedding 4 and 2 heads."""
    packed = (4, 2, T(12, 4), T(12), None, None, False, 0.0, T(4, 4), T(4))
    return Sample(F + "multi_head_attention_forward", query, key, value, *packed, gradgrad=False, **arguments)


SAMPLES = [
    Sample(ATTENTION, T(2, 2, 3), T(2, 4, 3), T(2, 4, 5), dtypes=FLOATING),
    Sample(ATTENTION, T(2, 3), T(4, 3), T(4, 5)),
    Sample(ATTENTION, T(1, 2, 2, 3), T(1, 2, 3, 3), T(1, 2, 3, 3), SEEN, gradgrad=False),
    Sample(ATTENTION, T(1, 2, 2, 3), T(1, 2, 3, 3), T(1, 2, 3, 3), BLIND, gradgrad=False),
    Sample(ATTENTION, T(1, 2, 2, 3), T(1, 2, 3, 3), T(1, 2, 3, 3), T(2, 3), scale=0.5),
    Sample(ATTENTION, T(2, 3, 3), T(2, 4, 3), T(2, 4, 3), is_causal=True),
    Sample(ATTENTION, T(1, 4, 2, 3), T(1, 2, 3, 3), T(1, 2, 3, 3), enable_gqa=True, gradgrad=False),
    Sample(ATTENTION, T(1, 2, 2, 3), T(2, 2, 3, 3), T(2, 2, 3, 3), gradgrad=False),
    Sample(ATTENTION, T(2, 2, 3), T(2, 4, 3), T(2, 4, 3), dtypes=("bfloat16",), gradgrad=False),
    Sample(ATTENTION, T(4, 4, 3, 8), T(4, 4, 6, 8), T(4, 4, 6, 8), dtypes=("bfloat16",), grad=False),
    multi_head(T(3, 2, 4), T(5, 2, 4), T(5, 2, 4), need_weights=False),
    multi_head(
        T(3, 2, 4), T(5, 2, 4), T(5, 2, 4), key_padding_mask=T(values=[[False] * 5, [False, False, True, True, True]], dtype="bool")
    ),
    multi_head(T(3, 4), T(5, 4), T(5, 4), attn_mask=T(3, 5, grad=False), average_attn_weights=False),
    Sample(F + "dropout", T(3), 0.5, False),
    Sample(F + "dropout", T(3), 1.0),
    Sample(F + "dropout2d", T(2, 3, 2, 2), 1.0),
    Sample(F + "alpha_dropout", T(3), 1.0, True),
]

#: Calls that torch refuses: ours must raise the same error.
REFUSED = [
    Sample(ATTENTION, T(2, 3), T(2, 4), T(2, 3)),
    Sample(ATTENTION, T(1, 2, 3, 4), T(1, 2, 3, 5), T(1, 2, 3, 4)),
    Sample(ATTENTION, T(3), T(3), T(3)),
    Sample(ATTENTION, T(2, 2, 3), T(2, 2, 3), T(2, 2, 3), T(3, 3)),
    Sample(ATTENTION, T(2, 2, 3), T(2, 2, 3), T(2, 2, 3), T(2, 2, dtype="int64")),
    Sample(ATTENTION, T(2, 2, 3), T(2, 2, 3), T(2, 2, 3), T(2, 2), is_causal=True),
    Sample(ATTENTION, T(2, 2, 3), T(2, 2, 3, dtype="float64"), T(2, 2, 3)),
    Sample(ATTENTION, T(1, 2, 2, 3), T(1, 3, 2, 3), T(1, 3, 2, 3), enable_gqa=True),
    Sample(F + "dropout", T(3), 1.5),
    Sample(F + "dropout1d", T(3)),
    Sample(F + "dropout", T(3, dtype="int64")),
]
