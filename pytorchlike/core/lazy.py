"""Modules that are imported when they are first used."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["LazyModule"]


class LazyModule:
    """Stands for a module; the first attribute that is asked for imports it.

    Args:
        name: the module's full name.
    """

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(importlib.import_module(self.__name__), attribute)
        setattr(self, attribute, found)
        return found
