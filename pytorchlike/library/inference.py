"""`infer_schema`: the schema of a Python function, from its annotations."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from ..core.device import device
from ..core.dtype import dtype
from ..tensors.tensor import Tensor
from .tags import Tag, as_tags

__all__ = ["infer_schema"]

#: ``torch.types.Number``.
_NUMBER: Any = int | float | bool


def _parameter_types() -> dict[Any, str]:
    """Annotation -> type in a schema: plain, optional, and the lists that torch knows of it."""
    rows: list[tuple[Any, str, bool, bool, bool]] = [  # lists of it, lists of optional ones, optional lists
        (Tensor, "Tensor", True, True, False), (int, "SymInt", True, False, True), (float, "float", True, False, True),
        (bool, "bool", True, False, True), (str, "str", False, False, False), (_NUMBER, "Scalar", True, False, False),
        (dtype, "ScalarType", False, False, False), (device, "Device", False, False, False),
    ]  # fmt: skip
    found: dict[Any, str] = {}

    def sequences(of: Any) -> tuple[Any, ...]:
        return typing.Sequence[of], typing.List[of], types.GenericAlias(collections.abc.Sequence, (of,)), types.GenericAlias(list, (of,))  # type: ignore[valid-type]  # noqa: UP006

    for base, name, lists, lists_of_optional, optional_lists in rows:
        found |= {base: name, typing.Optional[base]: f"{name}?"}  # noqa: UP045
        found |= {kind: f"{name}[]" for kind in sequences(base) if lists}
        found |= {kind: f"{name}?[]" for kind in sequences(typing.Optional[base]) if lists_of_optional}  # noqa: UP045
        found |= {typing.Optional[kind]: f"{name}[]?" for kind in sequences(base) if optional_lists}  # noqa: UP045
    return found


_PARAMETERS = _parameter_types()
_RETURNS: dict[Any, str] = {
    Tensor: "Tensor", typing.List[Tensor]: "Tensor[]", list[Tensor]: "Tensor[]", int: "SymInt", float: "float", bool: "bool", _NUMBER: "Scalar",  # noqa: UP006
}  # fmt: skip


class _Function:
    """A function whose schema is asked for, and the errors that name it."""

    def __init__(self, function: Callable) -> None:
        self.function = function
        self.signature = inspect.signature(function)

    def refuse(self, what: str) -> NoReturn:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {self.signature})")

    def evaluated(self, annotation: Any) -> Any:
        """An annotation with the strings in it read in the function's module."""
        if isinstance(annotation, str):
            try:
                return eval(annotation, self.function.__globals__)
            except NameError as error:
                self.refuse(
                    f"Unsupported type annotation {annotation}. It is not a type. ({error}). If you are using 'from __future__ import annotations', "
                    "note that annotations are evaluated lazily as strings; make sure all types referenced in annotations are importable at module "
                    "scope, not only inside a local function."
                )
            except Exception as error:
                self.refuse(f"Unsupported type annotation {annotation}. It is not a type. ({type(error).__name__}: {error})")
        origin = typing.get_origin(annotation)
        if origin is None:
            return annotation
        parts = typing.get_args(annotation)
        found = tuple([self.evaluated(p) for p in parts])
        return annotation if all(a is b for a, b in zip(found, parts)) else types.GenericAlias(origin, found)

    def parameter_type(self, parameter: inspect.Parameter) -> str:
        annotation = self.evaluated(parameter.annotation)
        found = _PARAMETERS.get(annotation)
        if found is not None:
            return found
        start = f"Parameter {parameter.name} has unsupported type {parameter.annotation}. "
        if typing.get_origin(annotation) is tuple:
            instead = _as_list(annotation)
            example = f"For example, {instead}.\n\n" if instead in _PARAMETERS else "\n\n"
            self.refuse(
                f"{start}We do not support Tuple inputs in schema. As a workaround, please try to use List instead. {example}"
                f"The valid types are: {_PARAMETERS.keys()}."
            )
        self.refuse(f"{start}The valid types are: {_PARAMETERS.keys()}.")

    def default(self, parameter: inspect.Parameter) -> str:
        value = parameter.default
        if value is None or isinstance(value, (int, float)):
            return str(value)
        if isinstance(value, (str, device)):
            return f'"{value}"'
        if isinstance(value, dtype):
            return str(value).removeprefix("torch.")
        self.refuse(
            f"Parameter {parameter.name} has an unsupported default value type {type(value)}. Please file an issue on GitHub so we can prioritize this."
        )

    def result_type(self, annotation: Any) -> str:
        if annotation is None:
            return "()"
        if annotation is inspect.Parameter.empty:
            self.refuse("No return type annotation was provided. Please add one.")
        parts = typing.get_args(annotation) if typing.get_origin(annotation) is tuple else (annotation,)
        if any(part not in _RETURNS for part in parts):
            self.refuse(f"Return has unsupported type {annotation}. The valid types are: {_RETURNS}.")
        if typing.get_origin(annotation) is not tuple:
            return _RETURNS[annotation]
        inner = ", ".join([_RETURNS[part] for part in parts])
        return f"(({inner}))" if len(parts) == 1 else f"({inner})"

    def out_result_type(self, annotation: Any, out: dict[str, str]) -> str:
        """The results of a function that returns its ``out`` arguments (name -> annotated type)."""
        if annotation is not Tensor if len(out) == 1 else typing.get_args(annotation) != (Tensor,) * len(out):
            self.refuse(
                f"torch.Tag.out requires the return annotation to match the mutable keyword-only Tensor arguments {tuple(out)}."
            )
        return next(iter(out.values())) if len(out) == 1 else f"({', '.join(out.values())})"


