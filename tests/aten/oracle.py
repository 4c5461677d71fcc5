"""Runs a `Sample` on torch and on pytorchlike and compares: values, dtype, strides, gradients, second gradients, and the other forms."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import torch as real_torch

import pytorchlike as ours

from .batch import Outcome, attempt
from .sample import Sample, T

TOLERANCE = {
    "float32": (2e-5, 2e-6), "float64": (1e-9, 1e-10), "float16": (2e-3, 2e-3), "bfloat16": (2e-2, 2e-2), "complex64": (2e-5, 2e-6),
    "complex128": (1e-9, 1e-10),
}  # fmt: skip
UNFIT, WITH_GRADIENT = "out of a dtype that cannot hold it", "out and a gradient"
WIDER = {"bool": "int64", "int32": "int64", "int64": "float32", "bfloat16": "float32", "float32": "float64", "complex64": "complex128"}
WIDE = {"float32": "float64", "complex64": "complex128"}


def find(module: Any, path: str) -> Any:
    """The object at a dotted path below a module."""
    return functools.reduce(getattr, path.split("."), module)


def _array(spec: T, dtype: str, rng: np.random.Generator) -> np.ndarray:
    name = spec.dtype or dtype
    if spec.values is not None:
        wide = np.array(spec.values)
    elif name == "bool":
        wide = rng.integers(0, 2, spec.shape).astype(bool)
    elif name.startswith(("int", "uint")):
        low = max(int(spec.low), 0) if name.startswith("uint") else int(spec.low)
        wide = rng.integers(low, max(int(spec.high), low + 1), spec.shape)
    elif name.startswith("complex"):
        wide = rng.uniform(spec.low, spec.high, spec.shape) + 1j * rng.uniform(spec.low, spec.high, spec.shape)
    else:
        wide = rng.uniform(spec.low, spec.high, spec.shape)
    return np.asarray(wide)


class Built:
    """A sample's arguments for one of the two libraries."""

    def __init__(self, module: Any, sample: Sample, dtype: str, with_grad: bool, seed: int = 0) -> None:
        self.module = module
        self.dtype = dtype
        self.with_grad = with_grad
        self.rng = np.random.default_rng(seed)
        self.leaves: list[Any] = []
        self.args = [self._build(a) for a in sample.args]
        self.kwargs = {k: getattr(module, v) if k == "dtype" and isinstance(v, str) else self._build(v) for k, v in sample.kwargs.items()}

    def _build(self, spec: Any) -> Any:
        if isinstance(spec, T):
            return self._tensor(spec)
        if isinstance(spec, (list, tuple)):
            return type(spec)(self._build(s) for s in spec)
        if isinstance(spec, str) and spec.startswith("torch."):
            return getattr(self.module, spec.removeprefix("torch."))
        return spec

    def _tensor(self, spec: T) -> Any:
        array = _array(spec, self.dtype, self.rng)
        name = spec.dtype or self.dtype
        if spec.dtype is not None and self.with_grad:
            name = WIDE.get(name, name)
        kind = getattr(self.module, name)
        if name == "bfloat16":
            tensor = self.module.from_numpy(np.array(array, np.float64)).to(kind)
        else:
            tensor = self.module.from_numpy(_as_numpy(array, name))
        if spec.transposed:
            tensor = tensor.transpose(-1, -2).contiguous().transpose(-1, -2)
        floating = kind.is_floating_point or kind.is_complex
        if self.with_grad and floating and spec.grad is not False:
            tensor = tensor.detach().requires_grad_()
            self.leaves.append(tensor)
        return tensor

    def tensors(self) -> list[Any]:
        """All tensors among the arguments."""
        return [a for a in flatten([self.args, list(self.kwargs.values())]) if hasattr(a, "detach")]


def _as_numpy(array: np.ndarray, name: str) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # values beyond a dtype's range are meant
        return np.array(array).astype(getattr(np, name + "_" if name == "bool" else name))


