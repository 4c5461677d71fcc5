"""``torch.jit``: scripted and traced functions and modules, which are captured and replayed as XLA programs."""

from typing import Any, Final

from .._jit_internal import _drop as _drop
from .._jit_internal import _isinstance, export, ignore, is_scripting, unused
from .._jit_internal import _overload as _overload
from .._jit_internal import _overload_method as _overload_method
from ..alias import attribute_fallback
from ..futures import Future
from . import annotations
from ._async import fork, wait
from ._freeze import freeze, optimize_for_inference, run_frozen_optimizations
from ._fuser import enable_onednn_fusion, fuser, onednn_fusion_enabled, optimized_execution, set_fusion_strategy, strict_fusion
from ._script import (
    Attribute,
    CompilationUnit,
    Error,
    RecursiveScriptModule,
    ScriptFunction,
    ScriptModule,
    ScriptWarning,
    interface,
    script,
    script_method,
)
from ._serialization import jit_module_from_flatbuffer, load, save
from ._state import is_tracing
from ._trace import (
    TopLevelTracedModule,
    TracedModule,
    TracerWarning,
    TracingCheckError,
    script_if_tracing,
    trace,
    trace_module,
)
from ._trace import _script_if_tracing as _script_if_tracing

__all__ = [
    "Attribute", "CompilationUnit", "Error", "Final", "Future", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "ScriptWarning",
    "TopLevelTracedModule", "TracedModule", "TracerWarning", "TracingCheckError", "annotate", "annotations", "enable_onednn_fusion", "export", "export_opnames", "fork",
    "freeze", "fuser", "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "jit_module_from_flatbuffer", "load", "onednn_fusion_enabled", "optimize_for_inference",
    "optimized_execution", "run_frozen_optimizations", "save", "script", "script_if_tracing", "script_method", "set_fusion_strategy", "strict_fusion", "trace",
    "trace_module", "unused", "wait",
]  # fmt: skip

_fork, _wait = fork, wait
isinstance = _isinstance  # torch's name: the check that also looks into containers
__getattr__ = attribute_fallback(__name__, ("_trace", "_script", "_state"))


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value; scripted code takes it to be of the type."""
    return the_value


def export_opnames(m: Any) -> list[str]:
    """The names of the operators of a scripted module's last captured call."""
    replays = m._compiled.replays
    return sorted({step.instruction.name for step in replays[0].instruction.steps}) if replays else []


def _unwrap_optional(x: Any) -> Any:
    """The value.

    Raises:
        AssertionError: it is None.
    """
    if x is None:
        raise AssertionError("Unwrapping null optional")
    return x


def _get_trace_graph(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError("torch.jit._get_trace_graph: TorchScript's graphs are not supported; torch.export.export gives a program")
