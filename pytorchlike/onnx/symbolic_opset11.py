"""``torch.onnx.symbolic_opset11``: can be imported; its functions are for the exporter, which does not exist here."""

from ..alias import attribute_fallback

__getattr__ = attribute_fallback(__name__)
