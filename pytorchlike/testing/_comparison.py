"""`assert_close`: tensors, numbers and containers of them compared, with torch's messages.

The elements are compared on the host, by numpy: nothing is recorded and nothing compiles.  torch's choices are kept: the tolerance is
computed in the tensors' own dtype, and statistics count mismatches only.

Ref: https://docs.pytorch.org/docs/stable/testing.html
"""

from __future__ import annotations

import cmath
import contextlib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..aten.constructors import as_tensor, get_default_dtype, promote_types, tensor
from ..core import dtype as dtypes
from ..core.layouts import layout, strided
from ..tensors.convert import host_array
from ..tensors.tensor import Tensor

__all__ = ["assert_allclose", "assert_close", "default_tolerances"]

#: dtype -> (rtol, atol); every other dtype is compared for equality.
TOLERANCES = {
    dtypes.float16: (1e-3, 1e-5), dtypes.bfloat16: (1.6e-2, 1e-5), dtypes.float32: (1.3e-6, 1e-5), dtypes.float64: (1e-7, 1e-7),
    dtypes.complex64: (1.3e-6, 1e-5), dtypes.complex128: (1e-7, 1e-7),
}  # fmt: skip
_ALLCLOSE_TOLERANCES = {dtypes.float16: (1e-3, 1e-3), dtypes.float32: (1e-4, 1e-5), dtypes.float64: (1e-5, 1e-8)}
_NUMBERS = {int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128}
_WIDE_UNSIGNED = (dtypes.uint16, dtypes.uint32, dtypes.uint64)
#: Layout -> (its name in messages, methods that give its indices, the method that gives its values).
_SPARSE = {
    "torch.sparse_csr": ("CSR", ("crow_indices", "col_indices"), "values"),
    "torch.sparse_csc": ("CSC", ("ccol_indices", "row_indices"), "values"),
    "torch.sparse_bsr": ("BSR", ("crow_indices", "col_indices"), "values"),
    "torch.sparse_bsc": ("BSC", ("ccol_indices", "row_indices"), "values"),
    "torch.sparse_coo": ("COO", ("_indices",), "_values"),
}

_ALLCLOSE_IS_DEPRECATED = (
    "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please use "
    "`torch.testing.assert_close()` instead. You can find detailed upgrade instructions in https://github.com/pytorch/pytorch/issues/61844."
)


@dataclass(frozen=True)
class _Options:
    """What `assert_close` was asked for."""

    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool


class _FailureError(Exception):
    """A comparison that failed: the error to raise, its text, and where in the containers it was."""

    def __init__(self, kind: type[Exception], text: str, where: tuple) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.where = where

    def error(self, message: str | Callable[[str], str] | None) -> Exception:
        """The error the user sees; ``message`` replaces or rewrites the text."""
        if isinstance(message, str):
            return self.kind(message)
        text = self.text + (f"\n\nThe failure occurred for item {_item(self.where)}" if self.where else "")
        return self.kind(message(text) if callable(message) else text)


#: A comparison whose inputs were found to fit; it raises a `_FailureError`.
_Comparison = Callable[[], None]


def _item(where: tuple) -> str:
    return "".join(str([key]) for key in where)


