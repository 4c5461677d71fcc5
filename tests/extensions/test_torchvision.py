"""`torch.ops.torchvision` against loops over regions, bins and points in numpy, and against numerical derivatives."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest

import pytorchlike as torch

vision: Any = torch.ops.torchvision
generator = np.random.default_rng(0)

#: Inside, across each border, of no size, turned around, far outside.
ROIS = np.array([
    [0, 1.0, 2.0, 9.5, 8.25], [1, -3.0, -2.5, 4.0, 5.0], [0, 6.0, 5.0, 14.0, 13.0], [1, 4.0, 4.0, 4.0, 4.0], [1, 0.3, 0.7, 2.2, 9.9],
    [0, 7.0, 6.0, 5.0, 3.0], [1, 40.0, 40.0, 50.0, 50.0],
])  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    torch.ops.load_library("/somewhere/torchvision/_C.so")


def _pixel(image: np.ndarray, y: float, x: float) -> float:
    """Between pixels; up to one pixel outside, the border's value."""
    h, w = image.shape
    if not (-1 <= y <= h and -1 <= x <= w):
        return 0.0
    y, x = min(max(y, 0), h - 1), min(max(x, 0), w - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, h - 1), min(left + 1, w - 1)
    fy, fx = y - top, x - left
    return (1 - fy) * ((1 - fx) * image[top, left] + fx * image[top, right]) + fy * ((1 - fx) * image[bottom, left] + fx * image[bottom, right])


def _aligned(images: np.ndarray, rois: np.ndarray, scale: float, ph: int, pw: int, ratio: int, aligned: bool, by_position: bool) -> np.ndarray:
    channels = images.shape[1] // (ph * pw) if by_position else images.shape[1]
    found = np.zeros((len(rois), channels, ph, pw))
    for k, c, p, q in np.ndindex(found.shape):
        x1, y1, x2, y2 = rois[k, 1:] * scale - (0.5 if aligned else 0)
        h, w = y2 - y1, x2 - x1
        if not aligned:
            h, w = max(h, 1.0), max(w, 1.0)
        ny, nx = (ratio, ratio) if ratio > 0 else (max(math.ceil(h / ph), 0), max(math.ceil(w / pw), 0))
        image = images[int(rois[k, 0]), (c * ph + p) * pw + q if by_position else c]
        values = [
            _pixel(image, y1 + (p + (i + 0.5) / ny) * h / ph, x1 + (q + (j + 0.5) / nx) * w / pw) for i in range(ny) for j in range(nx)
        ]
        found[k, c, p, q] = np.mean(values) if values else np.nan if by_position else 0
    return found


def _round(value: float) -> int:
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def _bin(start: float, end: float, scale: float, number: int, count: int, more: int, limit: int) -> range:
    first, last = _round(start * scale), _round(end * scale)
    size = max(last - first + more, 1) / count
    low, high = math.floor(number * size) + first, math.ceil((number + 1) * size) + first
    return range(min(max(low, 0), limit), min(max(high, 0), limit))


def _pooled(images: np.ndarray, rois: np.ndarray, scale: float, ph: int, pw: int) -> tuple[np.ndarray, np.ndarray]:
    h, w = images.shape[2:]
    found = np.zeros((len(rois), images.shape[1], ph, pw))
    at = np.full(found.shape, -1)
    for k, c, p, q in np.ndindex(found.shape):
        rows, columns = _bin(rois[k, 2], rois[k, 4], scale, p, ph, 1, h), _bin(rois[k, 1], rois[k, 3], scale, q, pw, 1, w)
        for y, x in itertools.product(rows, columns):
            if at[k, c, p, q] < 0 or images[int(rois[k, 0]), c, y, x] > found[k, c, p, q]:
                found[k, c, p, q], at[k, c, p, q] = images[int(rois[k, 0]), c, y, x], y * w + x
    return found, at


