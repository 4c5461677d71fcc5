"""``torch.ops``: operators by namespace, name and overload (``torch.ops.aten.add.Tensor``)."""

from __future__ import annotations

from typing import Any, NoReturn

from .dispatch.overloads import OpOverload, OpOverloadPacket, packet_of
from .dispatch.registry import OPERATORS

__all__ = ["OpOverload", "OpOverloadPacket", "ops"]


class _OpNamespace:
    """The operators of one namespace."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        found = packet_of(self.name, name)
        if self.name == "aten":  # others may go as they came (library/)
            setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        names = {operator.name.rpartition("::")[::2] for operator in OPERATORS.values()}
        return sorted(name for namespace, name in names if (namespace or "aten") == self.name)

    def __repr__(self) -> str:
        return f"<torch.ops.{self.name}>"


class _Ops:
    """``torch.ops``; a namespace is made when it is asked for."""

    #: The files of C++ operators that were loaded: none.
    loaded_libraries: set[str] = set()

    def load_library(self, path: Any) -> NoReturn:
        """Refused: a library of C++ operators is linked against torch's own.

        Raises:
            OSError: always, as torch does for a file that it cannot load.
        """
        raise OSError(
            f"Could not load this library: {path}: pytorchlike runs no C++ operators; define them in Python (torch.library.custom_op)"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = _OpNamespace(name)
        setattr(self, name, namespace)
        return namespace


ops = _Ops()
