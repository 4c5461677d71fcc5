"""torch.func: transformations of functions."""

from ..autograd.vmap import vmap
from .forward import jvp, linearize
from .functional import debug_unwrap, functionalize
from .jacobian import hessian, jacfwd, jacrev
from .modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from .rearrange import rearrange
from .reverse import grad, grad_and_value, vjp

__all__ = [
    "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "rearrange",
    "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip
