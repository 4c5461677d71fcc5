"""Schemas of operators that users define: torch's grammar, its errors, and the objects that ``OpOverload._schema`` shows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ..core import dtype as dtypes

__all__ = ["AliasInfo", "Argument", "FunctionSchema", "Type", "parse_schema"]

#: What a type is called in a schema, and what torch calls the class of its values.
_NAMES = {
    "Tensor": "Tensor", "int": "int", "SymInt": "int", "float": "float", "bool": "bool", "SymBool": "bool", "str": "str", "Scalar": "number",
    "complex": "complex", "ScalarType": "int", "Device": "Device", "Layout": "int", "MemoryFormat": "int", "Generator": "Generator", "Any": "Any",
    "None": "NoneType", "NoneType": "NoneType", "Storage": "Storage", "Dimname": "str", "Stream": "Stream",
}  # fmt: skip
_UNKNOWN_TYPE = (
    "\nunknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, Scalar; for a full list, please see "
    "https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func "
)


@dataclass(frozen=True)
class Type:
    """The type of an argument or result.

    Attributes:
        written: as schemas have it, without alias annotations: ``Tensor``, ``SymInt``; of lists and optionals that of the element.
        kind: ``""``, ``"[]"`` (a list of ``of``) or ``"?"`` (``of`` or None).
        size: of a list, the number of elements that one number stands for.
    """

    written: str
    kind: str = ""
    of: Type | None = None
    size: int | None = None

    @property
    def plain(self) -> str:
        """As in a schema, but without sizes: ``Tensor?[]``."""
        return self.written if self.of is None else self.of.plain + self.kind

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor, or one or None."""
        return self.plain in ("Tensor", "Tensor?")

    @property
    def is_tensor_list(self) -> bool:
        """Whether it is a list of tensors, in any of its forms."""
        return self.plain in ("Tensor[]", "Tensor?[]", "Tensor[]?", "Tensor?[]?")

    def text(self, alias: str = "") -> str:
        """As in a schema; the annotation stands behind the innermost name."""
        if self.of is None:
            return ("NoneType" if self.written == "None" else self.written) + alias
        return self.of.text(alias) + ("?" if self.kind == "?" else f"[{'' if self.size is None else self.size}]")

    def __str__(self) -> str:
        if self.of is None:
            return _NAMES.get(self.written, self.written)
        return f"{'Optional' if self.kind == '?' else 'List'}[{self.of}]"


@dataclass(frozen=True)
class AliasInfo:
    """Which memory an argument or result shares: ``(a!)``, ``(a -> *)``."""

    is_write: bool
    before_set: frozenset[str]
    after_set: frozenset[str]

    def __str__(self) -> str:
        def shown(names: frozenset[str]) -> str:
            return "|".join(sorted(names))

        after = f" -> {shown(self.after_set)}" if self.after_set != self.before_set else ""
        return f"({shown(self.before_set)}{'!' if self.is_write else ''}{after})"


_REQUIRED: Any = object()


@dataclass(frozen=True)
class Argument:
    """An argument or result of a `FunctionSchema`, by torch's names, and by those of `dispatch.schema.Argument`."""

    name: str
    type: Any
    alias_info: AliasInfo | None = None
    kwarg_only: bool = False
    default: Any = field(default=_REQUIRED)

    @property
    def required(self) -> bool:
        return self.default is _REQUIRED

    @property
    def default_value(self) -> Any:
        return None if self.required else self.default

    @property
    def keyword_only(self) -> bool:
        return self.kwarg_only

    @property
    def written(self) -> bool:
        return self.alias_info is not None and self.alias_info.is_write

    is_write = written

    @property
    def is_tensor(self) -> bool:
        return self.type.is_tensor or self.type.is_tensor_list

    @property
    def is_out(self) -> bool:
        return self.kwarg_only and self.written

    @property
    def N(self) -> int | None:
        kind = self.type.of if self.type.kind == "?" else self.type
        return kind.size

    def has_default_value(self) -> bool:
        """Whether a call may leave it out."""
        return not self.required

    def __str__(self) -> str:
        typed = self.type.text(str(self.alias_info or ""))
        value = self.default[0] if self.N and isinstance(self.default, list) and len(set(self.default)) == 1 else self.default
        is_device = self.type.plain.startswith("Device") and isinstance(value, str)
        default = "" if self.required else f"={value if is_device else _shown_default(value)}"
        return f"{typed} {self.name}{default}".rstrip()


