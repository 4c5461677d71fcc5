"""``torch.cuda.amp.autocast_mode``: see ``torch.amp``."""

from ...amp import autocast_mode
from ...amp.named import autocast_for, function_for
from ...core.dtype import float16

__all__ = ["autocast", "custom_bwd", "custom_fwd"]

autocast = autocast_for("cuda", float16)
custom_fwd, custom_bwd = (function_for("cuda", function) for function in (autocast_mode.custom_fwd, autocast_mode.custom_bwd))
