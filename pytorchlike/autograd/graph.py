"""torch.autograd.graph: hooks on what the tape saves, edges and nodes of the tape, hooks on several gradients at once."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..core.device import device
from ..core.handle import RemovableHandle
from ..core.state import thread
from ..graph.value import Value
from ..tensors.tape import GradientEdge, Node
from ..tensors.tensor import Tensor, make_storage, make_tensor, relayout
from .task import current_task, running, will_run

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge", "increment_version",
    "region_activation_memory_budget", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks", "set_override_stale_capture_stream",
    "set_warn_on_accumulate_grad_stream_mismatch",
]  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------- hooks on what is saved
class _Switch(threading.local):
    """Per thread: why hooks on saved tensors are refused; None where they are not."""

    refusal: str | None = None


_switch = _Switch()


class saved_tensors_hooks:  # noqa: N801 - torch's name
    """Inside the block the tape keeps ``pack_hook(tensor)`` instead of each tensor that it saves.

    The derivative calls ``unpack_hook`` on that, which must give back a tensor of the same shape, dtype and device.  The innermost pair of hooks
    counts.  Tensors that were packed may be modified in place.

    Args:
        pack_hook: called with the tensor, nothing being recorded; must not modify it.
        unpack_hook: called each time the derivative needs the tensor.

    Raises:
        RuntimeError: hooks are disabled (see `disable_saved_tensors_hooks`), ``pack_hook`` modified its argument.
        TypeError: ``unpack_hook`` returned something else than a tensor.
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if _switch.refusal is not None:
            raise RuntimeError(_switch.refusal)
        state = thread.state
        state.saved_tensor_hooks.append((self.pack_hook, self.unpack_hook))
        state.slow += 1

    def __exit__(self, *error: object) -> None:
        state = thread.state
        state.saved_tensor_hooks.pop()
        state.slow -= 1


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - torch's name
    """What the tape saves inside the block is kept in the host's memory, and goes back to its device for the derivative.

    Args:
        pin_memory: accepted; there is no pinned memory.
        device_type: the type of device that memory would be pinned for.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: (tensor.device, tensor.cpu()), _back_to_device)


def _back_to_device(packed: tuple[device, Tensor]) -> Tensor:
    where, tensor = packed
    return tensor.to(where)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Refuse hooks on saved tensors inside the block.

    Raises:
        RuntimeError: with this message, where hooks are active already or somebody activates some.
    """
    if thread.state.saved_tensor_hooks:
        raise RuntimeError(error_message)
    previous, _switch.refusal = _switch.refusal, error_message
    try:
        yield
    finally:
        _switch.refusal = previous


# ---------------------------------------------------------------------------------------------------------------- writes into what is saved
class _Mutation:
    """One block of `allow_mutation_on_saved_tensors`."""

    active: _Mutation | None = None


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_Mutation]:
    """Inside the block tensors may be modified in place although the tape has saved them: the derivative sees what they were.

    The backward pass belongs into the same block.  (Values never change here, so nothing is copied.)

    Raises:
        RuntimeError: blocks are nested.
        AssertionError: the derivative of something recorded here is computed outside; torch's text.
    """
    block = _Mutation()

    def unpack_hook(value: Value) -> Tensor:
        if _Mutation.active is not block:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context" "in which the graph was originally recorded."
            )
        return make_tensor(relayout(value, value.aval.stride) if value.origin is not None else value)

    with saved_tensors_hooks(lambda tensor: tensor._content(), unpack_hook):
        if _Mutation.active is not None:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        _Mutation.active = block
        try:
            yield block
        finally:
            _Mutation.active = None


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Let the tape know that a tensor's memory was modified in a way that it did not see."""
    for each in (tensor,) if isinstance(tensor, Tensor) else tensor:
        storage = make_storage(each)
        if storage.host is not None:
            storage.refresh()
        storage.replace(relayout(storage.value, storage.value.aval.stride))


