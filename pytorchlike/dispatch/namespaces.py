"""Public modules that hold operators: their functions are made when they are first asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..alias import attribute_fallback
from . import forms

__all__ = ["operator_namespace"]


def operator_namespace(module_name: str, namespace: str, submodules: Iterable[str] = (),
                       homes: Mapping[str, str] = {}) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:  # fmt: skip
    """A module's ``__getattr__`` and ``__dir__`` over the operators of a namespace.

    Args:
        module_name: ``__name__`` of the module.
        namespace: the namespace in the operators' declarations, ``nn.functional``; empty for the package itself.
        submodules: names below the module that are imported when they are asked for.
        homes: further names, taken from one of the submodules when they are asked for.
    """
    otherwise = attribute_fallback(module_name, submodules, homes)

    def __getattr__(name: str) -> Any:
        if not forms.has_function(namespace, name):
            return otherwise(name)
        found = forms.function(namespace, name)
        setattr(sys.modules[module_name], name, found)
        return found

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[module_name]), *forms.names_of(namespace), *submodules, *homes})

    return __getattr__, __dir__