#: The numbers that torch shows for the dtypes in defaults.
_DTYPE_NUMBERS = {
    dtypes.uint8: 0, dtypes.int8: 1, dtypes.int16: 2, dtypes.int32: 3, dtypes.int64: 4, dtypes.float16: 5, dtypes.float32: 6, dtypes.float64: 7,
    dtypes.complex32: 8, dtypes.complex64: 9, dtypes.complex128: 10, dtypes.bool_: 11, dtypes.bfloat16: 15,
}  # fmt: skip


def _shown_default(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, dtypes.dtype):
        return str(_DTYPE_NUMBERS.get(value, value))
    if isinstance(value, float):
        return f"{value:.0f}." if value == int(value) and abs(value) < 1e15 else f"{value:.17g}"
    return f"[{', '.join(_shown_default(v) for v in value)}]" if isinstance(value, list) else str(value)


@dataclass(frozen=True)
class FunctionSchema:
    """A parsed schema: ``ns::name.overload(arguments) -> returns``."""

    name: str
    overload_name: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    is_vararg: bool = False
    is_varret: bool = False

    @property
    def overload(self) -> str:
        return self.overload_name

    @property
    def is_mutable(self) -> bool:
        """Whether an argument is written to."""
        return any(a.written for a in self.arguments)

    @property
    def is_view(self) -> bool:
        """Whether a result shares an argument's memory without being written to."""
        return any(r.alias_info is not None and not r.alias_info.is_write for r in self.returns)

    def _is_view_op(self) -> bool:
        return self.is_view

    @property
    def is_functional(self) -> bool:
        """Whether it writes to nothing, shares no memory and has a result."""
        return not self.is_mutable and not self.is_view and bool(self.returns)

    @property
    def mutated(self) -> list[Argument]:
        """The arguments that are written to."""
        return [a for a in self.arguments if a.written]

    def __str__(self) -> str:
        parts: list[str] = []
        for argument in self.arguments:
            if argument.kwarg_only and "*" not in parts:
                parts.append("*")
            parts.append(str(argument))
        results = [str(r) for r in self.returns] + ["..."] * self.is_varret
        overload = f".{self.overload_name}" if self.overload_name else ""
        return f"{self.name}{overload}({', '.join(parts + ['...'] * self.is_vararg)}) -> {results[0] if len(results) == 1 else '(' + ', '.join(results) + ')'}"


# ---------------------------------------------------------------------------------------------------------------- parsing
_TOKEN = re.compile(r"\s*(?:(->|\.\.\.)|(::)|([A-Za-z_]\w*)|(-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')|(\S))")


