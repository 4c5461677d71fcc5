"""How an operator is declared: ``@op`` (computes), ``@view`` (maps a geometry), ``@composite`` (calls other operators).

One declaration holds all facts about an operator.  Its body is a pure function of ``jax.Array`` and static Python values; the
function, the method, the in-place and ``out=`` forms, promotion, the gradient's reduction to the input's shape and the recording
are derived from the schema (`forms.py`, `generate.py`).
"""

from __future__ import annotations

import enum
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from ..graph.data_checks import DataCheck
from .schema import Schema, parse

__all__ = ["ALL_FORMS", "FUNCTION", "INPLACE", "METHOD", "OPERATORS", "OUT", "Composite", "Form", "Operator", "Promote", "ViewOperator", "composite", "op", "view"]


class Promote(enum.Enum):
    """How the arguments' dtypes become the dtype in which an operator computes (torch's ELEMENTWISE_TYPE_PROMOTION_KIND)."""

    NONE = "none"  # bodies get arrays as they are; shapes are not broadcast against each other
    DEFAULT = "default"  # the common dtype
    INT_TO_FLOAT = "int_to_float"  # the common dtype; integers and bool become the default dtype
    ALWAYS_BOOL = "always_bool"  # the common dtype for the comparison, bool for the result
    COMPLEX_TO_FLOAT = "complex_to_float"  # the common dtype; the result of a complex input is real
    BOOL_TO_LONG = "bool_to_long"  # the common dtype; bool becomes int64


class Form(enum.Flag):
    """The public forms an operator has."""

    FUNCTION = enum.auto()
    METHOD = enum.auto()
    INPLACE = enum.auto()
    OUT = enum.auto()


FUNCTION, METHOD, INPLACE, OUT = Form.FUNCTION, Form.METHOD, Form.INPLACE, Form.OUT
ALL_FORMS = FUNCTION | METHOD | INPLACE | OUT

def make_function(declared: _Declared) -> Callable:
    """The Python function of a declared operator; dispatch/call.py puts the real one here."""
    raise NotImplementedError("dispatch/call.py is not imported yet")


#: Every declared operator under ``name`` or ``name.overload``.
OPERATORS: dict[str, Operator | ViewOperator | Composite] = {}


