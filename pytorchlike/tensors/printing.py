"""How tensors read as text: `tensor_text` and the options that steer it, character by character as in torch.

Entry points: `tensor_text` for a whole repr, `values_text` for the brackets alone, `set_printoptions` / `get_printoptions` /
`printoptions`.  Works on numpy arrays; an array that is too large to be shown whole is only sliced, never converted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..core import dtype as D

__all__ = ["Options", "get_printoptions", "printoptions", "set_printoptions", "sparse_text", "tensor_text", "values_text"]

PARAMETER_PREFIX = "Parameter containing:\n"


@dataclasses.dataclass
class Options:
    """What `set_printoptions` sets."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}
_options = Options()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors are printed; what is not given stays, except ``sci_mode``, which goes back to automatic.

    Nothing is validated and an unknown profile is ignored, as in torch.

    Args:
        precision: digits after the point.
        threshold: number of elements above which only the edges are shown.
        edgeitems: how many elements at each edge.
        linewidth: characters in a line.
        profile: ``default``, ``short`` or ``full``, applied before the others.
        sci_mode: always or never scientific notation; None decides for each tensor.
    """
    if isinstance(profile, str):
        _set(_PROFILES.get(profile.lower(), {}))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _set({name: value for name, value in given.items() if value is not None})
    _options.sci_mode = sci_mode


def _set(values: dict[str, Any]) -> None:
    for name, value in values.items():
        setattr(_options, name, value)


def get_printoptions() -> dict[str, Any]:
    """The options in force."""
    return dataclasses.asdict(_options)


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """`set_printoptions` for the length of a ``with`` block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        _set(before)


def tensor_text(
    array: np.ndarray | None,
    dtype: D.dtype,
    size: Sequence[int],
    *,
    device: str | None = None,
    requires_grad: bool = False,
    grad_fn: str | None = None,
    default_dtype: D.dtype = D.float32,
    prefix: str = "tensor(",
    suffixes: Sequence[str] = (),
) -> str:
    """The repr of a tensor.

    Args:
        array: its elements; None for a tensor without any (on the meta device).
        size: its shape.
        device: the device's name where it is to be shown.
        grad_fn: the name of the node that made it; then ``requires_grad`` is not shown.
        default_dtype: the floating dtype that goes without saying.
        prefix: what comes before the elements; continuation lines are indented by its length.
        suffixes: more to show after everything else, such as ``"tangent=..."``.
    """
    indent = len(prefix)
    shape = f"size={tuple(int(n) for n in size)}"
    usual: tuple[D.dtype, ...] = (default_dtype,)
    shown = [] if device is None else [f"device='{device}'"]
    if array is None:
        shown.append(shape)
        text = "..."
    elif array.size == 0:
        if len(size) != 1:
            shown.append(shape)
        text = "[]"
    else:
        if not _options.edgeitems:
            shown.append(shape)
        text = values_text(array, indent)
        usual = (default_dtype, default_dtype.to_complex(), D.int64, D.bool_)  # the elements show which of these it is
    if dtype not in usual:
        shown.append(f"dtype={dtype!r}")
    if grad_fn is not None:
        shown.append(f"grad_fn=<{grad_fn}>")
    elif requires_grad:
        shown.append("requires_grad=True")
    return _with_suffixes(prefix + text, [*shown, *suffixes], indent)


def sparse_text(parts: Mapping[str, tuple[np.ndarray | None, Sequence[int]]], suffixes: Sequence[str], on_new_line: bool) -> str:
    """The repr of a sparse tensor.

    Args:
        parts: names of indices and values -> (array, or None without data; shape).
        suffixes: what is to be said of the whole.
        on_new_line: the suffixes begin a line.
    """
    indent = len("tensor(")
    lines = []
    for name, (array, shape) in parts.items():
        prefix = f"{name}=tensor("
        text = "..." if array is None else values_text(array, indent + len(prefix))
        size = f", size={tuple(int(n) for n in shape)}" if array is None or array.size == 0 else ""
        lines.append(f"{prefix}{text}{size})")
    return _with_suffixes("tensor(" + (",\n" + " " * indent).join(lines), suffixes, indent, on_new_line)


