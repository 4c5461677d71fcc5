"""``torch.ops.aten.X_backward``, beside torch's: values, shapes, dtypes, and what an output mask leaves out."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours

#: Calls below ``torch.ops.aten``: x, y, z of (4, 5), u of its shape within (0, 1), s a number, l of (2, 4, 6), i of (2, 4, 6, 5), v of (1, 2, 5, 4, 6),
#: w classes' weights, t classes, t2 classes of an image; ``d(...)`` is in double precision, ``h(...)`` in half.
CALLS = [
    # activations
    "sigmoid_backward(x, u)", "tanh_backward(x, u)", "sigmoid_backward(d(x), d(u))", "threshold_backward(x, y, 0.25)", "threshold_backward(s, y, 0)",
    "gelu_backward(x, y)", "gelu_backward(x, y, approximate='tanh')", "silu_backward(x, y)", "mish_backward(x, y)",
    "elu_backward(x, 1.5, 0.75, 0.5, False, y)", "elu_backward(x, 1.5, 0.75, 1.0, True, y)", "elu_backward(x, 1, 1, 1, False, y)",
    "leaky_relu_backward(x, y, 0.125, False)", "leaky_relu_backward(x, y, 0.125, True)", "hardtanh_backward(x, y, -0.5, 0.75)",
    "hardsigmoid_backward(x, y * 4)", "hardswish_backward(x, y * 4)", "hardshrink_backward(x, y, 0.25)", "softshrink_backward(x, y, 0.25)",
    "softplus_backward(x, y, 2.0, 1.0)", "log_sigmoid_backward(x, y, (-y.abs()).exp())", "logit_backward(x, u)", "logit_backward(x, u, 0.25)",
    "logit_backward(d(x), d(u), eps=0.25)", "glu_backward(x[:2], y, 0)", "glu_backward(d(l)[..., :3], d(l), 2)",
    "rrelu_with_noise_backward(x, y, u, 0.125, 0.375, True, False)", "rrelu_with_noise_backward(x, y, u, 0.125, 0.375, False, False)",
    "_softmax_backward_data(x, u, 1, torch.float32)", "_log_softmax_backward_data(x, u, 0, torch.float32)",
    "infinitely_differentiable_gelu_backward(x, y)", *[f"_prelu_kernel_backward(x, y, c(5))[{k}]" for k in (0, 1)],
    # losses
    "mse_loss_backward(s, x, y, 1)", "mse_loss_backward(z, x, y, 0)", "smooth_l1_loss_backward(s, x, y, 2, 0.5)", "huber_loss_backward(s, x, y, 1, 0.5)",
    "huber_loss_backward(d(z), d(x), d(y), 0, 2.0)", "soft_margin_loss_backward(s, x, y.sign(), 1)", "multi_margin_loss_backward(s, x, t, 2, 0.5, w, 1)",
    "multi_margin_loss_backward(x[:, 0], x, t, 1, 1, None, 0)", "multilabel_margin_loss_backward(s, x, m, 1, torch.tensor([[0.0, 1.0, 0.0, 1.0, 0.0]] * 4))",
    "binary_cross_entropy_backward(s, u, y.sigmoid(), w)", "binary_cross_entropy_backward(z, u, y.sigmoid(), None, 0)",
    "nll_loss_backward(s, x, t, w, 1, -100, w[t].sum())", "nll_loss_backward(x[:, 0], x, t, None, 0, 1, s)", "nll_loss_backward(s, x, t, None, 2, 1, s)",
    "nll_loss2d_backward(s, i, t2, w[:4], 1, -100, w[t2].sum())",
    # convolutions, products, norms
    "convolution_backward(c(2, 3, 3, 5), i, c(3, 4, 2, 3), [3], [2, 1], [0, 1], [1, 1], False, [0, 0], 1, [True, True, True])",
    "convolution_backward(c(2, 6, 6), l, c(6, 2, 3), [6], [1], [1], [1], False, [0], 2, [True, False, True])",
    "convolution_backward(c(2, 6, 12, 12), i, c(4, 3, 3, 4), None, [2, 2], [1, 0], [1, 1], True, [1, 0], 2, [True, True, False])",
    "convolution_backward(d(c(1, 3, 3, 3, 5)), d(v), d(c(3, 2, 3, 2, 2)), [3], [1, 1, 1], [0, 0, 0], [1, 1, 1], False, [0, 0, 0], 1, [False, True, True])",
    "native_layer_norm_backward(l, l.sin(), [4, 6], *norm(l.sin(), (1, 2)), c(4, 6), c(4, 6), [True, True, True])",
    "native_layer_norm_backward(d(l), d(l).sin(), [6], *norm(d(l).sin(), (2,)), None, None, [True, False, False])",
    "native_layer_norm_backward(l, l.sin(), [6], *norm(l.sin(), (2,)), c(6), c(6), [False, True, True])",
    "native_group_norm_backward(l, l.sin(), *groups(l.sin(), 2), c(4), 2, 4, 6, 2, [True, True, True])",
    "native_group_norm_backward(i, i.sin(), *groups(i.sin(), 4), None, 2, 4, 30, 4, [True, False, False])",
    "native_batch_norm_backward(i, i.sin(), c(4), None, None, *batch(i.sin()), True, 1e-5, [True, True, True])",
    "native_batch_norm_backward(l, l.sin(), c(4), c(4), w[:4], None, None, False, 1e-3, [True, True, False])",
    "native_batch_norm_backward(d(l), d(l).sin(), None, None, None, *batch(d(l).sin()), True, 1e-5, [True, False, False])",
    "native_dropout_backward(x, y > 0, 2.0)", "_cdist_backward(c(4, 3), x, c(3, 5), 2.0, torch.cdist(x, c(3, 5)))",
    "_cdist_backward(c(4, 3), x, c(3, 5), 1.0, torch.cdist(x, c(3, 5), 1.0))",
    "_pdist_backward(c(6), x, 1.5, F.pdist(x, 1.5))",
    *[f"native_layer_norm_backward(h(l), h(l.sin()), [6], *norm(h(l.sin()), (2,)), h(c(6)), h(c(6)), [{m}])" for m in ("True, True, True", "False, True, False")],
    # pools
    "avg_pool2d_backward(c(2, 4, 3, 2), i, [2, 2], [], [0, 0], False, True, None)",
    "avg_pool2d_backward(d(c(2, 4, 4, 3)), d(i), 3, 2, 1, True, False, None)", "avg_pool3d_backward(c(1, 2, 3, 2, 3), v, [2], [2], [1, 0, 0], False, True, 5)",
    "max_pool2d_with_indices_backward(F.max_pool2d(i, 3, 2, 1), i, 3, 2, 1, 1, False, F.max_pool2d(i, 3, 2, 1, return_indices=True)[1])",
    "max_pool3d_with_indices_backward(F.max_pool3d(v, 2, 1), v, 2, 1, 0, 1, False, F.max_pool3d(v, 2, 1, return_indices=True)[1])",
    "adaptive_max_pool2d_backward(*swap(i, F.adaptive_max_pool2d(i, (3, 2), return_indices=True)))",
    "adaptive_max_pool3d_backward(*swap(v, F.adaptive_max_pool3d(v, 3, return_indices=True)))",
    "fractional_max_pool2d_backward(c(2, 4, 2, 2), i, [2, 2], [2, 2], F.max_pool2d(i, 2, (3, 2), return_indices=True)[1])",
    "_adaptive_avg_pool2d_backward(c(2, 4, 4, 3), i)", "_adaptive_avg_pool3d_backward(c(1, 2, 3, 2, 3), v)",
    "fractional_max_pool3d_backward(c(1, 2, 2, 2, 3), v, [2, 2, 2], [2, 2, 3], F.max_pool3d(v, 2, return_indices=True)[1])",
    # images
    "upsample_nearest1d_backward(c(2, 4, 9), [9], [2, 4, 6])", "upsample_nearest2d_backward(c(2, 4, 12, 9), [12, 9], [2, 4, 6, 5], 2.0, 1.9)",
    "upsample_nearest3d_backward(c(1, 2, 7, 8, 5), [7, 8, 5], [1, 2, 5, 4, 6])", "upsample_linear1d_backward(c(2, 4, 9), [9], [2, 4, 6], True)",
    "upsample_bilinear2d_backward(c(2, 4, 12, 9), [12, 9], [2, 4, 6, 5], False)",
    "upsample_bilinear2d_backward(d(c(2, 4, 12, 9)), [12, 9], [2, 4, 6, 5], True, None, None)",
    "upsample_bicubic2d_backward(c(2, 4, 12, 9), [12, 9], [2, 4, 6, 5], False)",
    "upsample_trilinear3d_backward(c(1, 2, 7, 8, 5), [7, 8, 5], [1, 2, 5, 4, 6], False)", "_upsample_nearest_exact1d_backward(c(2, 4, 9), [9], [2, 4, 6])",
    *[f"grid_sampler_2d_backward(c(2, 4, 3, 2), i, c(2, 3, 2, 2), {m}, {p}, {a}, [True, {m != 1}])" for m, p, a in ((0, 0, False), (0, 2, True), (1, 1, True), (2, 0, True))],
    "grid_sampler_3d_backward(c(1, 2, 3, 2, 2), v, c(1, 3, 2, 2, 3), 0, 1, False, [False, True])",
    "reflection_pad1d_backward(c(2, 4, 9), l, [1, 2])", "reflection_pad2d_backward(c(2, 4, 9, 6), i, [1, 0, 2, 1])",
    "reflection_pad3d_backward(c(1, 2, 6, 7, 7), v, [1, 0, 2, 1, 0, 1])", "replication_pad1d_backward(d(c(2, 4, 9)), d(l), [1, 2])",
    "replication_pad2d_backward(c(2, 4, 9, 6), i, [1, 0, 2, 1])", "replication_pad3d_backward(c(1, 2, 6, 7, 7), v, [1, 0, 2, 1, 0, 1])",
    "affine_grid_generator_backward(c(2, 4, 3, 2), [2, 5, 4, 3], True)", "affine_grid_generator_backward(c(1, 2, 4, 3, 3), [1, 5, 2, 4, 3], False)",
    # rows and elements
    "embedding_dense_backward(x, t, 6, 1, False)", "embedding_dense_backward(c(2, 4, 3), torch.stack([t, t]), 4, -1, True)",
    "embedding_backward(x, t, 6, -1, False, False)", "embedding_backward(x, t, 6, 1, False, True).to_dense()",
    "select_backward(x, [4, 3, 5], 1, 2)", "select_backward(x, [4, 5, 3], -1, -1)", "slice_backward(x[:, :2], [4, 5], 1, 1, 9223372036854775807, 2)",
    "slice_backward(x[:2], [4, 5], 0, -3, -1, 1)", "diagonal_backward(x[0, :4], [4, 5], 1, 0, 1)", "diagonal_backward(c(3, 2), [3, 2, 4], 0, 2, 1)",
    "trace_backward(s, [3, 4])", "unfold_backward(c(2, 2, 6, 3), [2, 4, 6], 1, 3, 1)", "unfold_backward(d(c(2, 4, 2, 2)), [2, 4, 6], -1, 2, 3)",
    "index_select_backward(x, [6, 5], 0, t)", "gather_backward(x[:, :2], z, 1, torch.stack([t, t], 1), False)", "cumprod_backward(x, y, 1, y.cumprod(1))",
    "masked_select_backward(x[y > 0], z, y > 0)", "masked_select_backward(x[:, :3].reshape(-1), c(4, 3), torch.ones(4, 3) > 0)",
    "masked_scatter_backward(x, y > 0, [5, 4])",
    "value_selecting_reduction_backward(x[0, :4], 1, t, [4, 6], False)", "value_selecting_reduction_backward(x[:1, :4], 0, t[None], [4, 4], True)",
    # in place
    "gelu_(x.clone())", "gelu_(x.clone(), approximate='tanh')", *[f"{name}_(x * 4)" for name in ("silu", "mish", "hardswish", "hardsigmoid", "relu6")],
]  # fmt: skip


def _names(torch: Any) -> dict[str, Any]:
    def made(*shape: int) -> Any:
        return torch.from_numpy(np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32))

    def norm(x: Any, dims: tuple[int, ...]) -> tuple[Any, Any]:
        mean = x.mean(dims, True)
        return mean, ((x - mean).square().mean(dims, True) + 1e-5).rsqrt()

    def batch(x: Any) -> tuple[Any, ...]:
        return tuple([s.reshape(-1) for s in norm(x, (0, *range(2, x.dim())))])

    def groups(x: Any, count: int) -> tuple[Any, ...]:
        return tuple([s.reshape(x.shape[0], count) for s in norm(x.reshape(x.shape[0], count, -1), (2,))])

    names = {"x": made(4, 5), "y": made(4, 5, 1)[..., 0], "z": made(4, 5, 2)[..., 1], "s": torch.tensor(1.5), "l": made(2, 4, 6), "i": made(2, 4, 6, 5)}
    names |= {"v": made(1, 2, 5, 4, 6), "u": made(4, 5, 3)[..., 2].abs() % 0.9 + 0.05, "w": made(5).abs(), "t": torch.tensor([1, 0, 3, 1])}
    names |= {"t2": torch.tensor([0, 3, 2, 1, 1] * 12).reshape(2, 6, 5), "m": torch.tensor([[1, 3, -1, 0, 0]] * 4), "c": made, "F": torch.nn.functional}
    helpers = {"d": lambda x: x.double(), "h": lambda x: x.bfloat16(), "swap": lambda x, found: (found[0], x, found[1]), "norm": norm, "batch": batch, "groups": groups}
    return {**names, **helpers, "torch": torch}


def _called(torch: Any, call: str) -> list[Any]:
    names = _names(torch)
    found = eval(f"torch.ops.aten.{call}", names)
    return list(found) if isinstance(found, (tuple, list)) else [found]


def _compare(mine: Any, theirs: Any) -> None:
    assert (str(mine.dtype), tuple(mine.shape)) == (str(theirs.dtype), tuple(theirs.shape))
    tolerance = {real_torch.float64: 1e-10, real_torch.float32: 1e-4}.get(theirs.dtype, 1e-2)
    np.testing.assert_allclose(mine.double().numpy(), theirs.double().numpy(), rtol=tolerance, atol=tolerance / 10)


def _wanted(call: str, count: int) -> list[bool]:
    """What a call's mask asks for; some of torch's kernels compute the rest none the less."""
    mask = re.search(r"\[((?:(?:True|False)(?:, )?)+)\]\)$", call)
    return [word == "True" for word in mask[1].split(", ")] if mask else [True] * count


@pytest.mark.parametrize("call", CALLS, ids=[f"{k}-{call.partition('(')[0]}" for k, call in enumerate(CALLS)])
def test_gradients_are_those_of_torch(call: str) -> None:
    mine, theirs = _called(ours, call), _called(real_torch, call)
    for a, b, wanted in zip(mine, theirs, _wanted(call, len(theirs)), strict=True):
        assert (a is not None) == wanted
        if wanted:
            _compare(a, b)


#: Calls whose gradients with respect to x and y (or l, i) are compared: the gradients' own gradients.
TWICE = [
    "sigmoid_backward(x, y)", "threshold_backward(x, y, 0.25)", "gelu_backward(x, y)", "leaky_relu_backward(x, y, 0.125, False)", "elu_backward(x, 1.5, 1, 1, False, y)",
    "hardswish_backward(x, y)", "softplus_backward(x, y, 2.0, 1.0)", "glu_backward(x[:2], y, 0)", "mse_loss_backward(x, y, z, 0)",
    "smooth_l1_loss_backward(x, y, z, 0, 0.5)", "binary_cross_entropy_backward(x, y.sigmoid(), u, None, 0)", "embedding_dense_backward(x, t, 6, 1, False) + 0 * y.sum()",
    "native_dropout_backward(x, y.detach() > 0, 2.0) * y", "convolution_backward(x[None], y[None], c(4, 4, 1), [4], [1], [0], [1], False, [0], 1, [True, True, True])[1]",
    "cumprod_backward(x, y, 1, y.cumprod(1))", "replication_pad1d_backward(x[:, None], y[:, None, :2], [1, 2]) * y[:, None, :2]",
]  # fmt: skip


def _twice(torch: Any, call: str) -> tuple[Any, ...]:
    names = {name: value.double() if name in "xyzu" else value for name, value in _names(torch).items()}
    x, y = (names[name].requires_grad_() for name in "xy")
    names["c"] = lambda *shape: _names(torch)["c"](*shape).double()
    found = eval(f"torch.ops.aten.{call}", names)
    return torch.autograd.grad(found.sin().sum(), (x, y))


@pytest.mark.parametrize("call", TWICE)
def test_gradients_have_gradients(call: str) -> None:
    for mine, theirs in zip(_twice(ours, call), _twice(real_torch, call), strict=True):
        _compare(mine, theirs)


@pytest.mark.parametrize("shapes", [((2, 3, 5), (4, 5)), ((2, 3, 5), (5, 4)), ((3, 5), (2, 5, 4)), ((5,), (5, 4)), ((3, 5), (5,))])
def test_products_that_torch_has_no_kernel_for(shapes: tuple) -> None:
    """``linear_backward`` and ``matmul_backward`` give what torch's tape computes."""
    first, second = (_names(real_torch)["c"](*shape).requires_grad_() for shape in shapes)
    is_linear = shapes[1] == (4, 5)
    bias = real_torch.zeros(4, requires_grad=True)
    result = real_torch.nn.functional.linear(first, second, bias) if is_linear else first.matmul(second)
    g = real_torch.ones_like(result).cumsum(-1)
    theirs = real_torch.autograd.grad(result, (first, second, bias) if is_linear else (first, second), g)
    x, w, gradient = (ours.from_numpy(t.detach().numpy()) for t in (first, second, g))
    for mask in ([True, True, True], [False, True, False]):
        aten = ours.ops.aten
        mine = aten.linear_backward(x, gradient, w, mask) if is_linear else aten.matmul_backward(gradient, x, w, mask[:2])
        for a, b, wanted in zip(mine, theirs, mask):
            assert (a is not None) == wanted
            if wanted:
                _compare(a, b)


