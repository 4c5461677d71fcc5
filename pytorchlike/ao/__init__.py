"""``torch.ao``: what models import of it where they are not quantized."""

from ..alias import attribute_fallback

__getattr__ = attribute_fallback(__name__, ("quantization",))
