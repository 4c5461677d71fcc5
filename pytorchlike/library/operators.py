"""Operators that users define: their kernels by dispatch key, and the call.

A `UserOperator` is a declaration like those in ``aten/`` (a `Composite`: what it calls is recorded, has derivatives and transforms), found by
``torch.ops`` as they are.  Its body looks for the highest key of the call that has a kernel:

    __torch_function__ -> __torch_dispatch__ -> Autocast* -> Autograd* -> BackendSelect -> CPU, CUDA, ... (else the Composite* kernels)
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..core.state import thread
from ..dispatch import keys as dispatch_keys
from ..dispatch import overrides
from ..dispatch.batching import BatchLevel
from ..dispatch.overloads import OpOverload, callers, forget, overload_of, packet_of
from ..dispatch.registry import FUNCTION, OPERATORS, Composite
from ..tensors.tensor import Tensor
from .keys import AUTOGRAD, COMPOSITE, DispatchKeySet, backend_of, is_below_autograd, keys_of_call
from .matching import checked_results, for_kernel, match
from .schema import FunctionSchema
from .tags import Tag

__all__ = ["Kernel", "UserOperator", "UserOverload", "kernels_of", "lookup_operator"]


class Kernel(NamedTuple):
    """What was registered for a key: ``function(*args, **kwargs)``, ``function(keyset, *args, **kwargs)`` or, of ours, ``function(keyset, values)``."""

    function: Callable
    with_keyset: bool
    takes_values: bool
    source: str


class Kernels:
    """What was registered under a qualified name, whether or not the operator is defined yet.

    Attributes:
        by_key: the kernels of each key, the last of which is called.
        fakes: what `register_fake` was given.
        dispatch_rules: class of a mode or tensor -> what is called in place of its ``__torch_dispatch__``.
        vmap_rules: what `register_vmap` was given.
        was_captured: a captured call (compiler/) did what one of them does.
    """

    def __init__(self) -> None:
        self.by_key: dict[str, list[Kernel]] = {}
        self.fakes: list[Kernel] = []
        self.dispatch_rules: dict[type, list[Callable]] = {}
        self.vmap_rules: list[Callable] = []
        self.was_captured = False
        self._chosen: dict[str, Kernel | None] = {}

    def changed(self) -> None:
        """Forget what was chosen, and the captured calls that did what the kernels of before do."""
        self._chosen.clear()
        if self.was_captured:
            from ..compiler.api import reset

            reset()
            self.was_captured = False

    def add(self, stack: list, entry: Any) -> Callable[[], None]:
        """Put an entry on one of the lists; returns what takes it away again."""
        stack.append(entry)
        self.changed()

        def remove() -> None:
            if any(each is entry for each in stack):
                del stack[next(k for k, each in enumerate(stack) if each is entry)]
                self.changed()

        return remove

    def kernel(self, key: str) -> Kernel | None:
        """The kernel that is called for a key, those for several keys included."""
        if key not in self._chosen:
            stack = next((found for name in self.candidates(key) if (found := self.by_key.get(name))), None)
            self._chosen[key] = None if stack is None or is_fallthrough(stack[-1].function) else stack[-1]
        return self._chosen[key]

    def has(self, key: str) -> bool:
        """Whether a kernel was registered for just this key."""
        return bool(self.by_key.get(key))

    def candidates(self, key: str) -> Iterator[str]:
        """The key, and the keys whose kernels stand for it."""
        yield key
        if backend_of(key):
            yield from COMPOSITE
        elif key.startswith(AUTOGRAD) and key != AUTOGRAD:
            yield AUTOGRAD
            if not any(self.has(k) for k in (key.removeprefix(AUTOGRAD), *COMPOSITE[:2])):
                yield COMPOSITE[-1]


#: By qualified name with overload: ``ns::name``, ``ns::name.overload``.
_kernels: dict[str, Kernels] = {}


def kernels_of(name: str) -> Kernels:
    """The kernels of a qualified name."""
    found = _kernels.get(name)
    if found is None:
        found = _kernels[name] = Kernels()
    return found


def is_fallthrough(function: Callable) -> bool:
    """Whether a kernel stands for none: the next key's is called."""
    return getattr(function, "_is_fallthrough", False)


