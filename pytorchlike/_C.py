"""The names of torch's extension module that Python code reaches for."""

from .aten.linalg import LinAlgError as _LinAlgError
from .dispatch.overrides import DisableTorchFunction, DisableTorchFunctionSubclass
from .dispatch.overrides import _disabled_torch_dispatch as _disabled_torch_dispatch_impl
from .dispatch.overrides import _disabled_torch_function as _disabled_torch_function_impl
from .tensors.tensor import Tensor as TensorBase

__all__ = [
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "TensorBase", "_LinAlgError", "_disabled_torch_dispatch_impl",
    "_disabled_torch_function_impl", "_get_tracing_state",
]  # fmt: skip


def _get_tracing_state() -> None:
    """The state of `torch.jit.trace`, which libraries ask for: nothing is ever traced by it here."""
