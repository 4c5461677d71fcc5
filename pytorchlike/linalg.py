"""torch.linalg: the operators of this namespace."""

from . import aten as _aten  # noqa: F401 - declares the operators
from .aten.linalg import LinAlgError  # noqa: F401 - public here
from .dispatch.namespaces import operator_namespace

__getattr__, __dir__ = operator_namespace(__name__, "linalg")
