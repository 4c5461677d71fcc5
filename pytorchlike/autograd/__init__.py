"""torch.autograd: the engine that replays the tape, its switches and hooks."""

from . import hooks as _hooks
from .engine import backward_of as backward
from .engine import grad
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["backward", "enable_grad", "grad", "inference_mode", "no_grad", "set_grad_enabled"]
