"""``torch.cuda.amp.grad_scaler``: see ``torch.amp``."""

from ...amp.grad_scaler import OptState  # noqa: F401 - public here, too
from ...amp.named import scaler_for

__all__ = ["GradScaler"]

GradScaler = scaler_for("cuda")
