"""`RuleOptimizer`: an optimizer whose step is one recorded instruction for each group of parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..autograd.grad_mode import set_grad_enabled
from ..core import dtype as dtypes
from ..core.lazy import uncollected
from ..core.state import thread
from ..dispatch.call import apply
from ..dispatch.derivative import Differentiable
from ..graph.instruction import Instruction
from ..graph.recorder import record, step_boundary
from ..graph.value import aval_of, constant, on_device
from ..tensors.mutation import check_writable, write_into
from ..tensors.tensor import Tensor, make_tensor, relayout
from .optimizer import Optimizer, loss_of

__all__ = ["Check", "RuleOptimizer"]


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
        taken = _parameters(type(self))  # type: ignore[arg-type]
        for group in self.param_groups:
            for name, value in self.defaults.items():
                if name in taken:  # the base adds one default that not all optimizers have
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
    def is_stateful(cls, on: Mapping[str, Any]) -> bool:
        """Whether there is any state under these switches."""
        return bool(cls.STATE)

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
        one = _update_of_one(cls, tuple(switches.items()))  # type: ignore[arg-type]
        updated = [one(hypers, *each) for each in zip(params, grads, states, strict=True)]
        return [p for p, _ in updated], [s for _, s in updated]

    @classmethod
    def _update_one(cls, on: Mapping[str, Any], hypers: Mapping[str, Any], param: Any, grad: Any, state: dict[str, Any]) -> tuple:
        with uncollected():
            from jax import lax

            from . import _transforms as t
        form = _real_form(param.dtype)
        p, g = form.enter(param), form.enter(grad.astype(param.dtype))
        if on["maximize"]:
            g = -g
        rule = cls.rule(t, Hypers(hypers, form.dtype), on)
        before = rule.init(p)
        given = {  # torch reads scalars as Python numbers: no gradient goes through them
            cls.STATE[key]: lax.stop_gradient(value).astype(form.dtype) if key in cls.SCALARS else form.enter(value)
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
        loss = loss_of(closure)
        for group in self.param_groups:
            with set_grad_enabled(bool(group.get("differentiable"))):
                self._apply_group(group)
        step_boundary("optimizer.step")
        return loss

    def _apply_group(self, group: dict[str, Any]) -> None:
        """Record the update of a group's parameters that have a gradient, and write the new values into parameters and states."""
        on = self.switches(group)
        stateful, rows = self.is_stateful(on), []
        for p in group["params"]:
            if p.grad is not None:
                if p.grad.is_sparse:
                    self._apply_sparse(p, p.grad, self.state[p] if stateful else {}, group)
                else:
                    own = self._init_state(p, group, on)
                    rows.append((p, p.grad, self.state[p] if stateful else {}, own))
        capture = thread.state.capture
        self._record(group, on, rows, capture and (lambda floats: capture.note_floats([(group, *_place(name)) for name in floats])))

    @classmethod
    def _record(cls, group: Mapping[str, Any], on: Mapping[str, Any], rows: list[tuple], note: Callable | None = None) -> None:
        """Record the update of parameters, one instruction for all that are updated alike, and write the new values.

        Args:
            group: the hyper-parameters.
            on: their switches.
            rows: parameter, gradient, state and switches of its own, of each.
            note: is told the names of the numbers that are floats.
        """
        by_kind: dict[tuple, list[tuple]] = {}
        taped = thread.state.grad_enabled
        for row in rows:
            p, own = row[0], row[3]
            by_kind.setdefault((p.device, id(p) if taped else None, *own.items()), []).append(row)  # on the tape, each is a node
        numbers = cls.numbers(group)
        floats = {name: float(value) for name, value in numbers.items() if not isinstance(value, Tensor)}
        tensors = {name: value for name, value in numbers.items() if isinstance(value, Tensor)}
        for (device, _, *own_pairs), chosen in by_kind.items():
            switches = {**on, **dict(own_pairs)}
            keys = tuple(cls.state_keys(switches))
            targets = [*(row[0] for row in chosen), *(row[2][key] for key in keys for row in chosen)]
            arguments = [*targets, *(row[1] for row in chosen), *(value.to(device) for value in tensors.values())]
            instruction = _instruction(cls, tuple(switches.items()), keys, len(chosen), tuple(floats), tuple(tensors))  # type: ignore[arg-type]
            if note is not None:
                note(floats)
            if taped:
                if switches.get("first"):
                    plain = frozenset(keys)
                else:
                    plain = frozenset({"step"}) if any(value.requires_grad for value in tensors.values()) else cls.SCALARS
                on_tape = [True, *(key not in plain for key in keys)]
                _write_on_tape(instruction, targets, arguments, tuple(floats.values()), on_tape)
                continue
            results = record(instruction, tuple([a._content() for a in arguments]), tuple(floats.values()))
            for target, value in zip(targets, results, strict=True):
                write_into(target, value)

    @classmethod
    def _apply_sparse(cls, param: Tensor, grad: Tensor, state: dict[str, Any], group: Mapping[str, Any]) -> None:
        """Update a parameter that has a sparse gradient.

        Raises:
            RuntimeError: the optimizer knows dense ones only; torch's text.
        """
        raise RuntimeError(f"{cls.__name__} does not support sparse gradients")

    @classmethod
    def apply_to(
        cls, params: list[Tensor], grads: list[Tensor], states: Mapping[str, list[Any]], group: dict[str, Any], own: list[dict[str, Hashable]] | None = None,
        *, fused: bool | None = None, grad_scale: Tensor | None = None, found_inf: Tensor | None = None,
    ) -> None:  # fmt: skip
        """Update parameters whose gradients and states are given as lists: what the functions beside the classes do.

        Args:
            states: key of torch's state -> the values of all parameters; lists of states that are not used may be empty.
            group: all hyper-parameters.
            own: switches that hold for one parameter each.
            grad_scale: what a fused update divides the gradients by, in place.
            found_inf: a fused update changes nothing where this is not 0.

        Raises:
            RuntimeError: step counts that are no tensors.
            AssertionError: ``grad_scale`` or ``found_inf`` for an update that is not fused.
        """
        if not all(isinstance(step, Tensor) for step in states.get("step", ())):
            raise RuntimeError("API has changed, `state_steps` argument must contain a list of singleton tensors")
        if grad_scale is not None or found_inf is not None:
            if not fused:
                raise AssertionError("Expected grad_scale and found_inf to be None")
            if grad_scale is not None:
                for grad in grads:
                    grad.div_(grad_scale)
            if found_inf is not None and found_inf.item():
                return
        on = cls.switches(group)
        rows = []
        for i, (p, grad) in enumerate(zip(params, grads, strict=True)):
            state = {key: values[i] for key, values in states.items() if values and values[i] is not None}
            if grad.is_sparse:
                cls._apply_sparse(p, grad, state, group)
            else:
                rows.append((p, grad, state, own[i] if own else {}))
        recorded = thread.state.grad_enabled and any(t.requires_grad for p, grad, state, _ in rows for t in (p, grad, *state.values()))
        with set_grad_enabled(recorded):
            cls._record(group, on, rows)

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