def flatten(result: Any) -> list[Any]:
    """The leaves of nested tuples and lists."""
    if isinstance(result, (tuple, list)):
        return [leaf for element in result for leaf in flatten(element)]
    if isinstance(result, dict):
        return flatten(list(result.values()))
    return [result]


def fields(result: Any) -> tuple[str, ...]:
    """The names of a named tuple's elements; none of anything else."""
    return tuple(getattr(type(result), "_fields", None) or getattr(type(result), "__match_args__", ()))


def to_numpy(tensor: Any) -> np.ndarray:
    """A tensor's elements (bfloat16 as float32)."""
    tensor = tensor.detach()
    if str(tensor.dtype).endswith("bfloat16"):
        tensor = tensor.float()
    if isinstance(tensor, real_torch.Tensor) and tensor._is_zerotensor():
        tensor = real_torch.zeros_like(tensor)
    return np.array(tensor.resolve_conj().resolve_neg().numpy())


def compare(mine: Any, theirs: Any, tolerance: tuple[float, float] | None, what: str, strides: bool = False) -> None:
    """Assert that two results agree in structure, dtype, shape, values and (if asked) strides."""
    mine, theirs = flatten(mine), flatten(theirs)
    assert len(mine) == len(theirs), f"{what}: {len(mine)} results, torch has {len(theirs)}"
    for m, t in zip(mine, theirs, strict=True):
        if not isinstance(t, real_torch.Tensor):
            assert str(m) == str(t) or m == t, f"{what}: {m!r}, torch {t!r}"
            continue
        assert isinstance(m, ours.Tensor), f"{what}: not a tensor: {m!r}"
        assert str(m.dtype) == str(t.dtype), f"{what}: {m.dtype}, torch {t.dtype}"
        assert tuple(m.shape) == tuple(t.shape), f"{what}: shape {tuple(m.shape)}, torch {tuple(t.shape)}"
        name = str(t.dtype).removeprefix("torch.")
        rtol, atol = tolerance or TOLERANCE.get(name, (0, 0))
        np.testing.assert_allclose(to_numpy(m), to_numpy(t), rtol=rtol, atol=atol, equal_nan=True, err_msg=what)
        if strides:
            steps = [(own, other) for own, other, n in zip(m.stride(), t.stride(), t.shape) if n > 1 and t.numel()]
            assert all(own == other for own, other in steps), f"{what}: strides {m.stride()}, torch {t.stride()}"


def has_no_derivative(outcome: Outcome) -> bool:
    """Whether torch has no derivative there; ours may have one."""
    return isinstance(outcome.error, RuntimeError) and "derivative for" in str(outcome.error)


def same_error(mine: Exception, theirs: Exception) -> bool:
    """Whether our error is of torch's type (``torch._C`` has some of its own)."""
    return isinstance(mine, type(theirs)) or type(mine).__name__ == type(theirs).__name__


def compare_outcomes(mine: Outcome, theirs: Outcome, tolerance: tuple[float, float] | None, what: str, strides: bool = False) -> None:
    """Assert that both gave equal results, or that both raised an error of the same type."""
    if theirs.error is not None:
        assert mine.error is not None, f"{what}: torch raises {theirs.error!r}"
        assert same_error(mine.error, theirs.error) or isinstance(mine.error, NotImplementedError), f"{what}: {mine.error!r}, torch {theirs.error!r}"
        return
    compare(mine.get(), theirs.value, tolerance, what, strides)


def call(module: Any, sample: Sample, built: Built) -> Any:
    """Call the sample's function."""
    return find(module, sample.path)(*built.args, **built.kwargs)


def differentiable(results: Any) -> list[Any]:
    """The results that carry a gradient, each with its position among all."""
    return [(k, r) for k, r in enumerate(flatten(results)) if hasattr(r, "requires_grad") and r.requires_grad]