def _as_list(annotation: Any) -> Any:
    """The list that may stand for a tuple."""
    parts = typing.get_args(annotation)
    if not parts:
        return list
    if len(parts) == 1 or (len(parts) == 2 and parts[1] is Ellipsis):
        return list[parts[0]]  # type: ignore[valid-type]
    return types.GenericAlias(list, (typing.Union[tuple(parts)],))  # noqa: UP007


def infer_schema(prototype_function: Callable, /, *, mutates_args: str | Iterable[str], op_name: str | None = None,
                 tags: Tag | Sequence[Tag] | None = ()) -> str:  # fmt: skip
    """The schema of a function, from its annotations.

    Args:
        mutates_args: the arguments that the function writes to, or "unknown": all tensors.
        op_name: what to put in front; nothing if left out.
        tags: with ``torch.Tag.inplace`` or ``torch.Tag.out`` the results are what is written to.

    Raises:
        ValueError: an annotation is missing or has no type in a schema, torch's texts.
    """
    given = as_tags(tags)
    assert not (Tag.inplace in given and Tag.out in given), "torch.Tag.inplace and torch.Tag.out are mutually exclusive"
    function = _Function(prototype_function)
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError("mutates_args must either be a sequence of the names of the arguments that are mutated or the string 'unknown'. ")
    mutated = None if isinstance(mutates_args, str) else tuple(mutates_args)
    parts: list[str] = []
    out: dict[str, str] = {}
    first: tuple[str, str, int] | None = None
    for number, (name, parameter) in enumerate(function.signature.parameters.items()):
        keyword_only = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        if not keyword_only and parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            function.refuse("We do not support positional-only args, varargs, or varkwargs.")
        if keyword_only and "*" not in parts:
            parts.append("*")
        if parameter.annotation is inspect.Parameter.empty:
            function.refuse(f"Parameter {name} must have a type annotation.")
        typed = function.parameter_type(parameter)
        if not keyword_only and first is None:
            first = name, typed, number
        is_mutated = typed.startswith("Tensor") if mutated is None else name in mutated
        if is_mutated:
            if not typed.startswith("Tensor"):
                function.refuse(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
            typed = f"Tensor(a{number}!){typed.removeprefix('Tensor')}"
        if is_mutated and Tag.out in given:
            if not keyword_only:
                function.refuse("torch.Tag.out requires mutable arguments to be keyword-only.")
            if typed != f"Tensor(a{number}!)":
                function.refuse("torch.Tag.out only supports mutable keyword-only Tensor arguments.")
            out[name] = typed
        parts.append(f"{typed} {name}" if parameter.default is inspect.Parameter.empty else f"{typed} {name}={function.default(parameter)}")
    unseen = set(mutated or ()) - set(function.signature.parameters)
    if unseen:
        function.refuse(
            f"{unseen} in mutates_args were not found in the custom op's signature. mutates_args should contain the names of all args that the custom "
            "op mutates, or just the string 'unknown' if you don't know."
        )
    annotation = function.evaluated(function.signature.return_annotation)
    if Tag.out in given and not out:
        function.refuse("torch.Tag.out requires at least one mutable keyword-only Tensor argument.")
    if Tag.inplace in given:
        result = _inplace_result(function, first, mutates_args, mutated, annotation)
    else:
        result = function.out_result_type(annotation, out) if out else function.result_type(annotation)
    return f"{op_name or ''}({', '.join(parts)}) -> {result}"


def _inplace_result(function: _Function, first: tuple[str, str, int] | None, mutates_args: Any, mutated: tuple[str, ...] | None, annotation: Any) -> str:
    if first is None:
        function.refuse("torch.Tag.inplace requires a positional Tensor argument.")
    name, typed, number = first
    if typed != "Tensor":
        function.refuse("torch.Tag.inplace requires the first positional argument to be a Tensor.")
    if mutated is None or set(mutated) != {name}:
        function.refuse(f"torch.Tag.inplace requires mutates_args to contain exactly the first positional argument, got {mutated or mutates_args}.")
    if function.result_type(annotation) != "Tensor":
        function.refuse("torch.Tag.inplace requires the return annotation to be torch.Tensor.")
    return f"Tensor(a{number}!)"
