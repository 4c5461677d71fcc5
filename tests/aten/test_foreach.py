"""Operators on lists of tensors (`pytorchlike/aten/foreach.py`), beside torch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours
from pytorchlike.aten.foreach import OVERLOADS, UNARY

#: Calls of ``torch._foreach_*``; a and b are lists of floats, i of integers, h of half precision, m of matrices.
CALLS = [
    *[f"{name}(a)" for name in UNARY], "exp(i)", "abs(i)", "neg([])", "abs(tuple(a))", "sigmoid(h)", "abs(self=a)",
    *[f"{name}(a, {other})" for name, overloads in OVERLOADS.items() if "scalar" in overloads.get("Scalar", "") for other in ("2", "[2, 0.5]", "b")],
    *[f"add({others})" for others in ("a, t(2.)", "i, 1.5", "a, b, alpha=3", "i, [1, 1.5]", "h, t(0.3)", "a, [1]", "a, b[:1]", "a, []", "[], a", "[], 1", "[], []",
                                      "a, t([1., 2.])", "a, scalars=[1, 2]", "self=a, other=b", "[t([1., 2.])], [t([1., 2., 3.])]")],
    "sub(i, b, alpha=0.5)", "sub([t([True])], True)", "mul(a, t(2., dtype=torch.float64))", "div(i, 2)", "div(a, t(4.))", "maximum(i, 1.5)", "clamp_min(i, [2, 2.5])",
    "pow(a, 2)", "pow(i, [2, 3])", "pow(a, b)", "pow(2, a)", "pow(2.5, i)", "pow(2, [])",
    "lerp(a, b, 0.5)", "lerp(a, b, [0.5, 2])", "lerp(a, b, b)", "lerp(a, b, b[:1])", "lerp(i, i, 1)",
    *[f"{name}({others})" for name in ("addcmul", "addcdiv") for others in ("a, b, a", "a, b, a, 2", "a, b, a, value=0.5", "a, b, a, [0.5, 2]", "a, b, a, t([0.5, 2])",
                                                                          "a, b, a, [1]", "a, b, a[:1]", "a, b, a, t([1., 2., 3.])", "a, b, a, t([[1.]])")],
    "addcdiv(i, i, i)", "max(a)", "max(i)", "max([t([])])", "norm(a)", "norm(a, 1)", "norm(a, float('inf'))", "norm(h, dtype=torch.float64)", "norm(i)",
    "norm([t([])], float('inf'))", "powsum(a, 3)", "powsum(i)", "clone(a)", "mm(m, m)", "mm(m, [])", "mm([], [])", "abs(a[0])", "abs([1])", "abs(None)", "add(a, 'x')",
]  # fmt: skip
#: Those that write into the tensors of their first argument.
WRITING = [
    *[f"{name}_(a)" for name in (*UNARY, "zero")], *[f"{name}_(a, {other})" for name in ("add", "div", "clamp_min", "maximum", "minimum", "pow") for other in ("2", "[2, 0.5]", "b")],
    "exp_(i)", "add_(i, 1.5)", "maximum_(i, b)", "lerp_(a, b, [0.5, 2])", "addcmul_(a, b, a, t([0.5, 2]))", "addcdiv_(a, b, a, value=2)", "sub_(a, b, alpha=0.5)",
    "mul_(a, t(2.))", "copy_(a, i)", "copy_(a, i[:1])", "copy_(a, b, True)", "zero_([])", "add_(a, b[:1])",
]  # fmt: skip
#: Calls with gradients, for a and b.
WITH_GRADIENT = [
    "exp(a)", "mul(a, b)", "add(a, [1, 2])", "div(a, b)", "pow(a, b)", "pow(2, a)", "lerp(a, b, 0.25)", "addcmul(a, b, a, [0.5, 2])",
    "norm(a)", "max(a)", "clone(a)", "mul_(c, b)", "maximum(a, b)", "maximum(a, 2.)", "clamp_min(a, b)", "clamp_min(a, [2., 2.])", "minimum_(c, b)",
    "addcmul_(c, a, b)", "exp_(c)", "zero_(c)",
]  # fmt: skip


def _names(torch, requires_grad: bool = False) -> dict:
    def floats(*lists):
        return [torch.tensor(values, requires_grad=requires_grad) for values in lists]

    names = {"torch": torch, "t": torch.tensor, "a": floats([1.0, 2.0], [0.25]), "b": floats([3.0, 2.0], [0.5]), "m": [torch.tensor([[1.0, 2.0], [3.0, 4.0]])]}
    names["i"] = [torch.tensor([1, 2]), torch.tensor([3])]
    return names | {"h": [x.detach().to(torch.bfloat16) for x in names["a"]], "c": [x.clone() for x in names["a"]]}


def _outcome(torch, call: str) -> tuple:
    names = _names(torch)
    try:
        result = eval(f"torch._foreach_{call}", names)
    except Exception as error:
        text = str(error).partition("\n")[0]
        return type(error).__name__, "" if "invalid combination" in text else text
    versions = [x._version for x in result]
    written = [k for k in "aih" if result is names[k]]
    return type(result), [str(x.dtype) for x in result], [x.double().numpy() for x in result], versions, written


def _assert_same(mine, theirs) -> None:
    if isinstance(theirs[0], str):
        assert mine == theirs
        return
    assert (mine[0], mine[1], mine[3:]) == (theirs[0], theirs[1], theirs[3:])
    for x, y in zip(mine[2], theirs[2], strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("call", CALLS + WRITING)
def test_values_errors_and_versions_are_torchs(call: str) -> None:
    _assert_same(_outcome(ours, call), _outcome(real_torch, call))


@pytest.mark.parametrize("call", WITH_GRADIENT)
def test_gradients_are_torchs(call: str) -> None:
    gradients = []
    for torch in (ours, real_torch):
        names = _names(torch, requires_grad=True)
        result = eval(f"torch._foreach_{call}", names)
        leaves = [*names["a"], *names["b"]]
        found = torch.autograd.grad(sum(x.sum() for x in result), leaves, allow_unused=True) if any(x.requires_grad for x in result) else [None]
        gradients.append([None if g is None else g.numpy() for g in found])
    for x, y in zip(*gradients, strict=True):
        assert (x is None) == (y is None)
        if y is not None:
            np.testing.assert_allclose(x, y, rtol=1e-5)


def test_gradients_that_torch_has_not() -> None:
    a, b = ours.tensor([1.0, 2.0], requires_grad=True), ours.tensor([4.0, 2.0], requires_grad=True)
    copied = [a * 1]
    ours._foreach_copy_(copied, [b])
    quotient = ours._foreach_addcdiv([a], [a], [b], 2)[0]
    gradients = ours.autograd.grad((copied[0] + quotient).sum(), [a, b])
    assert [g.tolist() for g in gradients] == [[1.5, 2.0], [1 - 2 / 16, 1 - 2 * 2 / 4]]


def test_every_name_of_torchs_family_is_there() -> None:
    names = [name for name in dir(real_torch._C._VariableFunctions) if name.startswith("_foreach_")]
    assert [name for name in names if not hasattr(ours, name)] == []


def test_a_leaf_that_asks_for_a_gradient_is_not_written() -> None:
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        ours._foreach_add_([ours.ones(2, requires_grad=True)], 1)


def test_aten_returns_lists_or_nothing() -> None:
    a = [ours.ones(2)]
    assert isinstance(ours.ops.aten._foreach_add.Scalar(a, 1), list)
    assert ours.ops.aten._foreach_add_.List(a, a) is None and ours.ops.aten._foreach_mul_(a, [3]) is None
    assert a[0].tolist() == [6.0, 6.0]
    assert ours.ops.aten._foreach_copy(a, [ours.tensor([1, 2])])[0].tolist() == [1.0, 2.0]
    assert ours.ops.aten._foreach_zero(a)[0].tolist() == [0.0, 0.0] and a[0].tolist() == [6.0, 6.0]


def test_a_compiled_function_with_lists_of_tensors() -> None:
    @ours.compile(fullgraph=True)
    def step(params, grads):
        ours._foreach_mul_(params, 0.5)
        ours._foreach_add_(params, grads, alpha=-1)
        return ours._foreach_norm(params)

    params = [ours.tensor([2.0, 4.0]), ours.tensor([6.0])]
    norms = step(params, [ours.ones(2), ours.ones(1)])
    assert [p.tolist() for p in params] == [[0.0, 1.0], [2.0]] and [n.item() for n in norms] == [1.0, 2.0]