# ---------------------------------------------------------------------------------------------------------------- edges
def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where the gradient of a tensor is computed; ``autograd.grad`` and ``backward`` take it in the tensor's place.

    Raises:
        RuntimeError: the tensor does not require a gradient.
    """
    edge = tensor._current_edge()
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*edge)


# ---------------------------------------------------------------------------------------------------------------- hooks on several gradients
class _MultiHandle(RemovableHandle):
    """The handles of several hooks as one."""

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> tuple[RemovableHandle, ...]:
        return self.handles

    def __setstate__(self, state: tuple[RemovableHandle, ...]) -> None:
        self.handles = state


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all") -> RemovableHandle:
    """Call a function in each backward pass that computes gradients of these tensors.

    Args:
        fn: called once a pass.
        mode: ``"all"``: with the list of all gradients, once the last of those that the pass computes is there (None for the others);
            ``"any"``: with the first gradient.

    Raises:
        ValueError: another mode.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    register = _register_all if mode == "all" else _register_any
    return _MultiHandle(register(tensors, fn))


def _register_all(tensors: Sequence[Tensor], fn: Callable[[list[Tensor | None]], None]) -> tuple[RemovableHandle, ...]:
    nodes = []
    for tensor in tensors:
        edge = tensor._current_edge()
        if edge is None:
            raise AssertionError("Expected gradient function to be set")
        nodes.append(edge[0])
    gradients: dict[int, list[Tensor | None]] = {}
    missing: dict[int, int] = {}

    def hook_of(position: int) -> Callable[[Tensor], None]:
        def hook(gradient: Tensor) -> None:
            task = current_task()
            if task is None:
                raise AssertionError("expected this hook to be called inside a backward call")
            if task.number not in gradients:
                missing[task.number] = sum([will_run(node) for node in nodes])
                gradients[task.number] = [None] * len(nodes)
            gradients[task.number][position] = gradient
            missing[task.number] -= 1
            if missing[task.number] == 0:
                fn(gradients[task.number])
                del gradients[task.number], missing[task.number]

        return hook

    return tuple([t.register_hook(hook_of(k)) for k, t in enumerate(tensors)])


def _register_any(tensors: Sequence[Tensor], fn: Callable[[Tensor], None]) -> tuple[RemovableHandle, ...]:
    done: set[int] = set()

    @functools.wraps(fn)
    def hook(gradient: Tensor) -> None:
        task = current_task()
        if task is None:
            raise AssertionError("expected this hook to be called inside a backward call")
        if task.number not in done:
            done.intersection_update([t.number for t in running.tasks])
            done.add(task.number)
            fn(gradient)

    return tuple([t.register_hook(hook) for t in tensors if t.requires_grad])


def region_activation_memory_budget(budget: float) -> contextlib.AbstractContextManager[None]:
    """Accepted inside of compiled functions, where XLA plans the memory: the budget has no effect.

    Raises:
        RuntimeError: outside of a compiled function, torch's text.
        TypeError, ValueError: no number between 0 and 1.
    """
    name = "torch.autograd.graph.region_activation_memory_budget"
    if isinstance(budget, bool) or not isinstance(budget, (int, float)):
        raise TypeError(f"{name}: expects a float, got {type(budget).__name__}")
    if not 0.0 <= budget <= 1.0:
        raise ValueError(f"{name}: must be in [0, 1], got {budget}")
    if thread.state.capture is None:
        raise RuntimeError(f"{name} can only be used inside a torch.compile region; it has no effect in eager mode.")
    return contextlib.nullcontext()


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Accepted: there is one queue a device, whose order nobody has to care for."""


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Not supported: there are no streams to capture.

    Raises:
        NotImplementedError: ``enabled`` is true.
    """
    if enabled:
        raise NotImplementedError("set_override_stale_capture_stream(True): CUDA graphs and streams are not supported")
