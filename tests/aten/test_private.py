"""Functions of ``torch`` with a leading underscore (`pytorchlike/aten/private.py`, `dispatched.py`), beside torch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours

#: Calls of ``torch._NAME``: x of (2, 3), s a square matrix, i integers of 8 bits, k a mask.
CALLS = [
    "shape_as_tensor(x)", "reshape_from_tensor(x, t([3, 2]))", "dim_arange(x, 1)", "stack([x, x], 1)", "unique(t([3, 1, 1]))", "unique(t([3, 1, 1]), True, True)",
    "unique2(t([3, 1, 1]), True, True, True)", "int_mm(i, i.T)", "int_mm(x, x.T)", "addmm_activation(x[:, 0], x, -x.T, beta=2, alpha=0.5)",
    "addmm_activation(x[:, 0], x, x.T - 3, use_gelu=True)", "is_all_true(k)", "is_any_true(k)", "masked_softmax(x, k, 1)", "masked_softmax(x, x, 1)",
    "native_batch_norm_legit(x, None, None, t([0., 1, 2]), t([1., 2, 3]), True, 0.1, 1e-5)", "native_batch_norm_legit(x, None, None, True, 0.1, 1e-5)",
    "native_batch_norm_legit_no_training(x, None, None, t([0., 1, 2]), t([1., 2, 3]), 0.1, 1e-5)", "unsafe_index(x, [t([0])])", "unsafe_index_put(x, [t([0])], t(5.))",
    "index_put_impl_(x.clone(), [t([0])], t(5.), True)", "fused_rms_norm(x, [3], None, None)", "fused_rms_norm(x, [3], x[0], 1e-3)",
    "weight_norm_interface(x, torch.ones(2, 1))", "euclidean_dist(x, x + 1)", "trilinear(x, x, x, [], [], [], [1])", "trilinear(x[0], x, x, [0], [], [], [0, 1])",
    "linalg_det(s)", "linalg_slogdet(s)", "linalg_solve_ex(s, x[:, 0])", "cast_Float(t([1]))", "cast_Long(x)", "cast_Half(x)",
    "weight_int8pack_mm(x, i, t([0.5, 2.]))", "logcumsumexp(x, 1)", "assert_async(t(0))", "assert_async(t(0.), 'no')", "assert_async(t([1, 2]))",
    "convolution(x[None], x[None, :, :2], None, [1], [0], [1], False, [0], 1, False, False, False, True)",
    "convolution(x[None], x[None, :, :2], None, [1], [1], [1], False, [0], 1, False, False, False)", "softmax(x, 1, False)", "log_softmax(x, 0, False)",
    "softmax_backward_data(x, x.softmax(1), 1, torch.float32)", "log_softmax_backward_data(x, x.log_softmax(1), 1, torch.float32)", "safe_softmax(x, 1)",
    "linalg_eigh(s)[0]", "linalg_svd(s)[1]", "fft_r2c(x, [1], 0, True)", "prelu_kernel(-x, x)", "adaptive_avg_pool2d(x[None], [1, 2])", "conj(torch.complex(x, x)).resolve_conj()",
]  # fmt: skip


def _outcome(torch, call: str) -> tuple:
    x = torch.arange(6.0).reshape(2, 3)
    names = {"torch": torch, "t": torch.tensor, "x": x, "s": x @ x.T, "i": torch.tensor([[1, -2, 3], [4, 5, 127]], dtype=torch.int8)}
    names["k"] = torch.tensor([[True, False, False], [False, True, False]])
    try:
        results = eval(f"torch._{call}", names)
    except Exception as error:
        return type(error).__name__, str(error).partition(" at ")[0]
    results = results if isinstance(results, (tuple, list)) else [results]
    return [str(r.dtype) for r in results], [tuple(r.shape) for r in results], [r.numpy() for r in results]


@pytest.mark.parametrize("call", CALLS)
def test_results_and_errors_are_torchs(call: str) -> None:
    mine, theirs = _outcome(ours, call), _outcome(real_torch, call)
    assert mine[:2] == theirs[:2]
    for x, y in zip(*[o[2] if len(o) > 2 else [] for o in (mine, theirs)], strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-4)


def test_asserting_what_holds_gives_nothing() -> None:
    assert ours._assert_async(ours.tensor(1)) is None and ours._assert_async(ours.tensor(True), "no") is None
