"""torch.autograd: the engine that replays the tape, its switches, hooks and tools, and operators of the user's own."""

from . import anomaly_mode, forward_ad, function, functional, graph, profiler, profiler_util, variable
from . import gradients as _gradients
from . import hooks as _hooks
from . import saved as _saved
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .engine import backward_of as backward
from .engine import grad
from .function import Function
from .grad_mode import enable_grad, enforce_grad_layout_policy, inference_mode, no_grad, set_grad_enabled, set_multithreading_enabled
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .variable import Variable

__all__ = [
    "Function", "GradcheckError", "Variable", "anomaly_mode", "backward", "detect_anomaly", "enable_grad", "enforce_grad_layout_policy",
    "forward_ad", "function", "functional", "grad", "gradcheck", "gradgradcheck", "graph", "inference_mode", "no_grad", "profiler", "profiler_util",
    "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled", "variable",
]  # fmt: skip
