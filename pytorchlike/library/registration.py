"""Registering for an operator by its name: the functions of ``torch.library``."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..core.dtype import dtype
from ..dispatch import autocast
from ..dispatch.overloads import OpOverload, overload_of, packet_of
from .custom_ops import CustomOpDef, _definitions, autocast_kernel, check_can_have_gradient
from .keys import AUTOGRAD, COMPOSITE, DispatchKeySet, is_key, key_of_device
from .libraries import Library
from .matching import match
from .operators import Kernel, UserOperator, UserOverload, kernels_of, lookup_operator, source_of

__all__ = [
    "define", "fallthrough_kernel", "get_kernel", "impl", "impl_abstract", "register_autocast", "register_autograd", "register_fake", "register_kernel",
    "register_torch_dispatch", "register_vmap",
]  # fmt: skip

#: Libraries that were made here live as long as the process.
_libraries: list[Library] = []
_NAMELESS_SCHEMA = re.compile(r"\(.*\) -> .*")


def _split(qualname: str) -> tuple[str, str]:
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to the torch.library APIs must consist of a '
            "namespace and a name, e.g. aten::sin"
        )
    return parts[0], parts[1]


def _library(namespace: str, library: Library | None) -> Library:
    if library is None:
        library = Library(namespace, "FRAGMENT")
        _libraries.append(library)
    return library


def _resolved(op: Any, where: str) -> str | CustomOpDef:
    """The operator made by `custom_op`, else the qualified name.

    Raises:
        ValueError: it is no operator and no name, torch's text.
    """
    if isinstance(op, CustomOpDef):
        return op
    if not isinstance(op, (str, OpOverload)):
        raise ValueError(f"{where}({op}): got unexpected type for op: {type(op)}")
    name = op if isinstance(op, str) else op.name()
    return _definitions.get(name, name)


def _found(qualname: str) -> UserOperator:
    """The operator of a name.

    Raises:
        AttributeError: there is none, torch's text.
        NotImplementedError: it is pytorchlike's own.
    """
    namespace, name = _split(qualname)
    own, _, overload = name.partition(".")
    found = getattr(packet_of(namespace, own), overload or "default")
    if not isinstance(found, UserOverload):
        raise NotImplementedError(f"torch.library: nothing can be registered for {qualname}, which is an operator of pytorchlike itself")
    return found.declared


# ---------------------------------------------------------------------------------------------------------------- definitions and kernels
@functools.singledispatch
def define(qualname: Any, schema: str, *, lib: Library | None = None, tags: Any = ()) -> Any:
    """Define an operator: ``define("ns::name", "(Tensor x) -> Tensor")``; with a `Library` in front, a decorator that also registers a kernel.

    Raises:
        ValueError: the name or the schema looks otherwise, torch's texts.
    """
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    namespace, name = _split(qualname)
    library = _library(namespace, lib)
    if not _NAMELESS_SCHEMA.fullmatch(schema):
        raise ValueError(f'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got "{schema}"')
    library.define(name + schema, tags=tags)


@define.register
def _(library: Library, schema: str, alias_analysis: str = "") -> Callable[[Callable], Callable]:
    def register(function: Callable) -> Callable:
        library.impl(library.define(schema, alias_analysis), function)
        return function

    return register


@functools.singledispatch
def impl(qualname: Any, types: str | Sequence[str], func: Callable | None = None, *, lib: Library | None = None) -> Any:
    """Register a kernel for types of devices, or for dispatch keys; without ``func`` a decorator.

    Args:
        qualname: "ns::name"; with a `Library` it is ``impl(library, name, dispatch_key)``.
        types: "cpu", "cuda", "default" (all), a key, or several.
    """
    names = (types,) if isinstance(types, str) else types
    keys = list(dict.fromkeys([n if is_key(n) else COMPOSITE[1] if n == "default" else key_of_device(n) for n in names]))

    def register(function: Callable) -> None:
        library = _library(_split(qualname)[0], lib)
        for key in keys:
            library.impl(qualname, function, key)

    return register if func is None else register(func)


@impl.register
def _(library: Library, name: str, dispatch_key: str = "") -> Callable[[Callable], Callable]:
    def register(function: Callable) -> Callable:
        library.impl(name, function, dispatch_key)
        return function

    return register


def register_kernel(op: Any, device_types: str | Sequence[str] | None, func: Callable | None = None, /, *, lib: Library | None = None) -> Any:
    """Register a kernel for types of devices (None: all); without ``func`` a decorator."""
    found = _resolved(op, "register_kernel")
    if isinstance(found, CustomOpDef):
        return found.register_kernel(device_types, func)
    return impl(found, COMPOSITE[1] if device_types is None else device_types, func, lib=lib)


def fallthrough_kernel() -> None:
    """As a kernel: the next key's kernel is called.

    Raises:
        NotImplementedError: when it is called itself.
    """
    raise NotImplementedError("fallthrough_kernel() should never be called.")


fallthrough_kernel._is_fallthrough = True  # type: ignore[attr-defined]


class SafeKernelFunction:
    """A kernel that `get_kernel` found."""

    __module__ = "torch._C"

    def __init__(self, operator: UserOperator, kernel: Kernel) -> None:
        self._operator, self._kernel = operator, kernel

    def call_boxed(self, keyset: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        """Call the kernel."""


        return self._operator.call_kernel(self._kernel, match(self._operator.parsed, args, kwargs), keyset)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call_boxed(DispatchKeySet(()), *args, **kwargs)

    def __repr__(self) -> str:
        return f"SafeKernelFunction(debug='registered at {self._kernel.source}')"


def get_kernel(op: str | OpOverload, dispatch_key: str | Any) -> SafeKernelFunction:
    """The kernel that a key of an operator has.

    Raises:
        ValueError: no such key; RuntimeError: no such operator or kernel.
    """
    if not isinstance(op, (str, OpOverload)):
        raise ValueError(f"get_kernel({op}): got unexpected type for op: {type(op)}")
    key = dispatch_key if isinstance(dispatch_key, str) else dispatch_key.name
    if not is_key(key):
        raise ValueError(f"Invalid dispatch key: {key}")
    name = op if isinstance(op, str) else op.name()
    operator = lookup_operator(name)
    if operator is None:
        raise RuntimeError(f"operator {name} does not exist")
    kernel = kernels_of(name).kernel(key)
    if kernel is None:
        raise RuntimeError(f"no kernel for {key} for {name}")
    return SafeKernelFunction(operator, kernel)


# ---------------------------------------------------------------------------------------------------------------- rules
def register_fake(op: Any, func: Callable | None = None, /, *, lib: Library | None = None, _stacklevel: int = 1, allow_override: bool = True) -> Any:
    """Register what computes the results' shapes, for tensors on the device "meta"; without ``func`` a decorator."""
    found = _resolved(op, "register_fake")
    if isinstance(found, CustomOpDef):
        return found.register_fake if func is None else found.register_fake(func)
    level = _stacklevel + (func is not None)

    def register(function: Callable) -> Callable:
        namespace, name = _split(found)
        _library(namespace, lib)._register_fake(name, function, _stacklevel=level + 1, allow_override=allow_override)
        return function

    return register if func is None else register(func)


