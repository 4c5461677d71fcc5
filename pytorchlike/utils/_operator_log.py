"""A log of the operators that run in a block, for messages."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from ..dispatch.modes import TorchDispatchMode
from ..graph.provenance import user_stack
from ..tensors.tensor import Tensor

__all__ = ["OperatorLog"]

_SHORT = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8",
          "uint8": "u8", "bool": "b8", "complex64": "c64", "complex128": "c128"}  # fmt: skip


class OperatorLog:
    """Lines such as ``$2: f32[10] = torch.ops.aten.sin.default($1)``, each with the user's stack."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.stacks: list[list[str]] = []

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Log the operators of the block."""
        self.lines.clear()
        self.stacks.clear()
        with _Mode(self):
            yield

    def text(self) -> str:
        """The lines."""
        return "\n".join(self.lines)

    def traces(self, label: str) -> str:
        """The lines, with the stacks below them."""
        count = len(self.lines)
        return "\n\n".join(
            f"{line}   ({k + 1} of {count} in {label})\n\n{''.join(stack)}" for k, (line, stack) in enumerate(zip(self.lines, self.stacks, strict=True))
        )


class _Mode(TorchDispatchMode):
    def __init__(self, log: OperatorLog) -> None:
        self.log = log
        self.numbers: dict[int, int] = {}
        self.kept: list[Tensor] = []  # so that no tensor gets the id of another

    def _show(self, value: Any) -> str:
        if isinstance(value, Tensor):
            if id(value) not in self.numbers:
                self.kept.append(value)
            return f"${self.numbers.setdefault(id(value), len(self.numbers))}"
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(map(self._show, value))}]"
        return repr(value)

    def __torch_dispatch__(self, func: Any, types: Sequence[type], args: tuple = (), kwargs: dict | None = None) -> Any:
        given = [self._show(a) for a in args] + [f"{name}={self._show(a)}" for name, a in (kwargs or {}).items()]
        result = func(*args, **(kwargs or {}))
        shown = [
            f"{self._show(r)}: {_SHORT.get(r.dtype.name, r.dtype.name)}[{', '.join(map(str, r.shape))}]"
            for r in (result if isinstance(result, (tuple, list)) else [result])
            if isinstance(r, Tensor)
        ]
        self.log.lines.append(f"{', '.join(shown)} = torch.ops.{func}({', '.join(given)})")
        self.log.stacks.append(user_stack())
        return result