class _Parser:
    """Goes through the tokens of a schema."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        at = 0
        while (found := _TOKEN.match(text, at)) is not None:
            number = found.lastindex or 0
            kind = ("eof", found[number], found[number], "ident", "number", "string_literal", found[number])[number]
            self.tokens.append(("arrow" if kind == "->" else kind, found[number], found.start(number)))
            at = found.end()
        self.tokens.append(("eof", "", len(text)))
        self.at = 0

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0]

    def error(self, message: str, token: int | None = None) -> RuntimeError:
        """The error at a token, with torch's mark."""
        _, written, start = self.tokens[self.at if token is None else token]
        mark = f"{' ' * start}{'~' * len(written)} <--- HERE\n" if written else ""
        return RuntimeError(f"{message}:\n{self.text}\n{mark}" if mark else f"{message}:\n{self.text}")

    def take(self, kind: str) -> str:
        """The next token, which has to be of a kind."""
        found, written, _ = self.tokens[self.at]
        if found != kind:
            raise self.error(f"expected {kind} but found '{found}' here")
        self.at += 1
        return written

    def has(self, kind: str) -> bool:
        """Take the next token if it is of a kind."""
        if self.kind != kind:
            return False
        self.at += 1
        return True

    # ------------------------------------------------------------------ the grammar
    def schema(self) -> FunctionSchema:
        name = self.take("ident")
        while self.has("::"):
            name += "::" + self.take("ident")
        overload = self.take("ident") if self.has(".") else ""
        if self.kind != "(":
            raise self.error(f"expected eof but found '{self.kind}' here") if self.kind != "eof" else self.error("expected ( but found 'eof' here")
        self.take("(")
        arguments: list[Argument] = []
        is_vararg = kwarg_only = False
        if not self.has(")"):
            while True:
                if self.has("*"):
                    kwarg_only = True
                elif self.has("..."):
                    is_vararg = True
                else:
                    arguments.append(self.argument(kwarg_only))
                if not self.has(","):
                    break
            self.take(")")
        self.take("arrow")
        returns: list[Argument] = []
        is_varret = self.has("...")
        if not is_varret and not self.has("("):
            returns.append(self.result())
        elif not is_varret and not self.has(")"):
            while True:
                is_varret = self.has("...") or is_varret
                if not is_varret:
                    returns.append(self.result())
                if not self.has(","):
                    break
            self.take(")")
        if self.kind != "eof":
            raise self.error(f"expected eof but found '{self.kind}' here")
        found = FunctionSchema(name, overload, tuple(arguments), tuple(returns), is_vararg, is_varret)
        _check_defaults(found)
        return found

    def typed(self) -> tuple[Type, AliasInfo | None]:
        """A type with its annotation."""
        start = self.at
        written = self.take("ident")
        if written not in _NAMES:
            raise self.error(_UNKNOWN_TYPE, start)
        found, alias = Type(written), None
        if written == "Tensor" and self.kind == "(":
            alias = self.alias()
        while True:
            if self.has("?"):
                found = Type(found.written, "?", found)
            elif self.has("["):
                size = int(self.take("number")) if self.kind == "number" else None
                self.take("]")
                found = Type(found.written, "[]", found, size)
            else:
                return found, alias

    def alias(self) -> AliasInfo:
        self.take("(")
        before = self.names()
        is_write = self.has("!")
        after = self.names() if self.has("arrow") else before
        self.take(")")
        return AliasInfo(is_write, before, after)

    def names(self) -> frozenset[str]:
        found = set()
        while True:
            found.add("*" if self.has("*") else self.take("ident"))
            if not self.has("|"):
                return frozenset(found)

    def argument(self, kwarg_only: bool) -> Argument:
        kind, alias = self.typed()
        name = self.take("ident")
        return Argument(name, kind, alias, kwarg_only, self.default(kind) if self.has("=") else _REQUIRED)

    def result(self) -> Argument:
        kind, alias = self.typed()
        return Argument(self.take("ident") if self.kind == "ident" else "", kind, alias)

    def default(self, kind: Type) -> Any:
        if self.kind == "ident" and self.tokens[self.at][1] == "None" and kind.kind != "[]":
            self.at += 1
            return None
        if kind.kind == "?":
            assert kind.of is not None
            return self.default(kind.of)
        if kind.kind == "[]":
            return self.default_list(kind)
        if kind.written == "Device" or kind.written == "str" and self.kind != "ident":
            return self.take("string_literal")[1:-1]
        if self.kind == "ident":
            word = self.tokens[self.at][1]
            if word in ("True", "False", "true", "false"):
                self.at += 1
                return word in ("True", "true")
            if kind.written in ("ScalarType", "Layout", "MemoryFormat", "int"):
                found = getattr(dtypes, word, None)
                found = found if isinstance(found, dtypes.dtype) else _WORDS.get(word)
                if found is not None:
                    self.at += 1
                    return found
            raise self.error("\ninvalid numeric default value", self.at + 1)
        text = self.take("number")
        if kind.written == "float":
            return float(text)
        return int(text) if re.fullmatch(r"-?\d+", text) else float(text)

    def default_list(self, kind: Type) -> Any:
        assert kind.of is not None
        if self.kind == "ident" and self.tokens[self.at][1] == "None":
            raise self.error("expected [ but found 'None' here")
        if self.kind != "[":
            value = self.default(kind.of)
            return [value] * (kind.size or 1)
        if kind.written not in ("int", "SymInt", "float", "complex", "bool"):
            raise self.error("\nlists are only supported for float, int and complex types")
        self.take("[")
        found: list[Any] = []
        while self.kind != "]":
            found.append(self.default(kind.of))
            if not self.has(","):
                break
        self.take("]")
        return found


#: What else may stand for a number or a dtype.
_WORDS = {
    "Mean": 1, "Sum": 2, "contiguous_format": 0, "preserve_format": 1, "strided": 0, "bool": dtypes.bool_, "long": dtypes.int64, "int": dtypes.int32,
    "short": dtypes.int16, "half": dtypes.float16, "float": dtypes.float32, "double": dtypes.float64, "cfloat": dtypes.complex64,
}  # fmt: skip


def _check_defaults(schema: FunctionSchema) -> None:
    """Behind a positional argument with a default all have one.

    Raises:
        RuntimeError: one has none, torch's text.
    """
    seen = False
    for argument in schema.arguments:
        if seen and argument.required and not argument.kwarg_only:
            raise RuntimeError(f"Non-default positional argument follows default argument. Parameter {argument.name} in {schema}")
        seen = seen or not argument.required


def parse_schema(text: str) -> FunctionSchema:
    """Parse a schema.

    Raises:
        RuntimeError: it is none, torch's text.
    """
    return _Parser(text).schema()
