"""``torch._dynamo.eval_frame``: where torch has compiled modules."""

from ..compiler.api import OptimizedModule

__all__ = ["OptimizedModule"]
