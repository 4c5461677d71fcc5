"""Tensors with a mask: `MaskedTensor`, whose elements count only where the mask is true.

The data are the elements on the tape (`composed.py`); a table by the name of the function says what becomes of data and mask.  Reductions are those
of `masked.py`.  Whether two masks are equal is looked at on the host, unless they are one tensor.

Limits:  an operator that is not in the table raises TypeError, as in torch, which knows fewer of them.  The gradient of a masked tensor has the
    tensor's own mask, where torch's also hides what no gradient came to; that of `as_masked_tensor`'s plain input is plain, 0 where it was masked out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from ..core import dtype as dtypes
from ..core.layouts import sparse_coo, sparse_csr, strided
from ..dispatch.registry import Composite, ViewOperator, lookup
from ..tensors.tensor import Tensor, new_tensor
from . import masked
from .composed import ComposedTensor, Implementations, bound_arguments, called_name
from .sparse_tensor import SparseTensor, like

__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]

_DTYPES = frozenset({
    dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bool_, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64,
})  # fmt: skip
#: Elementwise functions of one tensor, and of two; the mask stays.
_UNARY = frozenset(
    "abs absolute acos arccos acosh arccosh angle arcsin arcsinh arctan arctanh asin asinh atan atanh bitwise_not ceil clamp clip conj_physical cos "
    "cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac i0 isnan lgamma log log10 log1p log2 logit nan_to_num neg negative positive "
    "pow rad2deg reciprocal round rsqrt sigmoid sgn sign signbit sin sinc sinh sqrt square tan tanh trunc __abs__ __neg__ __pow__ __invert__ "
    "__rdiv__ __rtruediv__ __rsub__ __rpow__ rsub isfinite isinf logical_not relu".split()
)
_BINARY = frozenset(
    "add arctan2 atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor div divide eq floor_divide fmax fmin fmod ge greater "
    "greater_equal gt le less less_equal logaddexp logaddexp2 lt maximum minimum mul multiply ne nextafter not_equal remainder sub subtract "
    "true_divide __radd__ __rmul__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __floordiv__ __rfloordiv__ __mod__ __rmod__ __truediv__ __add__ __sub__ "
    "__mul__ __and__ __or__ __xor__ __rand__ __ror__ __rxor__ logical_and logical_or logical_xor".split()
)
#: What moves elements around: done to data and mask; all view operators are of this kind.
_MOVING = frozenset(
    "__getitem__ T H mT mH cat concat concatenate stack hstack vstack flip fliplr flipud roll rot90 index_select gather take take_along_dim repeat tile "
    "reshape contiguous clone index im2col".split()
)
_CASTS = frozenset("to float double half int long short char bool cpu cuda type type_as".split())
#: What is the same for the data.
_OF_DATA = frozenset(
    "stride is_contiguous layout is_floating_point is_complex element_size storage_offset __len__ is_cuda is_meta itemsize nbytes data_ptr get_device "
    "is_same_size is_signed names".split()
)
_REDUCTIONS = frozenset("sum mean amin amax argmin argmax prod all norm var std".split())

_IMPLEMENTATIONS = Implementations()
_implements = _IMPLEMENTATIONS.declare


class MaskedTensor(ComposedTensor):
    """A tensor of which some elements are masked out: data, and a mask that is true where they count.

    Args:
        data: a tensor; it is copied, and the masked tensor is a leaf.
        mask: a bool tensor of the same size and layout.

    Slots:
        _masked_mask: the mask; the data are the ``_elements`` of the base.

    Raises:
        TypeError, ValueError: torch's, for data and masks that do not fit.
    """

    __slots__ = ("_masked_mask",)
    __module__ = "torch.masked.maskedtensor.core"

    _masked_mask: Tensor

    def __new__(cls, data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
        for name, tensor in (("data", data), ("mask", mask)):
            if not isinstance(tensor, Tensor) or isinstance(tensor, MaskedTensor):
                raise TypeError(f"{name} must be a Tensor")
        if data.requires_grad:
            warnings.warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad. "
                "To avoid this, you can use data.detach().clone()",
                UserWarning, stacklevel=2,
            )  # fmt: skip
        made = _checked(data.detach().clone(), mask.detach().clone())
        return made.requires_grad_() if requires_grad else made

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """What the tables say; composites come down to operators that they know.

        Raises:
            TypeError: nothing is said about the function.
        """
        kwargs = dict(kwargs or {})
        if any(t is not cls and not issubclass(t, SparseTensor) and getattr(t.__torch_function__, "__func__", None) is not _DEFAULT for t in types):
            return NotImplemented  # a class of the user's
        name, declared = called_name(func), getattr(func, "declared", None)
        found = _IMPLEMENTATIONS.get(name)
        if found is not None:
            if func is Tensor.where and len(args) > 1:  # type: ignore[attr-defined]
                args = (args[1], args[0], *args[2:])
            return found(*args, **kwargs)
        plain = name[:-1] if name.endswith("_") and not name.endswith("__") else name
        if plain in _UNARY or plain in _BINARY:
            return _elementwise(func, args, kwargs, in_place=plain != name)
        if name in _MOVING or isinstance(declared, ViewOperator):
            return _on_both(func, args, kwargs)
        if name in _CASTS or name.endswith("_like"):
            return _cast(func, args, kwargs)
        if name in _OF_DATA:
            return func(*[_data(a) for a in args], **kwargs)
        if declared is None:  # a method or property of Tensor in Python
            return func(*args) if isinstance(getattr(func, "__self__", None), property) else getattr(func, "__wrapped__", func)(*args, **kwargs)
        if isinstance(declared, Composite) and plain == name:
            arguments = bound_arguments(declared, args, kwargs)
            if arguments is not None:
                return declared.body(**arguments)
        return NotImplemented

    def refuse(self, name: str) -> NoReturn:
        """Refuse an operator.

        Raises:
            TypeError: always.
        """
        raise TypeError(f"{name} is not implemented for MaskedTensor; use get_data() and get_mask(), or to_tensor(value)")

    def with_elements(self, elements: Tensor) -> MaskedTensor:
        """Other data with the same mask."""
        return _made(elements, self._masked_mask)

    def to_gradient(self, gradient: Tensor) -> Tensor:
        """What a gradient is for the data: 0 where it is masked out itself."""
        return gradient.to_tensor(0) if isinstance(gradient, MaskedTensor) else gradient

    @property
    def _masked_data(self) -> Tensor:
        return self._elements

    def get_data(self) -> Tensor:
        """The data, also those that are masked out; on the tape."""
        return self._elements.view_as(self._elements) if self._elements.layout is strided else self._elements  # type: ignore[attr-defined]

    def get_mask(self) -> Tensor:
        """The mask."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> Tensor:
        """A plain tensor with ``value`` where the elements are masked out."""
        dense = _dense(self)
        return dense._elements.masked_fill(~dense._masked_mask, value)  # type: ignore[attr-defined]

    @property
    def data(self) -> Tensor:
        """The same memory, off the tape."""
        return self.detach()

    @data.setter
    def data(self, other: Any) -> None:
        self._elements.data, self._masked_mask = _data(other), other._masked_mask

    @property
    def is_sparse(self) -> bool:  # type: ignore[override]
        """Whether the data have coordinates or are compressed by rows."""
        return self._elements.layout is not strided

    def is_sparse_coo(self) -> bool:
        """Whether the data have coordinates."""
        return self._elements.layout is sparse_coo

    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        """Whether the data are compressed by rows."""
        return self._elements.layout is sparse_csr

    def numpy(self, *, force: bool = False) -> NoReturn:
        """Refuse.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def tolist(self) -> NoReturn:
        """Refuse.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(".tolist() is not supported for tensor subclasses, got MaskedTensor")

    def item(self) -> Any:
        """The one element as a Python number.

        Raises:
            ValueError: it is masked out.
        """
        if not self._masked_mask.item():
            raise ValueError("item(): the element is masked out")
        return self._elements.item()

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __deepcopy__(self, memo: dict) -> MaskedTensor:
        made = MaskedTensor(self._elements.detach(), self._masked_mask)
        memo[id(self)] = made
        return made.requires_grad_() if self.requires_grad else made

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return masked_tensor, (self._elements.detach(), self._masked_mask, self.requires_grad)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        dense = _dense(self.detach())
        values, mask = dense._elements.tolist(), dense._masked_mask.tolist()
        if not self.dim():
            return f"MaskedTensor({_shown(values) if mask else '--'}, {mask})"
        return f"MaskedTensor(\n{_indented(_listed(values, mask, self.dim()))}\n)"

    __str__ = __repr__


