"""``torch._utils``: the functions that pickled tensors are rebuilt with."""

from .nn.parameter import _rebuild_parameter, _rebuild_parameter_with_state
from .tensors.rebuild import (
    _rebuild_device_tensor_from_cpu_tensor,
    _rebuild_device_tensor_from_numpy,
    _rebuild_meta_tensor_no_storage,
    _rebuild_tensor,
    _rebuild_tensor_v2,
    _rebuild_tensor_v3,
)
from .utils._exceptions import ExceptionWrapper, KeyErrorMessage

__all__ = [
    "ExceptionWrapper", "KeyErrorMessage", "_rebuild_device_tensor_from_cpu_tensor", "_rebuild_device_tensor_from_numpy", "_rebuild_meta_tensor_no_storage", "_rebuild_parameter",
    "_rebuild_parameter_with_state", "_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3",
]  # fmt: skip