def pull_back(module: Any, results: list[tuple[int, Any]], leaves: list[Any], seed: int, create_graph: bool = False) -> Any:
    """The leaves' gradients for a fixed random gradient of each result, which depends on the result's position only."""
    found = []
    for position, r in results:
        rng = np.random.default_rng((seed, position))
        array = rng.uniform(0.5, 1.5, tuple(r.shape))
        if r.is_complex():
            array = array + 1j * rng.uniform(-1, 1, tuple(r.shape))
        found.append(module.from_numpy(np.array(array)).to(r.dtype))
    return module.autograd.grad([r for _, r in results], leaves, found, create_graph=create_graph, allow_unused=True, materialize_grads=True)


# ---------------------------------------------------------------------------------------------------------------- jobs
def run_forward(module: Any, sample: Sample, dtype: str) -> Any:
    """The function's results, and their names."""
    results = call(module, sample, Built(module, sample, dtype, False))
    return results, fields(results)


def run_gradients(module: Any, sample: Sample, dtype: str) -> Any:
    """(first gradients, outcome of the second ones), each None where there is nothing to differentiate; in double precision."""
    built = Built(module, sample, WIDE.get(dtype, dtype), True)
    results = differentiable(call(module, sample, built))
    if not results or not built.leaves:
        return None, None
    first = pull_back(module, results, built.leaves, 1, sample.gradgrad)
    again = differentiable(first) if sample.gradgrad else []
    if not again:
        return first, None
    try:
        return first, Outcome(pull_back(module, again, built.leaves, 2))
    except NotImplementedError as error:
        return first, Outcome(error=error)


def run_forms(module: Any, sample: Sample, dtype: str) -> dict[str, Outcome]:
    """The outcomes of the method and of the in-place method, of those that torch has."""
    name, found = sample.path, {}

    def method(attribute: str) -> Any:
        built = Built(module, sample, dtype, False)
        return built.args[0], getattr(built.args[0], attribute)(*built.args[1:], **built.kwargs)

    def inplace() -> Any:
        target, result = method(name + "_")
        assert result is target, "an in-place method returns its tensor"
        return target

    if hasattr(real_torch.Tensor, name):
        found[f"Tensor.{name}"] = attempt(lambda: method(name)[1])
    if hasattr(real_torch.Tensor, name + "_"):
        found[f"Tensor.{name}_"] = attempt(inplace)
    return found


def run_out(module: Any, sample: Sample, dtype: str) -> dict[str, Outcome]:
    """The outcomes of calls with ``out=``: an empty one, one of the right shape, one that cannot hold the result, one with a gradient."""
    results = flatten(run_forward(module, sample, dtype)[0])
    several = len(results) > 1

    def into(make: Any, with_grad: bool = False) -> Any:
        built = Built(module, sample, dtype, with_grad)
        targets = [make(r) for r in results]
        result = find(module, sample.path)(*built.args, **built.kwargs, out=tuple(targets) if several else targets[0])
        assert all(r is t for r, t in zip(flatten(result), targets, strict=True)), "the result is the tensor that was passed"
        return [*targets, *fields(result)]

    return {
        "empty out": attempt(into, lambda r: module.empty(0, dtype=r.dtype)),
        "out": attempt(into, lambda r: module.ones(tuple(r.shape), dtype=r.dtype)),
        "strided out": attempt(into, lambda r: module.ones((*r.shape, 2), dtype=r.dtype)[..., 0]),
        "wider out": attempt(into, lambda r: module.ones(tuple(r.shape), dtype=getattr(module, WIDER.get(str(r.dtype).partition(".")[2], "complex128")))),
        UNFIT: attempt(into, lambda r: module.ones(tuple(r.shape), dtype=module.bool)),
        WITH_GRADIENT: attempt(into, lambda r: module.ones(tuple(r.shape), dtype=r.dtype), True),
    }
