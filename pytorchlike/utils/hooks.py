"""``torch.utils.hooks``: the handle of a registered hook, and what runs the full backward hooks of a module."""

from ..core.handle import RemovableHandle
from ..nn.modules.hooks import BackwardHook

__all__ = ["BackwardHook", "RemovableHandle"]
