"""``torch._higher_order_ops``: control flow whose parts are functions of tensors; each is one instruction on ``jax.lax``."""

from ._branch import cond
from ._loops import associative_scan, map, scan, while_loop

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]
