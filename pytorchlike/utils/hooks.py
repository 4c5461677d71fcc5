"""``torch.utils.hooks``: the handle of a registered hook, and what runs the full backward hooks of a module."""

import warnings
from collections.abc import Callable

from ..core.handle import RemovableHandle
from ..nn.modules.hooks import BackwardHook
from ..tensors.tensor import Tensor

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Callable) -> Callable:
    """Mark a hook: saving a tensor that has it gives no warning that it is left behind."""
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warn of the hooks of a tensor, which are not saved with it."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the function with "
                "@torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )
