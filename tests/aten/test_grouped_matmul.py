"""Products of groups, and of 8-bit floats with scales, beside torch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch as real_torch
from torch.nn import functional as real_functional

import pytorchlike as ours
from pytorchlike.nn import functional

#: Sizes of the operands, and the ends of the groups.
SIZES = {
    "rows": ((16, 32), (3, 32, 16), [4, 8, 16]),
    "an empty group": ((16, 32), (3, 32, 16), [4, 4, 16]),
    "inner": ((16, 32), (32, 24), [8, 16, 32]),
    "columns": ((3, 16, 32), (32, 32), [8, 16, 32]),
    "batches": ((3, 16, 32), (3, 32, 16), None),
}
RECIPES = {"TensorWise": (0.5, 0.25), "RowWise": ([[k / 8] for k in range(1, 17)], [[k / 8 for k in range(1, 17)]])}


def _operands(name: str) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return tuple(random.standard_normal(size).astype(np.float32) for size in SIZES[name][:2])


def _ends(torch, name: str):
    ends = SIZES[name][2]
    return None if ends is None else torch.tensor(ends, dtype=torch.int32)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", SIZES)
def test_grouped_mm(name: str, dtype: str, executor: str) -> None:
    found, expected = [
        f.grouped_mm(*[torch.from_numpy(a).to(getattr(torch, dtype)) for a in _operands(name)], offs=_ends(torch, name))
        for torch, f in ((ours, functional), (real_torch, real_functional))
    ]
    assert str(found.dtype) == str(expected.dtype) and tuple(found.shape) == tuple(expected.shape)
    tolerance = {"float32": 1e-5, "bfloat16": 1e-2, "float16": 1e-3}[dtype]
    np.testing.assert_allclose(found.float().numpy(), expected.float().numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", SIZES)
def test_gradients_are_those_of_the_single_products(name: str) -> None:
    """torch's own kernels refuse the expanded gradient of a sum, so its single products are what is compared with."""
    a, b = _operands(name)
    x, y = ours.tensor(a, requires_grad=True), ours.tensor(b, requires_grad=True)
    functional.grouped_mm(x, y, offs=_ends(ours, name)).sin().sum().backward()
    p, q = real_torch.tensor(a, requires_grad=True), real_torch.tensor(b, requires_grad=True)
    ends = SIZES[name][2] or [0, 0, 0]
    for k, (start, end) in enumerate(zip([0, *ends], ends)):
        left = p[k] if p.dim() == 3 else p[:, start:end] if name == "inner" else p[start:end]
        right = q[k] if q.dim() == 3 else q[start:end] if name == "inner" else q[:, start:end]
        (left @ right).sin().sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), p.grad.numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(y.grad.numpy(), q.grad.numpy(), rtol=1e-4, atol=1e-5)


REFUSED = {
    "no ends": lambda t, f: f.grouped_mm(t.ones(16, 16), t.ones(2, 16, 16)),
    "int64 ends": lambda t, f: f.grouped_mm(t.ones(16, 16), t.ones(2, 16, 16), offs=t.tensor([8, 16])),
    "float64": lambda t, f: f.grouped_mm(t.ones(16, 16).double(), t.ones(2, 16, 16).double(), offs=t.tensor([8, 16]).int()),
    "inner sizes": lambda t, f: f.grouped_mm(t.ones(16, 16), t.ones(2, 32, 16), offs=t.tensor([8, 16]).int()),
    "batch sizes": lambda t, f: f.grouped_mm(t.ones(16, 16), t.ones(2, 16, 16), offs=t.tensor([8, 16, 16]).int()),
    "1-D": lambda t, f: f.grouped_mm(t.ones(16), t.ones(2, 16, 16), offs=t.tensor([8, 16]).int()),
    "bias": lambda t, f: f.grouped_mm(t.ones(2, 16, 16), t.ones(2, 16, 16), bias=t.ones(16)),
    "out_dtype": lambda t, f: f.grouped_mm(t.ones(2, 16, 16), t.ones(2, 16, 16), out_dtype=t.float16),
    "float32 with scales": lambda t, f: t._scaled_mm(t.ones(16, 16), t.ones(16, 16), t.tensor(1.0), t.tensor(1.0)),
    "blocks": lambda t, f: f.scaled_mm(
        t.ones(16, 16).to(t.float8_e4m3fn), t.ones(16, 16).to(t.float8_e4m3fn), t.tensor(1.0), f.ScalingType.BlockWise1x32, t.tensor(1.0), f.ScalingType.TensorWise
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_errors(name: str) -> None:
    with pytest.raises(Exception) as expected:
        REFUSED[name](real_torch, real_functional)
    with pytest.raises(type(expected.value)):
        REFUSED[name](ours, functional)


@pytest.mark.parametrize("out", ["float32", "bfloat16", "float16", "float8_e4m3fn"])
@pytest.mark.parametrize("recipe", RECIPES)
def test_scaled_mm(recipe: str, out: str, executor: str) -> None:
    random = np.random.default_rng(0)
    a, b = [random.standard_normal((16, 32)).astype(np.float32) for _ in range(2)]
    results = []
    for torch, f in ((ours, functional), (real_torch, real_functional)):
        x, y = torch.from_numpy(a).to(torch.float8_e4m3fn), torch.from_numpy(b).to(torch.float8_e4m3fn).t()
        scales = [torch.tensor(s, dtype=torch.float32) for s in RECIPES[recipe]]
        kind = getattr(f.ScalingType, recipe)
        found = f.scaled_mm(x, y, scales[0], kind, scales[1], kind, bias=torch.ones(16, dtype=torch.bfloat16), output_dtype=getattr(torch, out))
        assert str(found.dtype) == f"torch.{out}"
        results.append(found.float().numpy())
    np.testing.assert_allclose(*results, rtol=1e-6 if out == "float32" else 0, atol=1e-6 if out == "float32" else 0)
