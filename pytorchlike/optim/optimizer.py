"""`Optimizer`: parameter groups, state, hooks, saving; and `RuleOptimizer`, whose step is one recorded instruction for each group."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from copy import deepcopy
from itertools import chain
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..autograd.grad_mode import enable_grad, no_grad
from ..core import dtype as dtypes
from ..core.handle import RemovableHandle, register
from ..core.lazy import uncollected
from ..core.state import thread
from ..graph.instruction import Instruction
from ..graph.recorder import record, step_boundary
from ..graph.value import aval_of, constant, on_device
from ..tensors.mutation import write_into
from ..tensors.tensor import Tensor, make_tensor
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

__all__ = ["Check", "Optimizer", "RuleOptimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

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


class Optimizer:
    """The base of all optimizers: a subclass defines ``step``.

    Args:
        params: tensors, or pairs of name and tensor, or groups: dicts with ``params`` and hyper-parameters of their own.
        defaults: hyper-parameters of groups that do not state them.

    Raises:
        TypeError: ``params`` is a tensor.
        ValueError: ``params`` is empty.
    """

    __module__ = "torch.optim.optimizer"
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


# ------------------------------------------------------------------------------------------------------------------- rules
class Check(NamedTuple):
    """A hyper-parameter that may not be negative, nor NaN, and must lie below a bound.

    Attributes:
        name: ``lr``, or ``betas.0`` for a part of a tuple.
        text: how torch's message calls it: ``Invalid {text}: -1``.
        below: the bound; itself allowed if ``closed``.
    """

    name: str
    text: str
    below: float = float("inf")
    closed: bool = False

    def __call__(self, value: Any) -> None:
        if not (0.0 <= value and (value < self.below or (self.closed and value == self.below) or self.below == float("inf"))):
            raise ValueError(f"Invalid {self.text}: {value}")


class Hypers(dict):
    """Hyper-parameters as 0-d arrays of the dtype a parameter is updated in; ``exact`` holds them in float64."""

    exact: dict[str, Any]

    def __init__(self, flat: Mapping[str, Any], dtype: Any) -> None:
        super().__init__(_nested({name: value.astype(dtype) for name, value in flat.items()}))
        self.exact = _nested({name: value.astype(np.float64) for name, value in flat.items()})


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """``{"betas.0": a, "betas.1": b}`` -> ``{"betas": (a, b)}``."""
    result: dict[str, Any] = {}
    for name, value in flat.items():
        base, _, index = name.partition(".")
        result[base] = (*result.get(base, ()), value) if index else value
    return result


class RuleOptimizer(Optimizer):
    """An optimizer whose update is a rule: a chain of optax transformations (`_transforms`), built inside the traced step.

    A step of a group is one instruction of the trace.  Numbers of the group are inputs of it, so a schedule compiles nothing.
    """

    __module__ = "torch.optim.optimizer"
    #: What ``__init__`` checks, in this order.
    CHECKS: ClassVar[tuple[Check, ...]] = ()
    #: Key in torch's state -> field of the optax state.
    STATE: ClassVar[dict[str, str]] = {}
    #: First value of a state where it is not 0: a number, or the name of a hyper-parameter.
    INITIAL: ClassVar[dict[str, float | str]] = {}
    #: States that are 0-d whatever the parameter's shape.
    SCALARS: ClassVar[frozenset[str]] = frozenset({"step"})
    #: Names of hyper-parameters that the rule takes as numbers.
    NUMBERS: ClassVar[tuple[str, ...]] = ("lr", "weight_decay")
    #: Names of hyper-parameters that choose the rule: the value of a flag, for a number whether it is not 0.
    SWITCHES: ClassVar[tuple[str, ...]] = ("maximize", "weight_decay")

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        lr = defaults["lr"]
        if isinstance(lr, Tensor):
            if defaults.get("foreach") and not defaults.get("capturable", False) and type(self).__name__ != "SGD":
                raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
            if lr.numel() != 1:
                raise ValueError("Tensor lr must be 1-element")
        for check in self.CHECKS:
            name, _, index = check.name.partition(".")
            check(defaults[name][int(index)] if index else defaults[name])
        super().__init__(params, defaults)
        if defaults.get("fused"):
            if defaults["differentiable"]:
                raise RuntimeError("`fused` does not support `differentiable`")
            if defaults["foreach"]:
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Fill in what states saved by older versions lack: new hyper-parameters, step counts that were plain numbers."""
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self.defaults.items():
                group.setdefault(name, value)
        for param, values in self.state.items():
            if "step" in values and not isinstance(values["step"], Tensor):
                values["step"] = _full((), float(values["step"]), dtypes.float32, param)

    # --------------------------------------------------------------------------------------------- what a subclass states
    @staticmethod
    def rule(t: Any, h: Hypers, on: Mapping[str, Any]) -> Any:
        """The transformation of one parameter's gradient into what is added to the parameter.

        Args:
            t: the module `_transforms`.
            h: the hyper-parameters of NUMBERS.
            on: the switches.
        """
        raise NotImplementedError

    @classmethod
    def state_keys(cls, on: Mapping[str, Any]) -> tuple[str, ...]:
        """The states that are used under these switches."""
        return tuple(cls.STATE)

    @classmethod
    def switches(cls, group: Mapping[str, Any]) -> dict[str, Hashable]:
        """What chooses the rule; part of the key of the compiled step."""
        return {name: isinstance(group[name], Tensor) or bool(group[name]) for name in cls.SWITCHES}

    @classmethod
    def numbers(cls, group: Mapping[str, Any]) -> dict[str, Any]:
        """The numbers of a group, floats or 0-d tensors, tuples spread: ``betas.0``."""
        flat: dict[str, Any] = {}
        for name in cls.NUMBERS:
            value = group[name]
            flat.update({f"{name}.{i}": part for i, part in enumerate(value)} if isinstance(value, (tuple, list)) else {name: value})
        return flat

    # ---------------------------------------------------------------------------------------------------- the pure update
    @classmethod
    def update(
        cls, switches: Mapping[str, Any], hypers: Mapping[str, Any], params: list[Any], grads: list[Any], states: list[dict[str, Any]]
    ) -> tuple[list[Any], list[dict[str, Any]]]:
        """The update as a pure function of arrays: new parameters and new states.

        Args:
            switches: of `switches`.
            hypers: of `numbers`, as 0-d arrays.
            states: torch's keys -> arrays, those of `state_keys`.
        """
        with uncollected():
            from . import _transforms

        updated = [cls._update_one(_transforms, switches, hypers, *each) for each in zip(params, grads, states, strict=True)]
        return [p for p, _ in updated], [s for _, s in updated]

    @classmethod
    def _update_one(cls, t: Any, on: Mapping[str, Any], hypers: Mapping[str, Any], param: Any, grad: Any, state: dict[str, Any]) -> tuple:
        form = _real_form(param.dtype)
        p, g = form.enter(param), form.enter(grad.astype(param.dtype))
        if on["maximize"]:
            g = -g
        rule = cls.rule(t, Hypers(hypers, form.dtype), on)
        before = rule.init(p)
        given = {
            cls.STATE[key]: value.astype(form.dtype) if key in cls.SCALARS else form.enter(value)
            for key, value in state.items()
            if key != "step"
        }
        if t.get(before, "count") is not None:
            given["count"] = state["step"].astype(np.int32)
        change, after = rule.update(g, t.set(before, **given) if given else before, p)
        new_state = {}
        for key, old in state.items():
            if key == "step":
                new_state[key] = old + 1
            else:
                value = t.get(after, cls.STATE[key])
                new_state[key] = (value if key in cls.SCALARS else form.leave(value)).astype(old.dtype)
        return form.leave(t.apply_updates(p, change)), new_state

    # ------------------------------------------------------------------------------------------------- the recorded update
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient.

        Args:
            closure: computes the loss anew and returns it; so does ``step`` then.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                self._apply_group(group)
        step_boundary("optimizer.step")
        return loss

    def _apply_group(self, group: dict[str, Any]) -> None:
        """Record the update of a group's parameters that have a gradient, and write the new values into parameters and states."""
        by_kind: dict[tuple, list[Tensor]] = {}
        on = self.switches(group)
        for p in group["params"]:
            if p.grad is not None:
                if group.get("differentiable") and p.grad.requires_grad:
                    raise NotImplementedError(f"{type(self).__name__}(differentiable=True): steps are not recorded on the tape")
                if p.grad.is_sparse:
                    self._apply_sparse(p, p.grad, group)
                    continue
                own = self._init_state(p, group, on)
                by_kind.setdefault((p.device, *own.items()) if own else (p.device,), []).append(p)
        numbers = self.numbers(group)
        floats = {name: float(value) for name, value in numbers.items() if not isinstance(value, Tensor)}
        tensors = {name: value for name, value in numbers.items() if isinstance(value, Tensor)}
        for (device, *own_pairs), params in by_kind.items():
            switches = {**on, **dict(own_pairs)}
            keys = tuple(self.state_keys(switches))
            targets = [*params, *(self.state[p][key] for key in keys for p in params)]
            arguments = [*targets, *(p.grad for p in params), *(value.to(device) for value in tensors.values())]
            instruction = _instruction(type(self), tuple(switches.items()), keys, len(params), tuple(floats), tuple(tensors))  # type: ignore[arg-type]
            capture = thread.state.capture
            if capture is not None:
                capture.note_floats([(group, *_place(name)) for name in floats])
            results = record(instruction, tuple([a._content() for a in arguments]), tuple(floats.values()))
            for target, value in zip(targets, results, strict=True):
                write_into(target, value)

    def _apply_sparse(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        """Update a parameter that has a sparse gradient.

        Raises:
            RuntimeError: the optimizer knows dense ones only; torch's text.
        """
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")

    def _init_state(self, param: Tensor, group: dict[str, Any], on: Mapping[str, Any]) -> dict[str, Hashable]:
        """Give a parameter its first state, if it has none; returns switches that hold for this step alone."""
        state = self.state[param] if self.STATE else {}
        for key in self.state_keys(on):
            if state.get(key) is None:
                initial = self.INITIAL.get(key, 0.0)
                value = group[initial] if isinstance(initial, str) else initial
                scalar = key in self.SCALARS
                # Arrays of the host, not operators: the first step then is the same trace as all others.
                state[key] = _full(() if scalar else param.shape, value, dtypes.float32 if scalar else param.dtype, param)
        return {}


def _place(name: str) -> tuple[str, int | None]:
    """Where in a group a number of `RuleOptimizer.numbers` stands: ``betas.0`` -> ``("betas", 0)``."""
    base, _, index = name.partition(".")
    return base, int(index) if index else None


def _full(shape: tuple[int, ...], value: Any, dtype: dtypes.dtype, like: Tensor) -> Tensor:
    """A tensor of one value, computed on the host, with the strides of ``like`` if it has its shape."""
    number = float(value)
    array = np.full(shape, complex(number, number) if dtype.is_complex else number, dtype.numpy)
    stride = like._content().aval.stride if tuple(shape) == tuple(like.shape) else None
    return make_tensor(constant(on_device(array, like.device), aval_of(tuple(shape), dtype, like.device, stride)))


@functools.lru_cache(maxsize=1024)
def _instruction(
    cls: Any, switches: tuple, keys: tuple[str, ...], count: int, floats: tuple[str, ...], tensors: tuple[str, ...]
) -> Instruction:
    """The instruction that updates ``count`` parameters: takes parameters, states (key by key), gradients, tensor numbers, float numbers."""
    on = dict(switches)

    def function(*arrays: Any) -> tuple:
        blocks = [list(arrays[i * count : (i + 1) * count]) for i in range(len(keys) + 2)]
        params, grads = blocks[0], blocks[-1]
        rest = arrays[len(blocks) * count :]
        hypers = {name: value.reshape(()) for name, value in zip((*tensors, *floats), rest, strict=True)}
        states = [dict(zip(keys, values)) for values in zip(*blocks[1:-1])] if keys else [{} for _ in params]
        params, states = cls.update(on, hypers, params, grads, states)
        return (*params, *(state[key] for key in keys for state in states))

    return Instruction(f"{cls.__name__}.step", function, float_count=len(floats))


class RealForm(NamedTuple):
    """How arrays of a dtype are updated: half precision in float32, complex numbers as pairs of real ones."""

    enter: Callable
    leave: Callable
    dtype: Any


@functools.cache
def _real_form(dtype: np.dtype) -> RealForm:
    import jax.numpy as jnp
    from jax import lax

    if np.issubdtype(dtype, np.complexfloating):
        real = np.float32 if dtype == np.complex64 else np.float64
        return RealForm(lambda x: jnp.stack([x.real, x.imag], -1), lambda x: lax.complex(x[..., 0], x[..., 1]), real)
    wide = np.float64 if dtype == np.float64 else np.float32
    return RealForm(lambda x: x.astype(wide), lambda x: x.astype(dtype), wide)
