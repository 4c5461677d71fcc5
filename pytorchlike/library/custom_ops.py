"""`custom_op`: a Python function as an operator, and what can be registered for it."""

from __future__ import annotations

import contextlib
import inspect
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..autograd.graph import increment_version
from ..core.dtype import dtype
from ..core.dtype import float64 as dtype_double
from ..core.state import thread
from ..dispatch import autocast
from ..dispatch.overloads import OpOverload, overload_of
from ..tensors.tensor import Tensor
from .inference import infer_schema
from .keys import AUTOGRAD, COMPOSITE, DispatchKeySet, key_of_device
from .libraries import Library
from .operators import Kernel, UserOperator, lookup_operator, source_of, tensors_of
from .schema import FunctionSchema, parse_schema
from .tags import Tag, as_tags

__all__ = ["CustomOpDef", "custom_op"]

_log = logging.getLogger(__name__)
#: Qualified name -> the operator of that name; a second `custom_op` replaces it.
_definitions: dict[str, CustomOpDef] = {}
_ALIASES = (
    "The output of this custom operator (1) must not also be an input to this custom operator and (2) may not alias any inputs to this custom operator or "
    "other returns. The most common way to trigger this error is if we have y = custom_op(x) and y and x are the same Tensor. Please instead return a "
    "clone of the offending output tensor(s) (e.g. return x.clone()) or refactor the custom operator to not return y."
)


def custom_op(name: str, fn: Callable | None = None, /, *, mutates_args: str | Iterable[str], device_types: str | Sequence[str] | None = None,
              schema: str | None = None, tags: Tag | Sequence[Tag] | None = None) -> Any:  # fmt: skip
    """A function as an operator; without ``fn`` a decorator.

    Args:
        name: "namespace::name".
        mutates_args: the arguments that the function writes to, or "unknown".
        device_types: the devices whose kernel the function is; all if left out.
        schema: without the name; the one of the function's annotations if left out.
        tags: `torch.Tag`s; ``inplace`` and ``out`` say that what is written to is returned.

    Raises:
        ValueError: annotations that no schema has types for, or a ``schema`` that writes to other arguments than ``mutates_args``.
    """

    def define(function: Callable) -> CustomOpDef:
        given = as_tags(tags)
        written = infer_schema(function, mutates_args=mutates_args, tags=given) if schema is None else schema
        namespace, own = name.split("::")
        made = CustomOpDef(namespace, own, written, function, given)
        if schema is not None:
            expected = {a.name for a in made._operator.parsed.mutated}
            if expected != set(mutates_args):
                raise ValueError(
                    f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}. The schema suggests that the op mutates "
                    f"{expected}which is different from what was provided to us in `mutates_args`. Please make these consistent."
                )
        made.register_kernel(device_types)(function)
        return made

    return define if fn is None else define(fn)


