"""torch.masked: the operators of this namespace, and masked tensors."""

from .. import aten as _aten  # declares the operators
from ..aten.masked_tensor import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor
from ..dispatch.namespaces import operator_namespace

__getattr__, __dir__ = operator_namespace(__name__, "masked")
