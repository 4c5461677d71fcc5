"""``torch.cpu.amp.grad_scaler``: see ``torch.amp``."""

from ...amp.named import scaler_for

__all__ = ["GradScaler"]

GradScaler = scaler_for("cpu")
