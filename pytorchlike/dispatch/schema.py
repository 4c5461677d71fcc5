"""Schemas in torch's notation, parsed: ``add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor``."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

__all__ = ["Argument", "Schema", "parse"]

#: Argument types whose values are arrays inside an operator's body.
TENSOR_TYPES = frozenset({"Tensor", "Tensor?", "Tensor[]", "Tensor?[]"})
#: Argument types that arrive as 0-d arrays when the caller passes a number, so that a new value compiles nothing.
SCALAR_TYPES = frozenset({"Scalar", "Scalar?"})
_REQUIRED = object()


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a schema.

    Attributes:
        name: its name, torch's.
        type: its type without alias annotations: ``Tensor``, ``int[]``, ``Scalar?``, ...
        default: the default value; look at ``required`` first.
        required: there is no default.
        keyword_only: stands behind ``*``.
        written: the operator writes into it (``Tensor(a!)``).
    """

    name: str
    type: str
    default: Any
    required: bool
    keyword_only: bool
    written: bool

    @property
    def is_tensor(self) -> bool:
        return self.type in TENSOR_TYPES

    @property
    def is_scalar(self) -> bool:
        return self.type in SCALAR_TYPES


@dataclass(frozen=True, slots=True)
class Schema:
    """A parsed schema: ``name``, ``overload`` (empty for the default one), arguments, return types and the results' names (if any)."""

    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[str, ...]
    result_names: tuple[str, ...]
    text: str


_HEAD = re.compile(r"^([\w:]+?)(?:\.(\w+))?\((.*)\)\s*->\s*(.+)$")
_ARGUMENT = re.compile(r"^(\w+)(\([^)]*\))?((?:\[\d*\])?\??(?:\[\d*\])?\??)\s+(\w+)(?:=(.+))?$")


def _split(text: str) -> list[str]:
    """Split at the commas that stand outside brackets and quotes."""
    if not any(character in text for character in "\"'(["):
        return [part.strip() for part in text.split(",") if part.strip()]
    parts, depth, quote, current = [], 0, "", ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(current.strip())
            current = ""
            continue
        current += character
    return [*parts, current.strip()] if current.strip() else parts


_WORDS = {"None": None, "True": True, "False": False, "true": True, "false": False, "inf": float("inf")}


def _default(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    for number in (int, float):  # most defaults; ast.literal_eval would cost twenty times as much
        try:
            return number(text)
        except ValueError:
            pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def parse(text: str) -> Schema:
    """Parse a schema line.

    Raises:
        ValueError: the line is not a schema.
    """
    head = _HEAD.match(text.strip())
    if head is None:
        raise ValueError(f"not a schema: {text!r}")
    name, overload, inner, returns = head.groups()
    arguments, keyword_only = [], False
    for part in _split(inner):
        if part == "*":
            keyword_only = True
            continue
        found = _ARGUMENT.match(part)
        if found is None:
            raise ValueError(f"not an argument: {part!r} in the schema {text!r}")
        base, alias, suffix, argument_name, default = found.groups()
        kind = base.replace("SymInt", "int") + re.sub(r"\d", "", suffix)
        arguments.append(
            Argument(argument_name, kind, None if default is None else _default(default), default is None, keyword_only, "!" in (alias or ""))
        )
    returns = returns.strip()
    if returns == "()":
        parts: list[str] = []
    elif returns.startswith("("):
        parts = _split(returns[1:-1])
    else:
        parts = [returns]
    parts = [re.sub(r"\([^)]*\)", "", part) for part in parts]
    names = tuple(part.split()[1] for part in parts if " " in part)
    return Schema(name, overload or "", tuple(arguments), tuple(part.split()[0] for part in parts), names, text.strip())
