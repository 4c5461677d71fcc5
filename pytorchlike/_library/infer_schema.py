"""``torch._library.infer_schema``: schemas from annotations."""

from ..library.inference import infer_schema

__all__ = ["infer_schema"]
