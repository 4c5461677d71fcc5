"""``torch.jit.annotations``: names that annotations of scripted code use."""

from typing import Any, Dict, List, Optional, Tuple  # noqa: UP035 - libraries import them from here

from .._jit_internal import (
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
    is_dict,
    is_list,
    is_optional,
    is_tuple,
    is_union,
)
from ..nn.modules.module import Module

__all__ = [
    "Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Dict", "List", "Module", "Optional", "Tuple", "is_dict", "is_list", "is_optional",
    "is_tuple", "is_union",
]  # fmt: skip
