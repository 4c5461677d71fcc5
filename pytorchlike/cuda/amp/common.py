"""``torch.cuda.amp.common``."""

from ...core.device import device_count

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """Whether JAX has no GPU in this process."""
    return not device_count("cuda")
