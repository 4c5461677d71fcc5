"""``torch.cpu.amp.autocast_mode``: see ``torch.amp``."""

from ...amp.named import autocast_for
from ...core.dtype import bfloat16

__all__ = ["autocast"]

autocast = autocast_for("cpu", bfloat16)
