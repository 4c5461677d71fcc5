"""Wrong calls raise what torch raises, and leave the tensors as they were."""

from __future__ import annotations

import importlib
import pkgutil

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours
from tests import aten

from . import errors, oracle
from .batch import attempt
from .oracle import Built
from .sample import Sample

_MODULES = [importlib.import_module(f"tests.aten.{m.name}") for m in pkgutil.iter_modules(aten.__path__) if m.name.startswith("samples_")]
#: The calls that the families' tables name as refused.
REFUSED = [sample for module in _MODULES for sample in getattr(module, "REFUSED", [])]


def _named(samples: list[Sample]) -> list:
    return [pytest.param(s, id=f"{s.path}-{k}") for k, s in enumerate(samples)]


def _check(sample: Sample, call, prepare=lambda built: None, flushed: bool = False) -> None:
    """Compare a call's error with torch's, and see that the arguments are unchanged.

    Args:
        prepare: done with the arguments before the call.
        flushed: whether the error may come later, when numbers are looked at.
    """
    theirs = attempt(call, real_torch, Built(real_torch, sample, "float32", False))
    assert theirs.error is not None, "torch raises nothing: the table is wrong"
    built = Built(ours, sample, "float32", False)
    before = [oracle.to_numpy(t) for t in built.tensors()]
    prepare(built)

    def settled() -> None:
        call(ours, built)
        if flushed:
            ours.graph.flush_all()

    mine = attempt(settled)
    assert mine.error is not None, f"{sample.path}: nothing raised, torch: {theirs.error!r}"
    assert oracle.same_error(mine.error, theirs.error), f"{sample.path}: {mine.error!r}, torch: {theirs.error!r}"
    if errors.has_numbers(sample):
        mine_text, text = str(mine.error), str(theirs.error).partition("\n")[0]
        assert mine_text == text or flushed and mine_text.startswith(text + " ("), f"{sample.path}: {mine.error!r}, torch: {theirs.error!r}"
    for tensor, values in zip(built.tensors(), before, strict=True):
        np.testing.assert_array_equal(oracle.to_numpy(tensor), values)


def _make_pending(built: Built) -> None:
    """Copies that the thread's trace has not computed yet, in place of all tensors."""

    def copied(argument):
        return argument.clone() if isinstance(argument, ours.Tensor) else type(argument)(map(copied, argument)) if isinstance(argument, tuple) else argument

    built.args = [copied(a) for a in built.args]
    built.kwargs = {name: copied(a) for name, a in built.kwargs.items()}


def _plain_call(sample: Sample):
    return lambda module, built: oracle.call(module, sample, built)


@pytest.mark.parametrize("sample", _named([*errors.CALLS, *REFUSED]))
def test_call(sample: Sample) -> None:
    """The operator is refused when it is called: nothing is left to flush."""
    _check(sample, _plain_call(sample))


@pytest.mark.parametrize("sample", _named([*errors.DATA, *errors.SINGULAR]))
def test_data_known(sample: Sample, executor) -> None:
    """Errors that depend on data are raised at the call, where the numbers are there."""
    _check(sample, _plain_call(sample))


@pytest.mark.parametrize("sample", _named(errors.DATA))
def test_data_pending(sample: Sample) -> None:
    """Where the numbers are not known yet, the error is raised when somebody looks at numbers."""
    _check(sample, _plain_call(sample), _make_pending, flushed=True)


@pytest.mark.parametrize("sample", _named(errors.SINGULAR))
def test_singular_pending(sample: Sample) -> None:
    """A matrix that cannot be factorized is found out at once: scripts catch the error and try another one."""
    _check(sample, _plain_call(sample), _make_pending)


@pytest.mark.parametrize("sample", _named(errors.INPLACE))
def test_inplace(sample: Sample) -> None:
    """A refused in-place operator has written nothing."""
    _check(sample, lambda module, built: getattr(built.args[0], sample.path)(*built.args[1:], **built.kwargs))


@pytest.mark.parametrize("module", [real_torch, ours], ids=["torch", "ours"])
def test_out_that_shares_memory_with_what_is_read(module) -> None:
    """Kernels that move elements around refuse it; elementwise ones only where element and target are not the same."""
    x, index, mask = module.arange(6.0), module.arange(6), module.ones(6, dtype=module.bool)
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer to a single memory location"):
        module.gather(x, 0, index, out=x)
    for call in (
        lambda: module.take(x, index, out=x), lambda: module.index_select(x, 0, index, out=x[:3]), lambda: module.cat([x[:2], x[2:]], out=x),
        lambda: module.masked_select(x, mask, out=x), lambda: module.kthvalue(x, 2, out=(x, index)), lambda: module.exp(x[:4], out=x[1:5]),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="unsupported operation"):
            call()
    assert module.exp(x, out=x) is x
