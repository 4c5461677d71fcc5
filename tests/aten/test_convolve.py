"""Every lowering of a convolution, at sizes that choose it, beside torch: values, gradients and second gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours

#: name -> (function, input, weight, options)
CASES = {
    "pointwise, one product": ("conv2d", (2, 5, 6, 7), (4, 5, 1, 1), {}),
    "pointwise, a product an image": ("conv2d", (2, 3, 23, 24), (4, 3, 1, 1), {}),
    "pointwise, strided and padded": ("conv2d", (2, 5, 7, 6), (4, 5, 1, 1), {"stride": (2, 3), "padding": 1}),
    "pointwise, grouped": ("conv1d", (2, 6, 9), (4, 3, 1), {"groups": 2}),
    "few channels": ("conv2d", (2, 3, 9, 8), (5, 3, 3, 3), {"padding": (1, 2)}),
    "few channels, image by image": ("conv2d", (3, 3, 9, 8), (5, 3, 5, 3), {"padding": (2, 1), "dilation": (1, 2)}),
    "few channels of the gradient": ("conv2d", (2, 10, 8, 8), (2, 10, 3, 3), {"padding": 1}),
    "XLA's": ("conv2d", (2, 10, 6, 5), (3, 10, 3, 3), {"padding": 2}),
    "phases": ("conv2d", (2, 10, 9, 8), (3, 10, 3, 2), {"stride": (2, 3), "padding": 1}),
    "phases without an element": ("conv2d", (2, 4, 11, 8), (3, 4, 2, 1), {"stride": 3}),
    "weight image by image": ("conv2d", (2, 10, 20, 18), (3, 10, 3, 3), {"stride": 2, "padding": 1, "dilation": (2, 1)}),
    "few channels, strided": ("conv2d", (2, 3, 9, 8), (5, 3, 3, 3), {"padding": 1, "stride": 2}),
    "one dimension": ("conv1d", (2, 12, 70), (5, 12, 3), {"padding": 2, "dilation": 2}),
    "patches image by image": ("conv2d", (2, 10, 14, 13), (3, 10, 3, 3), {}),
    "patches of strided kernels": ("conv2d", (24, 64, 46, 46), (64, 64, 2, 2), {"stride": 2}),
    "patches of the batch": ("conv2d", (3, 120, 5, 4), (256, 120, 3, 3), {"padding": 1, "stride": (2, 1)}),
    "shifted products of the gradient": ("conv2d", (2, 5, 10, 9), (40, 5, 3, 2), {"padding": (2, 0), "dilation": (1, 2)}),
    "shifted products beyond the border": ("conv2d", (2, 3, 5, 4), (40, 3, 3, 3), {"padding": 5, "dilation": (1, 2)}),
    "weight of many features": ("conv2d", (2, 3, 9, 10), (256, 3, 3, 3), {"padding": 1}),
    "weight of many images": ("conv2d", (32, 32, 10, 10), (33, 32, 3, 2), {"padding": (1, 0), "dilation": (1, 2)}),
    "weight by positions": ("conv2d", (1, 128, 25, 24), (130, 128, 2, 2), {"padding": 1}),
    "three dimensions": ("conv3d", (2, 3, 6, 5, 7), (4, 3, 2, 3, 2), {"stride": (1, 2, 2), "padding": (0, 1, 1)}),
    "depthwise": ("conv2d", (2, 4, 9, 8), (4, 1, 3, 3), {"groups": 4, "stride": (2, 1), "padding": 1, "dilation": (1, 2)}),
    "depthwise, multiplied": ("conv2d", (2, 3, 8, 8), (6, 1, 3, 3), {"groups": 3, "padding": 1}),
    "grouped": ("conv2d", (2, 6, 8, 9), (4, 3, 3, 3), {"groups": 2, "stride": 2}),
    "transposed, kernel and stride equal": ("conv_transpose2d", (2, 5, 9, 8), (5, 3, 2, 2), {"stride": 2}),
    "transposed": ("conv_transpose2d", (2, 5, 5, 4), (5, 3, 3, 4), {"stride": (2, 3), "padding": 1, "output_padding": (1, 0)}),
    "transposed, padded as far as dilation allows": ("conv_transpose2d", (2, 3, 5, 4), (3, 4, 3, 3), {"dilation": 3, "output_padding": 2}),
    "transposed, depthwise": ("conv_transpose2d", (2, 4, 5, 6), (4, 1, 3, 3), {"stride": 2, "groups": 4, "output_padding": 1}),
    "transposed, grouped": ("conv_transpose1d", (2, 4, 7), (4, 3, 3), {"stride": 2, "groups": 2}),
}


def results(torch, case, arrays, tangents):
    """The result, its gradients, and the gradients of these."""
    name, _, _, options = case
    x, w, b = (torch.from_numpy(a).clone().requires_grad_() for a in arrays)
    y = getattr(torch.nn.functional, name)(x, w, b, **options)
    g = torch.from_numpy(np.cos(np.arange(y.numel())).reshape(y.shape).astype(arrays[0].dtype)).requires_grad_()
    first = torch.autograd.grad(y, (x, w, b), g, create_graph=True)
    total = sum((a * torch.from_numpy(t)).sum() for a, t in zip(first[:2], tangents, strict=True))
    total = total.real if total.is_complex() else total
    return [t.detach().numpy() for t in (y, *first, *torch.autograd.grad(total, (x, w, g)))]


#: Complex numbers take XLA's convolution where real ones have a lowering of their own; these differ in the shape of the transposes.
COMPLEX = ["XLA's", "phases", "depthwise, multiplied", "transposed", "transposed, grouped"]


@pytest.mark.parametrize(("name", "dtype"), [*[(name, "float32") for name in CASES], *[(name, "complex64") for name in COMPLEX]])
def test_lowering(name, dtype):
    case = CASES[name]
    random = np.random.RandomState(0)

    def draw(shape):
        part = random.randn(*shape)
        return (part + 1j * random.randn(*shape) if dtype == "complex64" else part).astype(dtype)

    features = case[2][1] * case[3].get("groups", 1) if "transpose" in case[0] else case[2][0]
    arrays = [draw(case[1]), draw(case[2]), draw((features,))]
    tangents = [draw(a.shape) for a in arrays[:2]]
    for mine, theirs in zip(results(ours, case, arrays, tangents), results(real_torch, case, arrays, tangents), strict=True):
        assert mine.shape == theirs.shape
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5 * max(1.0, np.abs(theirs).max()))
