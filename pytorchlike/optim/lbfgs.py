"""L-BFGS."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..aten.shape import cat, stack
from ..autograd.grad_mode import enable_grad, no_grad
from ..core.device import jax_device
from ..graph.instruction import Instruction
from ..graph.recorder import record, step_boundary
from ..graph.value import Aval, Value, aval_of, constant
from ..tensors.tensor import Tensor, make_tensor
from .line_search import Point, strong_wolfe
from .optimizer import Optimizer

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """L-BFGS (Nocedal and Wright, Numerical Optimization, algorithm 7.4): steps along the gradient times an approximate inverse Hessian.

    There is one group of parameters, all on one device.  ``step`` calls the closure many times and looks at the loss each time.

    Args:
        max_iter, max_eval: the most steps, and evaluations of the closure, within one call of ``step``; 1.25 times ``max_iter`` if left out.
        tolerance_grad: stop when no component of the gradient is larger.
        tolerance_change: stop when neither loss nor parameters change more.
        history_size: how many steps are remembered.
        line_search_fn: ``strong_wolfe``, or None for steps of size ``lr``.

    Raises:
        ValueError: several groups.
    """

    def __init__(
        self, params: Any, lr: float | Tensor = 1, max_iter: int = 20, max_eval: int | None = None, tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9, history_size: int = 100, line_search_fn: str | None = None,
    ) -> None:  # fmt: skip
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr >= 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        defaults = {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval, "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change, "history_size": history_size, "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    # ------------------------------------------------------------------------------------------- parameters as one vector
    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    def _gradient(self) -> Tensor:
        """The gradients of all parameters as one vector; complex ones as pairs of real numbers."""
        parts = []
        for p in self._params:
            grad = p.new_zeros(p.shape) if p.grad is None else p.grad.to_dense() if p.grad.is_sparse else p.grad
            parts.append((stack([grad.real, grad.imag], -1) if grad.is_complex() else grad).reshape(-1))
        return cat(parts)

    def _move(self, size: float, direction: Tensor) -> None:
        """Add a multiple of a vector to the parameters."""
        start = 0
        for p in self._params:
            count = p.numel() * (2 if p.is_complex() else 1)
            part = direction[start : start + count]
            start += count
            if p.is_complex():
                pairs = part.view(*p.shape, 2)
                p.add_(pairs.select(-1, 0) + 1j * pairs.select(-1, 1), alpha=size)
            else:
                p.add_(part.view(p.shape), alpha=size)

    def _evaluate(self, closure: Callable[[], Any], direction: Tensor, before: list[Tensor], size: float) -> Point:
        """The loss after a step of this size, which is taken back."""
        self._move(size, direction)
        loss, gradient = closure(), self._gradient()
        slope = gradient.dot(direction)  # before the loss is read: one program computes both
        for p, value in zip(self._params, before, strict=True):
            p.copy_(value)
        return Point(size, float(loss), gradient, slope.item())

    # ----------------------------------------------------------------------------------------------------------- the step
    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Go on until one of the limits is met; returns the loss before.

        Args:
            closure: clears the gradients, computes the loss, calls ``backward`` and returns the loss.

        Raises:
            RuntimeError: another line search than ``strong_wolfe``.
        """
        if len(self.param_groups) != 1:
            raise AssertionError(f"Expected exactly one param_group, but got {len(self.param_groups)}")
        group, closure = self.param_groups[0], enable_grad()(closure)
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        gradient = self._gradient()
        is_flat = gradient.abs().max() <= group["tolerance_grad"]
        loss = float(first_loss)
        state["func_evals"] += 1
        if is_flat:
            return first_loss
        evaluations = 1
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, gradient, group["history_size"])
            previous_loss = state["prev_loss"] = loss
            state["prev_flat_grad"] = gradient
            slope = gradient.dot(direction)
            size = float(group["lr"])
            if state["n_iter"] == 1:
                size *= min(1.0, 1.0 / gradient.abs().sum().item())
            state["d"], state["t"] = direction, size
            if slope.item() > -group["tolerance_change"]:
                break
            used, is_last = 0, iteration == group["max_iter"]
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                start = Point(0.0, loss, gradient, slope.item())
                evaluate = functools.partial(self._evaluate, closure, direction, [p.clone() for p in self._params])
                point, used = strong_wolfe(evaluate, start, size, direction.abs().max().item(), group["max_eval"] - evaluations)
                size, loss, gradient, _ = point
                self._move(size, direction)
            else:
                self._move(size, direction)
                if not is_last:  # nobody would look at the loss after the last step
                    new_loss, gradient, used = closure(), self._gradient(), 1
                    loss = float(new_loss)
            state["t"] = size
            evaluations += used
            state["func_evals"] += used
            if is_last or evaluations >= group["max_eval"] or self._is_done(group, gradient, direction, size, loss - previous_loss):
                break
        step_boundary("optimizer.step")
        return first_loss

    @staticmethod
    def _is_done(group: dict[str, Any], gradient: Tensor, direction: Tensor, size: float, change: float) -> bool:
        largest, moved = gradient.abs().max(), direction.mul(size).abs().max()
        return largest.item() <= group["tolerance_grad"] or moved.item() <= group["tolerance_change"] or abs(change) < group["tolerance_change"]

    @staticmethod
    def _direction(state: dict[str, Any], gradient: Tensor, history_size: int) -> Tensor:
        """Remember the last step, and the direction of the next one."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return gradient.neg()
        change, step = gradient.sub(state["prev_flat_grad"]), state["d"].mul(state["t"])
        along = change.dot(step)
        inverse, scale = along.reciprocal(), along / change.dot(change)
        if along.item() > 1e-10:
            if len(state["old_dirs"]) == history_size:
                for name in ("old_dirs", "old_stps", "ro"):
                    state[name].pop(0)
            state["old_dirs"].append(change)
            state["old_stps"].append(step)
            state["ro"].append(inverse)
            state["H_diag"] = scale
        state.setdefault("al", [None] * history_size)  # torch keeps intermediate results there
        # The history is filled up with zeros to a power of two, and all of it is on the device by now: this gives few programs.
        places = 1 << max(len(state["ro"]) - 1, 0).bit_length()
        value = gradient._content()
        history: list[Any] = []
        for name in ("old_dirs", "old_stps", "ro"):
            empty = _array(() if name == "ro" else value.aval.size, 0.0, value.aval)
            history += [t._content() for t in state[name]] + [constant(empty.array, empty.aval) for _ in range(places - len(state[name]))]
        scale = state["H_diag"]
        scale = scale._content() if isinstance(scale, Tensor) else _array((), scale, value.aval)
        return make_tensor(record(_two_loops(places), (value, scale, *history))[0])


def _array(shape: tuple[int, ...], number: float, like: Aval) -> Value:
    """One number everywhere, on the device."""
    with jax.enable_x64(True):
        array = jax.device_put(np.full(shape, number, like.dtype.numpy), jax_device(like.device))
    return constant(array, aval_of(shape, like.dtype, like.device))


@functools.cache
def _two_loops(places: int) -> Instruction:
    """The recursion: takes gradient, scale of the first Hessian, changes of the gradient, steps, and one over their products."""
    def function(gradient: Any, scale: Any, *history: Any) -> Any:
        changes, steps, inverses = (jnp.stack(history[k * places : (k + 1) * places]) for k in range(3))

        def backwards(q: Any, at: Any) -> Any:
            change, step, inverse = at
            weight = jnp.dot(step, q) * inverse
            return q - weight * change, weight

        def forwards(r: Any, at: Any) -> Any:
            change, step, inverse, weight = at
            return r + step * (weight - jnp.dot(change, r) * inverse), None

        q, weights = lax.scan(backwards, -gradient, (changes, steps, inverses), reverse=True)
        return lax.scan(forwards, q * scale, (changes, steps, inverses, weights))[0]

    return Instruction("LBFGS.direction", function)