@pytest.mark.parametrize("name", ["gelu_", "silu_", "mish_", "hardswish_", "hardsigmoid_", "relu6_"])
def test_activations_write_into_their_input(name: str) -> None:
    x = ours.tensor([-1.0, 0.5, 7.0])
    assert getattr(ours.ops.aten, name)(x) is x
    _compare(x, getattr(real_torch.ops.aten, name)(real_torch.tensor([-1.0, 0.5, 7.0])))


#: What torch refuses: sizes that do not fit the forward, options that exclude each other.
REFUSED = ["embedding_backward(x, t, 6, -1, True, True)", "threshold_backward(x, y[:3], 0.5)", "softplus_backward(x, y[:, :3], 1, 20)",
           "avg_pool2d_backward(i, i, 2, 2, 0, False, True, None)", "replication_pad1d_backward(l, l, [1, 1])", "avg_pool2d_backward(i, i, [0, 2], [], [0, 0], False, True, None)",
           "reflection_pad1d_backward(l, l, [9, 9])", "glu_backward(x, y, 1)"]  # fmt: skip


@pytest.mark.parametrize("call", REFUSED)
def test_refused_as_in_torch(call: str) -> None:
    for torch in (real_torch, ours):
        with pytest.raises(RuntimeError):
            _called(torch, call)


def test_the_overload_with_a_target() -> None:
    """``grad_input``, and where torch has no other."""
    results = []
    for module in (real_torch, ours):
        x, g, made = module.linspace(-2, 2, 6), module.linspace(1, 2, 6), module.empty(6)
        assert module.ops.aten.gelu_backward.grad_input(g, x, grad_input=made) is made
        results.append(made.tolist())
    assert results[1] == pytest.approx(results[0], rel=1e-5)
