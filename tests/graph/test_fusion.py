"""XLA does not compute a long chain anew for each of its results."""

import time

import jax
import jax.numpy as jnp
import pytest
import torch

import pytorchlike
from pytorchlike.graph import counters, fusion, tiers


def chain(length: int, function: str):
    """Gradients through a chain: a result at every step."""

    def run(x, factors):
        results = []
        for factor in factors[:length]:
            results.append(x * factor)
            x = jnp.maximum(x * factor, 0) if function == "relu" else jnp.tanh(x * factor)
        return results

    return jax.make_jaxpr(run)(jnp.ones(4), [jnp.ones(4)] * length)


def test_work_of_a_chain_grows_with_its_length() -> None:
    short, long = fusion.repeated_work(chain(8, "relu")), fusion.repeated_work(chain(128, "relu"))
    assert 1 < short < 8 and 10 * short < long
    assert fusion.compiler_options(chain(8, "relu")) == {}
    assert fusion.compiler_options(chain(128, "relu")) == {"xla_disable_hlo_passes": "fusion"}


def test_expensive_operations_end_a_chain() -> None:
    assert fusion.repeated_work(chain(128, "tanh")) < 3


def test_bodies_of_jitted_functions_count_in_their_place() -> None:
    double = jax.jit(lambda x: x + x)
    once = fusion.repeated_work(jax.make_jaxpr(lambda x: double(x) + 1)(1.0))
    assert once == fusion.repeated_work(jax.make_jaxpr(lambda x: (x + x) + 1)(1.0))
    several = jax.make_jaxpr(lambda x: (double(double(x)), double(x)))(1.0)
    assert fusion.repeated_work(several) == pytest.approx((3 + 1) / 3)  # two calls of one body are two computations


@tiers.forced(tiers.FULL)
def test_long_chain_of_products_compiles_in_time_and_is_right() -> None:
    """Without fusion's copies this takes two seconds; with them, minutes."""

    def run(module):
        x = module.linspace(0.5, 1.5, 8).requires_grad_()
        factors = [module.full((8,), 1 + k / 1000).requires_grad_() for k in range(120)]
        y = x
        for factor in factors:
            y = (y * factor).relu()
        y.sum().backward()
        return [x.grad.tolist(), *[f.grad.tolist() for f in factors]]

    counters.reset_counters()
    start = time.process_time()
    ours = run(pytorchlike)
    assert time.process_time() - start < 60
    assert sum(program.compile_seconds > 0 for program in counters.compilations) >= 1
    torch.testing.assert_close(torch.tensor(ours), torch.tensor(run(torch)))
