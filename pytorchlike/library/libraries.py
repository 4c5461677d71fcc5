"""`Library`: a namespace's definitions and kernels, which are gone when it is."""

from __future__ import annotations

import contextlib
import functools
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..dispatch.overloads import OpOverload
from ..dispatch.registry import OPERATORS
from .context import meta_kernel
from .keys import COMPOSITE, parse_key
from .operators import Kernel, UserOperator, kernels_of, lookup_operator, source_of
from .schema import FunctionSchema, parse_schema
from .tags import Tag, as_tags
from .validation import validate_inplace_schema, validate_out_schema

__all__ = ["Library"]

#: Namespaces with a "DEF" library, and the line that made it.
_defined: dict[str, str] = {}
#: (namespace, operator, key) of all kernels there are, by number of libraries that registered one.
_registered: dict[tuple[str, str, str], int] = {}
_KINDS = {"DEF": "TORCH_LIBRARY", "FRAGMENT": "TORCH_LIBRARY_FRAGMENT", "IMPL": "TORCH_LIBRARY_IMPL"}
_warned_of_overriding = False


class Library:
    """Defines operators of a namespace, and registers kernels for them, as long as it lives.

    Args:
        ns: the namespace.
        kind: "DEF" (one for each namespace), "FRAGMENT" (any number) or "IMPL" (kernels only).
        dispatch_key: the key of kernels that are registered without one.

    Raises:
        ValueError: another kind, a reserved namespace.
        RuntimeError: a second "DEF" of a namespace, an unknown key; torch's texts.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in _KINDS:
            raise ValueError(f"Unsupported kind: {kind}")
        if ns == "prim" and kind != "IMPL":
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if dispatch_key:
            parse_key(dispatch_key)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._source = source_of(2)
        #: Takes back, in their order, all that was registered.
        self._undo: list[Callable[[], None]] = []
        self._destroyed = False
        if kind == "DEF":
            if ns in _defined:
                raise RuntimeError(
                    f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your definitions in a single TORCH_LIBRARY "
                    "block.  If you were trying to specify implementations, consider using TORCH_LIBRARY_IMPL (which can be duplicated).  If you really "
                    "intended to define operators for a single namespace in a distributed way, you can use TORCH_LIBRARY_FRAGMENT to explicitly indicate "
                    f"this.  Previous registration of TORCH_LIBRARY was registered at {_defined[ns]}; latest registration was registered at {self._source}"
                )
            _defined[ns] = self._source
            self._undo.append(functools.partial(_forget_definition, ns))
        weakref.finalize(self, _take_back, self._undo)

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    # ------------------------------------------------------------------ definitions
    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an operator; returns its name.

        Args:
            schema: with its name, without the namespace.
            alias_analysis: "", "FROM_SCHEMA" or "CONSERVATIVE", which are all one.
            tags: a `torch.Tag` or several.

        Raises:
            RuntimeError: no schema, a name that is taken, another namespace; torch's texts.
        """
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        self._check_alive()
        given = as_tags(tags)
        if self.kind == "IMPL":
            raise RuntimeError(
                f'def("{schema.partition("(")[0]}"): Cannot define an operator inside of a TORCH_LIBRARY_IMPL block.  All def()s should be placed in the '
                f"(unique) TORCH_LIBRARY block for their namespace.{self._where()}"
            )
        parsed = parse_schema(schema)
        if Tag.out in given:
            validate_out_schema(parsed)
        if Tag.inplace in given:
            validate_inplace_schema(parsed)
        self._declare(parsed, given, source_of(2))
        return schema.partition("(")[0]

    def _declare(self, parsed: FunctionSchema, tags: Sequence[Tag], source: str) -> None:
        namespace, _, own = parsed.name.rpartition("::")
        if namespace and namespace != self.ns:
            raise RuntimeError(
                f"Explicitly provided namespace ({namespace}) in schema string does not match namespace of enclosing {_KINDS[self.kind]} block ({self.ns}).  "
                "Move this definition to the (unique) TORCH_LIBRARY block corresponding to this namespace (and consider deleting the namespace from your "
                f"schema string.){self._where()}"
            )
        full = FunctionSchema(f"{self.ns}::{own}", parsed.overload_name, parsed.arguments, parsed.returns, parsed.is_vararg, parsed.is_varret)
        name = full.name + (f".{full.overload_name}" if full.overload_name else "")
        known = OPERATORS.get(name.removeprefix("aten::"))
        if known is not None:
            raise RuntimeError(
                f"Tried to register an operator ({full}) with the same name and overload name multiple times. Each overload's schema should only be "
                f"registered with a single call to def(). Duplicate registration: registered at {source}. Original registration: registered at "
                f"{getattr(known, 'source', known.__module__)}"
            )
        operator = UserOperator(full, tags, source)
        self._undo.append(operator.remove)

    # ------------------------------------------------------------------ kernels
    def impl(self, op_name: str | OpOverload, fn: Callable, dispatch_key: str = "", *, with_keyset: bool = False, allow_override: bool = True) -> None:
        """Register a kernel.

        Args:
            dispatch_key: whose; the library's own, else "CompositeImplicitAutograd", if left out.
            with_keyset: the kernel takes the keys of the call first.
            allow_override: whether another kernel may be there.

        Raises:
            RuntimeError: an unknown key, another namespace, a kernel that is there already; torch's texts.
            NotImplementedError: an operator of pytorchlike itself, a key whose kernels nothing calls.
        """
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        name = _name_of(op_name, "impl").rpartition("::")[2]
        key = dispatch_key or self.dispatch_key
        entry = (self.ns, name, key)
        if not allow_override and _registered.get(entry):
            raise RuntimeError(
                f"This is not allowed since there's already a kernel registered from python overriding {name}'s behavior for {key} dispatch key and "
                f"{self.ns} namespace."
            )
        qualified = f"{self.ns}::{name}"
        if key == "Meta" and kernels_of(qualified).has(COMPOSITE[-1]):
            raise RuntimeError(
                f"We should not register a meta kernel directly to the operator '{name}', because it has a CompositeImplicitAutograd kernel in core. "
                "Instead we should let the operator decompose, and ensure that we have meta kernels for the base ops that it decomposes into."
            )
        self._check_alive()
        parse_key(key or COMPOSITE[-1])
        given, _, _ = _name_of(op_name, "impl").rpartition("::")
        if given and given != self.ns:
            raise RuntimeError(
                f'impl("{given}::{name}", ...): Explicitly provided namespace ({given}) in operator name does not match namespace of enclosing '
                f"{_KINDS[self.kind]} block ({self.ns}).  Move this definition to the {_KINDS[self.kind]} block corresponding to this namespace (and consider "
                f"deleting the namespace from your schema string.){self._where()}"
            )
        if self.dispatch_key and key != self.dispatch_key:
            raise RuntimeError(
                f'impl("{name}", ...): Explicitly provided dispatch key ({key}) is inconsistent with the dispatch key of the enclosing '
                f"{_KINDS[self.kind]} block ({self.dispatch_key}).  Please declare a separate {_KINDS[self.kind]} block for this dispatch key and move your "
                f"impl() there.{self._where()}"
            )
        self._refuse_own(qualified)
        self._add_kernel(qualified, key or COMPOSITE[-1], Kernel(fn, with_keyset, False, source_of(2)))
        _registered[entry] = _registered.get(entry, 0) + 1
        self._undo.append(lambda: _registered.update({entry: _registered[entry] - 1}))

    def _add_kernel(self, qualified: str, key: str, kernel: Kernel) -> None:
        global _warned_of_overriding
        kernels = kernels_of(qualified)
        stack = kernels.by_key.setdefault(key, [])
        operator = lookup_operator(qualified)
        if stack and operator is not None and key != "Meta" and not _warned_of_overriding:
            _warned_of_overriding = True
            warnings.warn(
                "Warning only once for all operators,  other operators may also be overridden.\n  Overriding a previously registered kernel for the same "
                f"operator and the same dispatch key\n  operator: {operator.parsed}\n    registered at {operator.source}\n  dispatch key: {key}\n"
                f"  previous kernel: registered at {stack[-1].source}\n       new kernel: registered at {kernel.source}",
                stacklevel=3,
            )
        self._undo.append(kernels.add(stack, kernel))

    def _refuse_own(self, qualified: str) -> None:
        """Operators of the package have one body for all devices.

        Raises:
            NotImplementedError: it is one.
        """
        if self.ns == "aten" and qualified.removeprefix("aten::") in OPERATORS and lookup_operator(qualified) is None:
            raise NotImplementedError(
                f"torch.library: kernels of {qualified} cannot be replaced in pytorchlike; a TorchDispatchMode sees its calls"
            )

    def fallback(self, fn: Callable, dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Refused: kernels for all operators.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("torch.library.Library.fallback is not supported by pytorchlike; a TorchDispatchMode sees all operators")

    def register_symm_mem_args(self, op_name: Any, arg_names: Any) -> None:
        """Accepted without effect: XLA places what collectives of several processes exchange."""
        _name_of(op_name, "register_symm_mem_args")

    # ------------------------------------------------------------------ rules
    def _register_fake(self, op_name: str, fn: Callable, _stacklevel: int = 1, *, allow_override: bool = True) -> None:
        """Register what computes shapes; it is the kernel for tensors on the device "meta".

        Raises:
            RuntimeError: there is no such operator, or it has something of the kind already; torch's texts.
        """
        qualified = f"{self.ns}::{op_name.rpartition('::')[2]}"
        kernels = kernels_of(qualified)
        if lookup_operator(qualified) is None:
            raise RuntimeError(f"operator {qualified} does not exist")
        if not allow_override:
            _refuse_second_fake(qualified)
        if kernels.has(COMPOSITE[-1]):
            raise RuntimeError(
                f"We should not register a meta kernel directly to the operator '{qualified}', because it has a CompositeImplicitAutograd kernel in core. "
                "Instead we should let the operator decompose, and ensure that we have meta kernels for the base ops that it decomposes into."
            )
        fake = Kernel(fn, False, False, source_of(_stacklevel + 1))
        self._undo.append(kernels.add(kernels.fakes, fake))
        self._add_kernel(qualified, "Meta", Kernel(meta_kernel(qualified, fake), False, False, fake.source))

    def _register_torch_dispatch_rule(self, op_name: str, torch_dispatch_class: type, fn: Callable) -> None:
        """Register what is called in place of a class's ``__torch_dispatch__``.

        Raises:
            RuntimeError: the class has a rule already, torch's text.
        """
        kernels = kernels_of(f"{self.ns}::{op_name}")
        stack = kernels.dispatch_rules.setdefault(torch_dispatch_class, [])
        if stack:
            raise RuntimeError(f"{torch_dispatch_class} already has a `__torch_dispatch__` rule registered for {self.ns}::{op_name}")
        self._undo.append(kernels.add(stack, fn))

    def _register_vmap_rule(self, op_name: str, fn: Callable) -> None:
        kernels = kernels_of(f"{self.ns}::{op_name}")
        self._undo.append(kernels.add(kernels.vmap_rules, fn))

    # ------------------------------------------------------------------ the end
    def _destroy(self) -> None:
        """Take back all that was defined and registered."""
        self._destroyed = True
        _take_back(self._undo)

    def _check_alive(self) -> None:
        if self._destroyed:
            raise AssertionError("Library object has been destroyed")

    def _where(self) -> str:
        return f"  (Error occurred while processing {_KINDS[self.kind]} block at {self._source})"


def _forget_definition(namespace: str) -> None:
    _defined.pop(namespace, None)


def _take_back(undo: list[Callable[[], None]]) -> None:
    while undo:
        undo.pop()()


def _name_of(op_name: Any, where: str) -> str:
    """A name, or that of an overload.

    Raises:
        RuntimeError: neither, torch's text.
    """
    if isinstance(op_name, str):
        return op_name
    if isinstance(op_name, OpOverload):
        return op_name.name()
    raise RuntimeError(f"{where} should be passed either a name or an OpOverload object as the first argument, got {type(op_name)}")


def _refuse_second_fake(qualified: str) -> None:
    kernels = kernels_of(qualified)
    start = f"register_fake(...): the operator {qualified} already has "
    if kernels.fakes:
        raise RuntimeError(f"{start}a fake impl registered at {kernels.fakes[-1].source}.")
    if kernels.has("Meta"):
        raise RuntimeError(
            f"{start}a DispatchKey::Meta implementation via a pre-existing torch.library or TORCH_LIBRARY registration. Please either remove that "
            "registration or don't call register_fake."
        )
    if kernels.has(COMPOSITE[-1]):
        raise RuntimeError(
            f"{start}an implementation for this device type via a pre-existing registration to DispatchKey::CompositeImplicitAutograd."
            "CompositeImplicitAutograd operators do not need a fake impl; instead, the operator will decompose into its constituents and those can have "
            "fake impls defined on them."
        )


@contextlib.contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """A library for the length of a block."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()
