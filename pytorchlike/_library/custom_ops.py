"""``torch._library.custom_ops``: `custom_op` and its class."""

from ..library.custom_ops import CustomOpDef, custom_op

__all__ = ["CustomOpDef", "custom_op"]
