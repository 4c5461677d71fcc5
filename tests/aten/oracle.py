"""Runs a `Sample` on torch and on pytorchlike and compares: values, dtype, strides, gradients, second gradients, and the other forms."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch as real_torch

import pytorchlike as ours

from .sample import Sample, T

TOLERANCE = {
    "float32": (2e-5, 2e-6), "float64": (1e-9, 1e-10), "float16": (2e-3, 2e-3), "bfloat16": (2e-2, 2e-2), "complex64": (2e-5, 2e-6),
    "complex128": (1e-9, 1e-10),
}  # fmt: skip


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
        self.kwargs = {k: self._build(v) for k, v in sample.kwargs.items()}

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
        kind = getattr(self.module, spec.dtype or self.dtype)
        wide = array.astype(np.complex128 if np.iscomplexobj(array) else np.float64 if array.dtype.kind == "f" else array.dtype)
        tensor = self.module.from_numpy(np.array(wide)).to(kind).clone()
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


def flatten(result: Any) -> list[Any]:
    """The leaves of nested tuples and lists."""
    if isinstance(result, (tuple, list)):
        return [leaf for element in result for leaf in flatten(element)]
    if isinstance(result, dict):
        return flatten(list(result.values()))
    return [result]


def to_numpy(tensor: Any) -> np.ndarray:
    """A tensor's elements (bfloat16 as float32)."""
    tensor = tensor.detach()
    if str(tensor.dtype).endswith("bfloat16"):
        tensor = tensor.float()
    return np.array(tensor.numpy())


def compare(mine: Any, theirs: Any, tolerance: tuple[float, float] | None, what: str) -> None:
    """Assert that two results agree in structure, dtype, shape and values."""
    mine, theirs = flatten(mine), flatten(theirs)
    assert len(mine) == len(theirs), f"{what}: {len(mine)} results, torch has {len(theirs)}"
    for m, t in zip(mine, theirs, strict=True):
        if not isinstance(t, real_torch.Tensor):
            assert m == t or (m != m and t != t), f"{what}: {m!r}, torch {t!r}"
            continue
        assert isinstance(m, ours.Tensor), f"{what}: not a tensor: {m!r}"
        assert str(m.dtype) == str(t.dtype), f"{what}: {m.dtype}, torch {t.dtype}"
        assert tuple(m.shape) == tuple(t.shape), f"{what}: shape {tuple(m.shape)}, torch {tuple(t.shape)}"
        name = str(t.dtype).removeprefix("torch.")
        rtol, atol = tolerance or TOLERANCE.get(name, (0, 0))
        np.testing.assert_allclose(to_numpy(m), to_numpy(t), rtol=rtol, atol=atol, equal_nan=True, err_msg=what)


def call(module: Any, sample: Sample, built: Built) -> Any:
    """Call the sample's function."""
    return find(module, sample.path)(*built.args, **built.kwargs)


def differentiable(results: Any) -> list[Any]:
    """The results that carry a gradient."""
    return [r for r in flatten(results) if hasattr(r, "requires_grad") and r.requires_grad]


def weights(module: Any, results: list[Any], seed: int) -> list[Any]:
    """A fixed random gradient for each result."""
    rng = np.random.default_rng(seed)
    found = []
    for r in results:
        array = rng.uniform(0.5, 1.5, tuple(r.shape))
        if r.is_complex():
            array = array + 1j * rng.uniform(-1, 1, tuple(r.shape))
        found.append(module.from_numpy(np.array(array)).to(r.dtype))
    return found
