"""``torch.utils``."""

from ..alias import attribute_fallback

__getattr__ = attribute_fallback(__name__, ("data", "checkpoint", "hooks", "model_zoo", "serialization"))
