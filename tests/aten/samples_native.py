"""Calls of the functions that only ``torch`` has: losses with a number for the reduction, norms with their statistics."""

from .sample import Sample, T

_X, _Y = T(3, 4), T(3, 4)
_SIGN = T(values=[1.0, -1.0, 1.0])
_SIGNS = T(values=[[1.0, -1.0, 1.0, 1.0]] * 3, grad=False)
_UNIT = T(3, 4, low=0.1, high=0.9)
_C = {"dtypes": ("float64",)}
_NORM = T(4, 6, 5)

SAMPLES = [
    *[Sample("binary_cross_entropy_with_logits", _X, _UNIT, T(4, low=0.1, grad=False), T(4, low=0.1, grad=False), r, gradgrad=False, **_C) for r in (0, 1, 2)],
    *[Sample("kl_div", _X, _UNIT, r, **_C) for r in (0, 1, 2)],
    Sample("kl_div", _X, _UNIT, log_target=True, **_C),
    Sample("poisson_nll_loss", _X, _UNIT, True, False, 1e-8, 1, **_C),
    Sample("cosine_embedding_loss", _X, _Y, _SIGN, 0.5, gradgrad=False, **_C),
    Sample("hinge_embedding_loss", _X, _SIGNS, 2.0, 2, **_C),
    Sample("margin_ranking_loss", T(3), T(3), _SIGN, 0.5, 0, **_C),
    Sample("triplet_margin_loss", _X, _Y, T(3, 4), 1.0, 2.0, 1e-6, True, gradgrad=False, **_C),
    Sample("native_layer_norm", _NORM, (6, 5), T(6, 5), T(6, 5), 1e-5, **_C),
    Sample("native_layer_norm", _NORM, (5,), None, None, 1e-5),
    Sample("native_group_norm", _NORM, T(6), T(6), 4, 6, 5, 3, 1e-5, **_C),
    Sample("native_batch_norm", _NORM, T(6), T(6), None, None, True, 0.1, 1e-5, **_C),
    Sample("native_batch_norm", _NORM, None, None, T(6, grad=False), T(6, low=0.5, grad=False), False, 0.1, 1e-5),
    Sample("native_dropout", _X, 0.5, False, grad=False),
    Sample("native_channel_shuffle", _NORM, 3),
    Sample("frobenius_norm", _NORM, (1, 2)),
    Sample("frobenius_norm", _NORM, 1, True),
    Sample("nuclear_norm", _X, **_C),
    Sample("nuclear_norm", _NORM, (0, 2), True, **_C),
    Sample("dequantize", _X, dtypes=("float64",), grad=False),
    Sample("view_as_complex_copy", T(3, 2), grad=False),
    Sample("view_as_real_copy", T(3, dtype="complex64")),
]

REFUSED = [
    Sample("native_layer_norm", _NORM, (6,), None, None, 1e-5),
    Sample("nuclear_norm", T(3)),
]