# ---------------------------------------------------------------------------------------------------------------- public
def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise unless ``|actual - expected| <= atol + rtol * |expected|`` everywhere, and unless dtypes, devices and layouts are the same.

    Args:
        actual, expected: tensors, what `as_tensor` takes, numbers, None, and sequences and mappings of those.
        allow_subclasses: a subclass may be compared with its base.
        rtol, atol: both or none; by default those of the dtype (`TOLERANCES`), the wider ones of two.
        equal_nan: NaN equals NaN.
        check_device, check_dtype, check_layout, check_stride: what must be the same; else it is made the same before values are compared.
        msg: the error's text, or a function that makes it of the text there would have been.

    Raises:
        AssertionError: they are not close; torch's text with the number of mismatches and the greatest differences.
        TypeError: things that cannot be compared.
        ValueError: only one tolerance.
    """
    __tracebackhide__ = True
    options = _Options(allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride)
    try:
        for compare in list(_comparisons(actual, expected, options, ())):  # torch finds all pairs before it compares the first one
            compare()
    except _FailureError as failure:
        error = failure.error(msg)
    else:
        return
    raise error


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True, msg: str = ""
) -> None:
    """`assert_close` with wider tolerances that leaves dtypes alone; deprecated."""
    warnings.warn(_ALLCLOSE_IS_DEPRECATED, FutureWarning, stacklevel=2)
    if not isinstance(actual, Tensor):
        actual = tensor(actual)
    if not isinstance(expected, Tensor):
        expected = tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        rtol, atol = default_tolerances(actual, expected, dtype_precisions=_ALLCLOSE_TOLERANCES)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


def default_tolerances(*inputs: Any, dtype_precisions: Mapping[Any, tuple[float, float]] | None = None) -> tuple[float, float]:
    """The widest default (rtol, atol) among those of the inputs' dtypes.

    Args:
        inputs: tensors or dtypes.
        dtype_precisions: another table than `TOLERANCES`.

    Raises:
        TypeError: something else.
    """
    table = dtype_precisions or TOLERANCES
    found = []
    for given in inputs:
        if not isinstance(given, (Tensor, dtypes.dtype)):
            raise TypeError(f"Expected a torch.Tensor or a torch.dtype, but got {type(given)} instead.")
        found.append(table.get(given.dtype if isinstance(given, Tensor) else given, (0.0, 0.0)))
    return max(rtol for rtol, _ in found), max(atol for _, atol in found)


# ---------------------------------------------------------------------------------------------------------------- pairs
def _comparisons(actual: Any, expected: Any, options: _Options, where: tuple) -> Iterable[_Comparison]:
    """One comparison for each pair of leaves of the two containers.

    Raises:
        _FailureError: the containers do not have the same structure, or a pair cannot be compared.
    """
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            raise _FailureError(AssertionError, f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", where)
        for k in range(len(actual)):
            yield from _comparisons(actual[k], expected[k], options, (*where, k))
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        for key in _common_keys(actual, expected, where):
            yield from _comparisons(actual[key], expected[key], options, (*where, key))
    else:
        yield _comparison(actual, expected, options, where)


def _is_sequence(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, str)


def _common_keys(actual: Mapping, expected: Mapping, where: tuple) -> Iterable:
    keys, wanted = set(actual), set(expected)
    if keys != wanted:
        raise _FailureError(
            AssertionError,
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {sorted(wanted - keys)}\n"
            f"Additional keys in the actual mapping: {sorted(keys - wanted)}",
            where,
        )
    with contextlib.suppress(TypeError):  # keys without an order come as they are
        return sorted(keys)
    return keys


def _comparison(actual: Any, expected: Any, options: _Options, where: tuple) -> _Comparison:
    for kind in (_of_none, _of_bools, _of_numbers, _of_tensors):
        found = kind(actual, expected, options, where)
        if found is not None:
            return found
    raise _FailureError(TypeError, f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.", where)


def _of_none(actual: Any, expected: Any, options: _Options, where: tuple) -> _Comparison | None:
    if actual is not None and expected is not None:
        return None

    def compare() -> None:
        if actual is not expected:
            raise _FailureError(AssertionError, f"None mismatch: {actual} is not {expected}", where)

    return compare


def _of_bools(actual: Any, expected: Any, options: _Options, where: tuple) -> _Comparison | None:
    if not (isinstance(actual, (bool, np.bool_)) and isinstance(expected, (bool, np.bool_))):
        return None

    def compare() -> None:
        if bool(actual) is not bool(expected):
            raise _FailureError(AssertionError, f"Booleans mismatch: {actual} is not {expected}", where)

    return compare


def _of_numbers(actual: Any, expected: Any, options: _Options, where: tuple) -> _Comparison | None:
    if not (_is_number(actual) and _is_number(expected)):
        return None
    left, right = [x.item() if isinstance(x, np.number) else x for x in (actual, expected)]
    rtol, atol = _tolerances([_NUMBERS[type(x)] for x in (left, right)], options, where)

    def compare() -> None:
        if options.check_dtype and type(left) is not type(right):
            raise _FailureError(AssertionError, f"The (d)types do not match: {type(left)} != {type(right)}.", where)
        if left == right or (options.equal_nan and cmath.isnan(left) and cmath.isnan(right)):
            return
        difference = abs(left - right)
        if not (cmath.isfinite(difference) and difference <= atol + rtol * abs(right)):
            raise _FailureError(AssertionError, _numbers_text("Scalars", left, right, rtol, atol), where)

    return compare


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, complex, np.number)) and not isinstance(x, bool)


def _tolerances(of: Sequence[Any], options: _Options, where: tuple) -> tuple[float, float]:
    rtol, atol = options.rtol, options.atol
    if rtol is None and atol is None:
        return default_tolerances(*of)
    if rtol is None or atol is None:
        missing = "rtol" if rtol is None else "atol"
        raise _FailureError(ValueError, f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.", where)
    return rtol, atol


# ---------------------------------------------------------------------------------------------------------------- tensors
def _of_tensors(actual: Any, expected: Any, options: _Options, where: tuple) -> _Comparison | None:
    if not (isinstance(actual, type(expected)) or isinstance(expected, type(actual))):
        return None
    if not options.allow_subclasses and type(actual) is not type(expected):
        return None
    try:
        left, right = [x if isinstance(x, Tensor) else as_tensor(x) for x in (actual, expected)]
    except Exception:  # whatever as_tensor raises: this is nothing that tensors are made of
        return None
    rtol, atol = _tolerances((left, right), options, where)

    def compare() -> None:
        _compare_attributes(left, right, options, where)
        if left.is_meta or right.is_meta:
            return
        for name, x, y, tolerances in _parts(left, right, rtol, atol, where):
            _compare_values(name, x, y, *tolerances, options.equal_nan, where)

    return compare


def _compare_attributes(actual: Tensor, expected: Tensor, options: _Options, where: tuple) -> None:
    def same(name: str, left: Any, right: Any) -> None:
        if left != right:
            raise _FailureError(AssertionError, f"The values for attribute '{name}' do not match: {left} != {right}.", where)

    same("shape", actual.shape, expected.shape)
    if options.check_layout:
        same("layout", actual.layout, expected.layout)
    if options.check_stride and actual.layout is expected.layout is strided:
        same("stride()", actual.stride(), expected.stride())
    if options.check_device:
        same("device", actual.device, expected.device)
    if options.check_dtype:
        same("dtype", actual.dtype, expected.dtype)


def _parts(actual: Tensor, expected: Tensor, rtol: float, atol: float, where: tuple) -> Iterable[tuple[str, Tensor, Tensor, tuple[float, float]]]:
    """(name in messages, actual, expected, (rtol, atol)) of what two tensors consist of: themselves, or a sparse tensor's indices and values."""
    if actual.layout is not expected.layout:
        actual, expected = [x if x.layout is strided else x.to_dense() for x in (actual, expected)]
    if actual.layout is strided:
        yield "Tensor-likes", actual, expected, (rtol, atol)
        return
    kind, indices, values = _sparse(actual.layout, where)

    def same(what: str, left: int, right: int) -> None:
        if left != right:
            raise _FailureError(AssertionError, f"The number of {what} in sparse {kind} tensors does not match: {left} != {right}", where)

    if kind == "COO":
        same("sparse dimensions", actual.sparse_dim(), expected.sparse_dim())
    same("specified values", actual._nnz(), expected._nnz())
    for method in indices:
        yield f"Sparse {kind} {method.removeprefix('_')}", getattr(actual, method)(), getattr(expected, method)(), (0.0, 0.0)
    yield f"Sparse {kind} values", getattr(actual, values)(), getattr(expected, values)(), (rtol, atol)


