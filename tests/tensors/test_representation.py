"""Tensors print as torch's do, and printing leaves them as they are."""

from __future__ import annotations

import jax
import numpy as np
import pytest
import torch

import pytorchlike
import pytorchlike.tensors.representation
from pytorchlike.core.dtype import float32
from pytorchlike.graph.value import aval_of, constant
from pytorchlike.tensors.tensor import make_tensor


class Mine(pytorchlike.Tensor):
    """A subclass of ours."""


class Theirs(torch.Tensor):
    """A subclass of torch's."""


Theirs.__name__ = "Mine"


def _view_of_base_written_to(t):
    base = t.ones(4, requires_grad=True) * 2
    view = base[1:3]
    base.mul_(3)
    return view


CALLS = {
    "floats": lambda t: t.tensor([[1.0, 2.5], [-3.0, 1e-3]]),
    "whole": lambda t: t.tensor([1.0, 2.0]),
    "ints": lambda t: t.arange(5),
    "int32": lambda t: t.arange(3, dtype=t.int32),
    "bool": lambda t: t.tensor([True, False]),
    "double": lambda t: t.zeros(2, dtype=t.float64),
    "bfloat16": lambda t: t.full((2, 2), 1.5, dtype=t.bfloat16),
    "complex": lambda t: t.tensor([1 + 2j, -0.5j]),
    "scalar": lambda t: t.tensor(3.5),
    "empty": lambda t: t.zeros(0, 3),
    "large": lambda t: t.arange(2000).reshape(40, 50),
    "leaf": lambda t: t.ones(2, requires_grad=True),
    "result": lambda t: t.ones(2, requires_grad=True) * 2,
    "view": lambda t: t.ones(2, 2, requires_grad=True).t(),
    "view of a base written to": _view_of_base_written_to,
    "transposed": lambda t: t.arange(6).reshape(2, 3).t(),
    "meta": lambda t: t.empty(2, 3, device="meta"),
    "subclass": lambda t: t.ones(2).as_subclass(Mine if t is pytorchlike else Theirs),
    "list": lambda t: [t.tensor(1), t.tensor([2.0])],
}


@pytest.mark.parametrize("name", CALLS)
def test_repr(name):
    assert repr(CALLS[name](pytorchlike)) == repr(CALLS[name](torch))
    assert str(CALLS[name](pytorchlike)) == str(CALLS[name](torch))


def test_parameters_print_as_parameters():
    assert repr(pytorchlike.nn.Parameter(pytorchlike.ones(2))) == repr(torch.nn.Parameter(torch.ones(2)))


def test_format():
    for t in (pytorchlike, torch):
        assert f"{t.tensor(0.12345):.3f} {t.tensor(7):>4} {t.tensor(True)} {t.tensor(2.0, requires_grad=True):.1f}" == "0.123    7 True 2.0"
        assert f"{t.ones(2)}" == "tensor([1., 1.])"
        with pytest.raises(TypeError, match="unsupported format string passed to Tensor.__format__"):
            f"{t.ones(2):.2f}"


def test_printing_options_and_default_dtype():
    for t in (pytorchlike, torch):
        try:
            t.set_printoptions(precision=2, sci_mode=True)
            t.set_default_dtype(t.float64)
            assert repr(t.tensor([0.5])) == "tensor([5.00e-01])"
            assert repr(t.tensor([0.5], dtype=t.float32)) == "tensor([5.00e-01], dtype=torch.float32)"
        finally:
            t.set_default_dtype(t.float32)
            t.set_printoptions(profile="default")


def test_printing_changes_nothing():
    x = pytorchlike.ones(3, requires_grad=True)
    y = (x * 2).exp()
    node, version = y.grad_fn, y._version
    repr(y)
    assert y.grad_fn is node and y._version == version and y.is_contiguous()
    y.sum().backward()
    np.testing.assert_allclose(x.grad.tolist(), 2 * np.exp([2.0] * 3), rtol=1e-6)


def test_errors_that_depend_on_data_are_raised_before_anything_is_shown():
    with pytest.raises(RuntimeError, match="Expected p_in"):
        repr(pytorchlike.bernoulli(pytorchlike.tensor([2.0])))


def test_inside_a_jax_transformation_there_is_nothing_to_show():
    shown = []

    def traced(array):
        shown.append(repr(make_tensor(constant(array, aval_of(array.shape, float32)))))
        return array

    jax.jit(traced)(np.ones(3, np.float32))
    assert shown == ["tensor(..., size=(3,), traced)"]
