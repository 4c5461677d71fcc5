"""Modules and functions inside JAX's transformations; the tape's gradients against ``jax.grad``."""

from __future__ import annotations

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pytorchlike as torch
from pytorchlike.dispatch.custom_vjp import rules_for_jax
from pytorchlike.interop.jax import from_jax, functionalize, pure, to_jax


def model() -> torch.nn.Module:
    nn = torch.nn
    return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))


def test_tape_agrees_with_jax_grad() -> None:
    net = model()
    x, y = torch.randn(5, 6), torch.tensor([0, 1, 2, 1, 0])
    loss = torch.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    apply, params, buffers = functionalize(net)

    def loss_of(params, x, y):
        outputs, _ = apply(params, buffers, x)
        return -jax.nn.log_softmax(outputs)[jnp.arange(5), y].mean()

    value, grads = jax.jit(jax.value_and_grad(loss_of))(params, to_jax(x), to_jax(y).astype(jnp.int32))
    np.testing.assert_allclose(value, loss.item(), rtol=1e-5)
    for name, p in net.named_parameters():
        np.testing.assert_allclose(grads[name], p.grad.numpy(), rtol=1e-4, atol=1e-6, err_msg=name)


def test_functionalize_leaves_the_module_alone_and_returns_new_buffers() -> None:
    net = torch.nn.BatchNorm1d(4)
    before = net.running_mean.tolist()
    apply, params, buffers = functionalize(net)
    _, after = jax.jit(apply)(params, buffers, jnp.ones((3, 4)))
    assert net.running_mean.tolist() == before
    np.testing.assert_allclose(after["running_mean"], np.full(4, 0.1), rtol=1e-6)


def test_pure_under_vmap_and_grad() -> None:
    f = pure(lambda x: (x * x.sin()).sum())
    x = jnp.linspace(0.0, 1.0, 12).reshape(3, 4)
    found = jax.vmap(jax.grad(f))(x)
    np.testing.assert_allclose(found, jnp.sin(x) + x * jnp.cos(x), rtol=1e-5)


@pytest.mark.parametrize("rules", [False, True])
def test_what_is_off_the_tape_is_constant_for_jax_too(rules: bool) -> None:
    def loss(x):
        with torch.no_grad():
            scale = x.norm()
            with torch.enable_grad():
                twice = x * 2
        return (x / scale * x.detach() + twice.detach_().exp() + torch.tensor(1.0) * x**3).sum()

    x = torch.linspace(0.1, 1.0, 5).requires_grad_()
    loss(x).backward()
    with rules_for_jax() if rules else contextlib.nullcontext():
        found = jax.jit(jax.grad(pure(loss)))(to_jax(x))
    np.testing.assert_allclose(found, x.grad.numpy(), rtol=1e-5)
    assert torch.is_grad_enabled()


def test_gradients_inside_of_jax() -> None:
    """Those of ``torch.func`` can be differentiated, those of ``torch.autograd.grad`` are constant, as on the tape."""

    def cubed(x):
        return (x**3).sum()

    def by_tape(x):
        leaf = x.detach().requires_grad_()
        return (x * torch.autograd.grad(cubed(leaf), leaf)[0]).sum()

    x = jnp.array([1.0, 2.0])
    np.testing.assert_allclose(jax.jit(jax.grad(pure(lambda x: torch.func.grad(cubed)(x).sum())))(x), 6 * x, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.grad(pure(by_tape)))(x), 3 * x**2, rtol=1e-6)


def test_arrays_both_ways() -> None:
    a = jnp.arange(6.0).reshape(2, 3)
    t = from_jax(a)
    t.add_(1)
    np.testing.assert_array_equal(a, np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(to_jax(t), np.arange(6.0).reshape(2, 3) + 1)