def _write_on_tape(
    instruction: Instruction, targets: list[Tensor], arguments: list[Tensor], floats: tuple[float, ...], on_tape: list[bool]
) -> None:
    """The update of one parameter as an in-place operator that the tape records (``differentiable=True``).

    Args:
        targets: what is written to, the first of the arguments.
        on_tape: which of the targets carry a gradient.

    Raises:
        RuntimeError: a parameter that is a leaf asking for a gradient.
    """
    for target in targets:
        check_writable(target)
    # The old content as tensors of their own: what the derivative saves must not be void after the write.
    old = [make_tensor(relayout(value := target._content(), value.aval.stride), target._current_edge()) for target in targets]
    results = apply(instruction, [*old, *arguments[len(targets) :]], floats)
    for target, result, taped in zip(targets, results, on_tape, strict=True):
        write_into(target, result._value, result._edge if taped else None)


@functools.cache
def _parameters(cls: type) -> frozenset[str]:
    """The names of what a class or its bases are made with."""
    return frozenset(name for base in cls.__mro__ if base is not object for name in inspect.signature(base.__init__).parameters)  # type: ignore[misc]


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
def _update_of_one(cls: Any, switches: tuple) -> Callable:
    """The update of one parameter, traced once for each shape and dtype: a model has many parameters of few shapes."""
    import jax

    def update(hypers: Mapping[str, Any], param: Any, grad: Any, state: dict[str, Any]) -> tuple:
        return cls._update_one(dict(switches), hypers, param, grad, state)

    update.__name__ = f"{cls.__name__}_update"
    return jax.jit(update)


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

    return Differentiable(f"{cls.__name__}.step", function, float_count=len(floats))


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
