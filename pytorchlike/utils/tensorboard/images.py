"""Arrays as pictures: layouts, grids, boxes, PNG files."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import Summary

__all__ = ["as_bytes", "encoded", "figure_pixels", "grid", "height_width_channels", "png"]


def grid(images: np.ndarray, columns: int = 8) -> np.ndarray:
    """Pictures (N, 1 or 3, H, W) in rows: (3, rows * H, columns * W)."""
    if images.ndim != 4 or images.shape[1] not in (1, 3):
        raise AssertionError("Input should be a 4D numpy array with 3 channels")
    if images.shape[1] == 1:
        images = np.repeat(images, 3, 1)
    count, _, height, width = images.shape
    columns = min(count, columns)
    rows = math.ceil(count / columns)
    filled = np.zeros((rows * columns, 3, height, width), images.dtype)
    filled[:count] = images
    return filled.reshape(rows, columns, 3, height, width).transpose(2, 0, 3, 1, 4).reshape(3, rows * height, columns * width)


def height_width_channels(array: np.ndarray, layout: str) -> np.ndarray:
    """A picture, or a batch as a grid, as (H, W, 3 or 4).

    Args:
        layout: a letter for each dimension of the array: ``CHW``, ``HW``, ``NCHW``, ...
    """
    if len(set(layout)) != len(layout):
        raise AssertionError(f"You can not use the same dimension shorthand twice. input_format: {layout}")
    if array.ndim != len(layout):
        raise AssertionError(
            f"size of input tensor and input format are different. tensor shape: {array.shape}, input_format: {layout}"
        )
    layout = layout.upper()
    if len(layout) == 4:
        return grid(array.transpose([layout.find(c) for c in "NCHW"])).transpose(1, 2, 0)
    if len(layout) == 2:
        return np.repeat(array.transpose([layout.find(c) for c in "HW"])[:, :, None], 3, 2)
    ordered = array.transpose([layout.find(c) for c in "HWC"])
    return np.repeat(ordered, 3, 2) if ordered.shape[2] == 1 else ordered


def as_bytes(array: np.ndarray) -> np.ndarray:
    """Numbers in [0, 1], or bytes, as bytes."""
    scale = 1 if array.dtype == np.uint8 else 255
    return (array.astype(np.float32) * scale).clip(0, 255).astype(np.uint8)


def png(pixels: np.ndarray) -> bytes:
    """Pixels (H, W, C) as a PNG file."""
    from PIL import Image

    with io.BytesIO() as file:
        Image.fromarray(pixels).save(file, format="PNG")
        return file.getvalue()


def _with_boxes(picture: Any, boxes: np.ndarray, labels: Sequence[str] | None) -> None:
    """Draw boxes (left, top, right, bottom) with names at their lower edges."""
    from PIL import ImageDraw, ImageFont

    font, draw = ImageFont.load_default(), ImageDraw.Draw(picture)
    for number, (left, top, right, bottom) in enumerate(boxes[:, :4]):
        draw.line([(left, top), (left, bottom), (right, bottom), (right, top), (left, top)], width=2, fill="Red")
        if labels is None or not labels[number]:
            continue
        x0, y0, x1, y1 = font.getbbox(labels[number])
        width, height = x1 - x0, y1 - y0
        margin = np.ceil(0.05 * height)
        draw.rectangle([(left, bottom - height - 2 * margin), (left + width, bottom)], fill="Red")
        draw.text((left + margin, bottom - height - margin), labels[number], fill="black", font=font)


def encoded(pixels: np.ndarray, rescale: float = 1, boxes: np.ndarray | None = None, labels: Sequence[str] | None = None) -> Summary.Image:
    """Pixels (H, W, C) as an entry of a summary."""
    from PIL import Image

    height, width, channels = pixels.shape
    picture = Image.fromarray(pixels)
    if boxes is not None:
        _with_boxes(picture, boxes, labels)
    picture = picture.resize((int(width * rescale), int(height * rescale)), Image.Resampling.LANCZOS)
    with io.BytesIO() as file:
        picture.save(file, format="PNG")
        return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=file.getvalue())


def figure_pixels(figures: Any, close: bool = True) -> np.ndarray:
    """A figure of matplotlib as (3, H, W), or several as (N, 3, H, W)."""
    import matplotlib.pyplot as plt
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    def pixels(figure: Any) -> np.ndarray:
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        width, height = figure.canvas.get_width_height()
        found = np.frombuffer(canvas.buffer_rgba(), np.uint8).reshape(height, width, 4)[:, :, :3].transpose(2, 0, 1)
        if close:
            plt.close(figure)
        return found

    return np.stack([pixels(f) for f in figures]) if isinstance(figures, list) else pixels(figures)
