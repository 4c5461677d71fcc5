"""Copies and casts: ``clone``, ``to`` and its short forms, ``copy_``, ``fill_``; moving between devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core import dtype as dtypes
from ..core.device import as_device, device, jax_device
from ..core.dtype import dtype
from ..core.state import thread
from ..dispatch.call import apply, cast_instruction, general_inplace, host_tensor
from ..dispatch.registry import FUNCTION, INPLACE, METHOD, composite, op
from ..graph.recorder import to_device_array
from ..graph.value import aval_of, constant
from ..tensors import layout
from ..tensors.mutation import check_no_partial_overlap, check_writable, write_into
from ..tensors.relayout import instruction as relayout
from ..tensors.tape import CustomNode, announce, next_number
from ..tensors.tensor import Tensor, make_tensor, tensor_method

__all__ = ["CASTS", "OTHER_KINDS", "move", "set_to", "to"]

#: Dtypes that tensors of a class of their own have -> what makes one of a tensor.
OTHER_KINDS: dict[dtype, Callable[[Tensor], Tensor]] = {}


def _format_stride(tensor: Tensor, wanted: Any) -> tuple[int, ...] | None:
    """The strides of a copy in a memory format; None is contiguous."""
    name = "preserve_format" if wanted is None else getattr(wanted, "name", wanted)
    if name == "contiguous_format":
        return None
    stride = layout.format_strides(name, tensor.shape, tensor.stride())
    return None if stride == layout.contiguous_strides(tensor.shape) else stride


@composite("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor")
def clone(self, memory_format):
    """A copy of the elements that stays on the tape.

    Args:
        memory_format: the copy's strides; the default keeps those of a dense tensor.
    """
    return apply(relayout(_format_stride(self, memory_format)), (self,))[0]


# ---------------------------------------------------------------------------------------------------------------- to
class _Transfer(CustomNode):
    """The tape's node of a copy to another device: the gradient goes back."""

    __slots__ = ("source", "target_aval")

    def __init__(self, tensor: Tensor, target_aval: Any) -> None:
        self.edges = (tensor._current_edge(),)
        self.saved, self.scalars, self.hooks = (), None, None
        self.number = next_number()
        announce(self)
        self.source = tensor.device
        self.target_aval = target_aval

    def name(self) -> str:
        return "ToCopyBackward0"

    def output_count(self) -> int:
        return 1

    def output_aval(self, number: int) -> Any:
        return self.target_aval

    def run(self, grads: list[Any], create_graph: bool, keep: bool) -> list[Any]:
        """Move the gradient to where the input was."""
        return [move(grads[0], self.source)]


def move(tensor: Tensor, target: device) -> Tensor:
    """A copy of a tensor on another device, on the tape."""
    value = tensor._content()
    aval = aval_of(tuple(value.aval.size), value.aval.dtype, target, value.aval.stride)
    if target.type == "meta" or value.aval.is_meta:
        if target.type != "meta":
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        made = make_tensor(constant(None, aval))
    else:
        with jax.enable_x64(True):
            made = make_tensor(constant(jax.device_put(to_device_array(value), jax_device(target)), aval))
    if thread.state.grad_enabled and tensor.requires_grad:
        made._edge = (_Transfer(tensor, aval), 0)
    return made


def to(self: Tensor, wanted_device: device | None, wanted_dtype: dtype | None, copy: bool = False, format: Any = None) -> Tensor:
    """The tensor itself if it is so already, else a copy of this dtype, device and memory format."""
    result = self
    if wanted_dtype is not None and wanted_dtype is not self.dtype:
        other_kind = OTHER_KINDS.get(wanted_dtype)
        result = apply(cast_instruction(wanted_dtype), (result,))[0] if other_kind is None else other_kind(result)
    if wanted_device is not None and wanted_device != self.device:
        result = move(result, wanted_device)
    if format is not None and format.name != "preserve_format" and not result.is_contiguous(format):
        return apply(relayout(_format_stride(result, format)), (result,))[0]
    if copy and result is self:
        return apply(relayout(_format_stride(self, format)), (self,))[0]
    return result