class UserOverload(OpOverload):
    """One overload of an operator that a user defined: ``torch.ops.ns.name.default``."""

    declared: UserOperator
    _defined_in_python = True

    def __init__(self, declared: UserOperator, form: str = "") -> None:
        super().__init__(declared, form)
        self._overloadname = declared.schema.overload_name or "default"
        self.__name__ = self.__qualname__ = f"{self._opname}.{self._overloadname}"
        self.tags = list(declared.tags)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.declared.function(*args, **kwargs)

    def redispatch(self, keyset: DispatchKeySet, /, *args: Any, **kwargs: Any) -> Any:
        """Call the kernel of the highest key in a set."""
        return self.declared.dispatch(match(self.declared.schema, args, kwargs), keyset)

    def has_kernel_for_dispatch_key(self, key: Any) -> bool:
        """Whether a kernel was registered for just this key."""
        return self.declared.kernels.has(getattr(key, "name", key))

    def py_impl(self, key: Any) -> Callable[[Callable], Callable]:
        """Register a kernel, as a decorator."""

        def register(function: Callable) -> Callable:
            kernels = self.declared.kernels
            kernels.add(kernels.by_key.setdefault(key.name, []), Kernel(function, False, False, ""))
            return function

        return register

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """Call the CompositeImplicitAutograd kernel; NotImplemented if there is none."""
        kernels = self.declared.kernels.by_key.get(COMPOSITE[-1])
        return kernels[-1].function(*args, **kwargs) if kernels else NotImplemented