_DEFAULT = Tensor.__torch_function__.__func__  # type: ignore[attr-defined]


# ---------------------------------------------------------------------------------------------------------------- text
def _shown(value: Any) -> str:
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def _listed(values: list, mask: list, ndim: int) -> str:
    """Elements in nested brackets, two hyphens for those that are masked out."""
    if ndim > 1:
        return "[\n" + ",\n".join(_indented(_listed(v, m, ndim - 1)) for v, m in zip(values, mask)) + "\n]"
    width = max((len(_shown(v)) if m else 8 for v, m in zip(values, mask)), default=0)
    return "[" + ", ".join(_shown(v) if m else "--".rjust(width) for v, m in zip(values, mask)) + "]"


# ---------------------------------------------------------------------------------------------------------------- making them
def _made(data: Tensor, mask: Tensor) -> MaskedTensor:
    made: MaskedTensor = new_tensor(MaskedTensor)
    made._elements, made._masked_mask = data, mask
    return made


def _checked(data: Any, mask: Any) -> MaskedTensor:
    """A masked tensor of data and a mask that fit."""
    if data.layout is not mask.layout:
        raise TypeError("data and mask must have the same layout.")
    if data.layout not in (strided, sparse_coo, sparse_csr):
        raise TypeError(f"data layout of {data.layout} is not supported.")
    if mask.dtype is not dtypes.bool_:
        raise TypeError("mask must have dtype bool.")
    if data.dtype not in _DTYPES:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.dim() != mask.dim():
        raise ValueError("data.dim() must equal mask.dim()")
    if data.shape != mask.shape:
        raise ValueError("data.size() must equal mask.size()")
    if data.layout is not strided:
        data, mask = _same_places(data, mask)
    return _made(data, mask)


