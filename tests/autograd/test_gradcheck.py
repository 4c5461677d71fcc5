"""`gradcheck` and `gradgradcheck` find what torch's find, with torch's texts."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch as real_torch

import pytorchlike as ours
from pytorchlike.graph import counters


def _functions(module: Any) -> Any:
    """User-defined functions whose backward is wrong in several ways."""
    Function, half = module.autograd.Function, staticmethod

    class Wrong(Function):
        @half
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @half
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    class NotMultiplied(Function):
        @half
        def forward(ctx, x):
            return x * 2

        @half
        def backward(ctx, g):
            return g * 2 + 1e-7

    class Random(Function):
        @half
        def forward(ctx, x):
            return x * 2

        @half
        def backward(ctx, g):
            return g * 2 + module.rand_like(g) * 1e-8

    class NeedsBoth(Function):
        @half
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @half
        def backward(ctx, a, b):
            return a * 2 + b * 3

    class WrongForward(Function):
        @half
        def forward(x):
            return x * x

        @half
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
            ctx.save_for_forward(inputs[0])

        @half
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

        @half
        def jvp(ctx, tangent):
            return tangent * ctx.saved_tensors[0]

    return Wrong.apply, NotMultiplied.apply, Random.apply, NeedsBoth.apply, WrongForward.apply


def _outcome(module: Any, case: Callable, method: str) -> Any:
    """True or False, or (type, text) of the error."""
    module.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function, inputs, options = case(module)
            return getattr(module.autograd, method)(function, inputs, **options)
    except Exception as error:
        text = re.sub(r"\d\.\d{10,}", lambda number: number[0][:10], str(error))  # the last digits are rounding
        return type(error).__name__, text.partition("If you are adding a new operator")[0].strip()


def _x(T: Any, dtype: str = "float64") -> Any:
    return T.randn(3, dtype=T.float64).to(getattr(T, dtype)).requires_grad_()


def _z(T: Any) -> Any:
    return T.complex(T.randn(3, dtype=T.float64), T.randn(3, dtype=T.float64)).requires_grad_()


def _sparse(T: Any) -> Any:
    values = T.tensor([3.0, 4.0, 5.0], dtype=T.float64)
    return T.sparse_coo_tensor(T.tensor([[0, 1, 1], [2, 0, 2]]), values, (2, 3)).requires_grad_()


CHECKS = {
    "two inputs": lambda T: (lambda x, y: (x * y).tanh(), (_x(T), _x(T)), {}),
    "two inputs, fast": lambda T: (lambda x, y: (x * y).tanh(), (_x(T), _x(T)), {"fast_mode": True}),
    "two outputs": lambda T: (lambda x: (x.sin(), x.cos().sum()), _x(T), {}),
    "complex": lambda T: (lambda z: z * z.exp(), _z(T), {}),
    "complex, fast": lambda T: (lambda z: z * z.exp(), _z(T), {"fast_mode": True}),
    "complex to real": lambda T: (lambda z: z.abs(), _z(T), {}),
    "wrong": lambda T: (_functions(T)[0], _x(T), {}),
    "wrong, fast": lambda T: (_functions(T)[0], _x(T), {"fast_mode": True}),
    "wrong, complex": lambda T: (_functions(T)[0], _z(T), {}),
    "wrong, not raised": lambda T: (_functions(T)[0], _x(T), {"raise_exception": False}),
    "not multiplied": lambda T: (_functions(T)[1], _x(T), {}),
    "nearly multiplied": lambda T: (_functions(T)[1], _x(T), {"masked": True, "check_undefined_grad": False, "atol": 1e-3}),
    "not reentrant": lambda T: (_functions(T)[2], _x(T), {}),
    "nearly reentrant": lambda T: (_functions(T)[2], _x(T), {"nondet_tol": 1e-6, "masked": True, "check_undefined_grad": False}),
    "undefined gradients": lambda T: (_functions(T)[3], _x(T), {}),
    "nothing on the tape": lambda T: (lambda x: x.detach() * 2, _x(T), {}),
    "nothing on the tape, fast": lambda T: (lambda x: x.detach() * 2, _x(T), {"fast_mode": True}),
    "no gradient wanted": lambda T: (lambda x: x * 2, T.ones(3, dtype=T.float64), {}),
    "stride 0": lambda T: (lambda x: x * 2, T.ones(1, dtype=T.float64).expand(3).requires_grad_(), {}),
    "low precision": lambda T: (lambda x: x * x, _x(T, "float32"), {}),
    "an input used by the way": lambda T: ((lambda x: (lambda y: (x * y).sin(), x, {}))(_x(T))),
    "a view": lambda T: (lambda x: x[1:] * 2, _x(T), {}),
    "a strided input": lambda T: (lambda x: x * 2, T.randn(2, 3, dtype=T.float64).t().requires_grad_(), {}),
    "an empty input": lambda T: (lambda x: x * 2, T.zeros(0, dtype=T.float64, requires_grad=True), {}),
    "a shape that changes": lambda T: (lambda x: x[x > x.mean()], _x(T), {"eps": 2.0}),
    "batched": lambda T: (lambda x, y: (x * y).tanh(), (_x(T), _x(T)), {"check_batched_grad": True}),
    "forward mode": lambda T: (lambda x, y: (x * y).tanh(), (_x(T), _x(T)), {"check_forward_ad": True}),
    "forward mode, fast": lambda T: (lambda x, y: (x * y).tanh(), (_x(T), _x(T)), {"check_forward_ad": True, "fast_mode": True}),
    "forward mode, complex": lambda T: (lambda z: z * z.exp(), _z(T), {"check_forward_ad": True}),
    "forward mode, batched": lambda T: (lambda x: x.tanh(), _x(T), {"check_forward_ad": True, "check_batched_forward_grad": True}),
    "forward mode, wrong": lambda T: (_functions(T)[4], _x(T), {"check_forward_ad": True}),
    "forward mode, wrong, fast": lambda T: (_functions(T)[4], _x(T), {"check_forward_ad": True, "fast_mode": True}),
    "sparse": lambda T: (lambda s: s.to_dense(), _sparse(T), {}),
    "sparse, masked": lambda T: (lambda s, d: T.sparse.mm(s, d), (_sparse(T), T.ones(3, 2, dtype=T.float64, requires_grad=True)), {"masked": True}),
    "sparse output": lambda T: (lambda s: s * 2, _sparse(T), {"masked": True}),
    "no mode": lambda T: (lambda x: x, _x(T), {"check_backward_ad": False}),
    "batched without backward": lambda T: (lambda x: x, _x(T), {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True}),
}


@pytest.mark.parametrize("name", CHECKS)
def test_gradcheck(name: str) -> None:
    assert _outcome(ours, CHECKS[name], "gradcheck") == _outcome(real_torch, CHECKS[name], "gradcheck")


SECOND_CHECKS = {
    "two inputs": CHECKS["two inputs"],
    "two inputs, fast": CHECKS["two inputs, fast"],
    "complex": CHECKS["complex"],
    "two outputs": CHECKS["two outputs"],
    "not contiguous": lambda T: (lambda x: (x**3, x.exp()), _x(T), {"gen_non_contig_grad_outputs": True}),
    "given gradients": lambda T: (lambda x: x**3, _x(T), {"grad_outputs": T.ones(3, dtype=T.float64, requires_grad=True)}),
    "forward over backward": lambda T: (lambda x: x.tanh(), _x(T), {"check_fwd_over_rev": True}),
    "no mode": lambda T: (lambda x: x, _x(T), {"check_rev_over_rev": False}),
}


@pytest.mark.parametrize("name", SECOND_CHECKS)
def test_gradgradcheck(name: str) -> None:
    assert _outcome(ours, SECOND_CHECKS[name], "gradgradcheck") == _outcome(real_torch, SECOND_CHECKS[name], "gradgradcheck")


def test_both_executors(executor: str) -> None:
    x = _x(ours)
    assert ours.autograd.gradcheck(lambda x: (x * x).tanh(), x)
    assert ours.autograd.gradgradcheck(lambda x: (x * x).tanh(), x, fast_mode=True)
    with pytest.raises(ours.autograd.GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        ours.autograd.gradcheck(_functions(ours)[0], x)


def test_inputs_are_restored_and_the_evaluations_share_a_program() -> None:
    x = ours.randn(7, dtype=ours.float64, requires_grad=True)
    before = x.tolist()
    for _ in range(2):
        ours.autograd.gradcheck(lambda x: x.sin().cos(), x)
    assert x.tolist() == before and x.grad is None and x._version == 0
    compiled = len(counters.compilations)
    ours.autograd.gradcheck(lambda x: x.sin().cos(), x)
    assert len(counters.compilations) == compiled


def test_the_random_numbers_of_the_user_stay() -> None:
    ours.manual_seed(3)
    expected = ours.rand(2).tolist()
    ours.manual_seed(3)
    ours.autograd.gradcheck(lambda x: x.sin(), ours.ones(3, dtype=ours.float64, requires_grad=True), fast_mode=True)
    assert ours.rand(2).tolist() == expected
