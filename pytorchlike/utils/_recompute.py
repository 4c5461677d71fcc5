"""The machinery of activation checkpointing: what stands for a saved tensor, and how a region is computed again.

A deferred trace holds forward and backward, so XLA would find that the second computation of a region equals the first one and keep its results
after all.  `hold_back` prevents that: what a region is recomputed from becomes available only with the gradient that asks for it.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..amp.autocast_mode import autocast, is_autocast_available
from ..amp.settings import get_autocast_dtype, is_autocast_cache_enabled, is_autocast_enabled
from ..autograd.grad_mode import enable_grad, no_grad
from ..autograd.graph import saved_tensors_hooks
from ..autograd.saved import KeptTensor
from ..autograd.task import current_task
from ..core.state import thread
from ..cuda import random as cuda_random
from ..graph.instruction import Instruction
from ..graph.recorder import record
from ..graph.value import Aval, Value
from ..tensors.generator import default_generator
from ..tensors.tensor import Tensor, make_tensor

__all__ = ["CheckpointError", "Frame", "GraphExecGroup", "Surroundings", "held_back_arguments"]

_TIP = """
Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint‑debug mode globally.
"""


class CheckpointError(RuntimeError):
    """What was computed again differs from what was computed the first time."""

    __module__ = "torch.utils.checkpoint"


# ---------------------------------------------------------------------------------------------------------------- holding back
class _HoldBack(Instruction):
    """The identity on all values but the last; XLA computes nothing from its results before it has the last one.

    On the CPU, whose compiler drops optimisation barriers before it orders the work, the results depend on the last value through a zero of which
    the compiler does not know that it is one.
    """

    def __init__(self, on_cpu: bool) -> None:
        super().__init__("hold_back", _after_by_data if on_cpu else lambda *arrays: lax.optimization_barrier(arrays))

    def strides(self, avals: tuple[Aval, ...], shapes: list[tuple[int, ...]]) -> Sequence[tuple[int, ...] | None]:
        return [a.stride for a in avals[: len(shapes)]]


_UNSIGNED = {1: jnp.uint8, 2: jnp.uint16, 4: jnp.uint32, 8: jnp.uint64}


def _after_by_data(*arrays: Any) -> tuple[Any, ...]:
    *values, last = arrays
    zero = _hidden_zero(last)
    return tuple([_mixed(v, zero) for v in values])


def _hidden_zero(array: Any) -> Any:
    """A zero that takes an element of the array to compute: all its bits are shifted out."""
    element = lax.slice(array.reshape(-1), (0,), (1,)).reshape(())
    if jnp.iscomplexobj(element):
        element = element.real
    unsigned = _UNSIGNED[element.dtype.itemsize]
    bits = element.astype(unsigned) if element.dtype == bool else lax.bitcast_convert_type(element, unsigned)
    last_bit = unsigned(8 * np.dtype(unsigned).itemsize - 1)
    return lax.shift_right_logical(lax.shift_right_logical(bits, last_bit), last_bit)


def _mixed(array: Any, zero: Any) -> Any:
    """The array with the zero mixed into its bits."""
    if jnp.iscomplexobj(array):
        return lax.complex(_mixed(array.real, zero), _mixed(array.imag, zero))
    if array.dtype == bool:
        return array ^ (zero != 0)
    unsigned = _UNSIGNED[array.dtype.itemsize]
    return lax.bitcast_convert_type(lax.bitcast_convert_type(array, unsigned) ^ zero.astype(unsigned), array.dtype)


@functools.cache
def _hold_back(on_cpu: bool) -> _HoldBack:
    return _HoldBack(on_cpu)


def held_back(values: Sequence[Value], grads: list[Any]) -> list[Value]:
    """The values, to be had only after the gradients that have arrived at the running node.

    Args:
        grads: those gradients, tensors or values; off the CPU they are put behind the barrier, too (else the compiler would drop it).
    """
    present = [k for k, g in enumerate(grads) if g is not None]
    if thread.state.immediate or not present or not values:
        return list(values)
    position = present[0]
    gradient = grads[position]
    last: Value = gradient._content() if isinstance(gradient, Tensor) else gradient
    device = last.aval.device
    if last.aval.is_meta or not last.aval.numel or any(v.aval.device != device for v in values):
        return list(values)
    if device.type == "cpu":
        return list(record(_hold_back(True), (*values, last)))
    *found, kept = record(_hold_back(False), (*values, last))
    if not isinstance(gradient, Tensor):
        grads[position] = kept
    elif gradient._storage is None:
        gradient._value = kept
    return found


# ---------------------------------------------------------------------------------------------------------------- surroundings
class Surroundings:
    """What a region's computation depends on beside its arguments: random streams, autocast, default device.

    Args:
        arguments: the region's.
        preserve_rng_state: keep the states of the random streams.
    """

    def __init__(self, arguments: Sequence[Any], preserve_rng_state: bool, device_type: str) -> None:
        self.state = default_generator.packed_state() if preserve_rng_state else None
        self.gpus = sorted({a.get_device() for a in arguments if isinstance(a, Tensor) and a.is_cuda}) if preserve_rng_state else []
        self.gpu_states = [cuda_random.get_rng_state(index) for index in self.gpus]
        self.autocasts = [
            (kind, get_autocast_dtype(kind), is_autocast_enabled(kind), is_autocast_cache_enabled())
            for kind in dict.fromkeys((device_type, "cpu"))
            if is_autocast_available(kind)
        ]
        self.device = thread.state.device

    @contextlib.contextmanager
    def again(self) -> Any:
        """The same surroundings, for the block; then as they were."""
        state = thread.state
        now = default_generator.packed_state() if self.state is not None else None
        now_on_gpus = [cuda_random.get_rng_state(index) for index in self.gpus]
        device, state.device = state.device, self.device
        try:
            if self.state is not None:
                default_generator.unpack_state(self.state)
                for index, kept in zip(self.gpus, self.gpu_states, strict=True):
                    cuda_random.set_rng_state(kept, index)
            with contextlib.ExitStack() as stack:
                for kind, dtype, enabled, cache_enabled in self.autocasts:
                    stack.enter_context(autocast(kind, dtype, enabled, cache_enabled))
                yield
        finally:
            state.device = device
            if now is not None:
                default_generator.unpack_state(now)
                for index, kept in zip(self.gpus, now_on_gpus, strict=True):
                    cuda_random.set_rng_state(kept, index)


# ---------------------------------------------------------------------------------------------------------------- computing again
class _Stop(Exception):  # noqa: N818 - no error
    """Everything that was saved has been computed again."""


class GraphExecGroup:
    """Inside the block, regions are recomputed once although several backward passes need them.

    The passes must not need the same saved tensor twice.
    """

    __module__ = "torch.utils.checkpoint"
    _current: GraphExecGroup | None = None

    def __enter__(self) -> GraphExecGroup:
        if GraphExecGroup._current is not None:
            raise RuntimeError(f"GraphExecGroup contexts cannot be nested. Already inside group {GraphExecGroup._current}")
        GraphExecGroup._current = self
        return self

    def __exit__(self, *error: object) -> None:
        GraphExecGroup._current = None


def _current_pass() -> Any:
    """What tells backward passes apart; something new outside of them."""
    if GraphExecGroup._current is not None:
        return GraphExecGroup._current
    task = current_task()
    return object() if task is None else task.number


class _Slot:
    """Stands on the tape for one tensor that was saved in a region.

    Attributes:
        found: pass -> the tensor, computed again and not fetched yet.
    """

    __slots__ = ("found", "__weakref__")

    def __init__(self) -> None:
        self.found: dict[Any, Tensor] = {}


class Frame:
    """One call of a checkpointed region.

    Args:
        recompute: function of the region's arguments that computes it again.
        arguments: kept as the tape keeps saved tensors, so an outer region drops and recomputes them.
        early_stop: stop a recomputation when all that was saved is there.
        describe: function of a tensor, whose results must agree between both computations.
        on_error: called with a `CheckpointError` before it is raised, to raise a better one.
    """

    def __init__(self, recompute: Callable[..., None], arguments: Sequence[Any], early_stop: bool, describe: Callable[[Tensor], Any],
                 on_error: Callable[[CheckpointError], None] | None) -> None:  # fmt: skip
        self.recompute = recompute
        self.arguments = [KeptTensor(a) if isinstance(a, Tensor) else a for a in arguments]
        self.early_stop = early_stop
        self.describe = describe
        self.on_error = on_error
        self.slots: list[weakref.ref[_Slot]] = []
        self.descriptions: list[Any] = []
        self.counts: dict[Any, int] = {}
        self.is_complete = False
        self.has_inner_pass = False

    def saving(self) -> saved_tensors_hooks:
        """Hooks for the first computation: nothing is kept."""
        return saved_tensors_hooks(self._leave, self._fetch_or_explain)

    def _leave(self, tensor: Tensor) -> _Slot:
        slot = _Slot()
        self.slots.append(weakref.ref(slot))
        self.descriptions.append(self.describe(tensor))
        return slot

    def _fetch_or_explain(self, slot: _Slot) -> Tensor:
        try:
            return self._fetch(slot)
        except CheckpointError as error:
            if self.on_error is not None:
                self.on_error(error)
            raise

    def _fetch(self, slot: _Slot) -> Tensor:
        """A saved tensor, after the region was computed again in this pass."""
        this_pass = _current_pass()
        if this_pass not in self.counts:
            self._compute_again(this_pass)
        if this_pass not in slot.found:
            overlap = (
                "Performing two backward calls that overlap (i.e. require the same saved activation in order to compute gradients) is not allowed "
                "while under the torch.utils.checkpoint.GraphExecGroup context. "
            )
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. "
                f"{overlap if GraphExecGroup._current is not None else ''}If you are calling ctx.saved_tensors in backward, make sure to do so "
                "only once. Otherwise please open an issue with details on your use case."
            )
        return slot.found.pop(this_pass)

    def _compute_again(self, this_pass: Any) -> None:
        arguments = [a.unpack() if isinstance(a, KeptTensor) else a for a in self.arguments]
        task = current_task()
        if task is not None:
            arguments = held_back_arguments(arguments, task.grads)
        self.counts[this_pass] = 0
        try:
            with saved_tensors_hooks(functools.partial(self._refind, this_pass), lambda tensor: tensor), enable_grad():
                self.recompute(*arguments)
        except _Stop:
            pass
        except BaseException:
            del self.counts[this_pass]
            raise
        self._compare(this_pass)

    def _refind(self, this_pass: Any, tensor: Tensor) -> Tensor:
        """Take a tensor that the second computation saves."""
        tensor = make_tensor(tensor._content())
        position = self.counts[this_pass]
        self.counts[this_pass] += 1
        if position >= len(self.slots):
            if not self.is_complete:  # a pass inside of the region, before its end
                self.has_inner_pass = True
                return tensor
            raise CheckpointError(
                f"torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward pass.\n{_TIP}"
            )
        slot = self.slots[position]()
        if slot is not None:  # else a pass inside of the region has used it already
            slot.found[this_pass] = tensor
        if self.early_stop and position + 1 == len(self.slots):
            raise _Stop
        return tensor

    def _compare(self, this_pass: Any) -> None:
        """Check the second computation against the first.

        Raises:
            CheckpointError: another number of tensors, or other ones; torch's texts.
        """
        if self.has_inner_pass:
            return
        count = self.counts[this_pass]
        if count != len(self.slots):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.slots)}\n"
                f"Number of tensors saved during recomputation: {count}.\n{_TIP}"
            )
        mismatches = ""
        for position, (reference, description) in enumerate(zip(self.slots, self.descriptions, strict=True)):
            slot = reference()
            if slot is None or this_pass not in slot.found:
                continue
            with no_grad():
                again = self.describe(slot.found[this_pass])
            if again != description:
                mismatches += f"tensor at position {position}:\nsaved metadata: {description}\nrecomputed metadata: {again}\n"
        if mismatches:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the forward pass.\n"
                f"{mismatches}.\n{_TIP}"
            )


def held_back_arguments(arguments: Sequence[Any], grads: list[Any]) -> list[Any]:
    """A region's arguments, plain tensors among them to be had only after the gradients that ask for the region."""
    positions = [k for k, a in enumerate(arguments) if type(a) is Tensor and not a.is_meta]
    values = held_back([arguments[k]._content() for k in positions], grads)
    found = list(arguments)
    for k, value in zip(positions, values, strict=True):
        found[k] = make_tensor(value, arguments[k]._current_edge())
    return found
