"""Modules whose attributes are switches: ``torch.backends.cudnn.benchmark = True`` checks the value and keeps it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

__all__ = ["SwitchModule"]


class SwitchModule(ModuleType):
    """A module with switches that are kept, and that XLA has no use for unless the module says so."""

    #: Names of the switches `flags` accepts; a subclass states them.
    SWITCHES: tuple[str, ...] = ()

    def set_flags(self, **values: Any) -> tuple:
        """Set the switches given (None leaves one as it is); return the values all of them had."""
        before = tuple(getattr(self, name) for name in self.SWITCHES)
        for name, value in values.items():
            if name not in self.SWITCHES:
                raise TypeError(f"set_flags() got an unexpected keyword argument '{name}'")
            if value is not None:
                setattr(self, name, value)
        return before

    @contextlib.contextmanager
    def flags(self, **values: Any) -> Iterator[None]:
        """The switches have the given values inside the ``with`` block."""
        before = self.set_flags(**values)
        try:
            yield
        finally:
            self.set_flags(**dict(zip(self.SWITCHES, before)))