def parse_to(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[device | None, dtype | None, bool, bool, Any]:
    """``(device, dtype, non_blocking, copy, memory_format)`` of the many forms of ``x.to(...)``.

    Raises:
        TypeError: arguments that make no form.
    """
    keywords = dict(keywords)
    wanted_device, wanted_dtype = keywords.pop("device", None), keywords.pop("dtype", None)
    other = keywords.pop("other", None)
    flags = []
    for argument in arguments:
        if isinstance(argument, Tensor):
            other = argument
        elif isinstance(argument, dtype):
            wanted_dtype = argument
        elif isinstance(argument, bool):
            flags.append(argument)
        elif isinstance(argument, (str, device, int)):
            wanted_device = argument
        elif argument is not None:
            raise TypeError(f"to() received an invalid combination of arguments - got ({type(argument).__name__})")
    if other is not None:
        wanted_device, wanted_dtype = other.device, other.dtype
    non_blocking = keywords.pop("non_blocking", flags[0] if flags else False)
    copy = keywords.pop("copy", flags[1] if len(flags) > 1 else False)
    format = keywords.pop("memory_format", None)
    if keywords:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(keywords))}'")
    if wanted_dtype is not None and not isinstance(wanted_dtype, dtype):
        raise TypeError(f"to(): argument 'dtype' must be torch.dtype, not {type(wanted_dtype).__name__}")
    return (None if wanted_device is None else as_device(wanted_device)), wanted_dtype, non_blocking, copy, format


@tensor_method
def _to(self: Tensor, *arguments: Any, **keywords: Any) -> Tensor:
    """The tensor with another dtype and/or on another device; itself where nothing changes."""
    wanted_device, wanted_dtype, _, copy, format = parse_to(arguments, keywords)
    return to(self, wanted_device, wanted_dtype, copy, format)


_to.__name__, _to.__qualname__ = "to", "Tensor.to"
Tensor.to = _to  # type: ignore[attr-defined]

#: Methods that are casts: ``x.float()``, ``x.long()``, ...
CASTS = {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16, "long": dtypes.int64,
    "int": dtypes.int32, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool_, "cfloat": dtypes.complex64,
    "cdouble": dtypes.complex128,
}  # fmt: skip


def _cast_method(name: str, target: dtype) -> Any:
    def cast(self: Tensor, memory_format: Any = None) -> Tensor:
        return to(self, None, target, False, memory_format)

    cast.__name__ = name
    cast.__qualname__ = f"Tensor.{name}"
    cast.__doc__ = f"The tensor as {target}; itself if it is so already."
    return cast


for _name, _target in CASTS.items():
    tensor_method(_cast_method(_name, _target))


@tensor_method
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor on the CPU."""
    return to(self, as_device("cpu"), None, False, memory_format)


@tensor_method
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """The tensor on a GPU.

    Raises:
        RuntimeError: JAX has none.
    """
    if isinstance(device, int):
        device = f"cuda:{device}"
    return to(self, as_device(device or "cuda"), None, False, memory_format)


#: The old type names: ``x.type("torch.FloatTensor")``.
TYPE_NAMES = {
    "FloatTensor": dtypes.float32, "DoubleTensor": dtypes.float64, "HalfTensor": dtypes.float16, "BFloat16Tensor": dtypes.bfloat16,
    "LongTensor": dtypes.int64, "IntTensor": dtypes.int32, "ShortTensor": dtypes.int16, "CharTensor": dtypes.int8, "ByteTensor": dtypes.uint8,
    "BoolTensor": dtypes.bool_, "ComplexFloatTensor": dtypes.complex64, "ComplexDoubleTensor": dtypes.complex128,
}  # fmt: skip


@tensor_method
def type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The old type name (``torch.FloatTensor``), or the tensor cast to a dtype or such a name."""
    if dtype is None:
        name = next(n for n, d in TYPE_NAMES.items() if d is self.dtype)
        return f"torch.cuda.{name}" if self.is_cuda else f"torch.{name}"
    if isinstance(dtype, str):
        parts = dtype.split(".")
        if parts[-1] not in TYPE_NAMES:
            raise ValueError(f"invalid type: '{dtype}'")
        return to(self, as_device("cuda") if "cuda" in parts else None, TYPE_NAMES[parts[-1]])
    if not isinstance(dtype, dtypes.dtype):
        if not hasattr(dtype, "dtype"):
            raise ValueError(f"invalid type: '{getattr(dtype, '__name__', dtype)}'")
        dtype = dtype.dtype
    return to(self, None, dtype)


