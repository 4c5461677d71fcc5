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
from . import config, decorators, eval_frame, exc, utils
from .decorators import (
    allow_c_slot,
    disable_nested_graph_breaks,
    dont_skip_tracing,
    error_on_graph_break,
    export,
    graph_break,
    is_dynamo_disable_recursive,
    nonstrict_trace,
    override_cudagraphs,
    override_optimization_hint,
    patch_dynamo_config,
    run,
    set_recursion_limit,
    skip_frame,
    step_unsupported,
)

__all__ = [
    "OptimizedModule", "allow_c_slot", "allow_in_graph", "assume_constant_result", "config", "decorators", "disable", "disable_nested_graph_breaks",
    "disallow_in_graph", "dont_skip_tracing", "error_on_graph_break", "eval_frame", "exc", "explain", "export", "forbid_in_graph", "graph_break",
    "is_compiling", "is_dynamo_disable_recursive", "list_backends", "lookup_backend", "mark_dynamic", "mark_static", "mark_static_address",
    "maybe_mark_dynamic", "nonstrict_trace", "optimize", "optimize_assert", "override_cudagraphs", "override_optimization_hint",
    "patch_dynamo_config", "register_backend", "reset", "run", "set_recursion_limit", "set_stance", "skip_frame", "step_unsupported",
    "substitute_in_graph", "utils",
]  # fmt: skip


def optimize(backend: Any = "inductor", *, nopython: bool = False, guard_export_fn: Any = None, guard_fail_fn: Any = None, disable: bool = False,
             dynamic: bool | None = None) -> Callable:  # fmt: skip
    """`torch.compile` as a decorator."""
    return compile(backend=backend, fullgraph=nopython, dynamic=dynamic, disable=disable)


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Accepted: there are no addresses."""


def optimize_assert(backend: Any = "inductor", *, export: bool = False, dynamic: bool | None = None, **_: Any) -> Callable:
    """`torch.compile` with ``fullgraph=True`` as a decorator."""
    return optimize(backend, nopython=True, dynamic=dynamic)


def disallow_in_graph(fn: Any) -> Any:
    """A function that compiled functions do not capture."""
    return [disallow_in_graph(each) for each in fn] if isinstance(fn, (list, tuple)) else disable(fn)


forbid_in_graph = disallow_in_graph
