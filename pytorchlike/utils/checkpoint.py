"""torch.utils.checkpoint: regions whose intermediate results are computed again in the backward pass instead of being kept."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ..autograd.engine import backward_of
from ..autograd.function import Function
from ..autograd.grad_mode import enable_grad, is_grad_enabled, no_grad
from ..autograd.task import current_task, is_plain_backward
from ..cuda import device_count
from ..cuda import random as cuda_random
from ..nn.modules.container import Sequential
from ..tensors.tensor import Tensor
from ._operator_log import OperatorLog
from ._recompute import CheckpointError, Frame, GraphExecGroup, Surroundings, held_back_arguments
from ._selective import SAC_IGNORED_OPS, CheckpointPolicy, SelectiveCheckpointContext, create_selective_checkpoint_contexts

__all__ = [
    "SAC_IGNORED_OPS", "CheckpointError", "CheckpointFunction", "CheckpointPolicy", "DefaultDeviceType", "GraphExecGroup",
    "SelectiveCheckpointContext", "check_backward_validity", "checkpoint", "checkpoint_sequential", "create_selective_checkpoint_contexts",
    "detach_variable", "get_device_states", "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop", "set_device_states",
]  # fmt: skip

Contexts = Callable[[], tuple[AbstractContextManager, AbstractContextManager]]


class _Overrides:
    """What `set_checkpoint_early_stop` and `set_checkpoint_debug_enabled` say; None leaves it to the call."""

    early_stop: bool | None = None
    debug: bool | None = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether regions whose forward runs inside the block stop their recomputation when all that was saved is there."""
    previous, _Overrides.early_stop = _Overrides.early_stop, enable
    try:
        yield
    finally:
        _Overrides.early_stop = previous


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Whether regions inside the block log their operators, whatever their ``debug`` says; None leaves it to them."""
    previous, _Overrides.debug = _Overrides.debug, enabled
    try:
        yield
    finally:
        _Overrides.debug = previous


def noop_context_fn() -> tuple[AbstractContextManager, AbstractContextManager]:
    """Two contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


