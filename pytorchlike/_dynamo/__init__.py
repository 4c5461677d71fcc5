"""``torch._dynamo``: the names of torch.compile's front end that programs use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..compiler.api import (
    OptimizedModule,
    allow_in_graph,
    assume_constant_result,
    compile,
    disable,
    explain,
    is_compiling,
    reset,
    set_stance,
    substitute_in_graph,
)
from ..compiler.backends import list_backends, lookup_backend, register_backend
from ..compiler.sizes import mark_dynamic, mark_static, maybe_mark_dynamic
from . import config, eval_frame, exc, utils

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable", "disallow_in_graph", "eval_frame", "exc", "explain", "forbid_in_graph",
    "graph_break", "is_compiling", "list_backends", "lookup_backend", "mark_dynamic", "mark_static", "mark_static_address", "maybe_mark_dynamic", "optimize", "register_backend", "reset",
    "set_stance", "substitute_in_graph", "utils",
]  # fmt: skip


def optimize(backend: Any = "inductor", *, nopython: bool = False, guard_export_fn: Any = None, guard_fail_fn: Any = None, disable: bool = False,
             dynamic: bool | None = None) -> Callable:  # fmt: skip
    """`torch.compile` as a decorator."""
    return compile(backend=backend, fullgraph=nopython, dynamic=dynamic, disable=disable)


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Accepted: there are no addresses."""


def graph_break(msg: str = "") -> None:
    """End the graph of the compiled function that runs."""
    from ..core.capturing import break_capture

    break_capture(msg or "torch._dynamo.graph_break() is called")


def disallow_in_graph(fn: Any) -> Any:
    """A function that compiled functions do not capture."""
    return [disallow_in_graph(each) for each in fn] if isinstance(fn, (list, tuple)) else disable(fn)


forbid_in_graph = disallow_in_graph
