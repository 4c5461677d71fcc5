"""`rearrange`: permute, split and merge dimensions by a pattern like ``"b (h p) c -> h b (c p)"``."""

from __future__ import annotations

import keyword
import math
import warnings
from collections.abc import Sequence
from typing import Any

from ..dispatch.registry import lookup
from ..tensors.tensor import Tensor

__all__ = ["rearrange"]

_ELLIPSIS = "…"


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Tensor:
    """The elements of a tensor in other dimensions, in the notation of einops.

    Args:
        tensor: a tensor, or a sequence of tensors that are stacked first.
        pattern: names for the dimensions before and after ``->``; brackets hold the parts of one dimension, the first of which is the
            slowest; ``1`` is a dimension of that size, ``...`` all dimensions that are not named.
        axes_lengths: the sizes of parts that do not follow from the tensor's.

    Raises:
        ValueError, TypeError: the pattern is malformed or does not fit; torch's texts.
        RuntimeError: a dimension is not divisible by its parts.

    Ref: https://docs.pytorch.org/docs/stable/generated/torch.func.rearrange.html; arXiv:2106.09681
    """
    if not isinstance(tensor, Tensor):
        tensor = lookup("stack")(tensor)
    left, right = _sides(pattern, axes_lengths)
    sizes = _sizes(left, tensor, axes_lengths)
    split = [size for group in left for name in group for size in sizes[name]]
    places: dict[str, list[int]] = {}
    position = 0
    for name in [name for group in left for name in group]:
        places[name] = list(range(position, position + len(sizes[name])))
        position += len(sizes[name])
    order = [place for group in right for name in group for place in places[name]]
    merged: list[int] = []
    for group in right:
        if group == [_ELLIPSIS]:
            merged += sizes[_ELLIPSIS]
        else:
            merged.append(math.prod([n for name in group for n in sizes[name]]))
    return tensor.reshape(split).permute(order).reshape(merged)


def _sizes(left: list[list[str]], tensor: Tensor, lengths: dict[str, int]) -> dict[str, list[int]]:
    """The sizes of each name: one, but for the ellipsis."""
    has_ellipsis = [_ELLIPSIS] in left
    groups = len(left) - has_ellipsis
    if has_ellipsis and groups > tensor.ndim:
        raise ValueError(
            f"Number of dimensions in pattern ({groups}) must be less than or equal to the number of dimensions in the tensor ({tensor.ndim})"
        )
    if not has_ellipsis and groups != tensor.ndim:
        raise ValueError(f"Number of dimensions in pattern ({groups}) must be equal to the number of dimensions in the tensor ({tensor.ndim})")
    found: dict[str, list[int]] = {}
    shape = list(tensor.shape)
    for group in left:
        if group == [_ELLIPSIS]:
            found[_ELLIPSIS], shape = shape[: tensor.ndim - groups], shape[tensor.ndim - groups :]
            continue
        size = shape.pop(0)
        unknown = [name for name in group if name not in lengths]
        known = math.prod([lengths[name] for name in group if name in lengths])
        if len(unknown) > 1:
            raise RuntimeError(f"cannot infer the sizes of {unknown} from a dimension of size {size}: give all but one of them")
        if (size % known if known and unknown else size != known) or not known and size:
            raise RuntimeError(f"a dimension of size {size} cannot be split into {group} with sizes {lengths}")
        found.update({name: [lengths.get(name, size // known if known else 0)] for name in group})
    return found


def _sides(pattern: str, lengths: dict[str, int]) -> tuple[list[list[str]], list[list[str]]]:
    """Both sides of a pattern as lists of dimensions, which are lists of names.

    Raises:
        ValueError, TypeError: torch's texts.
    """
    parts = pattern.split("->")
    if len(parts) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = _parsed(parts[0]), _parsed(parts[1])
    names, others = ({name for group in side for name in group} for side in (left, right))
    if _ELLIPSIS in others and _ELLIPSIS not in names:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if _ELLIPSIS in names and [_ELLIPSIS] not in left or any(_ELLIPSIS in g and len(g) > 1 for g in left):
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    for length in lengths.values():
        if type(length) is not int:
            raise TypeError(f"rearrange axis lengths must be integers, got: {type(length)}")
    if any(name.isdecimal() for name in names | others):
        raise ValueError("rearrange only supports unnamed axes of size 1")
    if names != others:
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {names ^ others}")
    unmatched = lengths.keys() - names
    if unmatched:
        raise ValueError(f"Identifiers not found in rearrange expression: {unmatched}")
    return left, right


def _parsed(side: str) -> list[list[str]]:
    if "." in side:
        if "..." not in side:
            raise ValueError("Expression may contain dots only inside ellipsis (...)")
        if side.count("...") != 1 or side.count(".") != 3:
            raise ValueError("Expression may contain dots only inside ellipsis (...); only one ellipsis for tensor ")
        side = side.replace("...", _ELLIPSIS)
    groups: list[list[str]] = []
    inside: list[str] | None = None
    for token in _tokens(side):
        if token == "(":
            if inside is not None:
                raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
            inside = []
        elif token == ")":
            if inside is None:
                raise ValueError("Brackets are not balanced")
            groups.append(inside)
            inside = None
        else:
            if any(token in group for group in (*groups, inside or [])):
                raise ValueError(f"Indexing expression contains duplicate dimension '{token}'")
            names = [] if token.isdecimal() and int(token) == 1 else [_checked(token)]
            if inside is None:
                groups.append(names)
            else:
                inside += names
    if inside is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{side}'")
    return groups


def _tokens(side: str) -> Sequence[str]:
    for character in side:
        if not (character in "() _" or character == _ELLIPSIS or character.isalnum()):
            raise ValueError(f"Unknown character '{character}'")
    return side.replace("(", " ( ").replace(")", " ) ").split()


def _checked(name: str) -> str:
    """A name that may stand for a dimension.

    Raises:
        ValueError: it may not, torch's text.
    """
    if name == _ELLIPSIS or name.isdecimal():
        return name
    if not name.isidentifier():
        raise ValueError(f"Invalid axis identifier: {name}\nnot a valid python identifier")
    if name[0] == "_" or name[-1] == "_":
        raise ValueError(f"Invalid axis identifier: {name}\naxis name should should not start or end with underscore")
    if keyword.iskeyword(name):
        warnings.warn(f"It is discouraged to use axes names that are keywords: {name}", RuntimeWarning, stacklevel=5)
    return name