class UserOperator(Composite):
    """An operator that a user defined.

    Args:
        schema: with the namespace in its name.
        source: the line that defined it.

    Attributes:
        runs_below_autograd: kernels run off the tape, as those of `custom_op`; ``definition`` is its `CustomOpDef`.
        autograd: its function for the tape and for transformations (library/gradient.py), if it has one.
        kernels_have_derivatives: what its kernels call has the right derivatives: without a formula nothing is said of it.
    """

    overload_class = UserOverload
    kernels_have_derivatives = False

    def __init__(self, schema: FunctionSchema, tags: Sequence[Tag], source: str) -> None:
        namespace, _, own = schema.name.partition("::")
        name = own if namespace == "aten" else schema.name
        overload = f".{schema.overload_name}" if schema.overload_name else ""
        self.parsed = schema
        self.tags = tuple(tags)
        self.source = source
        self.full_name = f"{schema.name}{overload}"
        self.kernels = kernels_of(self.full_name)
        self.definition: Any = None
        self.autograd: Any = None
        super().__init__(f"{name}{overload}{str(schema)[len(self.full_name) :]}", _body, FUNCTION, ())
        self.__module__ = f"torch.ops.{namespace}"
        packet_of(namespace, own).refresh()

    @functools.cached_property
    def schema(self) -> Any:
        return self.parsed

    @property
    def is_inplace(self) -> bool:
        return Tag.inplace in self.tags

    @property
    def is_out(self) -> bool:
        return Tag.out in self.tags

    def remove(self) -> None:
        """Undefine it."""
        OPERATORS.pop(self.qualified_name, None)
        self.kernels.changed()
        forget(*self.parsed.name.split("::"))

    # ------------------------------------------------------------------ the call
    def function(self, /, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """Call it, as ``torch.ops`` does."""
        if overrides.wanted((*args, *kwargs.values())):
            return overrides.hand_over(overload_of(self), args, kwargs)
        return self.run(match(self.parsed, args, kwargs))

    def run(self, values: tuple[Any, ...]) -> Any:
        """Call it with values in the schema's order."""
        state = thread.state
        if state.capture is not None:
            self.kernels.was_captured = True
        if dispatch_keys.python_state.modes or dispatch_keys._dispatching(values):
            return self._hand_to_python(values)
        if state.levels and isinstance(state.levels[-1], BatchLevel) and self.kernels.vmap_rules:
            return self.gradient_function().call(values)
        return self.dispatch(values, self.keys(values))

    def keys(self, values: Sequence[Any]) -> DispatchKeySet:
        """The keys of a call."""
        kinds = frozenset([t.device.type for t in tensors_of(values)])
        return keys_of_call(kinds, frozenset(thread.state.autocast or ()), is_below_autograd())

    def dispatch(self, values: tuple[Any, ...], keyset: DispatchKeySet) -> Any:
        """Call the kernel of the highest key that has one."""
        names = keyset.names
        for k, key in enumerate(names):
            kernel = self.kernels.kernel(key)
            if kernel is not None:
                return self.call_kernel(kernel, values, keyset.behind(k) if kernel.takes_values else keyset)
            if key.startswith(AUTOGRAD) and not self.kernels.has(AUTOGRAD) and not self.kernels.has(key) and not self.kernels_have_derivatives:
                from .gradient import without_formula

                return without_formula(self, values, keyset.behind(k))
        raise self.missing(values, names)

    def call_kernel(self, kernel: Kernel, values: tuple[Any, ...], keyset: DispatchKeySet) -> Any:
        if kernel.takes_values:
            return kernel.function(keyset, values)
        args, kwargs = for_kernel(self.parsed, values)
        found = kernel.function(keyset, *args, **kwargs) if kernel.with_keyset else kernel.function(*args, **kwargs)
        return checked_results(self.parsed, found)

    def gradient_function(self) -> Any:
        """Its function for the tape and for transformations."""
        if self.autograd is None:
            from .gradient import GradientFunction

            self.autograd = GradientFunction(self)
        return self.autograd

    def _hand_to_python(self, values: tuple[Any, ...]) -> Any:
        """Call a rule for the mode's or the tensor's class, else its ``__torch_dispatch__``."""
        rules = self.kernels.dispatch_rules
        modes = dispatch_keys.python_state.modes
        if rules:
            args, kwargs = for_kernel(self.parsed, values)
            types = tuple(dispatch_keys._dispatching(values))
            if modes and rules.get(type(modes[-1])):
                with dispatch_keys.without_innermost() as mode:
                    return rules[type(mode)][-1](mode, overload_of(self), types, args, kwargs)
            for kind in () if modes else types:
                if rules.get(kind):
                    return rules[kind][-1](kind, overload_of(self), types, args, kwargs)
        return dispatch_keys.HANDLERS[dispatch_keys.DispatchKey.Python](self, "", values, None)

    def missing(self, values: Sequence[Any], names: Sequence[str]) -> NotImplementedError:
        """The error for a call without a kernel, torch's texts."""
        name = self.full_name
        registered = ", ".join([key for key, found in self.kernels.by_key.items() if found])
        backend = next((n for n in names if backend_of(n)), "Undefined")
        if backend == "Undefined":
            return NotImplementedError(
                "There were no tensor arguments to this function (e.g., you passed an empty list of Tensors), but no fallback function is registered "
                f"for schema {name}.  This usually means that this function requires a non-empty list of Tensors, or that you (the operator writer) "
                f"forgot to register a fallback function.  Available functions are [{registered}]."
            )
        if backend == "Meta":
            return NotImplementedError(
                f"{name}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel registered. You may have run into "
                "this message while using an operator with PT2 compilation APIs (torch.compile/torch.export); in order to use this operator with those "
                "APIs you'll need to add a fake impl. Please see the following for next steps:  "
                "https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html"
            )
        return NotImplementedError(
            f"Could not run '{name}' with arguments from the '{backend}' backend. This could be because the operator doesn't exist for this backend, or "
            "was omitted during the selective/custom build process (if using custom build). If you are a Facebook employee using PyTorch on mobile, "
            f"please visit https://fburl.com/ptmfixes for possible resolutions. '{name}' is only available for these backends: [{registered}]."
        )


def _body(*args: Any) -> Any:
    """Stands in the declaration; `UserOperator.function` is called instead."""
    raise AssertionError("operators of users are called by UserOperator.function")


def tensors_of(values: Sequence[Any]) -> Iterator[Tensor]:
    """The tensors among the arguments of a call, those in lists included."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (v for v in value if isinstance(v, Tensor))


def lookup_operator(name: str) -> UserOperator | None:
    """The operator defined under ``ns::name`` or ``ns::name.overload``; None if users defined none."""
    found = OPERATORS.get(name.removeprefix("aten::"))
    return found if isinstance(found, UserOperator) else None


def has_kernel_for_key(name: str, key: Any) -> bool:
    """Whether a kernel was registered for just this key of an operator.

    Raises:
        RuntimeError: there is no such operator, torch's text.
    """
    if lookup_operator(name) is None:
        raise RuntimeError(f"operator {name} does not exist")
    return kernels_of(name).has(getattr(key, "name", key))


def call_overloaded(name: str, overloads: Sequence[OpOverload], args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call the first of a packet's overloads whose schema the arguments fit.

    Raises:
        RuntimeError: they fit none, torch's text.
    """
    if overrides.wanted((*args, *kwargs.values())):
        return overrides.hand_over(overloads[0].overloadpacket, args, kwargs)
    errors = []
    for overload in overloads:
        declared = overload.declared
        assert isinstance(declared, UserOperator)
        if len(overloads) == 1:
            return declared.run(match(declared.parsed, args, kwargs))
        try:
            values = match(declared.parsed, args, kwargs)
        except RuntimeError as error:
            errors.append(str(error))
            continue
        return declared.run(values)
    raise RuntimeError("Overloaded torch operator invoked from Python failed to match any schema:\n" + "\n\n".join(errors) + "\n\n")


def source_of(depth: int) -> str:
    """``file:line`` of a caller.

    Args:
        depth: as of ``sys._getframe`` here.
    """
    frame = sys._getframe(depth)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


callers["users"] = call_overloaded
