"""Averages of models: stochastic weight averaging, arXiv:1803.05407, and exponential moving averages."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Any

from ..aten.constructors import tensor
from ..autograd.grad_mode import no_grad
from ..core import dtype as dtypes
from ..core.capturing import is_captured
from ..dispatch.registry import lookup
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from ..tensors.tensor import Tensor
from .lr_base import LRScheduler, each_group

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn", "update_bn"]

Tensors = Sequence[Tensor]


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _interpolates(tensors: Tensors) -> bool:
    return tensors[0].is_floating_point() or tensors[0].is_complex()


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[Tensors, Tensors, Any], None]:
    """A function that updates exponential moving averages of many tensors in place.

    Raises:
        ValueError: ``decay`` is not in [0, 1].
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list: Tensors, current_param_list: Tensors, _: Any) -> None:
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            if _interpolates(ema_param_list):
                average.lerp_(current, 1 - decay)
            else:
                average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable[[Tensors, Tensors, Any], None]:
    """A function that updates equally weighted averages of many tensors in place."""

    @no_grad()
    def swa_update(averaged_param_list: Tensors, current_param_list: Tensors, num_averaged: Tensor | int) -> None:
        weight = 1 / (num_averaged + 1)
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            if _interpolates(averaged_param_list):
                average.lerp_(current, weight.to(average.dtype) if isinstance(weight, Tensor) else weight)
            elif isinstance(num_averaged, Tensor):
                average.addcdiv_(current - average, num_averaged + 1)
            else:
                average.add_(current - average, alpha=weight)

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Tensor, Tensor, Any], Tensor]:
    """A function that gives the new exponential moving average of one tensor.

    Raises:
        ValueError: ``decay`` is not in [0, 1].
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[[Tensor, Tensor, Any], Tensor]:
    """A function that gives the new equally weighted average of one tensor."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Tensor | int) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are an average of those the model had at each call of ``update_parameters``.

    Args:
        device: where the copy lives.
        avg_fn: ``avg_fn(average, current, count)`` -> the new average; equal weights if left out.
        multi_avg_fn: the same in place, for lists of tensors.
        use_buffers: average buffers, too; else they are copied.

    Raises:
        AssertionError: both functions are given.
    """

    n_averaged: Tensor

    def __init__(
        self, model: Module, device: Any = None, avg_fn: Callable | None = None, multi_avg_fn: Callable | None = None, use_buffers: bool = False
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=dtypes.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the averaged model."""
        return self.module(*args, **kwargs)

    def _averaged_tensors(self, model: Module) -> Iterator[Tensor]:
        return itertools.chain(model.parameters(), model.buffers() if self.use_buffers else ())

    def _average(self, pairs: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Let present tensors take part in the averages that stand before them."""
        if self.avg_fn is not None:
            for own, given in pairs:
                own.copy_(self.avg_fn(own, given, self.n_averaged.to(own.device)))
            return
        update = self.multi_avg_fn or get_swa_multi_avg_fn()
        by_kind: dict[tuple, list[tuple[Tensor, Tensor]]] = {}
        for own, given in pairs:
            by_kind.setdefault((own.device, own.dtype), []).append((own, given))
        for (device, _), kind in by_kind.items():
            update([own for own, _ in kind], [given for _, given in kind], self.n_averaged.to(device))

    def update_parameters(self, model: Module) -> None:
        """Let the model's present parameters take part in the average."""
        pairs = [
            (own.detach(), given.detach().to(own.device)) for own, given in zip(self._averaged_tensors(self.module), self._averaged_tensors(model))
        ]
        if is_captured():  # the same without looking at the number
            self._average(pairs)
            for own, given in pairs:
                own.copy_(lookup("where.self")((self.n_averaged == 0).to(own.device), given, own))
        elif self.n_averaged == 0:
            for own, given in pairs:
                own.copy_(given)
        else:
            self._average(pairs)
        if not self.use_buffers:
            for own, given in zip(self.module.buffers(), model.buffers(), strict=True):
                own.detach().copy_(given.detach().to(own.device))
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of batch normalization anew, by running the model on all batches.

    Args:
        loader: its batches are inputs, or lists whose first element is the input.
        device: where inputs are moved to.
    """
    momenta = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None  # statistics are then means over all batches
    for batch in loader:
        input = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(input if device is None else input.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Goes to a fixed rate within some epochs, and keeps it.

    Args:
        swa_lr: the rate, or one for each group.
        anneal_epochs: how long it takes.
        anneal_strategy: ``cos`` or ``linear``.

    Raises:
        ValueError: another strategy, or a number of epochs below 0.
    """

    def __init__(self, optimizer: Any, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos", last_epoch: int = -1) -> None:
        for rate, group in zip(each_group("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _linear_anneal(t: float) -> float:
        return t

    @staticmethod
    def _cosine_anneal(t: float) -> float:
        return (1 - math.cos(math.pi * t)) / 2

    def _set_anneal_func(self, anneal_strategy: str) -> None:
        self._anneal_strategy = anneal_strategy
        self.anneal_func = self._cosine_anneal if anneal_strategy == "cos" else self._linear_anneal

    @staticmethod
    def _get_initial_lr(lr: Any, swa_lr: Any, alpha: float) -> Any:
        """The rate from which ``alpha`` of the way led to ``lr``."""
        return swa_lr if alpha == 1 else (lr - alpha * swa_lr) / (1 - alpha)

    def get_lr(self) -> list:
        """The rates between those at the start and ``swa_lr``."""
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", UserWarning, stacklevel=2)
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = (self.anneal_func(max(0, min(1, s / max(1, self.anneal_epochs)))) for s in (step - 1, step))
        groups = self.optimizer.param_groups
        return [g["swa_lr"] * now + self._get_initial_lr(g["lr"], g["swa_lr"], before) * (1 - now) for g in groups]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and the function."""
        return {key: value for key, value in self.__dict__.items() if key not in ("optimizer", "anneal_func")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state."""
        super().load_state_dict(state_dict)
        self._set_anneal_func(self._anneal_strategy)
