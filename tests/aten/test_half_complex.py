"""Tensors of dtype complex32 beside torch's."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours

pytestmark = pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental", "ignore:Casting complex values to real")


def _written(t, h):
    other = h.clone()
    view = other[0]
    view.add_(1)
    other[1] = 5
    other.real[0] = 9
    return other


def _gradient(t, h):
    x = t.tensor([1 + 2j, 3.3]).requires_grad_()
    y = x.chalf()
    (y * y).to(t.complex64).abs().sum().backward()
    return x.grad


def _leaf(t, h):
    x = h.clone().requires_grad_()
    (x * 2).to(t.complex64).real.sum().backward()
    return x.grad


PROGRAMS = {
    "itself": lambda t, h: h,
    "metadata": lambda t, h: (h.dtype, tuple(h.shape), h.stride(), h.element_size(), h.is_complex(), h.layout, h.numel(), h.is_contiguous(), len(h)),
    "wider": lambda t, h: (h.to(t.complex64), h.cfloat(), h.cdouble()),
    "the same": lambda t, h: (h.chalf() is h, h.to(t.complex32) is h, h.to("cpu") is h),
    "of integers": lambda t, h: (t.arange(3).to(t.chalf), t.tensor([True]).to(t.complex32)),
    "real again": lambda t, h: t.tensor([1.5, 2.25]).chalf().half(),
    "parts": lambda t, h: (h.real, h.imag, t.view_as_real(h), h.conj().resolve_conj()),
    "numbers": lambda t, h: (h[0, 1].item(), h.tolist()),
    "arithmetic": lambda t, h: (h + 1, 1 - h, h * h, -h, h.abs(), h == h),
    "with others": lambda t, h: (h * t.ones(2), h * t.ones(2).half(), h * t.tensor(2.0), h * t.ones(2, dtype=t.complex128)),
    "indexed": lambda t, h: (h[0], h[:, 1], h[..., 0], h[t.tensor([0])]),
    "reshaped": lambda t, h: (h.view(4), h.reshape(-1), h.t(), h.transpose(0, -1), h.permute(1, 0), h.unsqueeze(-1), h.flatten()),
    "joined": lambda t, h: (t.cat([h, h], -1), t.stack([h, h], -1)),
    "factories": lambda t, h: (t.zeros(2, dtype=t.complex32), t.ones_like(h), t.tensor([1.0], dtype=t.complex32)),
    "written to": _written,
    "gradient": _gradient,
    "gradient of a leaf": _leaf,
    "copied": lambda t, h: copy.deepcopy(h),
    "dtype": lambda t, h: (pickle.loads(pickle.dumps(t.complex32)) is t.complex32, t.complex32.to_real(), t.finfo(t.complex32).max),
    "promotion": lambda t, h: [t.promote_types(t.complex32, d) for d in (t.bool, t.int64, t.float16, t.bfloat16, t.float32, t.float64, t.complex64, t.complex32)],
    "as an array": lambda t, h: h.numpy(),
    "sum": lambda t, h: h.sum(),
    "matrix product": lambda t, h: h @ h,
}


def _outcome(t, program):
    """What is shown, or the type of the error."""
    h = t.tensor([[1 + 2j, 3.3], [1, -1j]]).chalf()
    try:
        return repr(program(t, h))
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("name", PROGRAMS)
def test_complex32_is_torchs(name: str, executor) -> None:
    """Values, dtypes and types of errors."""
    assert _outcome(ours, PROGRAMS[name]).replace("-0.", "0.") == _outcome(real_torch, PROGRAMS[name]).replace("-0.", "0.")


def test_rounding_is_that_of_halves() -> None:
    """To nearest, each part."""
    x = np.random.default_rng(0).normal(size=100) + 1j * np.random.default_rng(1).normal(size=100)
    np.testing.assert_array_equal(ours.tensor(x).chalf().cdouble().numpy(), real_torch.tensor(x).chalf().cdouble().numpy())
