"""``torch._custom_ops``: the predecessor of `torch.library`, of which the name that libraries still ask for is here."""

from .library.context import get_ctx

__all__ = ["get_ctx"]
