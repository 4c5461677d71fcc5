"""``torch.ops``: operators by namespace, name and overload (``torch.ops.aten.add.Tensor``)."""

from __future__ import annotations

from typing import Any

from .dispatch.overloads import OpOverload, OpOverloadPacket, packet_of
from .dispatch.registry import OPERATORS
from .extensions import load

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

    def __init__(self) -> None:
        #: The extensions whose operators were asked for.
        self.loaded_libraries: set[str] = set()

    def load_library(self, path: Any) -> None:
        """Define the operators of a library's C++ extension, where pytorchlike has them in JAX (`extensions`).

        Raises:
            OSError: it has not, as torch raises for a file that it cannot load.
        """
        if not load(str(path)):
            raise OSError(
                f"Could not load this library: {path}: pytorchlike runs no C++ operators; define them in Python (torch.library.custom_op)"
            )
        self.loaded_libraries.add(str(path))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = _OpNamespace(name)
        setattr(self, name, namespace)
        return namespace


ops = _Ops()
