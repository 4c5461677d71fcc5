"""Every sample of every family, against torch: what the operator declarations promise, checked generically."""

from __future__ import annotations

import importlib
import pkgutil

import pytest
import torch as real_torch

import pytorchlike as ours

from . import oracle
from .batch import Outcome, attempt, run_all
from .sample import Sample, T

CASES = []
for _module in pkgutil.iter_modules(__import__("tests.aten", fromlist=["aten"]).__path__):
    if _module.name.startswith("samples_"):
        for _k, _sample in enumerate(importlib.import_module(f"tests.aten.{_module.name}").SAMPLES):
            for _dtype in _sample.dtypes:
                CASES.append(pytest.param(_sample, _dtype, id=f"{_module.name.removeprefix('samples_')}-{_sample.path}-{_k}-{_dtype}"))

JOBS = {"test_forward": oracle.run_forward, "test_gradients": oracle.run_gradients, "test_forms": oracle.run_forms, "test_out": oracle.run_out}


def family_of(item: pytest.Item) -> str:
    """The family a test's sample belongs to."""
    return item.callspec.id.partition("-")[0]  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def batches() -> dict[tuple[str, str], dict[str, Outcome]]:
    """(test function, family) -> what its jobs came to."""
    return {}


@pytest.fixture
def outcome(request: pytest.FixtureRequest, batches: dict) -> Outcome:
    """What this test's job came to, run together with those of the family's other selected tests."""
    function, family = request.node.originalname, family_of(request.node)
    if (function, family) not in batches:
        members = [i for i in request.session.items if i.fspath == request.node.fspath and i.originalname == function and family_of(i) == family]
        batches.clear()  # the families come one after the other
        jobs = [(i.callspec.id, JOBS[function], (i.callspec.params["sample"], i.callspec.params["dtype"])) for i in members]
        batches[function, family] = run_all(jobs)
    return batches[function, family].pop(request.node.callspec.id)


@pytest.mark.parametrize(("sample", "dtype"), CASES)
def test_forward(sample: Sample, dtype: str, outcome: Outcome) -> None:
    """Values, dtype, shape and strides, or the type of error."""
    theirs = attempt(oracle.run_forward, real_torch, sample, dtype)
    oracle.compare_outcomes(outcome, theirs, sample.tolerance, sample.path, strides=sample.strides)


GRAD_CASES = [
    c
    for c in CASES
    if c.values[0].grad and (c.values[1] in ("float64", "complex128") or oracle.WIDE.get(c.values[1], "none") not in (*c.values[0].dtypes, "none"))
]


@pytest.mark.parametrize(("sample", "dtype"), GRAD_CASES)
def test_gradients(sample: Sample, dtype: str, outcome: Outcome) -> None:
    """First gradients, and (where the sample asks for them) gradients of gradients, in double precision."""
    theirs = attempt(oracle.run_gradients, real_torch, sample, dtype)
    if oracle.has_no_derivative(theirs):
        return
    if theirs.error is not None:
        oracle.compare_outcomes(outcome, theirs, sample.tolerance, sample.path)
        return
    first, second = theirs.value
    my_first, my_second = outcome.get()
    if first is None:
        assert my_first is None, f"{sample.path}: a gradient where torch has none"
        return
    assert my_first is not None, f"{sample.path}: no gradient"
    oracle.compare(my_first, first, sample.tolerance, f"{sample.path}: gradient")
    if second is None or oracle.has_no_derivative(second):
        return
    if my_second is None:
        assert all(not g.any() for g in second.get()), f"{sample.path}: no second gradient"
    else:
        oracle.compare_outcomes(my_second, second, sample.tolerance, f"{sample.path}: second gradient")


def _has_forms(sample: Sample) -> bool:
    name = sample.path
    return bool(sample.args) and isinstance(sample.args[0], T) and (hasattr(real_torch.Tensor, name) or hasattr(real_torch.Tensor, name + "_"))


FORM_CASES = [c for c in CASES if c.values[1] == c.values[0].dtypes[0] and _has_forms(c.values[0])]


@pytest.mark.parametrize(("sample", "dtype"), FORM_CASES)
def test_forms(sample: Sample, dtype: str, outcome: Outcome) -> None:
    """The method and the in-place method give what the function gives, or fail as in torch, wherever torch has them."""
    mine = outcome.get()
    for what, theirs in oracle.run_forms(real_torch, sample, dtype).items():
        oracle.compare_outcomes(mine[what], theirs, sample.tolerance, what)


def _first_of_each_path(cases: list) -> list:
    return list({c.values[0].path: c for c in reversed(cases)}.values())[::-1]


def _takes_out(sample: Sample, dtype: str) -> bool:
    text = attempt(lambda: oracle.find(real_torch, sample.path).__doc__ or "").value or ""
    return "out=None" in text or "out:" in text


#: What differs from torch, and why.
OUT_DIFFERS = {
    "fft.fftfreq": "torch leaves the last element of a strided out unwritten",
    "narrow_copy": "torch writes a strided out as if it were contiguous",
    "range": "a bool tensor holds the range; torch has no kernel for it",
}

OUT_CASES = [c for c in _first_of_each_path(CASES) if c.values[0].path not in OUT_DIFFERS and _takes_out(*c.values)]


@pytest.mark.parametrize(("sample", "dtype"), OUT_CASES)
def test_out(sample: Sample, dtype: str, outcome: Outcome) -> None:
    """``out=`` holds the result and is returned; an empty one is resized; the wrong dtype and gradients are refused."""
    theirs = attempt(oracle.run_out, real_torch, sample, dtype).value
    if theirs is None or isinstance(theirs["empty out"].error, TypeError):
        pytest.skip("torch has no out= here")
    mine = outcome.get()
    for what, expected in theirs.items():
        if what == oracle.UNFIT and expected.error is not None:  # torch's type of error differs from kernel to kernel
            assert mine[what].error is not None, f"{sample.path}: {what}: torch raises {expected.error!r}"
        elif what == oracle.WITH_GRADIENT and mine[what].error is not None and expected.error is None:
            assert "automatic differentiation" in str(mine[what].error)  # ours refuses where torch's composed functions drop the gradient
        elif what == "wider out":  # in which dtype torch computes depends on the kernel
            error = mine[what].error
            assert (error is None) == (expected.error is None), f"{sample.path}: {what}: {error!r}, torch {expected.error!r}"
        else:
            oracle.compare_outcomes(mine[what], expected, sample.tolerance, f"{sample.path}: {what}")


@pytest.mark.parametrize(  # each operator is compiled by itself, which takes long
    ("sample", "dtype"), [pytest.param(*c.values, id=c.id, marks=[pytest.mark.slow] if k % 3 else []) for k, c in enumerate(_first_of_each_path(CASES))]
)
def test_immediate(sample: Sample, dtype: str) -> None:
    """The immediate executor gives the same results, forms included."""
    from pytorchlike.graph import executors

    theirs = attempt(oracle.run_forward, real_torch, sample, dtype)
    with executors.immediate():
        mine = attempt(oracle.run_forward, ours, sample, dtype)
        oracle.compare_outcomes(mine, theirs, sample.tolerance, sample.path)
        if _has_forms(sample):
            mine_forms = oracle.run_forms(ours, sample, dtype)
            for what, outcome in oracle.run_forms(real_torch, sample, dtype).items():
                oracle.compare_outcomes(mine_forms[what], outcome, sample.tolerance, what)
