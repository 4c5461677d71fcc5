"""XLA does not compute a long chain anew for each of its results."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import pytorchlike
from pytorchlike.graph import counters, fusion, tiers
from pytorchlike.graph.jaxprs import inlined


def chain(length: int, function: str):
    """Gradients through a chain: a result at every step."""

    def run(x, factors):
        results = []
        for factor in factors[:length]:
            results.append(x * factor)
            x = jnp.maximum(x * factor, 0) if function == "relu" else jnp.tanh(x * factor)
        return results

    return jax.jit(run).trace(jnp.linspace(0.5, 1.5, 4), [jnp.linspace(1.0, 1.1, 4) + k / 1000 for k in range(length)])


def work_of(function, *arguments) -> float:
    return fusion.repeated_work(inlined(jax.make_jaxpr(function)(*arguments)))


def test_work_of_a_chain_grows_with_its_length() -> None:
    short, long = (fusion.repeated_work(inlined(chain(length, "relu").jaxpr)) for length in (8, 128))
    assert 1 < short < 8 and 10 * short < long
    assert fusion.without_repetition(chain(8, "relu")) is None
    assert fusion.without_repetition(chain(128, "relu")) is not None


def test_expensive_operations_end_a_chain() -> None:
    assert fusion.repeated_work(inlined(chain(128, "tanh").jaxpr)) < 3


def test_bodies_of_jitted_functions_count_in_their_place() -> None:
    double = jax.jit(lambda x: x + x)
    assert work_of(lambda x: double(x) + 1, 1.0) == work_of(lambda x: (x + x) + 1, 1.0)
    several = work_of(lambda x: (double(double(x)), double(x)), 1.0)
    assert several == pytest.approx((3 + 1) / 3)  # two calls of one body are two computations


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_transpositions_between_calls_are_right(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every value of a program, at whatever place it is cut, here after each operation: literal and constant results, loops, and layouts that change."""
    monkeypatch.setattr(fusion, "_LONGEST_CHAIN", 1)

    def run(x, unused, tree):
        turned = x.transpose(0, 2, 1, 3)
        flat = turned.reshape(6, 6, 81)
        looped = jax.lax.fori_loop(0, 2, lambda k, a: (a.reshape(6, 9, 6, 9).transpose(0, 2, 3, 1) + x[0, 0, 0, 0]).reshape(6, 6, 81), flat)
        return {"all": [turned, flat, looped, jnp.roll(flat, 1, 0) * tree["scale"]], "one": 1.5, "held": jnp.arange(3), "given": tree["scale"]}

    with jax.enable_x64(True):
        x = jnp.asarray(np.random.default_rng(0).integers(0, 9, (6, 9, 6, 9))).astype(dtype)
        arguments = (x, jnp.ones(2), {"scale": jnp.asarray(2).astype(dtype)})
        traced = jax.jit(run).trace(*arguments)
        cut = fusion.in_calls(inlined(traced.jaxpr), jax.tree.structure(traced.out_info))
        compiled = jax.jit(cut).lower(*arguments).compile()
        assert compiled.as_text().count(" call(") >= 4
        jax.tree.map(np.testing.assert_array_equal, compiled(*arguments), run(*arguments))


@tiers.forced(tiers.FULL)
def test_long_chain_of_products_compiles_in_time_and_is_right() -> None:
    """In calls this takes two seconds; with fusion's copies, minutes."""

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
