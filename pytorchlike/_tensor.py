"""``torch._tensor``: where torch's files say that tensors of user classes are rebuilt."""

from typing import Any

from .dispatch.overrides import _converted
from .tensors.rebuild import _rebuild_from_type_v2
from .tensors.tensor import Tensor

__all__ = ["Tensor", "_convert", "_rebuild_from_type_v2"]


def _convert(ret: Any, cls: type) -> Any:
    """Results, in tuples and lists, as tensors of a subclass."""
    return ret if cls is Tensor else _converted(ret, cls, None)