def impl_abstract(qualname: Any, func: Callable | None = None, *, lib: Library | None = None, _stacklevel: int = 1) -> Any:
    """The old name of `register_fake`."""
    warnings.warn(
        "`torch.library.impl_abstract` was renamed to `torch.library.register_fake`. Please use that instead; we will remove "
        "`torch.library.impl_abstract` in a future version of PyTorch.",
        FutureWarning,
        stacklevel=2,
    )
    return register_fake(qualname, func, lib=lib, _stacklevel=_stacklevel + 1)


def register_autograd(op: Any, backward: Callable, /, *, setup_context: Callable | None = None, lib: Library | None = None) -> None:
    """Register the gradient of an operator; see `CustomOpDef.register_autograd`."""
    found = _resolved(op, "register_autograd")
    if isinstance(found, CustomOpDef):
        found.register_autograd(backward, setup_context=setup_context)
        return
    operator = _found(found)
    check_can_have_gradient(overload_of(operator), operator, is_custom=False)
    _refuse_keyword_tensors(operator, "register_autograd")
    function = operator.gradient_function()
    function.backward, function.setup_context = backward, setup_context
    _library(_split(found)[0], lib)._add_kernel(found, AUTOGRAD, Kernel(function.kernel, True, True, source_of(2)))




def _refuse_keyword_tensors(operator: UserOperator, where: str) -> None:
    if any(a.is_tensor and a.kwarg_only for a in operator.parsed.arguments):
        raise NotImplementedError(
            f"{where} with kwarg-only Tensor args. In the original definition of the op, please make your tensors not kwarg-only. Got: {operator.parsed}"
        )


def register_vmap(op: Any, func: Callable | None = None, /, *, lib: Library | None = None) -> Any:
    """Register ``func(info, in_dims, *args)`` -> ``(output, out_dims)`` for `torch.vmap`; without ``func`` a decorator."""
    found = _resolved(op, "register_vmap")
    if isinstance(found, CustomOpDef):
        return found.register_vmap(func)
    _refuse_keyword_tensors(_found(found), "register_vmap")

    def register(function: Callable) -> None:
        namespace, name = _split(found)
        _library(namespace, lib)._register_vmap_rule(name, function)

    return register if func is None else register(func)


def register_torch_dispatch(op: Any, torch_dispatch_class: type, func: Callable | None = None, /, *, lib: Library | None = None) -> Any:
    """Register what is called in place of a class's ``__torch_dispatch__``; without ``func`` a decorator."""
    found = _resolved(op, "register_torch_dispatch")
    if isinstance(found, CustomOpDef):
        return found.register_torch_dispatch(torch_dispatch_class, func)

    def register(function: Callable) -> Callable:
        namespace, name = _split(found)
        _library(namespace, lib)._register_torch_dispatch_rule(name, torch_dispatch_class, function)
        return function

    return register if func is None else register(func)


def register_autocast(op: Any, device_type: str, cast_inputs: dtype, /, *, lib: Library | None = None) -> Any:
    """Have autocast on a type of device cast floating tensors to a dtype for an operator.

    Raises:
        ValueError: there is no autocast for it, torch's text.
    """
    found = _resolved(op, "register_autocast")
    if not autocast.is_available(device_type):
        raise ValueError(f"Device type '{device_type}' does not support autocast.")
    if isinstance(found, CustomOpDef):
        return found.register_autocast(device_type, cast_inputs)
    kernel = autocast_kernel(_found(found), device_type, cast_inputs)
    _library(_split(found)[0], lib)._add_kernel(found, f"Autocast{key_of_device(device_type)}", Kernel(kernel, True, True, source_of(2)))
    return None
