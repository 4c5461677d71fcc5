"""The tape's rules under ``jax.grad``."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pytorchlike as torch
from pytorchlike.dispatch.custom_vjp import rules_for_jax
from pytorchlike.interop.jax import pure

F = torch.nn.functional
X = np.array([0.0, 1.0, -1.0, 2.0, 2.0], np.float32)


def written(t):
    y = t.clone()
    y[1:] *= 2
    return (y.abs() * 3 * (y > 0)).sum()


FUNCTIONS = {
    "ties": lambda t: t.clamp(0, 2).sum() + t.max(0)[0] + torch.maximum(t, t * 2).sum(),
    "no rule": lambda t: torch.atan2(t, t + 3).sum(),
    "views and writes": written,
    "numbers": lambda t: (t * 2.5 + 1).sub(t, alpha=2).sum(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient_is_the_tapes(name: str) -> None:
    function = FUNCTIONS[name]
    leaf = torch.tensor(X, requires_grad=True)
    function(leaf).backward()
    with rules_for_jax():
        found = jax.grad(pure(function))(jnp.array(X))
    np.testing.assert_allclose(found, leaf.grad.numpy(), rtol=1e-6)


def test_outside_of_the_block_it_is_jaxs() -> None:
    halves = jax.grad(pure(lambda t: torch.maximum(t, t * 2).sum()))
    with rules_for_jax():
        assert halves(jnp.zeros(1)) == 1.5
    assert jax.grad(pure(lambda t: t.clamp(0, 2).sum()))(jnp.zeros(1)) == 0.5


def test_it_nests_in_other_transformations() -> None:
    with rules_for_jax():
        found = jax.jit(jax.vmap(jax.grad(pure(lambda t: t.clamp(0, 2).abs().sum()))))(jnp.array([X, 2 * X]))
    assert found.tolist() == [[0.0, 1.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.0, 0.0]]


def test_complex_gradients_are_jaxs_conjugates() -> None:
    z = np.array([1 + 2j, 3 - 1j], np.complex64)
    leaf = torch.tensor(z, requires_grad=True)
    (leaf * leaf).abs().sum().backward()
    with rules_for_jax():
        found = jax.grad(pure(lambda z: (z * z).abs().sum()))(z)
    np.testing.assert_allclose(found, leaf.grad.numpy().conj(), rtol=1e-5)


def test_forward_mode_is_refused_by_jax() -> None:
    with rules_for_jax(), pytest.raises(TypeError, match="custom_vjp"):
        jax.jvp(pure(torch.sin), (jnp.ones(2),), (jnp.ones(2),))
