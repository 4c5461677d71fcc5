"""`Module`, the base of all layers: registration, calls with hooks, traversal, moves, repr.

Calls and hooks live in ``calls.py``, saving and loading of the state in ``state.py``; other libraries find all names here.
"""

from __future__ import annotations

import importlib
import itertools
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Self

from ...aten.constructors import typename
from ...aten.create import empty_like
from ...autograd.grad_mode import no_grad
from ...core.device import as_device, device
from ...core.dtype import dtype as dtype_type
from ...tensors.tensor import Tensor
from ..parameter import Buffer, Parameter
from .calls import (
    Calls,
    _global_backward_hooks,
    _global_backward_pre_hooks,
    _global_buffer_registration_hooks,
    _global_forward_hooks,
    _global_forward_hooks_always_called,
    _global_forward_hooks_with_kwargs,
    _global_forward_pre_hooks,
    _global_module_registration_hooks,
    _global_parameter_registration_hooks,
    or_else,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from .state import _EXTRA_STATE_KEY_SUFFIX, StateDict, _IncompatibleKeys

__all__ = [
    "Module", "_EXTRA_STATE_KEY_SUFFIX", "_IncompatibleKeys", "_global_backward_hooks", "_global_backward_pre_hooks", "_global_forward_hooks",
    "_global_forward_hooks_always_called", "_global_forward_hooks_with_kwargs", "_global_forward_pre_hooks", "register_module_backward_hook",
    "register_module_buffer_registration_hook", "register_module_forward_hook", "register_module_forward_pre_hook",
    "register_module_full_backward_hook", "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]  # fmt: skip


def _forward_unimplemented(self: Module, *input: Any) -> None:
    """Compute the module's result; every subclass defines it.

    Raises:
        NotImplementedError: the subclass does not.
    """
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


def _addindent(text: str, spaces: int) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line for line in rest)])


def _parse_to(args: tuple, kwargs: dict) -> tuple[device | None, dtype_type | None, bool, Any]:
    """What the arguments of ``to`` ask for: device, dtype, non_blocking, memory format."""
    values = dict(kwargs)
    memory_format = values.pop("memory_format", None)
    names: tuple[str, ...] = ("device", "dtype", "non_blocking", "copy")
    if args and isinstance(args[0], dtype_type):
        names = ("dtype", "non_blocking", "copy")
    elif args and isinstance(args[0], Tensor):
        names = ("other", "non_blocking", "copy")
    for name, value in zip(names, args):
        values[name] = value
    other = values.pop("other", values.pop("tensor", None))
    if other is not None:
        values["device"], values["dtype"] = other.device, other.dtype
    unknown = set(values) - {"device", "dtype", "non_blocking", "copy"}
    if unknown or len(args) > len(names):
        raise TypeError(f"to() received an invalid combination of arguments - got ({', '.join(map(str, [*args, *kwargs]))})")
    where, kind = values.get("device"), values.get("dtype")
    if where is not None and not isinstance(where, (device, str, int)) or kind is not None and not isinstance(kind, dtype_type):
        raise TypeError(f"to() received an invalid combination of arguments - got ({', '.join(type(a).__name__ for a in args)})")
    return None if where is None else as_device(where), kind, bool(values.get("non_blocking", False)), memory_format