def _sparse(its: layout, where: tuple) -> tuple[str, tuple[str, ...], str]:
    found = _SPARSE.get(str(its))
    if found is None:
        raise _FailureError(ValueError, f"Unsupported tensor layout {its}", where)
    return found


def _compare_values(name: str, actual: Tensor, expected: Tensor, rtol: float, atol: float, equal_nan: bool, where: tuple) -> None:
    if actual.dtype is not expected.dtype:
        common = promote_types(*[dtypes.int64 if x.dtype in _WIDE_UNSIGNED else x.dtype for x in (actual, expected)])
    else:
        common = actual.dtype
    left, right = [host_array(x.detach(), "assert_close").astype(common.numpy) for x in (actual, expected)]
    is_small_float = common.is_floating_point and common.itemsize == 1
    if is_small_float and (rtol or atol):
        raise _FailureError(
            AssertionError,
            f"Rtol={rtol} and atol={atol} are not supported for bitwise comparison of low dimensional floats. Please use rtol=0.0 and atol=0.0.",
            where,
        )
    with np.errstate(all="ignore"):
        matches = _is_close(left, right, rtol, atol, equal_nan)
        if matches.all():
            return
        if not actual.shape:
            text = _numbers_text("Scalars" if name == "Tensor-likes" else name, left.item(), right.item(), rtol, atol)
        else:
            text = _arrays_text(name, left, right, matches, rtol, atol, is_small_float)
    raise _FailureError(AssertionError, text, where)


