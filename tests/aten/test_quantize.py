"""Fake quantisation, and quantized tensors, beside torch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours

CALLS = {
    "per tensor": "torch.fake_quantize_per_tensor_affine(x, 0.5, 0, -2, 3)",
    "zero point": "torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255)",
    "tensors": "torch.fake_quantize_per_tensor_affine(x, torch.tensor(0.5), torch.tensor(1), -2, 3)",
    "per channel": "torch.fake_quantize_per_channel_affine(x, torch.tensor([0.5, 0.1]), torch.tensor([0, 1], dtype=torch.int32), 0, 0, 255)",
    "other axis": "torch.fake_quantize_per_channel_affine(x.t(), torch.tensor([0.5, 0.1]), torch.tensor([0, 1], dtype=torch.int32), 1, 0, 10)",
}
REFUSED = [
    "torch.fake_quantize_per_tensor_affine(x, 0.5, 9, 0, 3)", "torch.fake_quantize_per_tensor_affine(x, 0.5, 0, 5, 3)",
    "torch.fake_quantize_per_channel_affine(x, torch.tensor([0.5, 0.1]), torch.tensor([0, 1]), 0, 0, 255)",
    "torch.fake_quantize_per_channel_affine(x, torch.tensor([0.5]), torch.tensor([0], dtype=torch.int32), 0, 0, 255)",
]  # fmt: skip


def _x(torch):
    return torch.tensor([[0.25, 5.0, 0.75], [3.0, -2.0, 1.25]], requires_grad=True)


@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients(executor, name):
    found = []
    for torch in (real_torch, ours):
        x = _x(torch)
        y = eval(CALLS[name], {"torch": torch, "x": x})
        y.sum().backward()
        found.append((y.detach().numpy(), x.grad.numpy()))
    np.testing.assert_array_equal(found[1][0], found[0][0])
    np.testing.assert_array_equal(found[1][1], found[0][1])


@pytest.mark.parametrize("code", REFUSED)
def test_refused(code):
    errors = []
    for torch in (real_torch, ours):
        with pytest.raises(RuntimeError) as raised:
            eval(code, {"torch": torch, "x": _x(torch)})
        errors.append(str(raised.value))
    assert errors[0] == errors[1]


@pytest.mark.parametrize("dtype", ["quint8", "qint8", "qint32"])
def test_quantized_tensor(dtype):
    found = []
    for torch in (real_torch, ours):
        q = torch.quantize_per_tensor(torch.tensor([0.1, 0.25, 9.0, -3.0]), 0.1, 10, getattr(torch, dtype))
        found.append((q.int_repr().tolist(), q.dequantize().tolist(), q.q_scale(), q.q_zero_point(), q.is_quantized, str(q.dtype), tuple(q.shape), repr(q)))
    assert found[1] == found[0]
    with pytest.raises(NotImplementedError, match="no arithmetic on quantized tensors"):
        q + 1