@composite("type_as(Tensor self, Tensor other) -> Tensor", forms=METHOD)
def type_as(self, other):
    """The tensor with the dtype (and on the device) of another."""
    return to(self, other.device, other.dtype)


# ---------------------------------------------------------------------------------------------------------------- writing
@op("copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", forms=INPLACE, numbers=("src",))
def copy(self, src, non_blocking):
    """``src``, broadcast to the shape of ``self`` and cast to its dtype."""
    if jnp.iscomplexobj(src) and not jnp.iscomplexobj(self):
        src = src.real
    return jnp.broadcast_to(src.astype(self.dtype), self.shape)


@copy.check
def _(self, src, non_blocking):
    for d in range(1, len(src.shape) + 1):
        n = src.shape[-d]
        if d > len(self.shape):
            raise RuntimeError(f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(src.shape)}")
        if n not in (1, self.shape[-d]):
            raise RuntimeError(
                f"The size of tensor a ({self.shape[-d]}) must match the size of tensor b ({n}) at non-singleton dimension {len(self.shape) - d}"
            )


@copy.grad("self")
def _(g):
    return jnp.zeros_like(g)


@copy.grad("src")
def _(g):
    return g


@tensor_method
def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write the elements of ``src`` (broadcast, cast, from any device) into this tensor."""
    if isinstance(src, Tensor) and src.device != self.device:
        src = move(src, self.device)
    if isinstance(src, Tensor):
        check_no_partial_overlap(self, (src,))
    return general_inplace(copy, (self, src, non_blocking))


@op("fill.Tensor(Tensor self, Tensor value) -> Tensor", forms=FUNCTION | INPLACE, numbers=("value",))
def fill_with_tensor(self, value):
    """The value of a 0-d tensor everywhere."""
    return jnp.broadcast_to(value.astype(self.dtype), self.shape)


@fill_with_tensor.check
def _(self, value):
    if len(value.shape):
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {len(value.shape)} dimensions.")


@fill_with_tensor.grad("self")
def _(g):
    return jnp.zeros_like(g)


@fill_with_tensor.grad("value")
def _(g):
    return g.sum()


@op("fill(Tensor self, Scalar value) -> Tensor", forms=FUNCTION | INPLACE)
def fill(self, value):
    """One value everywhere."""
    value = jnp.asarray(value)
    if jnp.iscomplexobj(value) and not jnp.iscomplexobj(self):
        value = value.real
    return jnp.broadcast_to(value.astype(self.dtype), self.shape)


@fill.grad("self")
def _(g):
    return jnp.zeros_like(g)


@op("zero(Tensor self) -> Tensor", forms=INPLACE)
def zero(self):
    """Zero everywhere."""
    return jnp.zeros_like(self)


@zero.grad("self")
def _(g):
    return jnp.zeros_like(g)


def set_to(tensor: Tensor, value: float) -> Tensor:
    """Fill a tensor with a number that is known now: for initial values, which then are no operators of the first training step."""
    check_writable(tensor)
    if not tensor.is_meta:
        write_into(tensor, host_tensor(np.full(tuple(tensor.shape), value, tensor.dtype.numpy), tensor.dtype, tensor.device)._content())
    return tensor