class CustomOpDef:
    """An operator made by `custom_op`; call it, or find it as ``torch.ops.namespace.name``."""

    __module__ = "torch._library.custom_ops"
    captured_by_identity = True

    def __init__(self, namespace: str, name: str, schema: str, fn: Callable, tags: Any = None) -> None:
        self._namespace, self._name, self._schema, self._init_fn = namespace, name, schema, fn
        self._tags = as_tags(tags)
        self._kernels: dict[str | None, Callable] = {}
        self._disabled: set[str | None] = set()
        self._fake: Callable | None = None
        self._dispatch_rules: dict[type, Callable] = {}
        self._autocast: set[str] = set()
        earlier = _definitions.pop(self._qualname, None)
        if earlier is not None:
            earlier._lib._destroy()
        self._lib: Library = Library(namespace, "FRAGMENT")
        written = name + schema
        parsed = parse_schema(written)
        if any(a.is_tensor and a.kwarg_only for a in parsed.arguments) and Tag.out not in self._tags:
            raise NotImplementedError(f"custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. Got: {written}")
        self._lib.define(written, tags=tuple(dict.fromkeys([Tag.pt2_compliant_tag, *self._tags])))
        operator = lookup_operator(self._qualname)
        assert operator is not None
        self._operator: UserOperator = operator
        operator.definition = self
        self._lib._register_fake(name, self._call_fake, 3)
        self._lib._add_kernel(self._qualname, AUTOGRAD, Kernel(operator.gradient_function().kernel, True, True, source_of(2)))
        _definitions[self._qualname] = self

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    @property
    def _opoverload(self) -> OpOverload:
        return overload_of(self._operator)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._operator.function(*args, **kwargs)

    # ------------------------------------------------------------------ kernels
    def register_kernel(self, device_types: str | Sequence[str] | None, fn: Callable | None = None, /) -> Callable:
        """Register the function for some devices (None: all others); without ``fn`` a decorator.

        Raises:
            ValueError: no argument says which device a call is for, torch's text.
        """
        kinds: list[str | None] = [device_types] if device_types is None or isinstance(device_types, str) else list(device_types)
        arguments = self._operator.parsed.arguments
        if device_types is not None and not any(a.is_tensor for a in arguments):
            position = next((k for k, a in enumerate(arguments) if a.name == "device" and a.type.plain == "Device"), None)
            if position is None:
                raise ValueError("Functions without tensor inputs are required to have a `device: torch.device` argument")
            if not self._operator.kernels.has("BackendSelect"):
                self._lib._add_kernel(self._qualname, "BackendSelect", Kernel(self._by_device(position), True, True, ""))

        def register(function: Callable) -> Callable:
            for kind in kinds:
                key = COMPOSITE[1] if kind is None else key_of_device(kind)
                if kind not in self._kernels:
                    self._lib._add_kernel(self._qualname, key, Kernel(self._checked(kind), False, False, source_of(2)))
                self._kernels[kind] = function
                self._operator.kernels.changed()
            return function

        return register if fn is None else register(fn)

    def _by_device(self, position: int) -> Callable:
        """The kernel that picks the device's by an argument."""

        def select(keyset: DispatchKeySet, values: tuple[Any, ...]) -> Any:
            kind = values[position].type
            if kind not in self._kernels:
                raise RuntimeError(f"{self._name} does not have a kernel registered for {kind}. Please use register_kernel to do so.")
            return self._operator.dispatch(values, DispatchKeySet(key_of_device(kind)))

        return select

    def _checked(self, kind: str | None) -> Callable:
        """The kernel for a type of device: the registered function, with its promises held against what it did."""
        schema = self._operator.parsed

        def kernel(*args: Any, **kwargs: Any) -> Any:
            function = self._init_fn if kind in self._disabled else self._kernels[kind]
            written = [t for a, v in _named(schema, args, kwargs) if a.written for t in tensors_of((v,))]
            versions = [t._version for t in written]
            result = function(*args, **kwargs)
            for tensor, version in zip(written, versions):
                through_numpy = tensor._storage is not None and tensor._storage.host is not None
                if (through_numpy or tensor._version == version) and tensor.device.type != "meta":
                    increment_version(tensor)
            self._check_result(function, args, kwargs, result)
            return result

        return kernel

    def _check_result(self, function: Callable, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """Raises:
        RuntimeError: the result is not what is written to, or shares memory; torch's texts.
        """
        operator = self._operator

        def refuse(what: str) -> RuntimeError:
            return RuntimeError(f"{self._name} (with implementation in {inspect.getmodule(function)}): {what}")

        if operator.is_inplace:
            if result is not args[0]:
                raise refuse("An operator tagged with torch.Tag.inplace must return its first argument.")
        elif operator.is_out:
            out = [kwargs[a.name] for a in operator.parsed.mutated]
            found = result if isinstance(result, tuple) and len(out) > 1 else (result,)
            if len(found) != len(out) or any(a is not b for a, b in zip(found, out)):
                raise refuse("An operator tagged with torch.Tag.out must return its mutable keyword-only arguments.")
        elif not operator.parsed.is_view:
            inputs = list(tensors_of((*args, *kwargs.values())))
            results = list(tensors_of(result if isinstance(result, tuple) else (result,)))
            for k, tensor in enumerate(results):
                if any(shares_memory(tensor, other) for other in (*inputs, *results[:k])):
                    raise refuse(_ALIASES)

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Inside the block the first function is called in place of a device's kernel (or no more)."""
        was_disabled = device_type in self._disabled
        if device_type not in self._kernels:
            _log.warning("Attempted to %s kernel for %s but no kernel was registered for this device type.", "enable" if enabled else "disable", device_type)
        if enabled != was_disabled:
            _log.warning(
                "Attempted to %s kernel for %s but it was already %s.", "enable" if enabled else "disable", device_type, "enabled" if enabled else "disabled"
            )
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        self._operator.kernels.changed()
        try:
            yield
        finally:
            (self._disabled.add if was_disabled else self._disabled.discard)(device_type)
            self._operator.kernels.changed()

    # ------------------------------------------------------------------ rules
    def register_fake(self, fn: Callable, /) -> Callable:
        """Register what computes the results' shapes, for tensors on the device "meta"."""
        if self._operator.is_inplace or self._operator.is_out:
            tag = "torch.Tag.inplace" if self._operator.is_inplace else "torch.Tag.out"
            warnings.warn(
                f"The fake registration for {self} is unnecessary. Custom ops tagged with {tag} already get an autogenerated fake kernel. The provided fake "
                "impl will be used instead.",
                stacklevel=2,
            )
        self._fake = fn
        return fn

    def _call_fake(self, *args: Any, **kwargs: Any) -> Any:
        if self._fake is not None:
            return self._fake(*args, **kwargs)
        operator = self._operator
        if operator.is_out:
            out = tuple([kwargs[a.name] for a in operator.parsed.mutated])
            return out if len(out) > 1 else out[0]
        if operator.is_inplace:
            return args[0]
        if operator.parsed.is_mutable and not operator.parsed.returns:
            return None
        raise RuntimeError(
            f"There was no fake impl registered for {self}. This is necessary for torch.compile/export/fx tracing to work. Please use "
            f"`{getattr(self._init_fn, '__name__', self._name)}.register_fake` to add an fake impl."
        )

    def register_autograd(self, backward: Callable, /, *, setup_context: Callable | None = None) -> None:
        """Register the gradient.

        Args:
            backward: ``backward(ctx, *grads)`` -> a gradient, or None, for each positional argument.
            setup_context: ``setup_context(ctx, inputs, output)``, with ``keyword_only_inputs`` where the schema has any.

        Raises:
            RuntimeError: the operator writes to something, torch's texts.
        """
        check_can_have_gradient(self, self._operator)
        function = self._operator.gradient_function()
        function.backward, function.setup_context = backward, setup_context
        self._operator.kernels.changed()

    def register_vmap(self, func: Callable | None = None) -> Any:
        """Register ``func(info, in_dims, *args)`` -> ``(output, out_dims)`` for `torch.vmap`; without ``func`` a decorator."""

        def register(function: Callable) -> None:
            self._lib._register_vmap_rule(self._name, function)

        return register if func is None else register(func)

    def register_torch_dispatch(self, torch_dispatch_class: type, fn: Callable | None = None, /) -> Callable:
        """Register what is called in place of a class's ``__torch_dispatch__``; without ``fn`` a decorator."""

        def register(function: Callable) -> Callable:
            if torch_dispatch_class not in self._dispatch_rules:
                self._lib._register_torch_dispatch_rule(
                    self._name, torch_dispatch_class, lambda *args, **kwargs: self._dispatch_rules[torch_dispatch_class](*args, **kwargs)
                )
            self._dispatch_rules[torch_dispatch_class] = function
            self._operator.kernels.changed()
            return function

        return register if fn is None else register(fn)

    def register_autocast(self, device_type: str, cast_inputs: dtype) -> Callable:
        """Have autocast on a type of device cast floating tensors to a dtype, once for each type.

        Raises:
            ValueError: there is no autocast for it, torch's texts.
        """
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        kernel = autocast_kernel(self._operator, device_type, cast_inputs)
        if device_type not in self._autocast:
            self._autocast.add(device_type)
            self._lib._add_kernel(self._qualname, f"Autocast{key_of_device(device_type)}", Kernel(kernel, True, True, ""))
        return kernel

    def register_effect(self, effect: Any) -> None:
        """Accepted without effect: operators run in the order of their calls."""


def _named(schema: FunctionSchema, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    for k, argument in enumerate(schema.arguments):
        if k < len(args) and not argument.kwarg_only:
            yield argument, args[k]
        elif argument.name in kwargs:
            yield argument, kwargs[argument.name]


def shares_memory(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are one, or views of one memory."""
    return a is b or (a._storage is not None and a._storage is b._storage)


def check_can_have_gradient(shown: Any, operator: UserOperator, is_custom: bool = True) -> None:
    """A gradient is registered only for what writes to nothing.

    Raises:
        RuntimeError: it does, torch's texts.
    """
    schema = operator.parsed
    if operator.is_out:
        raise RuntimeError(
            f"Cannot register autograd formula for operator tagged with torch.Tag.out: {shown}. Out variants do not support autograd."
        )
    is_valid_view = schema.is_view and is_custom and [a.type.plain for a in schema.arguments].count("Tensor") == 1 and len(schema.returns) == 1
    if schema.is_mutable or not schema.returns or (schema.is_view and not is_valid_view):
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {shown} with schema {schema}. Please create a functional operator and register "
            "an autograd formula for that."
        )


def autocast_kernel(operator: UserOperator, device_type: str, target: dtype) -> Callable:
    """The kernel that casts floating tensors of a device to a dtype, and calls the operator with autocast off.

    Raises:
        ValueError: there is no autocast for the device, torch's text.
    """
    if not autocast.is_available(device_type):
        raise ValueError(f"Device type '{device_type}' does not support autocast.")

    def kernel(keyset: Any, values: tuple[Any, ...]) -> Any:
        cast = tuple([_cast(v, target, device_type) for v in values])
        state = thread.state
        before = state.autocast
        autocast.set_enabled(device_type, False)
        try:
            return operator.run(cast)
        finally:
            if before and device_type in before:
                autocast.set_enabled(device_type, True)

    return kernel


def _cast(value: Any, target: dtype, device_type: str) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)([_cast(v, target, device_type) for v in value])
    if isinstance(value, Tensor) and value.is_floating_point() and value.device.type == device_type and value.dtype is not dtype_double:
        return value.to(target)
    return value
