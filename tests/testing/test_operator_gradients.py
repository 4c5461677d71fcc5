"""Every rule of every operator: the tape, JAX with the rules, JAX's own derivative and finite differences say the same, but where it is listed."""

from __future__ import annotations

import functools
import importlib
import itertools
import pkgutil
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pytorchlike as ours
from pytorchlike.dispatch.registry import OPERATORS, Operator
from pytorchlike.nn.utils.stateless import functional_call
from tests.aten.sample import Sample, T

from .roster import Differentiated, finish

RULED = {o.qualified_name for o in OPERATORS.values() if isinstance(o, Operator) and o.rules}
FAMILIES = [m.name.removeprefix("samples_") for m in pkgutil.iter_modules(importlib.import_module("tests.aten").__path__) if m.name.startswith("samples_")]

#: (what is something else there: JAX's own derivative, finite differences; why; paths of samples)
_DIFFERENCES: list[tuple[str, str, tuple[str, ...]]] = [
    ("jax differences", "given numbers on the bound; JAX halves the gradient there", ("clamp", "clamp_min", "clamp_max")),
    ("jax differences", "given numbers with ties", ("min", "aminmax", "nanmedian")),
    ("jax differences", "given numbers with NaN", ("nanmean", "median")),
    ("jax differences", "given numbers on a jump", ("round", "frexp")),
    ("jax", "a slice of zeros: JAX divides by its norm", ("renorm",)),
    ("jax differences", "torch's gradient takes the log-probabilities for normalised", ("nn.functional.ctc_loss", "ctc_loss")),
    ("jax differences", "one triangle is read, the gradient is symmetric", ("cholesky", "linalg.cholesky", "linalg.cholesky_ex", "linalg.eigvalsh")),
    ("jax differences", "one triangle is read, torch's gradient is not cut to it", ("cholesky_solve", "cholesky_inverse")),
    ("jax", "JAX has no derivative of it", ("linalg.householder_product", "orgqr", "ormqr")),
    ("jax differences", "JAX has no derivative of it, and it is a step", ("nextafter",)),
    ("rules jax differences", "its statistics are detached, as in torch", ("native_layer_norm", "native_batch_norm")),
    ("rules jax differences", "its draws depend on which elements are negative, which nobody knows inside of JAX", ("nn.functional.rrelu",)),
]  # fmt: skip
#: The same for paths of which only some samples lie on such points; they are left out where all samples run.
_MORE_DIFFERENCES: list[tuple[str, str, tuple[str, ...]]] = [
    ("differences", "half precision", ("mul",)),
    ("differences", "an infinite or huge number among the results", ("masked_fill", "mean", "var", "logsumexp", "nn.functional.cross_entropy")),
    ("jax differences", "padding and frequencies count in the gradient only", ("nn.functional.embedding",)),
    ("jax differences", "given numbers on a branch cut or at 0", ("angle", "sgn")),
    ("jax differences", "torch's gradient takes the magnitude for positive", ("polar",)),
    ("jax", "nothing is left to divide by", ("var",)),
]  # fmt: skip


