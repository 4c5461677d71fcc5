"""Programs whose calls are replaced by what they call compute the same."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun

from pytorchlike.graph.jaxprs import called_by, inlined, program_of


@jax.custom_jvp
def doubled(x):
    return x + x


@jax.custom_vjp
def squared(x):
    return x * x


doubled.defjvps(lambda t, _, x: 2 * t)
squared.defvjp(lambda x: (x * x, x), lambda x, g: (2 * x * g,))
table = jnp.arange(4.0)
halved = jax.jit(lambda x: x / 2 + table)


def run(x, y):
    return halved(doubled(halved(x))), jax.checkpoint(lambda a: jnp.sin(a) + table)(squared(x)), y, 3.0


def test_calls_are_replaced_by_their_bodies() -> None:
    x, y = jnp.arange(4.0), jnp.ones(2)
    program = inlined(jax.make_jaxpr(run)(x, y))
    assert all(called_by(equation) is None for equation in program.jaxpr.eqns)
    results = [v for equation in program.jaxpr.eqns for v in equation.outvars]
    assert len(set(results)) == len(results)  # though `halved` is there twice
    for mine, expected in zip(jaxpr_as_fun(program)(x, y), run(x, y), strict=True):
        np.testing.assert_array_equal(mine, expected)


def test_equations_as_a_function() -> None:
    program = jax.make_jaxpr(lambda x: (x + 1) * x)(2.0)
    add, multiply = program.jaxpr.eqns
    (sum_,) = program_of([add], add.invars[:1], add.outvars)(2.0)
    (product,) = program_of([multiply], multiply.invars, multiply.outvars)(sum_, 2.0)
    assert (sum_, product) == (3.0, 6.0)