# ---------------------------------------------------------------------------------------------------------------- the entry points
def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Contexts = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Run a function without keeping what its derivative needs; the backward pass computes it again.

    Memory falls for one program that holds forward and backward, too: the second computation is held back until the gradient that asks for it is
    there.

    Args:
        function: called with ``args`` (and, unless ``use_reentrant``, ``kwargs``), in the forward and again in the backward pass.
        use_reentrant: True runs the forward untracked and a backward pass within the backward pass; False records the forward, and supports
            ``autograd.grad``, nested structures of tensors and keyword arguments.
        context_fn: returns the contexts of the first and of the second computation.
        determinism_check: ``"default"`` compares shapes, dtypes and devices of both computations, ``"none"`` nothing.
        debug: on a mismatch, show the operators of both computations.
        early_stop: stop the second computation when everything that was saved is there.
        kwargs: ``preserve_rng_state`` (True) lets the second computation draw the same random numbers; the rest goes to the function.

    Raises:
        CheckpointError: in the backward pass, when the second computation differs from the first.
        ValueError: arguments that do not go together.
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling checkpoint without "
            "use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to preserve the current default behavior, "
            "you can pass use_reentrant=True. Refer to docs for more details on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        return _recorded(function, args, kwargs, preserve, context_fn, determinism_check, debug, early_stop)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve, *args)


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Run modules or functions one after the other, in segments of which all but the last are checkpointed.

    Args:
        functions: an ``nn.Sequential`` or a list.
        kwargs: ``preserve_rng_state``.

    Raises:
        ValueError: other keyword arguments.
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In version 2.9 we will raise an "
            "exception if use_reentrant is not passed. use_reentrant=False is recommended, but if you need to preserve the current default "
            "behavior, you can pass use_reentrant=True. Refer to docs for more details on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    parts = list(functions.children()) if isinstance(functions, Sequential) else functions

    def segment(start: int, end: int) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for part in parts[start:end]:
                value = part(value)
            return value

        return run

    size = len(parts) // segments
    last = size * (segments - 1)
    for start in range(0, last, size) if size else ():
        input = checkpoint(segment(start, start + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return segment(last, len(parts))(input)


# ---------------------------------------------------------------------------------------------------------------- the recorded variant
def _describe(tensor: Tensor) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


_CHECKS: dict[str, Callable[[Tensor], Any]] = {"default": _describe, "none": lambda tensor: None}
_SUPPRESSED = (
    "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception raised during the checkpointed forward. This is not "
    "supported because checkpoint cannot return a value for a failed forward."
)


def _recorded(function: Callable, args: tuple, kwargs: dict, preserve: bool, context_fn: Contexts, determinism_check: str, debug: bool,
              early_stop: bool) -> Any:  # fmt: skip
    """The variant with ``use_reentrant=False``."""
    on_error = None
    if debug if _Overrides.debug is None else _Overrides.debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        logs = OperatorLog(), OperatorLog()
        context_fn = lambda: (logs[0].recording(), logs[1].recording())
        on_error = functools.partial(_explain, *logs)
    if determinism_check not in _CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}")
    first, second = context_fn()
    surroundings = Surroundings(args, preserve, _device_type(args))

    def recompute(*arguments: Any) -> None:
        with surroundings.again(), second:
            function(*arguments, **kwargs)

    if not is_grad_enabled():
        return function(*args, **kwargs)
    stop = early_stop if _Overrides.early_stop is None else _Overrides.early_stop
    frame = Frame(recompute, args, stop, _CHECKS[determinism_check], on_error)
    failed = False
    with frame.saving(), first:
        try:
            result = function(*args, **kwargs)
        except BaseException:
            failed = True
            raise
    if failed:
        raise RuntimeError(_SUPPRESSED)
    frame.is_complete = True
    return result


def _explain(first: OperatorLog, second: OperatorLog, error: CheckpointError) -> None:
    """Raise an error that shows the operators of both computations."""
    raise CheckpointError(
        " An error happened while unpacking tensors; dumping logs of latest computation\n"
        "because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.\n\n"
        f"1. Stack traces of the operators that ran in the original forward\n\n{first.traces('original')}\n"
        f"2. Stack traces of the operators that ran during recomputation\n\n{second.traces('recompute')}\n"
        "3. Log of operators in the original forward and recomputation\n\n"
        f"Operations executed during the original forward:\n\n{first.text()}\n\n"
        f"Operations executed during recomputation:\n\n{second.text()}\n\n"
        "4. ERROR: Detected non-determinism while running activation checkpointing\n"
    ) from error


# ---------------------------------------------------------------------------------------------------------------- the reentrant variant
class CheckpointFunction(Function):
    """The variant with ``use_reentrant=True``: its derivative is a backward pass through the function, computed again."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable, preserve_rng_state: bool, *args: Any) -> Any:  # type: ignore[override]
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = Surroundings(args, preserve_rng_state, _device_type(args))
        ctx.inputs = [None if isinstance(a, Tensor) else a for a in args]
        ctx.positions = [k for k, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*[args[k] for k in ctx.positions])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        if not is_plain_backward():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to .backward(). To "
                "resolve this error, you can either set use_reentrant=False, or call .backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for position, tensor in zip(ctx.positions, ctx.saved_tensors, strict=True):
            inputs[position] = tensor
        task = current_task()
        again = detach_variable(tuple(held_back_arguments(inputs, task.grads if task is not None else list(args))))
        with ctx.surroundings.again(), enable_grad():
            outputs = ctx.run_function(*again)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [(o, g) for o, g in zip(outputs, args, strict=False) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward_of([o for o, _ in pairs], [g for _, g in pairs])
        return None, None, *[x.grad if isinstance(x, Tensor) else None for x in again]


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors of a tuple as leaves of their own, which ask for a gradient where the tensors do.

    Raises:
        RuntimeError: no tuple.
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple([x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs])


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn when no input asks for a gradient."""
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


# ---------------------------------------------------------------------------------------------------------------- devices
class DefaultDeviceType:
    """The type of device whose random streams count where no argument lies on an accelerator."""

    _default_device_type: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Set the type."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """The type: what was set, else that of the accelerator, else ``cpu``."""
        if not DefaultDeviceType._default_device_type:
            DefaultDeviceType._default_device_type = "cuda" if device_count() else "cpu"
        return DefaultDeviceType._default_device_type


def _device_type(arguments: Iterable[Any]) -> str:
    """The type of device that autocast and random streams are kept for."""
    types = [a.device.type for a in arguments if isinstance(a, Tensor) and a.device.type not in ("cpu", "meta")]
    if len(set(types)) > 1:
        warnings.warn(
            "Tensor arguments, excluding CPU tensors, are detected on at least two types of devices. Device state will only be saved for devices of "
            "a single device type, and the remaining devices will be ignored. Consequently, if any checkpointed functions involve randomness, this "
            "may result in incorrect gradients. (Note that if CUDA devices are among the devices detected, it will be prioritized; otherwise, the "
            f"first device encountered will be selected.)\nDevice types: {sorted(set(types))} first device type: {types[0]}",
            stacklevel=3,
        )
    if not types:
        return DefaultDeviceType.get_device_type()
    return "cuda" if "cuda" in types else types[0]


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The accelerators that the arguments lie on, and the states of their random streams."""
    devices = [a.get_device() for a in args if isinstance(a, Tensor) and a.is_cuda]
    return devices, [cuda_random.get_rng_state(index) for index in devices]


def set_device_states(devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None) -> None:
    """Continue the random streams of accelerators from states of `get_device_states`."""
    for index, state in zip(devices, states, strict=False):
        cuda_random.set_rng_state(state, index)
