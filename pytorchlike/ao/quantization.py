"""``torch.ao.quantization``: the modules that stand in a model where quantization would begin and end; nothing is quantized here."""

from ..alias import attribute_fallback
from ..nn.quantizable import DeQuantStub, QuantStub

__all__ = ["DeQuantStub", "QuantStub"]

__getattr__ = attribute_fallback(__name__)
