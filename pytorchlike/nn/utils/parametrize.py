"""Parametrizations: a tensor of a module that is computed from other tensors each time it is read."""

from __future__ import annotations

import copyreg
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from ...autograd.grad_mode import no_grad
from ...tensors.tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations", "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]  # fmt: skip

_cache_enabled = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor once inside the block."""
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _take(target: Tensor, source: Tensor) -> None:
    """Give a tensor the content of another; it stays the object that optimizers know."""
    if source is not target:
        target.set_(source)


def _named(value: Any) -> str:
    return type(value).__name__


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in order, with what they compute it from: ``original``, or ``original0``, ``original1``, ...

    Args:
        original: the tensor; ``right_inverse`` of the parametrizations, last one first, says what it is computed from.
        unsafe: do not check that shape and dtype stay the same.

    Raises:
        ValueError: no modules, or results of another kind, shape or dtype; torch's texts.
    """

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not len(modules):
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new: Any = original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        new = module.right_inverse(new)
                    except NotImplementedError:  # then it counts as the identity
                        pass
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {_named(new)}")
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if isinstance(new, Tensor):
            self._register_one(original, new)
        else:
            self._register_several(original, new)
        if not unsafe:
            result = self()
            if not isinstance(result, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {_named(result)}.")
            for what, before, after in (("dtype", dtype, result.dtype), ("shape", shape, result.shape)):
                if before != after:
                    raise ValueError(
                        f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag is enabled.\n"
                        f"unparametrized {what}: {before}\nparametrized {what}: {after}"
                    )

    def _register_one(self, original: Tensor, new: Tensor) -> None:
        for what, before, after in (("dtype", original.dtype, new.dtype), ("device", original.device, new.device)):
            if before != after:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                    f"original.{what}: {before}\nright_inverse(original).{what}: {after}"
                )
        with no_grad():
            _take(original, new)
        _register(self, "original", original)

    def _register_several(self, original: Tensor, new: Sequence[Any]) -> None:
        for i, part in enumerate(new):
            if not isinstance(part, Tensor):
                raise ValueError(
                    f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element {i} of the sequence with type "
                    f"{_named(part)}."
                )
            if isinstance(original, Parameter):
                part = Parameter(part, original.requires_grad)
            part.requires_grad_(original.requires_grad)
            _register(self, f"original{i}", part)

    def right_inverse(self, value: Any) -> None:
        """Change the originals so that the parametrized tensor becomes ``value``, as far as the parametrizations can.

        Raises:
            RuntimeError: a parametrization has no ``right_inverse``.
            ValueError: one returned something of another kind than before.
        """
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {_named(module)} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {_named(value)}")
                if value.dtype != self.original.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype {self.original.dtype}"
                    )
                _take(self.original, value)
                return
            if not isinstance(value, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {_named(value)}.")
            if len(value) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length {len(value)}."
                )
            for i, tensor in enumerate(value):
                own = getattr(self, f"original{i}")
                if not isinstance(tensor, Tensor):
                    raise ValueError(
                        f"'right_inverse' must return a sequence of tensors or reference-type opaques. Got element {i} of type {_named(tensor)}."
                    )
                if own.dtype != tensor.dtype:
                    raise ValueError(
                        f"Tensor {i} returned by `right_inverse` has dtype {tensor.dtype} while `original{i}` has dtype {own.dtype}"
                    )
                _take(own, tensor)

    def forward(self) -> Any:
        """The parametrized tensor."""
        originals = [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]
        first, *others = self
        result = first(*originals)
        for module in others:
            result = module(result)
        return result


# ------------------------------------------------------------------------------------------------------- the class of the module
def _deepcopy(self: Any, memo: dict) -> Any:
    found = memo.get(id(self))
    if found is not None:
        return found
    copied = memo[id(self)] = self.__new__(type(self))
    copied.__dict__ = deepcopy(self.__dict__, memo)
    for slot in copyreg._slotnames(type(self)):  # type: ignore[attr-defined]
        if hasattr(self, slot):
            setattr(copied, slot, deepcopy(getattr(self, slot), memo))
    return copied


def _refuse_to_pickle(self: Any) -> None:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def _give_own_class(module: Module) -> None:
    """Give a module a class of its own, which can hold properties."""
    cls = type(module)
    members: dict[str, Any] = {"__getstate__": _refuse_to_pickle}
    if not hasattr(cls, "__deepcopy__"):  # copying may go on where pickling may not
        members["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _add_property(module: Module, tensor_name: str) -> None:
    def read(self: Any) -> Tensor:
        parametrization = self.parametrizations[tensor_name]
        if not _cache_enabled:
            return parametrization()
        key = (id(module), tensor_name)
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def assign(self: Any, value: Any) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(type(module), tensor_name, property(read, assign))


# ------------------------------------------------------------------------------------------------------------------- for users
def register_parametrization(module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Module:
    """Let a parameter or buffer be computed by ``parametrization`` from now on; several are applied one after the other.

    What it is computed from is a parameter (or several) of ``module.parametrizations.NAME``; a ``right_inverse`` of the parametrization says
    what it starts as, and makes assignment possible.

    Args:
        unsafe: do not check that shape and dtype stay the same.

    Raises:
        ValueError: there is no such tensor, or a check fails; torch's texts.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_next(module, tensor_name, parametrization)
        listed = module.parametrizations[tensor_name]
        listed.append(parametrization)
        listed.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        listed = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _give_own_class(module)
            module.parametrizations = ModuleDict()
        _add_property(module, tensor_name)
        module.parametrizations[tensor_name] = listed
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'")
    return module


def _check_next(module: Module, name: str, parametrization: Any) -> None:
    """Check that one more parametrization maps tensors like the present one to such tensors, and so does its inverse."""
    present = getattr(module, name)
    result = parametrization(present)
    if not isinstance(result, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {_named(result)}.")
    for what, before, after in (("dtype", present.dtype, result.dtype), ("shape", present.shape, result.shape)):
        if before != after:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless the `unsafe` flag is enabled.\n"
                f"module.{name}.{what}: {before}\nparametrization(module.{name}).{what}: {after}"
            )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        inverse = parametrization.right_inverse(result)
    except NotImplementedError:
        return
    if not isinstance(inverse, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {_named(inverse)}")
    for what, before, after in (("dtype", present.dtype, inverse.dtype), ("shape", present.shape, inverse.shape)):
        if before != after:
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} as module.{name}, unless the `unsafe` flag is "
                f"enabled.\nmodule.{name}.{what}: {before}\nreturned {what}: {after}"
            )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a tensor of a module, or any of them, is parametrized."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a parametrized tensor a parameter or buffer again.

    Args:
        leave_parametrized: with its present value; else with that of ``original``.

    Raises:
        ValueError: it is not parametrized, or ``leave_parametrized=False`` and there are several originals.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    listed = module.parametrizations[tensor_name]
    if listed.is_tensor:
        original = listed.original
        if leave_parametrized:
            with no_grad():
                _take(original, getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that a module had before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Module, to_module: Module, tensor_name: str | None = None) -> Module:
    """Parametrize a module as another one is, with the same originals.

    Args:
        tensor_name: of this tensor only.
    """
    if not is_parametrized(from_module):
        return to_module
    for name in from_module.parametrizations if tensor_name is None else [tensor_name]:
        listed = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in listed:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        for original in ["original"] if listed.is_tensor else [f"original{i}" for i in range(listed.ntensors)]:
            setattr(target, original, getattr(listed, original))
    return to_module


