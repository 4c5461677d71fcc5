"""`compare_gradients` agrees where the four ways do, and says where they do not."""

from __future__ import annotations

import numpy as np
import pytest

import pytorchlike as ours
from pytorchlike.testing import assert_gradients_agree, compare_gradients


def _x(*shape: int, dtype=ours.float64, **options):
    return ours.randn(*shape, dtype=dtype, **options)


class WrongSquare(ours.autograd.Function):
    """A square whose backward forgets the factor 2."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


def test_the_four_ways_agree(executor: str) -> None:
    x, w = _x(3, 2), _x(2, 4)
    table = compare_gradients(lambda x, w: (x @ w).tanh().sum(), x, w)
    assert table.agrees and set(table.gradients) == {"tape", "rules", "jax", "differences"}
    assert [row.input for row in table.differences] == ["x"] * 6 + ["w"] * 6
    expected = np.asarray(x).T @ (1 - np.tanh(np.asarray(x) @ np.asarray(w)) ** 2)
    np.testing.assert_allclose(table.gradients["tape"]["w"], expected, rtol=1e-10)


def test_complex_inputs_and_several_outputs() -> None:
    z = _x(3, dtype=ours.complex128)
    assert_gradients_agree(lambda z, n: (z * z.exp(), z.abs(), n), z, 4)


def test_inputs_that_require_a_gradient_are_the_ones_compared() -> None:
    table = compare_gradients(lambda x, y: x * y, _x(3, requires_grad=True), _x(3))
    assert {row.input for row in table.differences} == {"x"}


def test_random_operators_draw_the_same_numbers_each_time() -> None:
    before = ours.get_rng_state().tolist()
    assert_gradients_agree(lambda x: ours.nn.functional.dropout(x, 0.5), _x(3, 2))
    ours.manual_seed(0)
    ours.randn(3, 2, dtype=ours.float64)
    assert ours.get_rng_state().tolist() != before


def test_parameters_of_a_module() -> None:
    module = ours.nn.Sequential(ours.nn.Linear(2, 3), ours.nn.BatchNorm1d(3)).double()
    table = compare_gradients(module, _x(3, 2))
    assert {row.input for row in table.differences} == {"0.weight", "0.bias", "1.weight", "1.bias"}
    assert module[1].running_mean.tolist() == [0, 0, 0] and module[0].weight.grad is None


def test_low_precision_leaves_finite_differences_out() -> None:
    table = compare_gradients(lambda x: x.sin(), _x(3, dtype=ours.float32))
    assert set(table.gradients) == {"tape", "rules", "jax"}


def test_a_kink_is_where_torch_and_jax_differ() -> None:
    x = ours.tensor([-1.0, 0.0, 1.0], dtype=ours.float64)
    with pytest.raises(AssertionError, match=r"x      tape - jax    5\.0e-01  5\.0e-01  differs") as caught:
        assert_gradients_agree(lambda x: x.clamp(min=0).sum(), x, ways=("tape", "rules", "jax"))
    assert "tape - rules  0.0e+00" in str(caught.value)
    assert_gradients_agree(lambda x: x.clamp(min=0).sum(), x, ways=("tape", "rules"))
    table = compare_gradients(lambda x: x.clamp(min=0).sum(), x, raise_exception=False)
    assert not table.agrees and table.gradients["tape"]["x"].tolist() == [0, 1, 1] and table.gradients["jax"]["x"].tolist() == [0, 0.5, 1]


def test_a_wrong_backward_is_found() -> None:
    table = compare_gradients(WrongSquare.apply, _x(3), raise_exception=False)
    assert {row.pair for row in table.differences if not row.agrees} == {("tape", "rules"), ("tape", "jax"), ("tape", "differences")}


def test_arguments() -> None:
    with pytest.raises(ValueError, match="unknown way 'numeric'"):
        compare_gradients(lambda x: x, _x(3), ways=("tape", "numeric"))
    with pytest.raises(ValueError, match="at least one floating point"):
        compare_gradients(lambda n: n, ours.arange(3))
