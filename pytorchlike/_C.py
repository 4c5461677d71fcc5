"""The names of torch's extension module that Python code reaches for."""

from types import SimpleNamespace as _Namespace

from .aten.linalg import LinAlgError as _LinAlgError
from .core.state import thread as _thread
from .dispatch.batching import is_inside_batch as _is_inside_batch
from .dispatch.overrides import DisableTorchFunction, DisableTorchFunctionSubclass
from .dispatch.overrides import _disabled_torch_dispatch as _disabled_torch_dispatch_impl
from .dispatch.overrides import _disabled_torch_function as _disabled_torch_function_impl
from .futures import Future
from .jit._state import get_tracing_state as _get_tracing_state
from .library.keys import AutoDispatchBelowAutograd as _AutoDispatchBelowAutograd
from .library.keys import DispatchKey, DispatchKeySet
from .library.keys import ExcludeDispatchKeyGuard as _ExcludeDispatchKeyGuard
from .library.keys import after_autograd as _after_autograd_keyset
from .library.keys import key_of_device as _dispatch_key_for_device
from .library.operators import has_kernel_for_key as _dispatch_has_kernel_for_dispatch_key
from .library.schema import Argument, FunctionSchema, parse_schema
from .library.tags import Tag
from .tensors.tensor import Tensor as TensorBase

__all__ = [
    "Argument", "DisableTorchFunction", "DisableTorchFunctionSubclass", "DispatchKey", "DispatchKeySet", "FunctionSchema", "Future", "Tag", "TensorBase",
    "_AutoDispatchBelowAutograd", "_ExcludeDispatchKeyGuard", "_LinAlgError", "_after_autograd_keyset",
    "_are_functorch_transforms_active", "_disabled_torch_dispatch_impl", "_disabled_torch_function_impl", "_dispatch_has_kernel_for_dispatch_key", "_dispatch_key_for_device", "_functorch", "_get_tracing_state",
    "_log_api_usage_once", "parse_schema",
]  # fmt: skip


def _log_api_usage_once(event: str) -> None:
    """Accepted without effect: nobody keeps statistics of use."""


def _are_functorch_transforms_active() -> bool:
    """Whether a function of `torch.func` is running code of the user's."""
    return _thread.state.transforms > 0


#: What libraries ask of tensors that may be inside of `torch.vmap`; its predecessor's ("legacy") do not exist here.
_functorch = _Namespace(is_batchedtensor=_is_inside_batch, is_legacy_batchedtensor=lambda tensor: False)
