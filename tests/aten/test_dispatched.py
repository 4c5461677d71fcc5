"""Operators by the dispatcher's names (`pytorchlike/aten/dispatched.py`), beside torch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours

#: Calls below ``torch.ops.aten``: x of (4, 5), i an image, v a volume, l a line, t classes, w weights, m a symmetric matrix.
CALLS = [
    "_softmax.default(x, 1, False)", "_log_softmax.default(x, 0, False)", "_softmax_backward_data.default(x, x.softmax(1), 1, torch.float32)",
    "_log_softmax_backward_data.default(x, x.log_softmax(1), 1, torch.float32)", "_safe_softmax.default(x.masked_fill(x > -9, -float('inf')), 1)",
    "upsample_nearest1d.default(l, [7])", "upsample_nearest2d.vec(i, None, [2.0, 1.5])", "upsample_nearest2d.default(i, [7, 9])",
    "upsample_nearest3d.default(v, [2, 7, 5], 1.0, 2.0, 1.25)", "_upsample_nearest_exact2d.default(i, [7, 9])", "upsample_linear1d.default(l, [7], True)",
    "upsample_bilinear2d.default(i, [7, 9], False)", "upsample_bilinear2d.vec(i, [7, 9], True, None)", "upsample_trilinear3d.default(v, [2, 7, 5], False)",
    "upsample_bicubic2d.default(i, [7, 9], False)", "reflection_pad1d.default(l, [1, 2])", "reflection_pad2d.default(i, [1, 0, 2, 1])",
    "replication_pad3d.default(v, [1, 0, 2, 1, 0, 1])", "nll_loss_forward.default(x.log_softmax(1), t, w, 1, -100)",
    "nll_loss_forward.default(x.log_softmax(1), t, w, 2, 1)", "nll_loss_forward.default(x.log_softmax(1), t, None, 0, -100)",
    "nll_loss2d_forward.default(i.log_softmax(1), t2, None, 1, -100)", "nll_loss.default(x.log_softmax(1), t)", "nll_loss_nd.default(i.log_softmax(1), t2)",
    "cross_entropy_loss.default(x, t, w, 1, -100, 0.1)", "mse_loss.default(x, x.sin(), 2)", "l1_loss.default(x, x.sin())", "huber_loss.default(x, x.sin(), 1, 0.5)",
    "smooth_l1_loss.default(x, x.sin(), 0, 0.5)", "binary_cross_entropy.default(x.sigmoid(), x.cos().abs(), None, 1)",
    "binary_cross_entropy_with_logits.default(x, x.cos().abs(), None, None, 2)", "multi_margin_loss.default(x, t, 1, 1.0, None, 1)",
    "soft_margin_loss.default(x, x.sign(), 1)", "multilabel_margin_loss_forward.default(x, torch.tensor([[1, 3, -1, 0, 2]] * 4), 1)",
    "log_sigmoid_forward.default(x)", "log_sigmoid.default(x)", "_to_copy.default(x, dtype=torch.float64)", "to.dtype(x, torch.int64)", "to.other(x, t)",
    "_prelu_kernel.default(x, w)", "_unique2.default(t, True, True, True)", "_pdist_forward.default(x, 2.0)", "_cdist_forward.default(x, x, 1.0, None)",
    "lift_fresh.default(x)", "embedding.default(x, t, 2)", "_linalg_svd.default(m)[1]", "_linalg_eigh.default(m)[0]", "_linalg_eigh.default(m, 'L', False)",
    "_fft_c2c.default(torch.complex(x, x), [1], 0, True)", "_fft_c2c.default(torch.complex(x, x), [0, 1], 2, False)", "_fft_r2c.default(x, [1], 1, True)",
    "_fft_r2c.default(x, [0], 0, False)", "_fft_c2r.default(torch.complex(x, x * 0), [1], 2, 8)", "_local_scalar_dense.default(x[0, 0])", "item.default(x[0, 0])",
    "embedding_bag.default(x, t, torch.tensor([0, 2]))[0]", "_embedding_bag.default(x, t, torch.tensor([0, 2]))[0]", "norm.ScalarOpt_dim(x, 2, [1])",
    "sparse_sampled_addmm.default(m.to_sparse_csr(), m, m).to_dense()", "adaptive_max_pool1d.default(l, [2])",
]  # fmt: skip
#: Overloads that take their targets by name.
INTO = {
    "sort.values(x, 1, values=a, indices=b)": 2, "topk.values(x, 2, values=a, indices=b)": 2, "kthvalue.values(x, 2, values=a, indices=b)": 2,
    "max.dim_max(x, 1, max=a, max_values=b)": 2, "median.dim_values(x, 1, values=a, indices=b)": 2, "linalg_inv_ex.inverse(m, inverse=a, info=b)": 2,
    "div.out_mode(x, x.sin(), rounding_mode='floor', out=a)": 1, "xlogy.OutTensor(x, x.exp(), out=a)": 1,
}  # fmt: skip


def _names(torch) -> dict:
    random = np.random.default_rng(0)

    def made(*shape):
        return torch.from_numpy(random.standard_normal(shape).astype(np.float32))

    names = {"x": made(4, 5), "l": made(2, 3, 5), "i": made(2, 3, 4, 6), "v": made(1, 2, 3, 4, 4), "w": made(5).abs()}
    m = made(4, 4)
    return names | {"torch": torch, "m": m @ m.T, "t": torch.tensor([1, 0, 3, 2]), "t2": torch.tensor([0, 1, 2, 1] * 12).reshape(2, 4, 6)}


def _same(mine, theirs) -> None:
    pairs = list(zip(mine, theirs, strict=True)) if isinstance(theirs, (tuple, list)) else [(mine, theirs)]
    for a, b in pairs:
        if not isinstance(b, real_torch.Tensor):
            assert a == pytest.approx(b)
            continue
        assert str(a.dtype) == str(b.dtype) and tuple(a.shape) == tuple(b.shape)
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize("call", CALLS)
def test_results(call: str, executor: str) -> None:
    _same(*[eval(f"torch.ops.aten.{call}", _names(torch)) for torch in (ours, real_torch)])


@pytest.mark.parametrize("call", INTO)
def test_named_targets(call: str) -> None:
    results = []
    for torch in (ours, real_torch):
        kinds = [torch.float32, torch.int32 if "info" in call else torch.int64]
        targets = {name: torch.empty(0, dtype=kind) for name, kind in zip("ab", kinds)}
        eval(f"torch.ops.aten.{call}", _names(torch) | targets)
        results.append(list(targets.values())[: INTO[call]])
    _same(*results)