def _with_suffixes(text: str, suffixes: Sequence[str], indent: int, on_new_line: bool = False) -> str:
    """``text`` and the suffixes, each on the last line as long as there is room, and a closing parenthesis."""
    parts = [text]
    used = _options.linewidth if on_new_line else len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if used + len(suffix) + 2 > _options.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            used = indent + len(suffix)
        else:
            parts.append(", " + suffix)
            used += len(suffix) + 2
    return "".join(parts) + ")"


def values_text(array: np.ndarray, indent: int = 0) -> str:
    """The elements in brackets, for a text whose first line has ``indent`` characters before them."""
    if array.size == 0:
        return "[]"
    cut = array.size > _options.threshold
    visible = _edges(array) if cut else array
    if visible.dtype.kind not in "biuc":
        visible = visible.astype(np.float64)  # all floating dtypes, exactly; the Python floats made of it are what is formatted
    element: Callable[[Any], str]
    if visible.dtype.kind == "c":
        real, imag = _Formatter(visible.real.astype(np.float64)), _Formatter(visible.imag.astype(np.float64))
        width = real.width + imag.width + 1

        def element(value: complex) -> str:
            right = imag(value.imag).lstrip()
            return real(value.real) + ("" if right[0] in "+-" else "+") + right + "j"
    else:
        element = _Formatter(visible)
        width = element.width
    return _block(visible, array.shape, cut, indent, element, width + 2)


def _edges(array: np.ndarray) -> np.ndarray:
    """The elements that are shown when the middle is left out."""
    edge = _options.edgeitems
    for axis, length in enumerate(array.shape):
        if length > 2 * edge:
            lead = (slice(None),) * axis
            array = np.concatenate([array[(*lead, slice(0, edge))], array[(*lead, slice(length - edge, length))]], axis)
    return array


def _block(visible: np.ndarray, shape: tuple[int, ...], cut: bool, indent: int, element: Callable[[Any], str], width: int) -> str:
    """The text of ``visible``, which stands for an array of ``shape`` with the middle left out where it is ``cut`` and long enough."""
    if not shape:
        return element(visible.item())
    edge = _options.edgeitems
    if len(shape) == 1:
        parts, dots = [element(value) for value in visible.tolist()], " ..."
    else:
        parts, dots = [_block(part, shape[1:], cut, indent + 1, element, width) for part in visible], "..."
    if cut and shape[0] > 2 * edge:
        parts = [*parts[:edge], dots, *parts[edge:]] if edge else ["..."]
    if len(shape) == 1:
        in_line = max(1, math.floor((_options.linewidth - indent) / width))
        parts = [", ".join(parts[start : start + in_line]) for start in range(0, len(parts), in_line)]
    return "[" + ("," + "\n" * max(1, len(shape) - 1) + " " * (indent + 1)).join(parts) + "]"


class _Formatter:
    """Formats the elements of one array alike: as integers where all are, in scientific notation where they differ too much in size.

    Attributes:
        width: characters of the widest element; zeros, infinities and NaN do not count.
    """

    def __init__(self, values: np.ndarray) -> None:
        self.floating = values.dtype.kind == "f"
        self.width = 1
        if not self.floating:
            self.spec = ""
            self.width = max((len(str(value)) for value in values.ravel().tolist()), default=1)
            return
        plain = values[np.isfinite(values) & (values != 0)]
        whole = bool((plain == np.ceil(plain)).all())
        scientific = _options.sci_mode if plain.size else False
        if scientific is None:
            sizes = np.abs(plain)
            smallest, largest = sizes.min(), sizes.max()
            with np.errstate(over="ignore"):
                scientific = bool(largest / smallest > 1000.0 or largest > 1.0e8 or (not whole and smallest < 1.0e-4))
        self.dot = whole and not scientific
        self.spec = f".{_options.precision}e" if scientific else ".0f" if whole else f".{_options.precision}f"
        if plain.size:
            self.width = max(len(format(value, self.spec)) + self.dot for value in plain.tolist())

    def __call__(self, value: Any) -> str:
        text = str(value) if not self.floating else format(value, self.spec)
        if self.floating and self.dot and math.isfinite(value):
            text += "."
        return text.rjust(self.width)
