"""`GradScaler`: scales the loss so that half-precision gradients do not underflow, and leaves out steps whose gradients overflowed."""

from __future__ import annotations

import inspect
import warnings
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

from ..aten.amp import _amp_foreach_non_finite_check_and_unscale_, _amp_update_scale_
from ..aten.create import full
from ..autograd.grad_mode import no_grad
from ..core import dtype as dtypes
from ..core.capturing import is_captured
from ..core.device import device, device_count
from ..optim.conditional import run_unless, tensors_written_by
from ..tensors.tensor import Tensor

__all__ = ["GradScaler", "OptState"]

_NO_SCALE = "Attempted {function} but {name} is None.  This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."
_NEW_SCALE = "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with requires_grad=False."


class OptState(Enum):
    """How far an optimizer is in the current iteration."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class _Replicas:
    """Copies of a tensor on other devices, made when they are asked for."""

    def __init__(self, master: Tensor) -> None:
        self.master = master
        self.by_device: dict[device, Tensor] = {}

    def get(self, target: device) -> Tensor:
        if target not in self.by_device:
            self.by_device[target] = self.master.to(device=target, copy=True)
        return self.by_device[target]


class GradScaler:
    """Scales losses by a factor that is halved when gradients overflow, and doubled after a time without overflow.

    ``scaler.scale(loss).backward()``, ``scaler.step(optimizer)``, ``scaler.update()``: a step is left out if a gradient of the optimizer's
    parameters is not finite.  ``step`` looks at one number for that; nothing else here does.

    Args:
        init_scale: the first factor.
        growth_factor, growth_interval: multiply the factor so after so many steps without overflow.
        backoff_factor: multiply it so after a step with overflow.
        enabled: False makes ``step`` the optimizer's own and all other methods do nothing.

    Raises:
        AssertionError: a growth factor of at most 1 or a backoff factor of at least 1.
    """

    def __init__(
        self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        self._device = device
        self._enabled = enabled
        if device == "cuda" and enabled and not device_count("cuda"):
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Tensor | None = None
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker: Tensor | None = None
        self._per_optimizer_states: dict[int, dict[str, Any]] = defaultdict(_refresh_per_optimizer_state)

    def _check_scale_growth_tracker(self, function: str) -> tuple[Tensor, Tensor]:
        if self._scale is None:
            raise AssertionError(_NO_SCALE.format(function=function, name="_scale"))
        if self._growth_tracker is None:
            raise AssertionError(_NO_SCALE.format(function=function, name="_growth_tracker"))
        return self._scale, self._growth_tracker

    def _lazy_init_scale_growth_tracker(self, dev: device) -> None:
        if self._growth_tracker is not None:
            raise AssertionError("_growth_tracker initialized before _scale")
        self._scale = full((), self._init_scale, dtype=dtypes.float32, device=dev)
        self._growth_tracker = full((), self._init_growth_tracker, dtype=dtypes.int32, device=dev)

    # ------------------------------------------------------------------------------------------------------------ scaling
    def scale(self, outputs: Any) -> Any:
        """A tensor, or tensors in lists, tuples or other iterables, times the factor.

        Raises:
            ValueError: something else is in there.
        """
        if not self._enabled:
            return outputs
        replicas: list[_Replicas] = []

        def scaled(value: Any) -> Any:
            if isinstance(value, Tensor):
                if not replicas:
                    if self._scale is None:
                        self._lazy_init_scale_growth_tracker(value.device)
                    replicas.append(_Replicas(self._check_scale_growth_tracker("scale")[0]))
                return value * replicas[0].get(value.device)
            if isinstance(value, Iterable):
                parts = map(scaled, value)
                return type(value)(parts) if isinstance(value, (list, tuple)) else parts  # type: ignore[call-arg]
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")

        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            return outputs * self._check_scale_growth_tracker("scale")[0].to(device=outputs.device)
        return scaled(outputs)

    def _unscale_grads_(self, optimizer: Any, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool) -> dict[device, Tensor]:
        """Unscale the gradients of an optimizer's parameters; returns for each device whether one was not finite."""
        factors, flags = _Replicas(inv_scale), _Replicas(found_inf)
        by_kind: dict[tuple, list[Tensor]] = defaultdict(list)
        with no_grad():
            for group in optimizer.param_groups:
                for param in group["params"]:
                    if not isinstance(param, Tensor):
                        raise AssertionError(f"expected param to be torch.Tensor, got {type(param).__name__}")
                    grad = param.grad
                    if grad is None:
                        continue
                    if not allow_fp16 and grad.dtype is dtypes.float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    if grad.is_sparse:
                        if grad.dtype is dtypes.float16:  # sums of duplicates may overflow
                            param.grad = grad = grad.coalesce()
                        grad = grad._values()
                    by_kind[grad.device, grad.dtype].append(grad)
            for (where, _), grads in by_kind.items():
                _amp_foreach_non_finite_check_and_unscale_(grads, flags.get(where), factors.get(where))
        return flags.by_device

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the factor; for clipping them before ``step``.

        Raises:
            RuntimeError: called twice, or after ``step``.
        """
        if not self._enabled:
            return
        scale, _ = self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inv_scale = scale.double().reciprocal().float()
        found_inf = full((), 0.0, dtype=dtypes.float32, device=scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inv_scale, found_inf, False)
        state["stage"] = OptState.UNSCALED

    # --------------------------------------------------------------------------------------------------------------- steps
    def _maybe_opt_step(self, optimizer: Any, optimizer_state: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        found = list(optimizer_state["found_inf_per_device"].values())
        if is_captured() and (written := tensors_written_by(optimizer)) is not None:
            overflowed = sum([f.to(found[0].device) for f in found[1:]], found[0]) != 0
            return run_unless(overflowed, written, lambda: optimizer.step(*args, **kwargs))
        if sum([f.item() for f in found]):
            return None
        return optimizer.step(*args, **kwargs)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscale the gradients, unless `unscale_` has, and call ``optimizer.step(*args, **kwargs)`` if all of them are finite.

        Raises:
            RuntimeError: a closure is given, or ``step`` was called before.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_of_scaling_optimizer(optimizer, state, args, kwargs)
        else:
            if state["stage"] is OptState.READY:
                self.unscale_(optimizer)
            if not state["found_inf_per_device"]:
                raise AssertionError("No inf checks were recorded for this optimizer.")
            result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step_of_scaling_optimizer(self, optimizer: Any, state: dict[str, Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        """The step of an optimizer that unscales gradients itself: it finds ``grad_scale`` and ``found_inf`` among its attributes."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warnings.warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. In the near future GradScaler registers "
                "`grad_scale: Tensor` and `found_inf: Tensor` to the passed optimizer and let the optimizer use them directly.",
                FutureWarning, stacklevel=3,
            )  # fmt: skip
            return optimizer.step(*args, **{**kwargs, "grad_scaler": self})
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        scale, _ = self._check_scale_growth_tracker("step")
        given = getattr(optimizer, "grad_scale", None)
        optimizer.found_inf = sum(found.to(scale.device) for found in state["found_inf_per_device"].values())
        optimizer.grad_scale = given if state["stage"] is OptState.UNSCALED else scale * (1 if given is None else given)
        result = optimizer.step(*args, **kwargs)
        del optimizer.grad_scale, optimizer.found_inf
        return result

    def update(self, new_scale: Any = None) -> None:
        """Compute the factor of the next iteration from what the steps of this one found.

        Args:
            new_scale: the factor itself, instead.
        """
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            self._take(scale, new_scale)
        else:
            found = [f.to(scale.device) for s in self._per_optimizer_states.values() for f in s["found_inf_per_device"].values()]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            _amp_update_scale_(scale, tracker, sum(found[1:], found[0]), self._growth_factor, self._backoff_factor, self._growth_interval)
        self._per_optimizer_states.clear()

    def _take(self, scale: Tensor, new_scale: Any) -> None:
        if isinstance(new_scale, float):
            scale.fill_(new_scale)
            return
        if new_scale.device.type != self._device or new_scale.numel() != 1 or new_scale.requires_grad:
            raise AssertionError(_NEW_SCALE)
        scale.copy_(new_scale)

    # ----------------------------------------------------------------------------------------------------- reading, setting
    def _get_scale_async(self) -> Tensor | None:
        return self._scale

    def get_scale(self) -> float:
        """The factor; 1 if scaling is disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """What the factor is multiplied with after a time without overflow."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the factor is multiplied with after a time without overflow."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the factor is multiplied with after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the factor is multiplied with after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """The number of steps in a row without overflow after which the factor grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of steps in a row without overflow after which the factor grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def is_enabled(self) -> bool:
        """Whether scaling is enabled."""
        return self._enabled

    # ----------------------------------------------------------------------------------------------------- saving and loading
    def state_dict(self) -> dict[str, Any]:
        """The state as numbers; empty if scaling is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._get_growth_tracker(),
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state.

        Raises:
            RuntimeError: it is that of a disabled scaler.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.")
        self._init_scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after scaler.update()."
                )
            state |= {"_init_scale": self.get_scale(), "_init_growth_tracker": self._get_growth_tracker(), "_scale": None, "_growth_tracker": None}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def _check_inf_per_device(self, optimizer: Any) -> dict[device, Tensor]:
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one, found_inf = (full((), number, dtype=dtypes.float32, device=scale.device) for number in (1.0, 0.0))
        state = self._per_optimizer_states[id(optimizer)]
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, one, found_inf, True)
        return state["found_inf_per_device"]

    def _found_inf_per_device(self, optimizer: Any) -> dict[device, Tensor]:
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