class _Declared:
    """What the three kinds of declaration share.

    ``aliases`` are further public names: a plain one (``arcsin``) has all forms and namespaces of the operator, one with a namespace
    (``special.expit``, ``.saddmm`` for the package itself) is a function there and nothing else.
    """

    aliases: tuple[str, ...]
    #: Whether the body leaves XLA for the host: arrays are copied there and back, and such programs are not kept on disk.
    calls_host = False
    #: What ``torch.ops`` makes of it, where that is another class than `overloads.OpOverload`.
    overload_class: Callable[..., Any] | None = None

    def __init__(self, schema: str, body: Callable, forms: Form, namespaces: tuple[str, ...], aliases: tuple[str, ...] = ()) -> None:
        self.schema_text = schema
        self.qualified_name = schema.partition("(")[0].strip()
        self.name = self.qualified_name.partition(".")[0]
        self.body = body
        self.forms = forms
        self.namespaces = namespaces
        self.aliases = aliases
        self.__doc__ = body.__doc__
        self.__name__ = self.name
        self.__module__ = body.__module__
        earlier = OPERATORS.get(self.qualified_name)
        if earlier is not None:
            raise ValueError(f"operator {self.qualified_name} is declared twice: in {earlier.__module__} and in {body.__module__}")
        OPERATORS[self.qualified_name] = self  # type: ignore[assignment]

    @functools.cached_property
    def schema(self) -> Schema:
        """The parsed schema (parsed on first use: most operators are not used in a process).

        Raises:
            ValueError: it is no schema.
        """
        return parse(self.schema_text)

    @functools.cached_property
    def function(self) -> Callable:
        """The operator as a Python function of tensors, with its schema's signature (made on first use)."""
        return make_function(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the operator on tensors."""
        return self.function(*args, **kwargs)

    def fingerprint(self) -> Any:
        """What `graph.fingerprint` tells of it: a declaration of this package is known by its name."""
        return self.qualified_name, self.body

    def __repr__(self) -> str:
        return f"<operator {self.schema_text}>"


class Operator(_Declared):
    """An operator that computes: body in jax.numpy, derivative rules, argument checks.

    Attributes:
        body: pure function; tensors arrive as arrays (cast as ``promote`` says), ``Scalar`` arguments as 0-d arrays (the default value
            as the Python number it is), everything else as hashable Python values.
        promote: see `Promote`; ``promoted`` names the arguments that take part (all tensors and scalars if empty).
        numbers: names of the ``Tensor`` arguments in whose place a number may stand.
        unrounded: names of arguments that keep the precision of a number beside half-precision tensors (the body computes in float32).
        differentiable: False for results that never carry a gradient, or the numbers of those that may.
        static: names of ``Scalar`` arguments that are part of the compile key instead.
        rules: argument name -> function of (g, names of saved arguments); ``without_grad``: see `no_grad`.
        check: function of the arguments' shapes and dtypes that raises torch's errors; runs once for each new combination.
        data_checks: errors that depend on data, with predicates over the body's arguments by name.
        instructions: what calls were bound to so far (dispatch/bind.py); ``tables`` are the generated functions' short cuts to them.
    """

    def __init__(self, schema: str, body: Callable, forms: Form, namespaces: tuple[str, ...], promote: Promote, promoted: tuple[str, ...],
                 differentiable: bool | tuple[int, ...], static: tuple[str, ...], aliases: tuple[str, ...] = (),
                 numbers: tuple[str, ...] | None = None, unrounded: tuple[str, ...] = ()) -> None:  # fmt: skip
        super().__init__(schema, body, forms, namespaces, aliases)
        self.promote = promote
        self.promoted = promoted
        self._numbers = numbers
        self.unrounded = unrounded
        self.differentiable = differentiable
        self.static = static
        self.rules: dict[str, Callable] = {}
        self.without_grad: dict[str, Callable] = {}
        self.checks: list[Callable] = []
        self.data_checks: list[DataCheck] = []
        self.instructions: dict[tuple, Any] = {}
        self.tables: list[dict] = []

    @functools.cached_property
    def schema(self) -> Schema:
        """The parsed schema.

        Raises:
            ValueError: it is no schema, or its arguments are not those of the body.
        """
        found = parse(self.schema_text)
        declared, written = [a.name for a in found.arguments], parameters(self.body)
        if declared != written:
            raise ValueError(f"{self.qualified_name}: the schema's arguments are {declared}, the body's {written}")
        return found

    @functools.cached_property
    def numbers(self) -> frozenset[str]:
        """The ``Tensor`` arguments in whose place a number may stand: those that were named, else all that take part in promotion."""
        if self._numbers is not None or self.promote is Promote.NONE:
            return frozenset(self._numbers or ())
        return frozenset(self.promoted or [a.name for a in self.schema.arguments])

    def grad(self, *names: str) -> Callable[[Callable], Callable]:
        """Declare the rule for the gradient with respect to the named arguments (each one gets the same function).

        The rule's parameters say what is saved: ``g`` is the gradient of the result (a tuple when there are several results), an
        argument's name its value, ``result`` (``result0``, ``result1`` ...) the output, ``NAME_meta`` only the shape and dtype of
        an argument, which saves nothing.  It may return the gradient in the broadcast shape and the promoted dtype.
        """
        arguments = parameters(self.body)

        def declare(rule: Callable) -> Callable:
            for parameter in parameters(rule):
                base = parameter.removesuffix("_meta")
                if parameter != "g" and base not in arguments and not base.startswith("result"):
                    raise ValueError(f"the rule of {self.qualified_name} asks for {parameter!r}, which is no argument")
            for name in names:
                if name not in arguments:
                    raise ValueError(f"{self.qualified_name} has no argument {name!r}")
                self.rules[name] = rule
            return rule

        return declare

    def no_grad(self, *names: str) -> Callable[[Callable], Callable]:
        """Declare a predicate over static arguments; true means that the named arguments get no gradient at all, not even zeros."""

        def declare(predicate: Callable) -> Callable:
            for name in names:
                self.without_grad[name] = predicate
            return predicate

        return declare

    def check(self, function: Callable) -> Callable:
        """Declare a check: called with the body's arguments, tensors as objects with ``shape``, ``dtype`` and ``ndim``."""
        self.checks.append(function)
        return function

    def data_check(self, exception: type[Exception], message: str | Callable[..., str], at_once: bool = False) -> Callable[[Callable], Callable]:
        """Declare a predicate over the arguments; true anywhere means the exception.

        It is raised when the operator is called, if the numbers are in the host's memory then, else at the next point that needs numbers.
        The predicate's parameters say what it looks at: an argument's name is its value, ``NAME_meta`` only its shape and dtype.

        Args:
            message: the text, with ``{}`` for each number (or a function of them) that the predicate returns behind its Bool array.
            at_once: compute what is pending to raise it at the call in any case.
        """
        arguments = parameters(self.body)
        numbers = message.count("{}") if isinstance(message, str) else len(parameters(message))

        def declare(predicate: Callable) -> Callable:
            for parameter in parameters(predicate):
                if parameter.removesuffix("_meta") not in arguments:
                    raise ValueError(f"a data check of {self.qualified_name} asks for {parameter!r}, which is no argument")
            self.data_checks.append(DataCheck(exception, message, numbers, predicate, at_once))
            return predicate

        return declare


class ViewOperator(_Declared):
    """An operator whose body maps the `Geometry` of its input to that of its output (or to a tuple of them).

    Attributes:
        changes_elements: the body also gets what the input's elements are (`tensors.elements.Elements`), as its second argument, and its
            result says what they become; other views see the elements of their input.
        differentiable: False for a view that carries no gradient.
    """

    def __init__(self, schema: str, body: Callable, forms: Form, namespaces: tuple[str, ...], aliases: tuple[str, ...],
                 changes_elements: bool, differentiable: bool) -> None:  # fmt: skip
        super().__init__(schema, body, forms, namespaces, aliases)
        self.changes_elements = changes_elements
        self.differentiable = differentiable


class Composite(_Declared):
    """An operator that is a Python function of tensors, written with other operators; it has no derivative of its own."""


def parameters(function: Callable) -> list[str]:
    """The names of a function's parameters (``inspect.signature`` is too slow for an import)."""
    while hasattr(function, "__wrapped__") and not hasattr(function, "__signature__"):
        function = function.__wrapped__
    if hasattr(function, "__signature__"):
        return list(function.__signature__.parameters)
    code = getattr(function, "__code__", None)
    if code is None:
        return list(inspect.signature(function).parameters)
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def op(
    schema: str,
    *,
    promote: Promote = Promote.NONE,
    promoted: Iterable[str] = (),
    forms: Form = FUNCTION | METHOD,
    namespaces: tuple[str, ...] = ("",),
    differentiable: bool | tuple[int, ...] = True,
    static: tuple[str, ...] = (),
    aliases: tuple[str, ...] = (),
    numbers: tuple[str, ...] | None = None,
    unrounded: tuple[str, ...] = (),
) -> Callable[[Callable], Operator]:
    """Declare an operator that computes; see `Operator` for the meaning of the arguments.

    Args:
        namespaces: where the function form is public: ``""`` is the package itself, ``"nn.functional"``, ``"special"``, ``"linalg"``, ...
    """

    def declare(body: Callable) -> Operator:
        return Operator(schema, body, forms, namespaces, promote, tuple(promoted), differentiable, static, aliases, numbers, unrounded)

    return declare


def view(
    schema: str,
    *,
    forms: Form = FUNCTION | METHOD,
    namespaces: tuple[str, ...] = ("",),
    aliases: tuple[str, ...] = (),
    changes_elements: bool = False,
    differentiable: bool = True,
) -> Callable[[Callable], ViewOperator]:
    """Declare a view operator: ``body(geometry, ...) -> Geometry``; see `ViewOperator`."""

    def declare(body: Callable) -> ViewOperator:
        return ViewOperator(schema, body, forms, namespaces, aliases, changes_elements, differentiable)

    return declare


def composite(
    schema: str, *, forms: Form = FUNCTION | METHOD, namespaces: tuple[str, ...] = ("",), aliases: tuple[str, ...] = ()
) -> Callable[[Callable], Composite]:
    """Declare an operator as a Python function of tensors."""

    def declare(body: Callable) -> Composite:
        return Composite(schema, body, forms, namespaces, aliases)

    return declare


def lookup(name: str) -> Any:
    """The operator declared under ``name`` or ``name.overload``.

    Raises:
        KeyError: there is none.
    """
    return OPERATORS[name]
