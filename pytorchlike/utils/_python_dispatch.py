"""torch.utils._python_dispatch: modes that see each operator's call."""

from ..dispatch.modes import TorchDispatchMode, current_dispatch_modes

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass"]


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    modes = current_dispatch_modes()
    return modes[-1] if modes else None


def _get_current_dispatch_mode_stack() -> list[TorchDispatchMode]:
    return current_dispatch_modes()


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether an object is of a tensor subclass that says what it wraps (``__tensor_flatten__`` and ``__tensor_unflatten__``)."""
    return hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")
