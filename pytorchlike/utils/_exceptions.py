"""Exceptions of a worker, raised again where its results are asked for."""

from __future__ import annotations

import sys
import traceback
from typing import Any, NoReturn

__all__ = ["ExceptionWrapper", "KeyErrorMessage"]


class KeyErrorMessage(str):
    """A text that `KeyError`, which shows the ``repr`` of its argument, shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return self


class ExceptionWrapper:
    """The exception being handled as a class and a text, both of which can be sent to another process.

    Args:
        exc_info: as `sys.exc_info` returns it, which is asked when it is left out.
        where: what the message says of the place.
    """

    __module__ = "torch._utils"

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        kind, value, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = kind
        self.exc_msg = "".join(traceback.format_exception(kind, value, trace))
        self.where = where

    def reraise(self) -> NoReturn:
        """Raise an exception of the same class, with the original traceback in its message (a RuntimeError if it takes no message)."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=message)
        try:
            exception = self.exc_type(message)
        except Exception:
            raise RuntimeError(message) from None
        raise exception
