"""Deformable convolution: each weight reads its image at a point of its own, interpolated between four pixels."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

from ...dispatch.registry import FUNCTION, op

__all__ = ["deform_conv2d", "deform_conv2d_backward"]

_op = functools.partial(op, forms=FUNCTION, namespaces=())
_PARAMETERS = "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias"
_CONVOLUTION = "int stride_h, int stride_w, int pad_h, int pad_w, int dilation_h, int dilation_w, int groups, int offset_groups, bool use_mask"


def _sampled(images: Any, y: Any, x: Any) -> Any:
    """Images at points between pixels; pixels outside are zero.

    Args:
        images: ``(B, C, H, W)``.
        y, x: ``(B, ...)``.

    Returns:
        ``(B, ..., C)``.
    """
    h, w = images.shape[2:]
    image = jnp.arange(images.shape[0]).reshape(-1, *[1] * (y.ndim - 1))
    top, left = jnp.floor(y), jnp.floor(x)
    found: Any = 0
    for row, by_row in ((top, 1 - (y - top)), (top + 1, y - top)):
        for column, by_column in ((left, 1 - (x - left)), (left + 1, x - left)):
            is_inside = (row >= 0) & (row < h) & (column >= 0) & (column < w)
            pixel = images[image, :, jnp.clip(row, 0, h - 1).astype(jnp.int32), jnp.clip(column, 0, w - 1).astype(jnp.int32)]
            found += jnp.where(is_inside, by_row * by_column, 0)[..., None] * pixel
    return found


def _output_size(size: int, kernel: int, stride: int, pad: int, dilation: int) -> int:
    """C++'s division rounds towards zero."""
    return int((size + 2 * pad - (dilation * (kernel - 1) + 1)) / stride) + 1


@_op(f"_torchvision_deform_conv2d({_PARAMETERS}, {_CONVOLUTION}) -> Tensor")
def deform_conv2d(input, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, use_mask):
    """Deformable ConvNets, https://arxiv.org/abs/1703.06211; with ``use_mask`` its second version, https://arxiv.org/abs/1811.11168.

    Args:
        offset: ``(N, offset_groups * 2 * kh * kw, oh, ow)``, what is added to the regular points, y before x.
        mask: ``(N, offset_groups * kh * kw, oh, ow)``, a factor for each point.
    """
    wide = jnp.promote_types(input.dtype, jnp.float32)
    (n, c, h, w), (kh, kw), (oh, ow) = input.shape, weight.shape[2:], offset.shape[2:]
    apart = offset.astype(wide).reshape(n * offset_groups, kh, kw, 2, oh, ow)
    rows = jnp.arange(kh).reshape(-1, 1, 1, 1) * dilation_h + jnp.arange(oh).reshape(-1, 1) * stride_h - pad_h
    columns = jnp.arange(kw).reshape(-1, 1, 1) * dilation_w + jnp.arange(ow) * stride_w - pad_w
    points = _sampled(input.astype(wide).reshape(n * offset_groups, -1, h, w), rows + apart[:, :, :, 0], columns + apart[:, :, :, 1])
    if use_mask:
        points = points * mask.astype(wide).reshape(n * offset_groups, kh, kw, oh, ow, 1)
    points = jnp.moveaxis(points.reshape(n, offset_groups, kh, kw, oh, ow, -1), 6, 2).reshape(n, groups, c // groups, kh, kw, oh, ow)
    kernels = weight.astype(wide).reshape(groups, -1, *weight.shape[1:])
    found = jnp.einsum("ngckluv,gockl->ngouv", points, kernels).reshape(n, -1, oh, ow)
    return (found + bias.astype(wide)[:, None, None]).astype(input.dtype)


@_op(f"_torchvision_deform_conv2d_backward(Tensor grad, {_PARAMETERS}, {_CONVOLUTION}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)")
def deform_conv2d_backward(grad, input, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups,
                           use_mask):  # fmt: skip
    """The gradients of `deform_conv2d` for its tensors."""
    numbers = (stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, use_mask)
    _, pull = jax.vjp(lambda *arrays: deform_conv2d.body(*arrays, *numbers), input, weight, offset, mask, bias)
    return pull(grad)


@deform_conv2d.check
def _(input, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, use_mask):
    for text, is_right in {
        "input_c.ndimension() == 4": input.ndim == 4, "offset_c.ndimension() == 4": offset.ndim == 4,
        "!use_mask || mask_c.ndimension() == 4": not use_mask or mask.ndim == 4, "weight_c.ndimension() == 4": weight.ndim == 4,
    }.items():  # fmt: skip
        _expect(is_right, text)
    (kh, kw), channels = weight.shape[2:], input.shape[1]
    expected = offset_groups * kh * kw
    _require(kh > 0 and kw > 0, f"weight_h: {kh} weight_w: {kw}")
    _require(stride_h > 0 and stride_w > 0, f"stride_h: {stride_h} stride_w: {stride_w}")
    _require(pad_h >= 0 and pad_w >= 0, f"pad_h: {pad_h} pad_w: {pad_w}")
    _require(dilation_h > 0 and dilation_w > 0, f"dilation_h: {dilation_h} dilation_w: {dilation_w}")
    _expect(weight.shape[1] * groups == channels, "weight_c.size(1) * n_weight_grps == input_c.size(1)")
    _expect(weight.shape[0] % groups == 0, "weight_c.size(0) % n_weight_grps == 0")
    _require(offset.shape[1] == 2 * expected, f"offset.shape[1] is not valid: got: {offset.shape[1]} expected: {2 * expected}")
    _require(not use_mask or mask.shape[1] == expected, f"mask.shape[1] is not valid: got: {mask.shape[1]} expected: {expected}")
    _expect(channels % offset_groups == 0, "input_c.size(1) % n_offset_grps == 0")
    oh, ow = _output_size(input.shape[2], kh, stride_h, pad_h, dilation_h), _output_size(input.shape[3], kw, stride_w, pad_w, dilation_w)
    _require(offset.shape[0] == input.shape[0], "invalid batch size of offset")
    for name, tensor in (("offset", offset), ("mask", mask)):
        if name == "mask":
            _require(mask.shape[0] == input.shape[0], "invalid batch size of mask")
        if name == "offset" or use_mask:
            found = tuple(tensor.shape[2:])
            _require(found == (oh, ow), f"{name} output dims: ({found[0]}, {found[1]}) - computed output dims: ({oh}, {ow})")
    _require(oh > 0 and ow > 0, f"Calculated output size too small - out_h: {oh} out_w: {ow}")


def _require(is_right: bool, text: str) -> None:
    if not is_right:
        raise RuntimeError(text)


def _expect(is_right: bool, condition: str) -> None:
    """torch's text for a check without one."""
    _require(
        is_right,
        f"Expected {condition} to be true, but got false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)",
    )
