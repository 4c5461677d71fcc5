"""``torch._tensor``: where torch's files say that tensors of user classes are rebuilt."""

from .tensors.rebuild import _rebuild_from_type_v2
from .tensors.tensor import Tensor

__all__ = ["Tensor", "_rebuild_from_type_v2"]
