"""``torch.complex32``: complex numbers of two halves, kept as pairs of float16.

XLA has no such numbers.  They can be converted, looked at, indexed and reshaped; elementwise operators compute in complex64 and round the result,
as torch's do on the CPU.  Everything else raises torch's "not implemented for 'ComplexHalf'".

Limits:  operators make no complex32 of half precision (``torch.complex`` of two halves is complex64); only ``chalf`` and ``to`` do.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, NoReturn

from ..core.dtype import COMPLEX, complex32, complex64, complex128, dtype, float16, float32, float64
from ..core.layouts import layout, strided
from ..core.size import Size
from ..dispatch.registry import Operator, Promote, lookup
from ..tensors.tensor import Tensor, new_tensor, tensor_method
from . import copy
from .composed import ComposedTensor, Implementations, called_name, check_not_leaf

__all__ = ["HalfComplexTensor"]

_IMPLEMENTATIONS = Implementations()
_implements = _IMPLEMENTATIONS.declare


class HalfComplexTensor(ComposedTensor):
    """A tensor of dtype complex32; the ``_elements`` have a last dimension of real and imaginary parts."""

    __slots__ = ()
    __module__ = "torch"

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Conversions, indexing and reshaping by the table; elementwise operators in complex64.

        Raises:
            NotImplementedError: another operator.
        """
        kwargs, name = dict(kwargs or {}), called_name(func)
        found = _IMPLEMENTATIONS.get(name)
        if found is not None:
            return found(*args, **kwargs)
        declared = getattr(func, "declared", None)
        if isinstance(declared, Operator) and declared.promote is not Promote.NONE or name in _NUMERIC:
            return _elementwise(func, name, args, kwargs)
        if name.endswith("_like"):
            return _narrow(func(*[_wide(a) for a in args], **kwargs))
        owner = getattr(func, "__self__", None)
        if isinstance(owner, property) or declared is None:
            return func(*[_wide(a) for a in args], **kwargs)
        raise NotImplementedError(f"\"{name}\" not implemented for 'ComplexHalf'")

    def refuse(self, name: str) -> NoReturn:
        """Refuse an operator.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(f"\"{name}\" not implemented for 'ComplexHalf'")

    def with_elements(self, elements: Tensor) -> HalfComplexTensor:
        """Other pairs."""
        return _of_pairs(elements)

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return Size(self._elements.shape[:-1])

    @property
    def dtype(self) -> dtype:
        """complex32."""
        return complex32

    @property
    def layout(self) -> layout:
        """Strided."""
        return strided

    @property
    def real(self) -> Tensor:
        """The real parts, a view."""
        return self._elements[..., 0]

    @real.setter
    def real(self, value: Any) -> None:
        self._elements[..., 0] = value

    @property
    def imag(self) -> Tensor:
        """The imaginary parts, a view."""
        return self._elements[..., 1]

    @imag.setter
    def imag(self, value: Any) -> None:
        self._elements[..., 1] = value

    def __deepcopy__(self, memo: dict) -> HalfComplexTensor:
        made = memo[id(self)] = _of_pairs(deepcopy(self._elements, memo))
        return made

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return _of_pairs, (self._elements,)

    def stride(self, dim: int | None = None) -> Any:
        """Steps in memory, counted in elements."""
        steps = tuple([s // 2 for s in self._elements.stride()[:-1]])
        return steps if dim is None else steps[dim]

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements lie one behind the other."""
        return self._elements.is_contiguous()

    def is_complex(self) -> bool:
        """They are complex numbers."""
        return True

    def is_floating_point(self) -> bool:
        """They are not real."""
        return False

    def element_size(self) -> int:
        """Bytes of one element."""
        return 4

    def numpy(self, *, force: bool = False) -> NoReturn:
        """Refuse: numpy has no such dtype.

        Raises:
            TypeError: torch's text.
        """
        raise TypeError("Got unsupported ScalarType ComplexHalf")

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        text, suffix = repr(_wide(self.detach())).removesuffix(")"), "dtype=torch.complex32)"
        if self.requires_grad:
            suffix = f"{suffix[:-1]}, {'requires_grad=True' if self.is_leaf else f'grad_fn=<{self.grad_fn.name()}>'})"
        return text + (", " if len(text.split("\n")[-1]) + len(suffix) + 2 < 80 else ",\n       ") + suffix

    __str__ = __repr__


HalfComplexTensor.__name__ = HalfComplexTensor.__qualname__ = "Tensor"  # what users see: the dtype tells


def _of_pairs(elements: Tensor) -> HalfComplexTensor:
    made: HalfComplexTensor = new_tensor(HalfComplexTensor)
    made._elements = elements
    return made


def _wide(x: Any) -> Any:
    """Pairs as complex64, on the tape; everything else as it is."""
    return lookup("view_as_complex")(x._elements.to(float32).contiguous()) if isinstance(x, HalfComplexTensor) else x


def _narrow(x: Tensor) -> HalfComplexTensor:
    """A tensor rounded to pairs of halves, on the tape."""
    if isinstance(x, HalfComplexTensor):
        return x
    if not x.dtype.is_complex:
        real = x.to(float16)  # type: ignore[attr-defined]
        return _of_pairs(lookup("stack")([real, real.new_zeros(()).expand(real.shape)], -1))
    return _of_pairs(lookup("view_as_real")(x.resolve_conj()).to(float16))  # type: ignore[attr-defined]


