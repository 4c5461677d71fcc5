"""``torch.distributed``: so far its checkpoints; there are no process groups."""

from ..alias import attribute_fallback

__all__ = ["is_available", "is_initialized"]


def is_available() -> bool:
    """Whether processes can be joined in groups: not yet."""
    return False


def is_initialized() -> bool:
    """Whether the default process group exists: never."""
    return False


__getattr__ = attribute_fallback(__name__, ("checkpoint",))
