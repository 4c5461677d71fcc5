"""What all learning rate schedulers share: `LRScheduler`, its warnings, and access to the numbers of groups."""

from __future__ import annotations

import contextlib
import functools
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..core.capturing import on_host
from ..core.state import thread
from ..tensors.tensor import Tensor
from .optimizer import Optimizer

__all__ = ["EPOCH_DEPRECATION_WARNING", "LRScheduler", "check_optimizer", "copied", "each_group", "set_number"]

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use `scheduler.step()` to step "
    "the scheduler. During the deprecation, if epoch is different from None, the closed form is used instead of the new chainable form, where "
    "available. Please open an issue if you are unable to replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_ORDER = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
_WRONG_ORDER = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in the opposite order: "
    "`optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the first value of the learning rate "
    f"schedule. {_ORDER}"
)
_OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure to call `optimizer.step()` "
    f"before `lr_scheduler.step()`. {_ORDER}"
)
_NO_INITIAL_LR = (
    "param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with last_epoch >= 0.\nThis typically happens when:\n"
    "1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer state\n"
    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
)


def check_optimizer(optimizer: Any) -> None:
    """Refuse what is no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def copied(value: Any) -> Any:
    """A copy of a tensor; a number as it is."""
    return value.clone() if isinstance(value, Tensor) else value


def set_number(group: dict[str, Any], name: str, value: Any) -> None:
    """Set a number of a group; one that is a tensor stays the same tensor."""
    if isinstance(group[name], Tensor):
        group[name].fill_(value)
    else:
        group[name] = value


def each_group(name: str, optimizer: Optimizer, value: Any) -> list:
    """A number for each group, from one number or a list of them."""
    count = len(optimizer.param_groups)
    if isinstance(value, (list, tuple)):
        if len(value) != count:
            raise ValueError(
                f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, param_groups has {count}."
            )
        return list(value)
    return [value] * count


def _remember_calls(optimizer: Any) -> None:
    """Let the optimizer note that it made a step, so that a wrong order of calls can be told."""
    step = optimizer.step
    if hasattr(step, "_wrapped_by_lr_sched"):
        return

    @functools.wraps(step.__func__)
    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        self._opt_called = True
        return step.__func__(self, *args, **kwargs)

    noted._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = types.MethodType(noted, optimizer)


def _replayed(step: Callable) -> Callable:
    """A scheduler's step, which a compiled training step runs anew each time it is replayed."""

    @functools.wraps(step)
    def stepped(self: Any, *args: Any, **kwargs: Any) -> Any:
        if thread.state.capture is None:
            return step(self, *args, **kwargs)
        return on_host(functools.partial(step, **kwargs), self, *args)

    return stepped


class LRScheduler:
    """The base of all schedulers: a subclass defines ``get_lr``.

    Args:
        last_epoch: the last epoch done, when training goes on.

    Raises:
        TypeError: ``optimizer`` is none.
        KeyError: training goes on, but a group has no ``initial_lr``.
    """

    __module__ = "pytorchlike.optim.lr_scheduler"
    _get_lr_called_within_step = False
    _is_initial = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _replayed(cls.__dict__["step"])  # type: ignore[method-assign]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(_NO_INITIAL_LR.format(i))
        self.base_lrs = [copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        _remember_calls(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state that `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list:
        """The rates of the groups, as this scheduler set them last."""
        return self._last_lr

    def get_lr(self) -> list:
        """The rates of the groups for ``last_epoch``, from those before."""
        raise NotImplementedError

    @_replayed
    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, or to the given one."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(_OVERRIDDEN, stacklevel=3)
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(_WRONG_ORDER, stacklevel=3)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=3)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        with self._inside_step():
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                rates = self._get_closed_form_lr() if hasattr(self, "_get_closed_form_lr") else self.get_lr()
        self._set_rates(rates)

    @contextlib.contextmanager
    def _inside_step(self) -> Iterator[None]:
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _set_rates(self, rates: Iterable) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates):
            set_number(group, "lr", rate)
        self._last_lr = self._rates()

    def _rates(self) -> list:
        return [copied(group["lr"]) for group in self.optimizer.param_groups]

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", UserWarning, stacklevel=3)

    def _scaled(self, factor: Any) -> list:
        """The present rates times a factor; None leaves them."""
        self._warn_outside_step()
        rates = self._rates()
        return rates if factor is None else [rate * factor for rate in rates]