copy.OTHER_KINDS[complex32] = _narrow


@tensor_method
def chalf(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor as torch.complex32; itself if it is so already."""
    return copy.to(self, None, complex32, False, memory_format)


# ---------------------------------------------------------------------------------------------------------------- computing
_NUMERIC = frozenset("neg negative positive __neg__ __radd__ __rsub__ __rmul__ __rdiv__ __rtruediv__ __pow__ __rpow__ __eq__ __ne__".split())
_WIDER = frozenset({float32, float64, complex64, complex128})


def _elementwise(func: Callable, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    others = [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)]
    is_in_place = name.endswith("_") and not name.endswith("__")
    if is_in_place:
        target = args[0]
        check_not_leaf(target)
        result = func(_wide(target).clone(), *[_wide(a) for a in args[1:]], **{k: _wide(v) for k, v in kwargs.items()})
        if isinstance(target, HalfComplexTensor):
            target._elements.copy_(_narrow(result)._elements)  # type: ignore[attr-defined]
            return target
        return target.copy_(result)  # type: ignore[attr-defined]
    result = func(*[_wide(a) for a in args], **{k: _wide(v) for k, v in kwargs.items()})
    strongest = max(bool(t.dim()) for t in others)
    if any(t.dtype in _WIDER and (bool(t.dim()) == strongest or t.dtype.category == COMPLEX and not strongest) for t in others):
        return result
    return _narrow(result) if result.dtype is complex64 else result.to(float16) if result.dtype is float32 else result


@_implements("to")
def _to(self: Any, *arguments: Any, **keywords: Any) -> Tensor:
    if not isinstance(self, HalfComplexTensor):  # x.to(of complex32)
        return copy.to(self, None, complex32)
    place, wanted, _, copied, _ = copy.parse_to(arguments, keywords)
    if wanted is None or wanted is complex32:
        moved = copy.to(self._elements, place, None, copied)
        return self if moved is self._elements else _of_pairs(moved)
    return copy.to(_wide(self), place, wanted)


for _name in copy.CASTS:
    _implements(_name)(lambda self, memory_format=None, _name=_name: getattr(_wide(self), _name)())

_implements("chalf", "resolve_conj", "resolve_neg", "contiguous")(lambda self, memory_format=None: self)
_implements("clone")(lambda self, memory_format=None: _of_pairs(self._elements.clone()))
_implements("view_as_real")(lambda self: self._elements)
_implements("conj", "conj_physical", "_conj")(lambda self: _of_pairs(self._elements * self._elements.new_tensor([1.0, -1.0])))
_implements("copy_")(lambda self, src, non_blocking=False: (self._elements.copy_(_narrow(src)._elements), self)[1])
_implements("storage_offset")(lambda self: self._elements.storage_offset() // 2)
_implements("data_ptr")(lambda self: self._elements.data_ptr())


# ---------------------------------------------------------------------------------------------------------------- shapes
def _positive(self: Tensor, dim: int, extra: int = 0) -> int:
    return dim + self.dim() + extra if dim < 0 else dim


def _listed(sizes: tuple) -> tuple[int, ...]:
    return tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes


def _index(index: Any) -> Any:
    parts = index if isinstance(index, tuple) else (index,)
    return (*parts, slice(None)) if any(p is Ellipsis for p in parts) else index


@_implements("__getitem__")
def _get_item(self: HalfComplexTensor, index: Any) -> Tensor:
    return _of_pairs(self._elements[_index(index)])


@_implements("__setitem__")
def _set_item(self: Any, index: Any, value: Any) -> None:
    if not isinstance(self, HalfComplexTensor):
        self[index] = _wide(value)
    else:
        value = value if isinstance(value, Tensor) else _wide(self).new_tensor(value)  # type: ignore[attr-defined]
        self._elements[_index(index)] = _narrow(value)._elements


@_implements("view", "reshape")
def _reshape(self: HalfComplexTensor, *sizes: Any) -> Tensor:
    wanted = _listed(sizes)
    known = 1
    for n in wanted:
        known *= 1 if n == -1 else n
    return _of_pairs(self._elements.view(*[self.numel() // max(known, 1) if n == -1 else n for n in wanted], 2))  # type: ignore[attr-defined]


_implements("flatten")(lambda self: _reshape(self, -1))
_implements("transpose")(lambda self, dim0, dim1: _of_pairs(self._elements.transpose(_positive(self, dim0), _positive(self, dim1))))
_implements("t")(lambda self: _of_pairs(self._elements.transpose(0, 1)) if self.dim() == 2 else self)
_implements("permute")(lambda self, *dims: _of_pairs(self._elements.permute(*[_positive(self, d) for d in _listed(dims)], self.dim())))
_implements("unsqueeze")(lambda self, dim: _of_pairs(self._elements.unsqueeze(_positive(self, dim, 1))))


def _declare_joining(name: str, extra: int) -> None:
    @_implements(name)
    def join(tensors: Any, dim: int = 0) -> Tensor:
        pairs = [_narrow(t) for t in tensors]
        return _of_pairs(lookup(name)([p._elements for p in pairs], _positive(pairs[0], dim, extra)))


_declare_joining("cat", 0)
_declare_joining("stack", 1)
