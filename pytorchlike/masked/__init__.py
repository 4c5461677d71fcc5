"""torch.masked: the operators of this namespace."""

from .. import aten as _aten  # declares the operators
from ..dispatch.namespaces import operator_namespace

__getattr__, __dir__ = operator_namespace(__name__, "masked")
