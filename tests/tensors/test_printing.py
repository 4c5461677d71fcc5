"""Texts of tensors against torch's, character by character."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pytorchlike.core import dtype as D
from pytorchlike.tensors import printing

DTYPES = [d for d in D.BY_NAME.values() if d is not D.float8_e8m0fnu]
SHAPES = [
    (), (1,), (5,), (40,), (7, 3), (2, 3, 4), (1, 1, 1, 2), (0,), (2, 0), (1200,), (30, 40), (2, 700), (700, 2), (8, 9, 20),
    (3, 1, 5, 90), (7, 7, 7, 7),
]  # fmt: skip
OPTIONS = [
    {}, {}, {}, {"precision": 2}, {"precision": 0}, {"precision": 9}, {"edgeitems": 1}, {"edgeitems": 5}, {"edgeitems": 0},
    {"edgeitems": 0, "threshold": 10}, {"linewidth": 40}, {"linewidth": 200}, {"linewidth": 1}, {"profile": "short"}, {"profile": "Full"},
    {"profile": "nothing"}, {"sci_mode": True}, {"sci_mode": False}, {"threshold": 0}, {"threshold": 7, "edgeitems": 2}, {"precision": 6, "profile": "short"},
]  # fmt: skip


@pytest.fixture(autouse=True)
def default_options():
    yield
    torch.set_printoptions(profile="default")
    printing.set_printoptions(profile="default")


def set_both(**options):
    for module in (torch, printing):
        module.set_printoptions(profile="default")
        module.set_printoptions(**options)


def text(tensor: torch.Tensor, array: np.ndarray, dtype: D.dtype, **extra) -> str:
    grad_fn = None if tensor.grad_fn is None else type(tensor.grad_fn).__name__
    return printing.tensor_text(array, dtype, tensor.shape, requires_grad=tensor.requires_grad, grad_fn=grad_fn, **extra)


def random_array(rng: np.random.Generator, shape: tuple[int, ...], dtype: D.dtype) -> np.ndarray:
    if dtype.category == D.BOOL:
        return rng.random(shape) < 0.5
    if dtype.category == D.INTEGRAL:
        info = np.iinfo(dtype.numpy)
        low, high = (info.min, info.max) if rng.random() < 0.3 else (max(info.min, -20), 100)
        return rng.integers(low, high, shape, dtype=dtype.numpy, endpoint=True)
    if dtype.is_complex:
        real = dtype.to_real()
        parts = [random_array(rng, shape, real) for _ in range(2)]
        return (parts[0] + np.asarray(1j, dtype.numpy) * 0 + 0) if rng.random() < 0.1 else np.stack(parts, -1).view(dtype.numpy)[..., 0]
    kind = rng.integers(7)
    with np.errstate(all="ignore"):
        values = rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 10)
        if kind == 1:
            values = np.round(rng.standard_normal(shape) * 10.0 ** rng.integers(0, 10))
        elif kind == 2:
            values = 10.0 ** rng.uniform(-7, 7, shape)
        elif kind == 3:
            values = np.where(rng.random(shape) < 0.3, rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape), np.round(values, 1))
        elif kind == 4:
            values = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape)
        elif kind == 5:
            values = rng.choice([1.0, 1000.0, 1001.0, 1e8, 1.1e8, 1e-4, 0.99e-4, 0.1], shape)
        elif kind == 6:
            values = rng.random(shape)
        return np.asarray(values).astype(np.float32).astype(dtype.numpy) if dtype.itemsize < 4 else np.asarray(values).astype(dtype.numpy)


def to_torch(array: np.ndarray, dtype: D.dtype) -> torch.Tensor:
    array = np.ascontiguousarray(array).reshape(array.shape)
    kind = getattr(torch, dtype.name)
    if dtype.numpy.kind in "biufc" and not dtype.name.startswith(("bfloat", "float8")):
        return torch.from_numpy(array.copy())
    if not array.size:
        return torch.empty(array.shape, dtype=kind)
    raw = torch.from_numpy(array.reshape(-1).view(np.uint8).copy())
    return raw.view(kind).reshape(array.shape)


@pytest.mark.parametrize("seed", range(4))
def test_random_tensors(seed):
    rng = np.random.default_rng(seed)
    for _ in range(400):
        options = OPTIONS[rng.integers(len(OPTIONS))]
        dtype, shape = DTYPES[rng.integers(len(DTYPES))], SHAPES[rng.integers(len(SHAPES))]
        if options.get("profile") == "Full" and np.prod(shape) > 500:
            continue
        array = random_array(rng, shape, dtype)
        tensor = to_torch(array, dtype)
        set_both(**options)
        if dtype in (D.float32, D.float64, D.complex64) and rng.random() < 0.5:
            tensor.requires_grad_()
            if rng.random() < 0.5:
                tensor = tensor.clone() if rng.random() < 0.5 else tensor.view_as(tensor)
        assert text(tensor, array, dtype) == repr(tensor), (options, dtype, shape)


def test_suffixes_wrap_like_torch():
    for n in range(1, 30):
        for width in (40, 80):
            set_both(linewidth=width)
            array = np.arange(n) * 1.0
            assert text(torch.from_numpy(array), array, D.float64) == repr(torch.from_numpy(array))
            tensor = torch.from_numpy(array).requires_grad_()
            assert text(tensor.exp(), tensor.detach().exp().numpy(), D.float64) == repr(tensor.exp())
            assert text(tensor, array, D.float64) == repr(tensor)


def test_default_dtype_goes_without_saying():
    torch.set_default_dtype(torch.float64)
    try:
        for dtype in DTYPES:
            for shape in ((2,), (0,), (0, 3)):
                array = np.ones(shape).astype(dtype.numpy)
                tensor = to_torch(array, dtype)
                assert text(tensor, array, dtype, default_dtype=D.float64) == repr(tensor)
    finally:
        torch.set_default_dtype(torch.float32)


def test_meta_tensors():
    for shape in ((), (2, 3), (2, 0)):
        for dtype in (D.float32, D.int32, D.int64, D.bool_):
            tensor = torch.empty(shape, dtype=getattr(torch, dtype.name), device="meta")
            assert printing.tensor_text(None, dtype, shape, device="meta") == repr(tensor)


def test_device_prefix_and_parameter():
    array = np.arange(3)
    assert printing.tensor_text(array, D.int64, (3,), device="cuda:0") == "tensor([0, 1, 2], device='cuda:0')"

    class Longer(torch.Tensor):
        pass

    array = np.arange(60).reshape(3, 20) * 1.5
    assert printing.tensor_text(array, D.float64, (3, 20), prefix="Longer(") == repr(torch.from_numpy(array).as_subclass(Longer))
    parameter = torch.nn.Parameter(torch.ones(2))
    assert printing.PARAMETER_PREFIX + text(parameter, np.ones(2, np.float32), D.float32) == repr(parameter)


def test_noncontiguous_and_large_arrays_are_sliced():
    array = np.broadcast_to(np.float32(0.5), (10**6, 10**6))
    assert text(torch.tensor(0.5).expand(10**6, 10**6), array, D.float32) == repr(torch.tensor(0.5).expand(10**6, 10**6))
    array = np.arange(3000.0, dtype=np.float32).reshape(3, 1000).T
    assert text(torch.from_numpy(array), array, D.float32) == repr(torch.from_numpy(array))


def test_printoptions_restores():
    from torch._tensor_str import get_printoptions

    set_both(precision=7, sci_mode=True)
    assert printing.get_printoptions() == get_printoptions()
    with printing.printoptions(precision=2):
        assert printing.get_printoptions()["precision"] == 2
    assert printing.get_printoptions() == get_printoptions()
