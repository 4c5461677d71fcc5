"""``torch.ops.torchvision``: the operators of torchvision's extension ``_C``, with its schemas.

They are defined as a user's operators are (``library/``): torchvision registers their shapes, gradients and autocast itself.  Each kernel is a recorded
operator (`regions.py`, `deformable.py`) or runs on the host (`boxes.py`), and is the same for all devices.  What a kernel's operator has as a derivative
counts where nobody registered a formula.
"""

from __future__ import annotations

from collections.abc import Callable

from ...library.keys import COMPOSITE
from ...library.libraries import Library
from ...library.operators import lookup_operator
from . import boxes, deformable, regions

__all__ = ["library"]

_SIZE = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_IMAGES = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_CONVOLUTION = (
    "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask"
)
_PARAMETERS = "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias"
_QUANTIZED = "float input_scale, int input_zero_point, float rois_scale, int rois_zero_point"

#: Schema -> kernel.
_OPERATORS: dict[str, Callable] = {
    "_cuda_version() -> int": lambda: -1,
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": boxes.nms,
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": boxes.quantized("qnms"),
    "box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor": boxes.box_iou_rotated,
    f"roi_align(Tensor input, Tensor rois, {_SIZE}, int sampling_ratio, bool aligned) -> Tensor": regions.roi_align,
    f"_roi_align_backward(Tensor grad, Tensor rois, {_SIZE}, {_IMAGES}, int sampling_ratio, bool aligned) -> Tensor": regions.roi_align_backward,
    f"qroi_align(Tensor input, Tensor rois, {_QUANTIZED}, {_SIZE}, int sampling_ratio, bool aligned) -> Tensor": boxes.quantized("qroi_align"),
    f"ps_roi_align(Tensor input, Tensor rois, {_SIZE}, int sampling_ratio) -> (Tensor, Tensor)": regions.ps_roi_align,
    f"_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_SIZE}, int sampling_ratio, {_IMAGES}) -> Tensor":
        regions.ps_roi_align_backward,
    f"roi_pool(Tensor input, Tensor rois, {_SIZE}) -> (Tensor, Tensor)": regions.roi_pool,
    f"_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, {_SIZE}, {_IMAGES}) -> Tensor": regions.roi_pool_backward,
    f"ps_roi_pool(Tensor input, Tensor rois, {_SIZE}) -> (Tensor, Tensor)": regions.ps_roi_pool,
    f"_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_SIZE}, {_IMAGES}) -> Tensor": regions.ps_roi_pool_backward,
    f"deform_conv2d({_PARAMETERS}, {_CONVOLUTION}) -> Tensor": deformable.deform_conv2d,
    f"_deform_conv2d_backward(Tensor grad, {_PARAMETERS}, {_CONVOLUTION}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)":
        deformable.deform_conv2d_backward,
}  # fmt: skip

library = Library("torchvision", "DEF")


def _define() -> None:
    for schema, kernel in _OPERATORS.items():
        name = library.define(schema)
        library.impl(name, kernel, COMPOSITE[1])
        operator = lookup_operator(f"torchvision::{name}")
        assert operator is not None
        operator.kernels_have_derivatives = True


_define()
