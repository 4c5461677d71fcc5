"""Every sample of every family, against torch: what the operator declarations promise, checked generically."""

from __future__ import annotations

import importlib
import pkgutil

import pytest
import torch as real_torch

import pytorchlike as ours

from . import oracle
from .oracle import Built
from .sample import Sample

CASES = []
for _module in pkgutil.iter_modules(__import__("tests.aten", fromlist=["aten"]).__path__):
    if _module.name.startswith("samples_"):
        for _k, _sample in enumerate(importlib.import_module(f"tests.aten.{_module.name}").SAMPLES):
            for _dtype in _sample.dtypes:
                CASES.append(pytest.param(_sample, _dtype, id=f"{_module.name.removeprefix('samples_')}-{_sample.path}-{_k}-{_dtype}"))


@pytest.mark.parametrize(("sample", "dtype"), CASES)
def test_forward(sample: Sample, dtype: str) -> None:
    """Values, dtype, shape and strides."""
    theirs = oracle.call(real_torch, sample, Built(real_torch, sample, dtype, False))
    mine = oracle.call(ours, sample, Built(ours, sample, dtype, False))
    oracle.compare(mine, theirs, sample.tolerance, sample.path)
    for m, t in zip(oracle.flatten(mine), oracle.flatten(theirs), strict=True):
        if isinstance(t, real_torch.Tensor) and t.numel() > 1:
            assert m.stride() == t.stride(), f"{sample.path}: strides {m.stride()}, torch {t.stride()}"


GRAD_CASES = [c for c in CASES if c.values[0].grad and c.values[1] in ("float32", "float64", "complex64", "complex128")]


@pytest.mark.parametrize(("sample", "dtype"), GRAD_CASES)
def test_gradients(sample: Sample, dtype: str) -> None:
    """First gradients, and (where the sample asks for them) gradients of gradients, in double precision."""
    wide = {"float32": "float64", "complex64": "complex128"}.get(dtype, dtype)
    found = []
    for module in (real_torch, ours):
        built = Built(module, sample, wide, True)
        results = oracle.differentiable(oracle.call(module, sample, built))
        if not results or not built.leaves:
            found.append(None)
            continue
        first = module.autograd.grad(
            results, built.leaves, oracle.weights(module, results, 1), create_graph=sample.gradgrad, allow_unused=True, materialize_grads=True
        )
        second = None
        again = oracle.differentiable(first) if sample.gradgrad else []
        if again:
            second = module.autograd.grad(again, built.leaves, oracle.weights(module, again, 2), allow_unused=True, materialize_grads=True)
        found.append((first, second))
    theirs, mine = found
    if theirs is None:
        assert mine is None, f"{sample.path}: a gradient where torch has none"
        return
    assert mine is not None, f"{sample.path}: no gradient"
    oracle.compare(mine[0], theirs[0], sample.tolerance, f"{sample.path}: gradient")
    if theirs[1] is not None:
        assert mine[1] is not None or all(not g.any() for g in theirs[1]), f"{sample.path}: no second gradient"
        if mine[1] is not None:
            oracle.compare(mine[1], theirs[1], sample.tolerance, f"{sample.path}: second gradient")


FORM_CASES = [c for c in CASES if c.values[1] == c.values[0].dtypes[0] and "." not in c.values[0].path]


@pytest.mark.parametrize(("sample", "dtype"), FORM_CASES)
def test_forms(sample: Sample, dtype: str, executor: str) -> None:
    """The method, the in-place method and ``out=`` give what the function gives, wherever torch has them."""
    first = next(iter(Built(real_torch, sample, dtype, False).args), None)
    name = sample.path
    if not isinstance(first, real_torch.Tensor):
        pytest.skip("no tensor in front: there is no method")
    if hasattr(real_torch.Tensor, name):
        _compare_call(sample, dtype, lambda module, built: getattr(built.args[0], name)(*built.args[1:], **built.kwargs), f"Tensor.{name}")
    if hasattr(real_torch.Tensor, name + "_"):

        def inplace(module, built):
            target = built.args[0]
            result = getattr(target, name + "_")(*built.args[1:], **built.kwargs)
            assert result is target
            return target

        _compare_call(sample, dtype, inplace, f"Tensor.{name}_")


def _compare_call(sample: Sample, dtype: str, call, what: str) -> None:
    """The same call on both, which may fail in torch: then it has to fail here, with the same type of error."""
    try:
        theirs = call(real_torch, Built(real_torch, sample, dtype, False))
    except Exception as error:
        with pytest.raises((type(error), NotImplementedError)):
            call(ours, Built(ours, sample, dtype, False))
        return
    oracle.compare(call(ours, Built(ours, sample, dtype, False)), theirs, sample.tolerance, what)
