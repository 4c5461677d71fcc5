"""torch.compiler: compiled functions and what can be said about them."""

from ..alias import attribute_fallback
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
    nested_compile_region,
    reset,
    set_stance,
    substitute_in_graph,
    wrap_numpy,
)
from .artifacts import load_cache_artifacts, save_cache_artifacts
from .backends import get_default_backend, set_default_backend
from .guard_filters import (
    keep_portable_guards_unsafe,
    keep_tensor_guards_unsafe,
    skip_all_guards_unsafe,
    skip_guard_on_all_nn_modules_unsafe,
    skip_guard_on_globals_unsafe,
    skip_guard_on_inbuilt_nn_modules_unsafe,
)

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "explain", "get_default_backend", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "keep_portable_guards_unsafe", "keep_tensor_guards_unsafe", "list_backends", "load_cache_artifacts",
    "nested_compile_region", "reset", "save_cache_artifacts", "set_default_backend", "set_stance", "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe", "skip_guard_on_globals_unsafe", "skip_guard_on_inbuilt_nn_modules_unsafe", "substitute_in_graph", "wrap_numpy",
]  # fmt: skip

__getattr__ = attribute_fallback(__name__)
