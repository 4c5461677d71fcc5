"""`Optimizer`: parameter groups, state, hooks, saving."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from ..autograd.grad_mode import enable_grad
from ..core.handle import RemovableHandle, register
from ..tensors.tensor import Tensor
from ._for_subclasses import (  # noqa: F401 - torch has them here
    ParamsT,
    _default_to_fused_or_foreach,
    _disable_dynamo_if_unsupported,
    _get_capturable_supported_devices,
    _get_scalar_dtype,
    _get_value,
    _to_scalar,
    _use_grad_for_differentiable,
    group_tensors,
)

__all__ = ["Optimizer", "loss_of", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

_global_optimizer_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_optimizer_post_hooks: OrderedDict[int, Callable] = OrderedDict()


class _Required:
    """The default of a hyper-parameter that each group must state."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def register_optimizer_step_pre_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before each step of every optimizer."""
    return register(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after each step of every optimizer."""
    return register(_global_optimizer_post_hooks, hook)


def loss_of(closure: Callable[[], Any] | None) -> Any:
    """What the closure given to ``step`` returns, computed with gradients on; None without one."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


class Optimizer:
    """The base of all optimizers: a subclass defines ``step``.

    Args:
        params: tensors, or pairs of name and tensor, or groups: dicts with ``params`` and hyper-parameters of their own.
        defaults: hyper-parameters of groups that do not state them.

    Raises:
        TypeError: ``params`` is a tensor.
        ValueError: ``params`` is empty.
    """

    #: Names of the dictionaries of hooks, in the order torch makes them.
    _HOOKS = (
        "_optimizer_step_pre_hooks", "_optimizer_step_post_hooks", "_optimizer_state_dict_pre_hooks", "_optimizer_state_dict_post_hooks",
        "_optimizer_load_state_dict_pre_hooks", "_optimizer_load_state_dict_post_hooks",
    )  # fmt: skip

    state: defaultdict[Tensor, Any]
    param_groups: list[dict[str, Any]]
    defaults: dict[str, Any]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hooks()
        if isinstance(params, Tensor):
            raise TypeError(f"params argument given to the optimizer should be an iterable of Tensors or dicts, but got {params.type()}")
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def _make_hooks(self) -> None:
        for name in self._HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        cls = type(self)
        if not getattr(cls.step, "hooked", None):
            cls.step = _with_hooks(cls.step)  # type: ignore[method-assign]

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hooks()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines += [
                *([""] if i else []),
                f"Parameter Group {i}",
                *(f"    {key}: {group[key]}" for key in sorted(group) if key != "params"),
            ]
        return "\n".join([*lines, ")"])

    # ------------------------------------------------------------------------------------------------------------ groups
    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters.

        Raises:
            TypeError: not a dict, a set of parameters, or something that is no tensor.
            ValueError: a tensor that is no leaf, one that is in another group already, a missing hyper-parameter, some names missing.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            param_group["params"] = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change between runs. "
                "Please use a list instead."
            )
        else:
            param_group["params"] = list(params)
        _split_names(param_group)
        for param in param_group["params"]:
            if not isinstance(param, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(param).__name__}")
            if not self.defaults.get("differentiable", None) and not (param.is_leaf or getattr(param, "retains_grad", False)):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(param_group["params"]) != len({id(p) for p in param_group["params"]}):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(p) in known for p in param_group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        if self.param_groups and ("param_names" in param_group) != ("param_names" in self.param_groups[0]):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if 'param_names' in param_group else 'without'} names to the optimizer"
            )
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients, or fill them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if set_to_none:
                    p.grad = None
                    continue
                if p.grad.grad_fn is not None:
                    p.grad.detach_()
                else:
                    p.grad.requires_grad_(False)
                p.grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step of all parameters; subclasses define it."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------------------------- hooks
    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return new ``(args, kwargs)``."""
        return register(self._optimizer_step_pre_hooks, hook)  # type: ignore[attr-defined]

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return register(self._optimizer_step_post_hooks, hook)  # type: ignore[attr-defined]

    def register_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before ``state_dict``."""
        return register(self._optimizer_state_dict_pre_hooks, hook, prepend)  # type: ignore[attr-defined]

    def register_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after ``state_dict``; a result takes its place."""
        return register(self._optimizer_state_dict_post_hooks, hook, prepend)  # type: ignore[attr-defined]

    def register_load_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before ``load_state_dict``; a result takes its place."""
        return register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)  # type: ignore[attr-defined]

    def register_load_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after ``load_state_dict``."""
        return register(self._optimizer_load_state_dict_post_hooks, hook, prepend)  # type: ignore[attr-defined]

    @staticmethod
    def profile_hook_step(func: Callable) -> Callable:
        """A step with the hooks around it."""
        return _with_hooks(func)

    def _patch_step_function(self) -> None:
        self._make_hooks()

    def _cuda_graph_capture_health_check(self) -> None:
        """Nothing is captured from a stream."""

    _accelerator_graph_capture_health_check = _cuda_graph_capture_health_check
    _group_tensors_by_device_and_dtype = staticmethod(group_tensors)

    # ------------------------------------------------------------------------------------------------- saving and loading
    def state_dict(self) -> dict[str, Any]:
        """State and groups, with numbers in place of the parameters; the same form as torch's."""
        for hook in self._optimizer_state_dict_pre_hooks.values():  # type: ignore[attr-defined]
            hook(self)
        number: dict[int, int] = {}
        start = 0
        for group in self.param_groups:
            number.update(
                {id(p): i for i, p in enumerate(group["params"], start) if id(p) not in number}
            )  # one that stands twice: the last
            start += len(group["params"])
        groups = [
            {**{key: value for key, value in group.items() if key != "params"}, "params": [number[id(p)] for p in group["params"]]}
            for group in self.param_groups
        ]
        state = {(number[id(p)] if isinstance(p, Tensor) else p): value for p, value in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():  # type: ignore[attr-defined]
            changed = hook(self, result)
            if changed is not None:
                result = changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state that `state_dict` returned, torch's too.

        Raises:
            ValueError: another number of groups, or of parameters in one of them.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():  # type: ignore[attr-defined]
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(mine["params"]) != len(theirs["params"]) for mine, theirs in zip(groups, saved)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        param_of = dict(zip(chain.from_iterable(g["params"] for g in saved), chain.from_iterable(g["params"] for g in groups)))
        state: defaultdict = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in param_of:
                state[param_of[key]] = _moved(value, param_of[key])
            else:
                state[key] = value
        for mine, theirs in zip(groups, saved):
            theirs["params"] = mine["params"]
            if "param_names" in mine and "param_names" not in theirs:
                theirs["param_names"] = mine["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():  # type: ignore[attr-defined]
            hook(self)


def _split_names(group: dict[str, Any]) -> None:
    """Turn ``(name, tensor)`` pairs of a group into two lists."""
    params = group["params"]
    pairs = [isinstance(item, tuple) for item in params]
    if not any(pairs):
        return
    if not all(pairs):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    group["params"] = [param for _, param in params]
    group["param_names"] = [name for name, _ in params]


def _moved(value: Any, param: Tensor, key: str | None = None) -> Any:
    """A loaded state as the parameter needs it: on its device and, if it is floating, of its dtype; the step count keeps its dtype."""
    if isinstance(value, Tensor):
        if key == "step":
            return value.to(device=param.device)
        return value.to(dtype=param.dtype, device=param.device) if param.is_floating_point() else value.to(device=param.device)
    if isinstance(value, dict):
        return {name: _moved(item, param, name) for name, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return type(value)(_moved(item, param) for item in value)  # type: ignore[call-arg]
    return value


def _with_hooks(step: Callable) -> Callable:
    """The step of a class, with the hooks around it."""

    @functools.wraps(step)
    def hooked(*args: Any, **kwargs: Any) -> Any:
        self = args[0]
        for hook in chain(_global_optimizer_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
            changed = hook(self, args, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
                args, kwargs = changed
        result = step(*args, **kwargs)
        for hook in chain(self._optimizer_step_post_hooks.values(), _global_optimizer_post_hooks.values()):
            hook(self, args, kwargs)
        return result

    hooked.hooked = True  # type: ignore[attr-defined]
    return hooked
