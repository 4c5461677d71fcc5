"""torch.functional: functions of the package under the name that torch's own file has."""

from .dispatch.namespaces import operator_namespace

__getattr__, __dir__ = operator_namespace(__name__, "")
