"""``torch.utils.hooks``: the handle of a registered hook, and what runs the full backward hooks of a module."""

from collections.abc import Callable

from ..core.handle import RemovableHandle
from ..nn.modules.hooks import BackwardHook
from ..tensors.rebuild import warn_if_has_hooks

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Callable) -> Callable:
    """Mark a hook: saving a tensor that has it gives no warning that it is left behind."""
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f
