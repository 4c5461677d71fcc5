"""Operators on boxes, on the host: how many are left depends on their numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ...core.dtype import float32, float64
from ...core.promotion import scalar_type_name
from ...tensors.convert import from_numpy
from ...tensors.tensor import Tensor

__all__ = ["box_iou_rotated", "nms", "quantized"]


def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Which boxes are left, by falling score, if each one removes those behind it whose intersection over union with it exceeds the threshold.

    Args:
        dets: ``(N, 4)``, corners ``x1, y1, x2, y2``.

    Raises:
        RuntimeError: shapes or dtypes do not fit; torchvision's texts.
        NotImplementedError: half precision on the CPU, as in torchvision.
    """
    _check(dets.dim() == 2, f"boxes should be a 2d tensor, got {dets.dim()}D")
    _check(dets.size(1) == 4, f"boxes should have 4 elements in dimension 1, got {dets.size(1)}")
    _check(scores.dim() == 1, f"scores should be a 1d tensor, got {scores.dim()}D")
    _check(
        dets.size(0) == scores.size(0),
        f"boxes and scores should have same number of elements in dimension 0, got {dets.size(0)} and {scores.size(0)}",
    )
    _check(dets.dtype == scores.dtype, "dets should have the same type as scores")
    if dets.dtype not in (float32, float64) and (dets.device.type == "cpu" or not dets.is_floating_point()):
        raise NotImplementedError(f"\"nms_kernel\" not implemented for '{scalar_type_name(dets.dtype)}'")
    order = scores.detach().sort(stable=True, descending=True)[1].cpu().numpy()
    boxes = dets.detach().to(float64 if dets.dtype == float64 else float32).cpu().numpy()
    kept = _kept(boxes[order], np.float64(iou_threshold))
    return from_numpy(order[kept]).to(dets.device)


def _kept(boxes: np.ndarray, threshold: np.float64) -> list[int]:
    """The rows that are left.

    Args:
        threshold: a float64, which the quotients are compared with in its precision, as in C++.
    """
    x1, y1, x2, y2 = boxes.T
    areas = (x2 - x1) * (y2 - y1)
    alive = np.ones(len(boxes), bool)
    kept = []
    for k in range(len(boxes)):
        if not alive[k]:
            continue
        kept.append(k)
        rest = np.flatnonzero(alive[k + 1 :]) + k + 1
        width = np.minimum(x2[k], x2[rest]) - np.maximum(x1[k], x1[rest])
        height = np.minimum(y2[k], y2[rest]) - np.maximum(y1[k], y1[rest])
        common = np.maximum(width, 0) * np.maximum(height, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            alive[rest[common / (areas[k] + areas[rest] - common) > threshold]] = False
    return kept


def _check(condition: bool, text: str) -> None:
    if not condition:
        raise RuntimeError(text)


def quantized(name: str) -> Callable:
    """The kernel of an operator on quantized tensors, which do not exist here."""

    def refused(*args: Any) -> NoReturn:
        raise NotImplementedError(f"torchvision::{name} takes quantized tensors, which pytorchlike does not have")

    return refused


def box_iou_rotated(boxes1: Tensor, boxes2: Tensor) -> NoReturn:
    """Refused.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("torchvision::box_iou_rotated is not in pytorchlike yet")
