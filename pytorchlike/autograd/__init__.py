"""torch.autograd: the engine that replays the tape, its switches and hooks, and operators of the user's own."""

from ..tensors.tensor import Tensor as Variable
from . import function
from . import hooks as _hooks
from .engine import backward_of as backward
from .engine import grad
from .function import Function
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = [
    "Function", "GradcheckError", "Variable", "backward", "enable_grad", "function", "grad", "gradcheck", "gradgradcheck", "inference_mode", "no_grad",
    "set_grad_enabled",
]  # fmt: skip