def _by_path(*tables: list[tuple[str, str, tuple[str, ...]]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for ways, _, paths in itertools.chain(*tables):
        for path in paths:
            found.setdefault(path, set()).update(ways.split())
    return found


DIFFERS, DIFFERS_SOMEWHERE = _by_path(_DIFFERENCES), _by_path(_DIFFERENCES, _MORE_DIFFERENCES)


def _square(*shape: int) -> Any:
    return ours.tensor(np.random.default_rng(5).uniform(-1, 1, shape))


def _layer(kind: str) -> tuple[Callable, list[Any]]:
    module = getattr(ours.nn, kind)(3, 2).double()

    def function(x: Any, weight: Any) -> Any:
        return functional_call(module, {"weight_ih_l0": weight}, (x,))[0]

    return function, [_square(4, 2, 3), module.weight_ih_l0.detach()]


def _written(name: str) -> tuple[Callable, list[Any]]:
    def function(x: Any, y: Any) -> Any:
        base = x * 2
        {"copy_": lambda: base[1].copy_(y), "fill_": lambda: base[1].fill_(y.sum()), "fill_number": lambda: base[1].fill_(2.0), "zero_": base[1].zero_}[name]()
        return base * y

    return function, [_square(3, 4), _square(4)]


#: Operators that no sample with a gradient leads to: a function and its tensors, double precision.
EXTRA: dict[str, Callable[[], tuple[Callable, list[Any]]]] = {
    "eigh": lambda: (lambda x: ours.linalg.eigh(x + x.mT)[0:2], [_square(3, 3)]),
    "eig": lambda: (lambda x: [r.abs() for r in ours.linalg.eig(x)], [_square(3, 3)]),
    "svd.linalg": lambda: (lambda x: ours.linalg.svd(x, full_matrices=False), [_square(4, 3)]),
    "svd": lambda: (lambda x: ours.svd(x)[1], [_square(4, 3)]),
    "pinv": lambda: (lambda x: ours.linalg.pinv(x, 1e-9), [_square(4, 3)]),
    "pinv.rcond_tensor": lambda: (lambda x: ours.linalg.pinv(x, ours.tensor(1e-9, dtype=ours.float64)), [_square(4, 3)]),
    "pinv.atol_rtol_tensor": lambda: (lambda x: ours.linalg.pinv(x, rtol=ours.tensor([1e-9, 1e-8], dtype=ours.float64)), [_square(2, 4, 3)]),
    "index.Tensor": lambda: (lambda x: x[ours.tensor([2, 0, 2]), ours.tensor([1, 1, 3])], [_square(3, 4)]),
    "std_mean": lambda: (lambda x: ours.std_mean(x), [_square(3, 4)]),
    "var_mean.correction": lambda: (lambda x: ours.var_mean(x, 0, correction=1), [_square(3, 4)]),
    "copy": lambda: _written("copy_"),
    "fill.Tensor": lambda: _written("fill_"),
    "zero": lambda: _written("zero_"),
    "fill": lambda: _written("fill_number"),
    "conv2d.padding": lambda: (lambda x, w: ours.nn.functional.conv2d(x, w, padding="same"), [_square(1, 2, 3, 3), _square(2, 2, 2, 2)]),
    "div.Scalar_mode": lambda: (lambda x: ours.div(x, 0.3, rounding_mode="floor") * x, [_square(3, 4)]),
    "lerp.Tensor": lambda: (ours.lerp, [_square(3, 4), _square(4), _square(3, 1)]),
    "masked_fill.Tensor": lambda: (lambda x, y: x.masked_fill(x > 0, y.sum()), [_square(3, 4), _square(4)]),
    "max_pool1d_with_indices": lambda: (lambda x: ours.nn.functional.max_pool1d(x, 2, return_indices=True)[0], [_square(1, 2, 6)]),
    "max_pool3d_with_indices": lambda: (lambda x: ours.nn.functional.max_pool3d(x, 2, return_indices=True)[0], [_square(1, 1, 4, 2, 2)]),
    "max_unpool3d.sized": lambda: (lambda x: ours.nn.functional.max_unpool3d(x, ours.tensor([[[[[3]]]]]), 2), [_square(1, 1, 1, 1, 1)]),
    "median.dim": lambda: (lambda x: x.median(1)[0], [_square(3, 4)]),
    "norm.linalg_ord_str": lambda: (lambda x: ours.linalg.norm(x, "nuc"), [_square(3, 4)]),
    "pow.Tensor_Tensor": lambda: (lambda x, y: (x * x + 0.5) ** y, [_square(3, 4), _square(4)]),
    "_lstm_layer": lambda: _layer("LSTM"),
    "_gru_layer": lambda: _layer("GRU"),
    "_rnn_layer": lambda: _layer("RNN"),
}


def _samples(family: str) -> list[tuple[str, Sample, str]]:
    found = []
    for k, sample in enumerate(importlib.import_module(f"tests.aten.samples_{family}").SAMPLES):
        dtype = next((d for kinds in (("float64", "float32"), ("complex128", "complex64")) for d in sample.dtypes if d in kinds), None)
        if sample.grad and dtype is not None:
            found.append((f"{sample.path}-{k}", sample, dtype))
    return found


def _is_smooth(sample: Sample) -> bool:
    """Whether its numbers are random: given ones are there for ties, edges and NaN."""
    return not any(isinstance(a, T) and a.values is not None and a.dtype is None for a in (*sample.args, *sample.kwargs.values()))


def _built(sample: Sample, dtype: str) -> Differentiated | None:
    """None for a sample of an error, and where nothing is differentiable."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = Differentiated.of_sample(sample, dtype)
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
            return None
    return found if found.leaves and found.operators else None


@functools.cache
def _of_family(family: str) -> dict[str, Differentiated]:
    """Samples that lead to all the family's rules: smooth ones first, each for a rule that none before it led to."""
    found: dict[str, Differentiated] = {}
    covered: set[str] = set()
    fruitless: Counter[str] = Counter()
    for name, sample, dtype in sorted(_samples(family), key=lambda case: not _is_smooth(case[1])):
        if fruitless[sample.path] < 3:  # looking at every sample would take too long
            one = _built(sample, dtype)
            if one is not None and one.operators & RULED - covered:
                found[name] = one
                covered |= one.operators
            elif one is not None:
                fruitless[sample.path] += 1
    finish(list(found.values()))
    return found


def _disagreements(name: str, one: Differentiated, differs: dict[str, set[str]] = DIFFERS) -> list[str]:
    leave_out = differs.get(name.rpartition("-")[0], set())
    asked = [way for way in ("tape", "rules", "jax") if way not in leave_out]
    for way in asked:
        if one.gradients[way].error is not None:
            return [f"{name}: {way}: {one.gradients[way].error!r}"]
    found = []
    for way, other in itertools.pairwise(asked):
        a, b = one.gradients[way].value, one.gradients[other].value
        if not _near(a, b):
            found.append(f"{name}: {way} and {other} differ by {_distance(a, b):.1e}")
    along = one.projected("tape")
    if "differences" not in leave_out and not np.isclose(along, one.slope, 1e-5, 1e-6, equal_nan=True):
        found.append(f"{name}: the tape says {along:.8g} along a direction, finite differences {one.slope:.8g}")
    return found


def _near(a: list[np.ndarray], b: list[np.ndarray]) -> bool:
    return all(np.allclose(x, y, 1e-8, 1e-9 * (1 + np.abs(y[np.isfinite(y)]).max(initial=0)), equal_nan=True) for x, y in zip(a, b, strict=True))


def _distance(a: list[np.ndarray], b: list[np.ndarray]) -> float:
    return max(float(np.abs(x - y).max(initial=0)) for x, y in zip(a, b, strict=True))


@functools.cache
def _extra() -> dict[str, Differentiated]:
    found = {}
    for name, make in EXTRA.items():
        function, leaves = make()
        found[name] = Differentiated(function, [leaf.requires_grad_() for leaf in leaves])
    finish(list(found.values()))
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_rules_agree(family: str) -> None:
    assert [text for name, one in _of_family(family).items() for text in _disagreements(name, one)] == []


def test_rules_without_samples_agree() -> None:
    assert [text for name, one in _extra().items() for text in _disagreements(name, one)] == []


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_all_samples_agree(family: str) -> None:
    built = {name: _built(sample, dtype) for name, sample, dtype in _samples(family) if _is_smooth(sample)}
    found = {name: one for name, one in built.items() if one is not None}
    finish(list(found.values()))
    assert [text for name, one in found.items() for text in _disagreements(name, one, DIFFERS_SOMEWHERE)] == []


#: Operators with rules that are not differentiated here, and why.
NOT_COVERED = {
    **dict.fromkeys((name for name in RULED if name.endswith((".drawn", ".compared", ".shifted", ".scaled"))), "a random draw: the gradient is zero"),
    "_fake_quantize": "a straight-through estimator, not the derivative of what is computed",
    "_lobpcg_eigenpairs": "its function is the identity of what was found before, its derivative that of finding it: tests/aten/test_lobpcg.py",
    "_sparse_softmax.grouped": "its values stand in a sparse tensor",
    "floor_divide": "torch refuses to differentiate it", "geqrf": "torch refuses to differentiate it",
    "ldl_factor": "torch refuses to differentiate it", "ldl_factor_ex": "torch refuses to differentiate it",
}  # fmt: skip


def test_every_rule_is_covered() -> None:
    covered = set().union(*[one.operators for family in FAMILIES for one in _of_family(family).values()], *[one.operators for one in _extra().values()])
    assert sorted(RULED - covered - set(NOT_COVERED)) == []
