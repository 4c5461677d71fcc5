"""torch.library: operators that users define, with kernels, gradients and rules for transformations; see docs/operators.md."""

from .context import get_ctx
from .custom_ops import CustomOpDef, custom_op
from .inference import infer_schema
from .libraries import Library, _scoped_library
from .opcheck import opcheck
from .registration import (
    define,
    fallthrough_kernel,
    get_kernel,
    impl,
    impl_abstract,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
)
from .tags import Tag
from .triton import triton_op, wrap_triton

__all__ = [
    "CustomOpDef", "Library", "Tag", "_scoped_library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "get_kernel", "impl", "impl_abstract",
    "infer_schema", "opcheck", "register_autocast", "register_autograd", "register_fake", "register_kernel", "register_torch_dispatch", "register_vmap",
    "triton_op", "wrap_triton",
]  # fmt: skip
