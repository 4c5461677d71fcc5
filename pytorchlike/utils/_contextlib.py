"""torch.utils._contextlib: contexts that are decorators, too."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import _Switch

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager"]


class _DecoratorContextManager(_Switch):
    """A context manager that also decorates functions, generators and classes; each call enters a ``clone`` of it."""

    def clone(self) -> Any:
        return type(self)()

    def _again(self) -> Any:
        return self.clone()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The same for managers without arguments: the class itself decorates."""

    def __new__(cls, orig_func: Any = None) -> Any:
        made = super().__new__(cls)
        return made if orig_func is None else made(orig_func)
