"""``torch.nn.functional``: the operators declared for this namespace."""

from ...dispatch.namespaces import operator_namespace

__getattr__, __dir__ = operator_namespace(__name__, "nn.functional")
