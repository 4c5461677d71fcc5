"""torch's functions as the distributions call them: ``T.where`` is ``torch.where``, ``F.softplus`` is ``torch.nn.functional.softplus``."""

from __future__ import annotations

from typing import Any

from ..dispatch import forms

__all__ = ["F", "T", "linalg"]


class _Functions:
    """The public functions of a namespace, found when they are first asked for."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace

    def __getattr__(self, name: str) -> Any:
        found = forms.function(self._namespace, name)
        setattr(self, name, found)
        return found


T = _Functions("")
F = _Functions("nn.functional")
linalg = _Functions("linalg")
