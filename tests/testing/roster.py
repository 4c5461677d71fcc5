"""The operators' samples, each differentiated in four ways, many of them in one program.

The tape's gradients of a batch are recorded and flushed together.  Those of JAX, with and without the rules, and the function's values at two
neighbouring points are computed by one ``jax.jit`` function for the whole batch, since compiling costs more than anything else here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import pytorchlike as ours
from pytorchlike.autograd.jacobians import as_tuple, elements, is_float, to_tensor
from pytorchlike.testing.gradients import by_jax, by_tape, loss_on_arrays, weights_for
from tests.aten import oracle
from tests.aten.batch import Outcome
from tests.aten.sample import Sample

#: Samples in one program.
CHUNK = 40
_EPS = 1e-6


class Differentiated:
    """A function and its tensors in double precision, and what the four ways say of its gradients.

    Attributes:
        operators: the declared operators whose nodes stand on the tape behind the results.
        gradients: way ("tape", "rules", "jax") -> a gradient for each leaf, or the error.
        slope: the derivative along a random direction by finite differences; ``direction`` is a part for each leaf.
    """

    def __init__(self, function: Callable, leaves: list[Any]) -> None:
        self.function = function
        self.leaves = leaves
        self.positions = range(len(leaves))
        results = [r for r in as_tuple(function(*leaves)) if is_float(r)]
        self.weights = weights_for(results)
        self.operators = set(_operators(results))
        self.gradients: dict[str, Outcome] = {"tape": _attempt(by_tape, function, leaves, self.positions, self.weights)}
        random = np.random.default_rng(7)
        self.direction = [_random_like(leaf, random) for leaf in leaves]
        self.slope = np.nan

    @classmethod
    def of_sample(cls, sample: Sample, dtype: str) -> Differentiated:
        """The sample's function of those of its tensors that take a gradient; the others are copied for each call, which may write to them."""
        built = oracle.Built(ours, sample, oracle.WIDE.get(dtype, dtype), True)
        path, args, kwargs = sample.path, built.args, built.kwargs
        places = {id(leaf): k for k, leaf in enumerate(built.leaves)}

        def function(*leaves: Any) -> Any:
            def filled(x: Any) -> Any:
                if isinstance(x, (list, tuple)):
                    return type(x)(filled(y) for y in x)
                if id(x) in places:
                    return leaves[places[id(x)]]
                return to_tensor(elements(x), x) if isinstance(x, ours.Tensor) else x

            ours.manual_seed(0)
            results = oracle.find(ours, path)(*filled(args), **{k: filled(v) for k, v in kwargs.items()})
            return tuple(oracle.flatten(results))

        return cls(function, built.leaves)

    def on_arrays(self, values: list) -> dict[str, Any]:
        """What is computed inside of the batch's ``jax.jit``; errors of tracing are kept."""
        found: dict[str, Any] = {}
        for way in ("rules", "jax"):
            outcome = _attempt(by_jax, self.function, self.leaves, self.positions, self.weights, way == "rules", values)
            self.gradients[way] = outcome
            if outcome.error is None:
                found[way] = outcome.value
        if found:
            loss = loss_on_arrays(self.function, self.leaves, self.positions, self.weights)
            ends = [loss(*[v + sign * _EPS * d for v, d in zip(values, self.direction, strict=True)]) for sign in (-1, 1)]
            found["slope"] = (ends[1] - ends[0]) / (2 * _EPS)
        return found

    def projected(self, way: str) -> float:
        """The derivative along the direction that the gradients of a way give."""
        return float(sum(np.real(np.sum(np.conj(g) * d)) for g, d in zip(self.gradients[way].get(), self.direction, strict=True)))


def finish(entries: list[Differentiated]) -> None:
    """Compute everything, `CHUNK` functions in one program."""
    for start in range(0, len(entries), CHUNK):
        _finish(entries[start : start + CHUNK])


def _finish(entries: list[Differentiated]) -> None:
    with jax.enable_x64(True):
        values = [[jnp.asarray(elements(leaf)) for leaf in one.leaves] for one in entries]
        computed = jax.jit(lambda values: [one.on_arrays(v) for one, v in zip(entries, values, strict=True)])(values)
    for one, found in zip(entries, computed, strict=True):
        for way in ("rules", "jax"):
            if way in found:
                one.gradients[way] = Outcome([np.asarray(g) for g in found[way]])
        one.slope = float(found.get("slope", np.nan))
        tape = one.gradients["tape"]
        if tape.error is None:
            one.gradients["tape"] = _attempt(lambda tape=tape: [np.array(elements(g)) for g in tape.value])


def _attempt(job: Callable, *arguments: Any) -> Outcome:
    try:
        return Outcome(job(*arguments))
    except Exception as error:
        return Outcome(error=error.with_traceback(None))


def _operators(results: list) -> Iterator[str]:
    pending, seen = [r.grad_fn for r in results if r.requires_grad], set()
    while pending:
        node = pending.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        described = getattr(getattr(node, "backward", None), "described", None)
        if described is not None:
            yield described[0].operator.qualified_name
        pending += [following for following, _ in node.next_functions]


def _random_like(leaf: Any, random: np.random.Generator) -> np.ndarray:
    shape = tuple(leaf.shape)
    real = random.uniform(-1, 1, shape)
    return real + 1j * random.uniform(-1, 1, shape) if leaf.is_complex() else real