class Module(Calls, StateDict):
    """Base class of layers and models: attributes that are parameters, buffers or modules are registered under their name."""

    dump_patches: bool = False
    _version: int = 1
    call_super_init: bool = False
    _compiled_call_impl: Callable | None = None
    training: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if self.call_super_init is False and (kwargs or args):
            name = type(self).__name__
            if kwargs:
                raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
            raise TypeError(f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        self.__dict__.update(
            training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set(), _backward_pre_hooks=OrderedDict(),
            _backward_hooks=OrderedDict(), _is_full_backward_hook=None, _forward_hooks=OrderedDict(), _forward_hooks_with_kwargs=OrderedDict(),
            _forward_hooks_always_called=OrderedDict(), _forward_pre_hooks=OrderedDict(), _forward_pre_hooks_with_kwargs=OrderedDict(),
            _state_dict_hooks=OrderedDict(), _state_dict_pre_hooks=OrderedDict(), _load_state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_post_hooks=OrderedDict(), _modules={},
        )  # fmt: skip
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward: Callable[..., Any] = _forward_unimplemented

    # ---- registration -------------------------------------------------------------------------------------------------------------

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register a tensor that is state but no parameter.

        Args:
            persistent: whether it is part of ``state_dict``.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name(name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        for hook in _global_buffer_registration_hooks.values():
            tensor = or_else(hook(self, name, tensor), tensor)
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Register a parameter; None reserves the name (and appears in no iterator)."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name(name, "parameter", self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)")
            if param.grad_fn:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To express '{name}' "
                    "as a function of another Tensor, compute the value in the forward() method."
                )
            for hook in _global_parameter_registration_hooks.values():
                param = or_else(hook(self, name, param), param)
        self._parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        """Register a submodule under a name."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name(name, "module", self._modules)
        for hook in _global_module_registration_hooks.values():
            module = or_else(hook(self, name, module), module)
        self._modules[name] = module

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of `add_module`."""
        self.add_module(name, module)

    def _check_name(self, name: str, kind: str, registered: dict) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if hasattr(self, name) and name not in registered:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f"module name can't contain \".\", got: {name}" if kind == "module" else f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        for registry in ("_parameters", "_buffers", "_modules"):
            found = state.get(registry)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        parameters, modules, buffers = state.get("_parameters"), state.get("_modules"), state.get("_buffers")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, state, buffers, modules, self._non_persistent_buffers_set)
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)")
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, state, parameters, buffers, self._non_persistent_buffers_set)
            self._set_module(name, value)
        elif modules is not None and name in modules:
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)")
            self._set_module(name, None)
        elif isinstance(value, Tensor) and (isinstance(value, Buffer) or (buffers is not None and name in buffers)):
            self._set_buffer(name, value, buffers)
        elif buffers is not None and name in buffers:
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)")
            buffers[name] = None
        else:
            object.__setattr__(self, name, value)

    def _set_module(self, name: str, module: Module | None) -> None:
        for hook in _global_module_registration_hooks.values():
            module = or_else(hook(self, name, module), module)
        self._modules[name] = module

    def _set_buffer(self, name: str, value: Tensor, buffers: dict | None) -> None:
        if buffers is None:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        if isinstance(value, Buffer) and name not in buffers:
            self._forget(name, self.__dict__, self._parameters, self._modules, self._non_persistent_buffers_set)
            self.register_buffer(name, value, value.persistent)
            return
        for hook in _global_buffer_registration_hooks.values():
            value = or_else(hook(self, name, value), value)
        if isinstance(value, Buffer):
            (self._non_persistent_buffers_set.discard if value.persistent else self._non_persistent_buffers_set.add)(name)
        buffers[name] = value

    @staticmethod
    def _forget(name: str, *registries: Any) -> None:
        for registry in registries:
            if registry is not None and name in registry:
                registry.remove(name) if isinstance(registry, set) else registry.pop(name)

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    # ---- lookup by path -----------------------------------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """The submodule at a dotted path; the empty path is the module itself.

        Raises:
            AttributeError: a name on the path is missing or is no module.
        """
        module: Any = self
        for item in target.split(".") if target else ():
            if not hasattr(module, item):
                raise AttributeError(f"{module._get_name()} has no attribute `{item}`")
            module = getattr(module, item)
            if not isinstance(module, Module):
                raise AttributeError(f"`{item}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a dotted path.

        Args:
            strict: the path must exist already; otherwise the last name may be new.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        *path, name = target.split(".")
        parent = self.get_submodule(".".join(path))
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path.

        Raises:
            AttributeError: there is none.
        """
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        found = getattr(module, name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path.

        Raises:
            AttributeError: there is none.
        """
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return getattr(module, name)

    # ---- moves --------------------------------------------------------------------------------------------------------------------

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the values of all parameters, gradients and buffers by ``fn`` of them; parameters keep their identity where they can."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            with no_grad():
                applied = fn(parameter)
            gradient = parameter.grad
            # A tensor cannot change in place between the meta device, which has no values, and one that has.
            if (applied.device.type == "meta") == (parameter.device.type == "meta"):
                parameter.data = applied
            else:
                self._parameters[name] = parameter = Parameter(applied, parameter.requires_grad)
            if gradient is not None:
                with no_grad():
                    new_gradient = fn(gradient)
                parameter.grad = new_gradient.requires_grad_(gradient.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call ``fn`` on every submodule, then on the module itself."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move or cast parameters and buffers in place: ``to(device)``, ``to(dtype)``, ``to(device, dtype)``, ``to(tensor)``.

        Only floating point and complex tensors are cast.

        Raises:
            TypeError: the dtype is neither.
        """
        where, kind, non_blocking, memory_format = _parse_to(args, kwargs)
        if kind is not None:
            if not (kind.is_floating_point or kind.is_complex):
                raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={kind}")
            if kind.is_complex:
                warnings.warn(
                    "Complex modules are a new feature under active development whose design may change, and some modules might not work as "
                    "expected when using complex tensors as parameters or buffers. Please file an issue at "
                    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex module does not work as expected.",
                    stacklevel=2,
                )

        def convert(tensor: Tensor) -> Tensor:
            target = kind if tensor.is_floating_point() or tensor.is_complex() else None
            if tensor.is_meta and where is not None and where.type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving "
                    "module from meta to a different device."
                )
            if memory_format is not None and tensor.dim() in (4, 5):
                return tensor.to(where, target, non_blocking, memory_format=memory_format)
            return tensor.to(where, target, non_blocking)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to a device without copying the values."""
        return self._apply(lambda t: empty_like(t, device=device), recurse=recurse)

    def cuda(self, device: Any = None) -> Self:
        """Move to the accelerator."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self, device: Any = None) -> Self:
        """Move to a device of this kind.

        Raises:
            RuntimeError: there is none in JAX.
        """
        return self._to_kind("xpu", device)

    def mtia(self, device: Any = None) -> Self:
        """Move to a device of this kind.

        Raises:
            RuntimeError: there is none in JAX.
        """
        return self._to_kind("mtia", device)

    def ipu(self, device: Any = None) -> Self:
        """Move to a device of this kind.

        Raises:
            RuntimeError: there is none in JAX.
        """
        return self._to_kind("ipu", device)

    def _to_kind(self, kind: str, index: Any) -> Self:
        return self.to(f"{kind}:{index}" if isinstance(index, int) else kind if index is None else index)

    def cpu(self) -> Self:
        """Move to the CPU."""
        return self._apply(lambda t: t.cpu())

    def type(self, dst_type: Any) -> Self:
        """Cast all parameters and buffers, whatever their dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        """Cast floating point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Cast floating point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Self:
        """Cast floating point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Self:
        """Cast floating point parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def share_memory(self) -> Self:
        """Move the memory of all tensors to where other processes can map it."""
        return self._apply(lambda t: t.share_memory_())

    # ---- modes --------------------------------------------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Set ``training`` here and in all submodules."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set ``requires_grad`` of all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        if getattr(self, "_is_replica", False):
            warnings.warn(
                "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. The parameters are copied (in a "
                "differentiable manner) from the original module. This means they are not leaf nodes in autograd and so don't accumulate "
                "gradients. If you need gradients in your forward method, consider using autograd.grad instead.",
                stacklevel=2,
            )
        for parameter in self.parameters():
            if parameter.grad is not None:
                if set_to_none:
                    parameter.grad = None
                else:
                    if parameter.grad.grad_fn is not None:
                        parameter.grad.detach_()
                    else:
                        parameter.grad.requires_grad_(False)
                    parameter.grad.zero_()

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the module's call in place; the arguments are those of ``torch.compile``."""
        # The one step upwards: nobody else would import the compiler before this.
        compiler = importlib.import_module(f"{__name__.partition('.')[0]}.compiler")
        self._compiled_call_impl = compiler.compile(self._call_impl, *args, **kwargs)

    # ---- traversal ----------------------------------------------------------------------------------------------------------------

    def _named_members(self, get_members_fn: Callable, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple]:
        seen: set = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield f"{path}.{name}" if path else name, member

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, each once."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """All parameters with their dotted names."""
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """All buffers with their dotted names."""
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        """The direct submodules, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The direct submodules with their names."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """The module itself and all below it, each once."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """The module itself (under the empty name) and all below it with their dotted names."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    # ---- Python protocols ---------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state: dict) -> None:
        # Pickles of older versions lack the registries that came later.
        for name in _LATER_REGISTRIES:
            self.__dict__[name] = OrderedDict()
        self.__dict__.update(_non_persistent_buffers_set=set(), _is_full_backward_hook=None)
        self.__dict__.update(state)

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands between the brackets of the module's line in its repr."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        own = extra.split("\n") if extra else []
        below = [f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()]
        if not below and len(own) <= 1:
            return f"{self._get_name()}({''.join(own)})"
        return "\n  ".join([f"{self._get_name()}(", *own, *below]) + "\n)"

    def __dir__(self) -> list[str]:
        names = itertools.chain(dir(type(self)), self.__dict__, self._parameters, self._modules, self._buffers)
        return sorted({name for name in names if not name[0].isdigit()})

    def _replicate_for_data_parallel(self) -> Self:
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        replica.__dict__.update(_parameters={}, _buffers=replica._buffers.copy(), _modules=replica._modules.copy(), _is_replica=True)
        return replica


_LATER_REGISTRIES = (
    "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called",
    "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks", "_backward_pre_hooks",
    "_backward_hooks",
)  # fmt: skip