def _position_pooled(images: np.ndarray, rois: np.ndarray, scale: float, ph: int, pw: int) -> np.ndarray:
    h, w = images.shape[2:]
    found = np.zeros((len(rois), images.shape[1] // (ph * pw), ph, pw))
    for k, c, p, q in np.ndindex(found.shape):
        rows, columns = _bin(rois[k, 2], rois[k, 4], scale, p, ph, 0, h - 1), _bin(rois[k, 1], rois[k, 3], scale, q, pw, 0, w - 1)
        pixels = [images[int(rois[k, 0]), (c * ph + p) * pw + q, y, x] for y, x in itertools.product(rows, columns)]
        found[k, c, p, q] = np.mean(pixels) if pixels else 0
    return found


def _images(channels: int = 3, size: tuple[int, int] = (9, 11)) -> np.ndarray:
    return generator.normal(size=(2, channels, *size))


def _gradient(function: Any, *arrays: np.ndarray, at: int = 0) -> tuple[Any, np.ndarray, Any]:
    """The result, random weights of it, and the gradient of the weighted sum; no warning is given."""
    tensors = [torch.tensor(a) for a in arrays]
    tensors[at].requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = function(*tensors)
        weights = generator.normal(size=tuple(result.shape))
        (result * torch.tensor(weights)).sum().backward()
    return result, weights, tensors[at].grad


@pytest.mark.parametrize(("ratio", "aligned"), [(2, False), (3, True), (-1, False), (0, True)])
def test_roi_align(ratio: int, aligned: bool) -> None:
    images = _images()

    def call(x: Any, r: Any) -> Any:
        return vision.roi_align(x, r, 0.75, 3, 2, ratio, aligned)

    result, weights, gradient = _gradient(call, images, ROIS)
    np.testing.assert_allclose(result.detach().numpy(), _aligned(images, ROIS, 0.75, 3, 2, ratio, aligned, False), atol=1e-12)
    other = _images()  # linear in the images: the gradient's product with others is the weighted sum of theirs
    expected = (weights * _aligned(other, ROIS, 0.75, 3, 2, ratio, aligned, False)).sum()
    np.testing.assert_allclose((gradient.numpy() * other).sum(), expected, atol=1e-10)
    explicit = vision._roi_align_backward(torch.tensor(weights), torch.tensor(ROIS), 0.75, 3, 2, 2, 3, 9, 11, ratio, aligned)
    np.testing.assert_array_equal(explicit.numpy(), gradient.numpy())


@pytest.mark.parametrize("ratio", [2, -1])
def test_ps_roi_align(ratio: int) -> None:
    images, rois = _images(12), ROIS[:3]
    result, weights, gradient = _gradient(lambda x, r: vision.ps_roi_align(x, r, 0.5, 3, 2, ratio)[0], images, rois)
    np.testing.assert_allclose(result.detach().numpy(), _aligned(images, rois, 0.5, 3, 2, ratio, True, True), atol=1e-12)
    other = _images(12)
    np.testing.assert_allclose((gradient.numpy() * other).sum(), (weights * _aligned(other, rois, 0.5, 3, 2, ratio, True, True)).sum(), atol=1e-10)
    mapping = vision.ps_roi_align(torch.tensor(images), torch.tensor(rois), 0.5, 3, 2, ratio)[1]
    assert mapping.dtype == torch.int32 and mapping.tolist() == np.broadcast_to(np.arange(12).reshape(2, 3, 2), (3, 2, 3, 2)).tolist()
    assert vision.ps_roi_align(torch.tensor(images), torch.tensor(ROIS[3:4]), 0.5, 3, 2, -1)[0].isnan().all()  # of no points: 0 / 0


def test_roi_pool() -> None:
    images = _images().round()  # so that maxima occur more than once
    values, at = _pooled(images, ROIS, 0.5, 3, 2)
    result, weights, gradient = _gradient(lambda x, r: vision.roi_pool(x, r, 0.5, 3, 2)[0], images, ROIS)
    np.testing.assert_array_equal(result.detach().numpy(), values)
    found = vision.roi_pool(torch.tensor(images), torch.tensor(ROIS), 0.5, 3, 2)[1]
    assert found.dtype == torch.int32
    np.testing.assert_array_equal(found.numpy(), at)
    expected = np.zeros((2, 3, 9 * 11))
    for index in zip(*np.nonzero(at >= 0)):
        expected[int(ROIS[index[0], 0]), index[1], at[index]] += weights[index]
    np.testing.assert_allclose(gradient.numpy().reshape(expected.shape), expected, atol=1e-12)
    masked = vision.roi_pool(torch.full((1, 1, 4, 4), float("nan")), torch.tensor([[0.0, 0, 0, 3, 3]]), 1.0, 1, 1)
    assert masked[0].item() == torch.finfo(torch.float32).min and masked[1].item() == -1  # NaN exceeds nothing


def test_ps_roi_pool() -> None:
    images, rois = _images(12), ROIS[[0, 1, 3, 5, 6]]  # away from the last row and column, which the gradient counts and the mean does not
    result, weights, gradient = _gradient(lambda x, r: vision.ps_roi_pool(x, r, 0.5, 3, 2)[0], images, rois)
    np.testing.assert_allclose(result.detach().numpy(), _position_pooled(images, rois, 0.5, 3, 2), atol=1e-12)
    other = _images(12)
    np.testing.assert_allclose((gradient.numpy() * other).sum(), (weights * _position_pooled(other, rois, 0.5, 3, 2)).sum(), atol=1e-10)


def _deformed(x: np.ndarray, weight: np.ndarray, offset: np.ndarray, mask: np.ndarray | None, bias: np.ndarray, numbers: tuple) -> np.ndarray:
    sh, sw, ph, pw, dh, dw, groups, offset_groups = numbers
    n, c, h, w = x.shape
    o, _, kh, kw = weight.shape
    found = np.zeros((n, o, *offset.shape[2:]))
    for b, out, v, u in np.ndindex(found.shape):
        group = out // (o // groups)
        total = bias[out]
        for ci, i, j in np.ndindex(weight.shape[1:]):
            channel = group * (c // groups) + ci
            k = (channel // (c // offset_groups) * kh + i) * kw + j
            y = v * sh - ph + i * dh + offset[b, 2 * k, v, u]
            z = u * sw - pw + j * dw + offset[b, 2 * k + 1, v, u]
            top, left = math.floor(y), math.floor(z)
            value = sum(
                x[b, channel, r, s] * (1 - abs(y - r)) * (1 - abs(z - s))
                for r in (top, top + 1) for s in (left, left + 1) if 0 <= r < h and 0 <= s < w
            )  # fmt: skip
            total += weight[out, ci, i, j] * value * (1 if mask is None else mask[b, k, v, u])
        found[b, out, v, u] = total
    return found


@pytest.mark.parametrize("use_mask", [False, True])
def test_deform_conv2d(use_mask: bool) -> None:
    numbers = (2, 1, 1, 0, 1, 2, 2, 2)
    x, weight, bias = generator.normal(size=(2, 4, 5, 6)), generator.normal(size=(4, 2, 3, 2)), generator.normal(size=4)
    offset = generator.normal(size=(2, 24, 3, 4)) * 1.5
    mask = generator.random((2, 12, 3, 4)) if use_mask else np.zeros((2, 1))

    def call(*arrays: Any) -> Any:
        return vision.deform_conv2d(*arrays, *numbers, use_mask)

    expected = _deformed(x, weight, offset, mask if use_mask else None, bias, numbers)
    arrays = [x, weight, offset, mask, bias]
    for at in range(5):
        result, weights, gradient = _gradient(call, *arrays, at=at)
        np.testing.assert_allclose(result.detach().numpy(), expected, atol=1e-12)
        direction = generator.normal(size=arrays[at].shape)
        ahead, behind = [
            _deformed(*[None if i == 3 and not use_mask else a + (step * direction if i == at else 0) for i, a in enumerate(arrays)], numbers)
            for step in (1e-6, -1e-6)
        ]
        np.testing.assert_allclose((gradient.numpy() * direction).sum(), (weights * (ahead - behind)).sum() / 2e-6, rtol=1e-5, atol=1e-6)
        explicit = vision._deform_conv2d_backward(torch.tensor(weights), *[torch.tensor(a) for a in arrays], *numbers, use_mask)
        np.testing.assert_allclose(explicit[at].numpy(), gradient.numpy(), atol=1e-12)


def _suppressed(boxes: np.ndarray, scores: np.ndarray, threshold: float) -> list[int]:
    kept: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        for j in kept:
            width = min(boxes[i, 2], boxes[j, 2]) - max(boxes[i, 0], boxes[j, 0])
            height = min(boxes[i, 3], boxes[j, 3]) - max(boxes[i, 1], boxes[j, 1])
            common = max(width, 0) * max(height, 0)
            areas = [(boxes[k, 2] - boxes[k, 0]) * (boxes[k, 3] - boxes[k, 1]) for k in (i, j)]
            if common / (sum(areas) - common) > threshold:
                break
        else:
            kept.append(int(i))
    return kept


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.7])
def test_nms(threshold: float) -> None:
    corners = generator.random((200, 2)) * 20
    boxes, scores = np.concatenate([corners, corners + 1 + generator.random((200, 2)) * 9], 1), generator.random(200).round(1)
    kept = vision.nms(torch.tensor(boxes), torch.tensor(scores), threshold)
    assert kept.dtype == torch.int64 and kept.tolist() == _suppressed(boxes, scores, threshold)
    assert 1 < len(kept) < 200
    assert vision.nms(torch.empty(0, 4), torch.empty(0), 0.5).shape == (0,)


def test_nms_breaks_a_compiled_function_and_nothing_else() -> None:
    boxes, scores = torch.tensor([[0.0, 0, 2, 2], [0, 0, 2, 1.9], [4, 4, 5, 5]]), torch.tensor([0.5, 0.9, 0.7])
    compiled = torch.compile(lambda b, s: b[vision.nms(b * 1, s, 0.5)] + 1)
    assert [compiled(boxes, scores).tolist() for _ in range(3)] == [[[1, 1, 3, pytest.approx(2.9)], [5, 5, 6, 6]]] * 3
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(lambda b, s: vision.nms(b * 1, s, 0.5), fullgraph=True)(boxes, scores)


def test_regions_stay_in_a_compiled_function() -> None:
    images, rois = torch.tensor(_images()), torch.tensor(ROIS)

    def loss(x: Any) -> Any:
        return vision.roi_align(x, rois, 1.0, 2, 2, -1, True).square().sum()

    compiled = torch.compile(loss, fullgraph=True)
    found = []
    for function in (loss, compiled, compiled):
        x = images.clone().requires_grad_()
        value = function(x)
        value.backward()
        found.append((value.item(), x.grad))
    assert found[1][0] == found[2][0] == pytest.approx(found[0][0])
    torch.testing.assert_close(found[2][1], found[0][1])


def test_half_precision_is_rounded_once() -> None:
    images, rois = torch.tensor(_images()).half(), torch.tensor(ROIS[:3]).half()
    exact = vision.roi_align(images.float(), rois.float(), 0.5, 2, 2, 2, False)
    assert torch.equal(vision.roi_align(images, rois, 0.5, 2, 2, 2, False), exact.half())


ONE, ROI = torch.ones(1, 4, 5, 5), torch.ones(1, 5)
WEIGHT, OFFSET, MASK, BIAS = torch.ones(2, 4, 3, 3), torch.ones(1, 18, 3, 3), torch.ones(1, 9, 3, 3), torch.ones(2)


@pytest.mark.parametrize(("call", "text"), [
    (lambda: vision.nms(ONE, ROI, 0.5), "boxes should be a 2d tensor, got 4D"),
    (lambda: vision.nms(ROI, ROI, 0.5), "boxes should have 4 elements in dimension 1, got 5"),
    (lambda: vision.nms(torch.ones(1, 4), torch.ones(1, 1), 0.5), "scores should be a 1d tensor, got 2D"),
    (lambda: vision.nms(torch.ones(1, 4), torch.ones(3), 0.5), "boxes and scores should have same number of elements in dimension 0, got 1 and 3"),
    (lambda: vision.nms(torch.ones(1, 4), torch.ones(1).double(), 0.5), "dets should have the same type as scores"),
    (lambda: vision.nms(torch.ones(1, 4).half(), torch.ones(1).half(), 0.5), "\"nms_kernel\" not implemented for 'Half'"),
    (lambda: vision.roi_align(ONE, torch.ones(1, 4), 1.0, 2, 2, 2, False), "rois must have shape as Tensor[K, 5]"),
    (lambda: vision.roi_align(ONE, ROI.double(), 1.0, 2, 2, 2, False), "input should have the same type as rois"),
    (lambda: vision.ps_roi_align(ONE, ROI, 1.0, 3, 2, 2), "input channels must be a multiple of pooling height * pooling width"),
    (lambda: vision.roi_pool(ONE.half(), ROI.half(), 1.0, 2, 2), "roi_pool only supports float and double types"),
    (lambda: vision.deform_conv2d(ONE, WEIGHT, OFFSET[:, 1:], MASK, BIAS, 1, 1, 0, 0, 1, 1, 1, 1, True),
     "offset.shape[1] is not valid: got: 17 expected: 18"),
    (lambda: vision.deform_conv2d(ONE, WEIGHT, OFFSET, MASK, BIAS, 1, 1, 1, 0, 1, 1, 1, 1, True),
     "offset output dims: (3, 3) - computed output dims: (5, 3)"),
    (lambda: vision.deform_conv2d(ONE, WEIGHT, OFFSET, MASK, BIAS, 1, 1, 0, 0, 1, 1, 2, 1, True),
     "Expected weight_c.size(1) * n_weight_grps == input_c.size(1) to be true, but got false."),
    (lambda: vision.deform_conv2d(ONE, WEIGHT, OFFSET, MASK, BIAS, 0, 1, 0, 0, 1, 1, 1, 1, True), "stride_h: 0 stride_w: 1"),
    (lambda: vision.qnms(torch.ones(1, 4), torch.ones(1), 0.5), "torchvision::qnms takes quantized tensors"),
])  # fmt: skip
def test_errors_are_torchvisions(call: Any, text: str) -> None:
    with pytest.raises((RuntimeError, NotImplementedError)) as error:
        call()
    assert str(error.value).startswith(text)


def test_other_extensions_are_refused_by_name() -> None:
    for path in ("/somewhere/torchvision/image.so", "/somewhere/torchaudio/_C.so", "libcustom.so"):
        with pytest.raises(OSError, match=path):
            torch.ops.load_library(path)
    assert "/somewhere/torchvision/_C.so" in torch.ops.loaded_libraries
    assert vision._cuda_version() == -1
    assert str(vision.nms.default._schema) == "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


def test_keys_of_autocast_can_be_excluded() -> None:
    x = torch.ones(2, 2)
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU) | torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCUDA)
    with torch.autocast("cpu"):
        with torch._C._ExcludeDispatchKeyGuard(keys):
            assert (x @ x).dtype == torch.float32
        assert (x @ x).dtype == torch.bfloat16
    assert not torch.is_autocast_enabled("cuda") and not torch.is_autocast_enabled("cpu")