def _same_places(data: Any, mask: Any) -> tuple[Any, Any]:
    """Sparse data at the places of a sparse mask."""
    if data.layout is sparse_coo:
        data, mask = data.coalesce(), mask.coalesce()
        names: tuple[str, ...] = ("indices",)
    else:
        names = ("crow_indices", "col_indices")
    if data._nnz() != mask._nnz():
        return data.to_dense().sparse_mask(mask), mask
    for name in names:
        if not bool((getattr(data, name)() == getattr(mask, name)()).all()):
            kind = "COO tensors but do not have the same indices" if len(names) == 1 else "CSR tensors but do not share either crow or col indices"
            raise ValueError(f"data and mask are both sparse {kind}.")
    return data, mask


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """A new leaf with copies of data and mask."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> MaskedTensor:
    """Data and mask as a masked tensor that stays on the tape."""
    if not data.requires_grad or data.layout is not strided:
        return MaskedTensor(data.detach(), mask) if not data.requires_grad else _checked(data.clone(), mask.detach().clone())
    made = _checked(data.clone(), mask.detach().clone())
    return _made(lookup("where.self")(made._masked_mask, made._elements, made._elements.detach()), made._masked_mask)


def is_masked_tensor(obj: Any, /) -> bool:
    """Whether it is a `MaskedTensor`."""
    return isinstance(obj, MaskedTensor)


# ---------------------------------------------------------------------------------------------------------------- calls
def _data(x: Any) -> Any:
    return x._elements if isinstance(x, MaskedTensor) else x


def _mask(x: Any) -> Any:
    return x._masked_mask if isinstance(x, MaskedTensor) else x


def _mapped(function: Callable, arguments: Any) -> Any:
    """Arguments with a function applied to the masked tensors, also inside lists."""
    if isinstance(arguments, (list, tuple)) and type(arguments) in (list, tuple):
        return type(arguments)(_mapped(function, a) for a in arguments)
    return {k: _mapped(function, v) for k, v in arguments.items()} if isinstance(arguments, dict) else function(arguments)


def _common_mask(arguments: Any) -> Tensor:
    """The mask of all masked arguments.

    Raises:
        ValueError: they differ.
    """
    masks = [a._masked_mask for a in arguments if isinstance(a, MaskedTensor)]
    for other in masks[1:]:
        first = masks[0]
        if other is first:
            continue
        if other.layout is not first.layout:
            raise ValueError("Inputs should match sparsity/density")
        a, b = (m.to_dense() if m.layout is not strided else m for m in (first, other))  # type: ignore[attr-defined]
        if a.shape != b.shape or not bool((a == b).all()):
            raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
    return masks[0]


def _elementwise(func: Callable, args: tuple, kwargs: dict[str, Any], in_place: bool) -> Any:
    mask = _common_mask((*args, *kwargs.values()))
    args, kwargs = _mapped(_data, args), _mapped(_data, kwargs)
    example = next((a for a in args if isinstance(a, SparseTensor)), None)
    if example is not None:  # at the places of the mask, which are the same
        result: Any = like(example, func(*[a._elements if isinstance(a, SparseTensor) else a for a in args], **kwargs))
    else:
        result = func(*args, **kwargs)
    if result.shape != mask.shape:
        raise ValueError("data.size() must equal mask.size()")
    return _made(result, mask)


def _wrapped(data: Any, mask: Any) -> Any:
    if isinstance(data, (list, tuple)):
        return type(data)(_wrapped(d, m) for d, m in zip(data, mask))
    return _made(data, mask)


def _on_both(func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    if any(not isinstance(a, MaskedTensor) for a in args[:1] if isinstance(a, Tensor)) or _has_plain(args[:1]):
        raise TypeError(f"{called_name(func)}: masked and plain tensors are mixed; give the plain ones a mask")
    return _wrapped(func(*_mapped(_data, args), **_mapped(_data, kwargs)), func(*_mapped(_mask, args), **_mapped(_mask, kwargs)))


def _has_plain(args: tuple) -> bool:
    """Whether a list of tensors to be joined has one without a mask."""
    return any(isinstance(a, (list, tuple)) and any(isinstance(e, Tensor) and not isinstance(e, MaskedTensor) for e in a) for a in args)


def _cast(func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    mask = next(a for a in args if isinstance(a, MaskedTensor))._masked_mask
    data = func(*_mapped(_data, args), **kwargs)
    if not isinstance(data, Tensor):  # the name of the type
        return data
    if data.dtype not in _DTYPES:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    return _made(data, mask if mask.device == data.device else mask.to(data.device))


def _dense(x: MaskedTensor) -> MaskedTensor:
    if x._elements.layout is strided:
        return x
    return _made(x._elements.to_dense(), x._masked_mask.to_dense())  # type: ignore[attr-defined]


# ---------------------------------------------------------------------------------------------------------------- the tables' functions
_KERNELS: dict[str, Callable] = {
    name: lookup(f"{name}.masked") for name in ("sum", "mean", "amin", "amax", "argmin", "argmax", "prod", "var", "std")
}


def _reduction(name: str) -> Callable:
    def reduce(input: MaskedTensor, dim: Any = None, *args: Any, keepdim: bool = False, dtype: Any = None, **options: Any) -> MaskedTensor:
        x = _dense(input)
        data, mask = x._elements, x._masked_mask
        if isinstance(dim, bool):  # var(unbiased)
            options["unbiased"], dim = dim, None
        if args:
            keepdim = args[0] if name not in ("var", "std") else args[1] if len(args) > 1 else keepdim
            if name in ("var", "std"):
                options["unbiased"] = args[0]
        dims = tuple(range(data.dim())) if dim is None or dim == () else (dim,) if isinstance(dim, int) else tuple(dim)
        if name == "all":
            result = data.masked_fill(~mask, 1).all(dims, keepdim)  # type: ignore[attr-defined]
        else:
            result = _KERNELS[name](data, dim=dim, keepdim=keepdim, dtype=dtype, mask=mask, **options)
        return _made(result, mask.any(dims, keepdim))  # type: ignore[attr-defined]

    return reduce


for _name in _REDUCTIONS - {"norm"}:
    _IMPLEMENTATIONS[_name] = _reduction(_name)


@_implements("norm")
def _norm(input: MaskedTensor, p: Any = 2.0, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> MaskedTensor:
    x = _dense(input)
    dims = tuple(range(x.dim())) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    p = 2.0 if p == "fro" else p
    result = masked.masked_norm(x._elements, p, dim, keepdim=keepdim, dtype=dtype, mask=x._masked_mask)
    return _made(result, x._masked_mask.any(dims, keepdim))  # type: ignore[attr-defined]


@_implements("softmax")
def _softmax(input: MaskedTensor, dim: Any, _stacklevel: int = 3, dtype: Any = None) -> MaskedTensor:
    """The softmax over what counts; 0 elsewhere, also where nothing does."""
    x = _dense(input)
    mask = x._masked_mask
    data = x._elements.masked_fill(~mask & mask.any(dim, True), float("-inf")).softmax(dim, dtype=dtype)  # type: ignore[attr-defined]
    return _made(data.masked_fill(~mask, 0), mask)


@_implements("where")
def _where(condition: Any, input: Any = None, other: Any = None, **named: Any) -> MaskedTensor:
    chosen = (named.get("self", input), other)
    where, condition = lookup("where.self"), _data(condition)
    here = next(x._masked_mask for x in chosen if isinstance(x, MaskedTensor)).new_ones(())  # type: ignore[attr-defined]
    mask = where(condition, *[x._masked_mask if isinstance(x, MaskedTensor) else here for x in chosen])
    return _made(where(condition, *map(_data, chosen)), mask)


@_implements("to_dense")
def _to_dense(input: MaskedTensor, dtype: Any = None, *, masked_grad: Any = None) -> MaskedTensor:
    x = _dense(input)
    return x if dtype is None else x.to(dtype)


@_implements("to_sparse")
def _to_sparse(input: MaskedTensor) -> MaskedTensor:
    x = _dense(input)
    mask = x._masked_mask.to_sparse()  # type: ignore[attr-defined]
    return _made(x._elements.sparse_mask(mask), mask)  # type: ignore[attr-defined]


@_implements("to_sparse_csr")
def _to_sparse_csr(input: MaskedTensor) -> MaskedTensor:
    x = _dense(input)
    if x.dim() != 2:
        raise ValueError(f"Only 2D tensors can be converted to the SparseCsr layout but got shape: {x.shape}")
    mask = x._masked_mask.to_sparse_csr()  # type: ignore[attr-defined]
    return _made(x._elements.sparse_mask(mask), mask)  # type: ignore[attr-defined]


@_implements("__setitem__")
def _set_item(input: Any, index: Any, value: Any) -> None:
    if not isinstance(input, MaskedTensor):
        raise TypeError("a masked tensor cannot be written into a plain one; use to_tensor(value)")
    if isinstance(value, MaskedTensor):
        _common_mask((input[index], value))
    input._elements[_data(index)] = _data(value)


@_implements("copy_")
def _copy_(input: Any, src: Any, non_blocking: bool = False) -> Any:
    if not isinstance(input, MaskedTensor):
        raise TypeError("copy_: a masked tensor cannot be written into a plain one; use to_tensor(value)")
    _common_mask((input, src))
    input._elements.copy_(_data(src))  # type: ignore[attr-defined]
    return input