def _is_close(actual: np.ndarray, expected: np.ndarray, rtol: float, atol: float, equal_nan: bool) -> np.ndarray:
    """Where two arrays of one dtype are close; the tolerance is rounded as the dtype does it."""
    close = actual == expected
    if equal_nan and not np.issubdtype(actual.dtype, np.integer) and actual.dtype != bool:
        close = close | (np.isnan(actual) & np.isnan(expected))
    if rtol == 0 and atol == 0:
        return np.asarray(close)
    exact = actual.dtype.kind in "biu"
    scale = np.abs(expected.astype(get_default_dtype().numpy) if exact else expected)
    allowed = np.asarray(atol, scale.dtype) + np.abs(np.asarray(rtol, scale.dtype) * scale)
    difference = np.abs(actual ^ expected if actual.dtype == bool else actual - expected)
    return np.asarray(close | (np.isfinite(difference) & (difference <= allowed)))


# ---------------------------------------------------------------------------------------------------------------- messages
def _numbers_text(name: str, actual: Any, expected: Any, rtol: float, atol: float) -> str:
    difference = abs(actual - expected)
    relative = float("inf") if expected == 0 else difference / abs(expected)
    details = [f"Expected {expected} but got {actual}.", _difference("Absolute", difference, None, atol, rtol, atol)]
    return _text(name, rtol, atol, [*details, _difference("Relative", relative, None, rtol, rtol, atol)])


def _arrays_text(name: str, actual: np.ndarray, expected: np.ndarray, matches: np.ndarray, rtol: float, atol: float, bitwise: bool) -> str:
    wrong, count = int((~matches).sum()), matches.size
    details = [f"Mismatched elements: {wrong} / {count} ({wrong / count:.1%})"]
    if bitwise:
        first = tuple(int(k) for k in np.argwhere(~matches)[0])
        return f"{name} are not 'equal'!\n\n{details[0]}\nThe first mismatched element is at index {first}."
    if actual.dtype.kind in "biu":
        actual, expected = actual.astype(np.int64), expected.astype(np.int64)
    absolute = np.where(matches, 0, np.abs(actual - expected))
    size = np.abs(expected)
    if size.dtype.kind == "i":
        size = size.astype(get_default_dtype().numpy)
    relative = np.where(matches, 0, absolute.astype(size.dtype) / size)
    for kind, differences, tolerance in (("absolute", absolute, atol), ("relative", relative, rtol)):
        place = int(np.argmax(differences))
        index = tuple(int(k) for k in np.unravel_index(place, matches.shape))
        details.append(_difference(f"Greatest {kind}", differences.ravel()[place].item(), index, tolerance, rtol, atol))
    return _text(name, rtol, atol, details)


def _difference(kind: str, value: Any, index: tuple[int, ...] | None, tolerance: float, rtol: float, atol: float) -> str:
    place = "" if index is None else f" at index {index}"
    return f"{kind} difference: {value}{place}" + ("" if rtol == atol == 0 else f" (up to {tolerance} allowed)")


def _text(name: str, rtol: float, atol: float, details: Iterable[str]) -> str:
    return f"{name} are not {'equal' if rtol == atol == 0 else 'close'}!\n\n" + "\n".join(details)
