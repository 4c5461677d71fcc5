"""torch.compiler: compiled functions and what can be said about them."""

from .api import (
    allow_in_graph,
    assume_constant_result,
    compile,
    cudagraph_mark_step_begin,
    disable,
    explain,
    is_compiling,
    is_dynamo_compiling,
    is_exporting,
    list_backends,
    reset,
    set_stance,
    substitute_in_graph,
)

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "explain", "is_compiling", "is_dynamo_compiling",
    "is_exporting", "list_backends", "reset", "set_stance", "substitute_in_graph",
]  # fmt: skip
