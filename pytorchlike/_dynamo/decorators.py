"""``torch._dynamo.decorators``: marks of functions, and blocks, that change how their calls are captured."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from ..compiler import settings
from ..compiler.api import set_stance
from ..core.capturing import break_capture
from .config import patch as patch_dynamo_config

__all__ = [
    "allow_c_slot", "disable_nested_graph_breaks", "dont_skip_tracing", "error_on_graph_break", "graph_break", "is_dynamo_disable_recursive",
    "nonstrict_trace", "override_cudagraphs", "override_optimization_hint", "patch_dynamo_config", "run", "set_recursion_limit", "skip_frame",
    "step_unsupported",
]  # fmt: skip


def graph_break(msg: str = "") -> None:
    """End the graph of the compiled function that runs."""
    break_capture(msg or "torch._dynamo.graph_break() is called")


def skip_frame(msg: str = "") -> None:
    """End the graph of the compiled function that runs."""
    break_capture(msg or "torch._dynamo.skip_frame() is called")


def step_unsupported(msg: str = "") -> None:
    """End the graph of the compiled function that runs."""
    break_capture(msg or "torch._dynamo.step_unsupported() is called")


class error_on_graph_break(contextlib.ContextDecorator):  # noqa: N801 - torch's name
    """A block, or a decorated function, in which what ends a graph is an error (True) or not (False); ``fullgraph=True`` makes it one everywhere."""

    def __init__(self, error_on_graph_break: bool) -> None:
        self.value = error_on_graph_break
        self.previous: list[bool] = []

    def __enter__(self) -> None:
        self.previous.append(settings.error_on_graph_break)
        settings.error_on_graph_break = self.value

    def __exit__(self, *_: object) -> None:
        settings.error_on_graph_break = self.previous.pop()


def run(fn: Callable | None = None) -> Any:
    """A function that uses what was captured, and captures nothing new."""
    return run if fn is None else set_stance("eager_on_recompile")(fn)


def nonstrict_trace(traceable_fn: Callable) -> Callable:
    """Accepted: a function's operators are captured whatever its Python is."""
    return traceable_fn


def dont_skip_tracing(fn: Any = None) -> Any:
    """Accepted, as a decorator and as a block: no function is skipped."""
    return contextlib.nullcontext() if fn is None else fn


def disable_nested_graph_breaks(fn: Any = None) -> Any:
    """Accepted, as a decorator and as a block: a graph break ends the graph of the outermost function in any case."""
    return contextlib.nullcontext() if fn is None else fn


@contextlib.contextmanager
def override_cudagraphs(fwd: bool | None = None, bwd: bool | None = None) -> Iterator[None]:
    """Accepted, as a block or a decorator: there are no CUDA graphs."""
    yield


def is_dynamo_disable_recursive(method: Callable) -> bool | None:
    """Whether `disable` was called of a function, with ``recursive=True`` or not; None: it was not."""
    return getattr(method, "_torchdynamo_disable_recursive", None)


def set_recursion_limit(limit: int) -> None:
    """Accepted: capturing does not interpret Python, so it needs no deeper stack.

    Raises:
        ValueError: neither -1 nor at least 1.
    """
    if limit < 1 and limit != -1:
        raise ValueError("recursion limit must be greater or equal to 1, or -1 to reset the limit")


def override_optimization_hint(x: Any, val: int) -> None:
    """Accepted: sizes are no symbols that hints could be needed for."""


def allow_c_slot(tp: type, *, tp_hash: bool = True, tp_richcompare: bool = True) -> type:
    """Accepted: comparisons run as they are."""
    return tp


def export(f: Callable, *args: Any, **kwargs: Any) -> NoReturn:
    """The old way to export.

    Raises:
        NotImplementedError: always; `torch.export.export` is there.
    """
    raise NotImplementedError("torch._dynamo.export is not supported; torch.export.export is")
