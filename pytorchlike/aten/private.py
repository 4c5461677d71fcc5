"""Functions of ``torch`` with a leading underscore that libraries call: parts of public operators, by torch's names.

They are compositions of the public operators; those that have other arguments only below ``torch.ops.aten`` are in `dispatched.py`.
"""

from __future__ import annotations

from typing import Any

from ..core import dtype as dtypes
from ..core.typeinfo import finfo
from ..dispatch.registry import FUNCTION, composite, lookup
from .constructors import tensor
from .weight_norm import norm_except_dim

_OPTIONAL_INDICES = "Tensor?[] indices"


def _function(schema: str) -> Any:
    return composite(schema, forms=FUNCTION)


# ---------------------------------------------------------------------------------------------------------------- assertions
@_function("_assert_async(Tensor self) -> ()")
def _assert_async(self):
    """Refuse a zero."""
    if not bool(self):
        raise RuntimeError("Expected Tensor with single nonzero value, but got zero")


@_function("_assert_async.msg(Tensor self, str assert_msg) -> ()")
def _assert_async_with_message(self, assert_msg):
    """Refuse a zero with this message."""
    if not bool(self):
        raise RuntimeError(assert_msg)


# ---------------------------------------------------------------------------------------------------------------- shapes
@_function("_shape_as_tensor(Tensor self) -> Tensor")
def _shape_as_tensor(self):
    """The size of each dimension."""
    return tensor(list(self.shape), dtype=dtypes.int64)


@_function("_reshape_from_tensor(Tensor self, Tensor shape) -> Tensor")
def _reshape_from_tensor(self, shape):
    """`reshape` to sizes that are a tensor (they are read)."""
    return self.reshape(shape.tolist())


@_function("_dim_arange(Tensor like, int dim) -> Tensor")
def _dim_arange(like, dim):
    """The positions along a dimension."""
    return lookup("arange")(like.shape[dim], device=like.device)


@_function("_stack(Tensor[] tensors, int dim=0) -> Tensor")
def _stack(tensors, dim):
    """`stack`."""
    return lookup("stack")(tensors, dim)


@_function("_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)")
def _unique(self, sorted, return_inverse):
    """The different elements, and where each element is among them (empty if not asked for)."""
    found, inverse, _ = lookup("_unique2")(self, sorted, return_inverse, False)
    return found, inverse


@_function(f"_unsafe_index(Tensor self, {_OPTIONAL_INDICES}) -> Tensor")
def _unsafe_index(self, indices):
    """``self[indices]``."""
    return lookup("index.Tensor")(self, indices)


@_function(f"_unsafe_index_put(Tensor self, {_OPTIONAL_INDICES}, Tensor values, bool accumulate=False) -> Tensor")
def _unsafe_index_put(self, indices, values, accumulate):
    """`index_put`."""
    return lookup("index_put.masks")(self, indices, values, accumulate)


@_function(f"_index_put_impl_(Tensor(a!) self, {_OPTIONAL_INDICES}, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor(a!)")
def _index_put_impl_(self, indices, values, accumulate, unsafe):
    """`index_put_`."""
    return self.index_put_(indices, values, accumulate)


# ---------------------------------------------------------------------------------------------------------------- dtypes
def _cast(name: str, dtype: dtypes.dtype) -> None:
    @_function(f"_cast_{name}(Tensor self, bool non_blocking=False) -> Tensor")
    def cast(self, non_blocking):
        return self.to(dtype)

    cast.body.__doc__ = cast.__doc__ = f"The tensor as {dtype}."


for _name, _dtype in (("Byte", dtypes.uint8), ("Char", dtypes.int8), ("Double", dtypes.float64), ("Float", dtypes.float32), ("Int", dtypes.int32),
                      ("Long", dtypes.int64), ("Short", dtypes.int16), ("Half", dtypes.float16)):  # fmt: skip
    _cast(_name, _dtype)


# ---------------------------------------------------------------------------------------------------------------- reductions
def _bool_only(name: str, reduction: str) -> None:
    @_function(f"{name}(Tensor self) -> Tensor")
    def reduced(self):
        if self.dtype is not dtypes.bool_:
            raise RuntimeError("self.scalar_type() == at::kBool INTERNAL ASSERT FAILED")
        return getattr(self, reduction)()

    reduced.body.__doc__ = reduced.__doc__ = f"`{reduction}` of a bool tensor."


_bool_only("_is_all_true", "all")
_bool_only("_is_any_true", "any")


@_function("_logcumsumexp(Tensor self, int dim) -> Tensor")
def _logcumsumexp(self, dim):
    """`logcumsumexp`."""
    return self.logcumsumexp(dim)


# ---------------------------------------------------------------------------------------------------------------- products
@_function("_int_mm(Tensor self, Tensor mat2) -> Tensor")
def _int_mm(self, mat2):
    """The product of matrices of 8-bit integers, in 32 bits.

    Raises:
        RuntimeError: another dtype.
    """
    for name, matrix in (("self", self), ("mat2", mat2)):
        if matrix.dtype not in (dtypes.int8, dtypes.uint8):
            kind = {"float32": "float", "float64": "double", "int32": "int", "int64": "long int"}.get(matrix.dtype.name, matrix.dtype.name)
            raise RuntimeError(f"int_mm_out_cpu: Expected {name} dtype to be int8 or uint8 but got {kind}")
    return self.to(dtypes.int32).mm(mat2.to(dtypes.int32))


@_function("_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, bool use_gelu=False) -> Tensor")
def _addmm_activation(self, mat1, mat2, *, beta=1, alpha=1, use_gelu=False):
    """`addmm` and relu, or gelu."""
    result = self.addmm(mat1, mat2, beta=beta, alpha=alpha)
    return lookup("gelu")(result) if use_gelu else result.relu()


@_function("_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor")
def _weight_int8pack_mm(self, mat2, scales):
    """The product with the transpose of a matrix of 8-bit integers, each row of which has a scale."""
    return self.mm(mat2.t().to(self.dtype)) * scales


@_function("_euclidean_dist(Tensor x1, Tensor x2) -> Tensor")
def _euclidean_dist(x1, x2):
    """The distances of all rows, `cdist`."""
    return lookup("cdist")(x1, x2)


@_function(
    "_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor"
)
def _trilinear(i1, i2, i3, expand1, expand2, expand3, sumdim, unroll_dim):
    """The product of three tensors, which get dimensions of size 1 first, summed over dimensions."""
    factors = []
    for factor, places in ((i1, expand1), (i2, expand2), (i3, expand3)):
        for place in sorted(places):
            factor = factor.unsqueeze(place)
        factors.append(factor)
    product = factors[0] * factors[1] * factors[2]
    return product.sum(tuple(sumdim)) if sumdim else product


_SETTINGS = "int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool benchmark, bool deterministic, bool cudnn_enabled"


def _declare_convolution(overload: str, last: str) -> None:
    @_function(f"_convolution{overload}(Tensor input, Tensor weight, Tensor? bias, {_SETTINGS}{last}) -> Tensor")
    def _convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, *flags):
        return lookup("convolution")(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)

    _convolution.body.__doc__ = _convolution.__doc__ = "`convolution`; the flags choose nothing."


_declare_convolution("", ", bool allow_tf32")
_declare_convolution(".deprecated", "")


# ---------------------------------------------------------------------------------------------------------------- softmax and attention
@_function("_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> Tensor")
def _masked_softmax(self, mask, dim, mask_type):
    """`softmax` without the elements where the mask is true."""
    if mask.dtype is not dtypes.bool_:
        raise RuntimeError("Mask should be a boolean tensor")
    return self.masked_fill(mask, -float("inf")).softmax(self.dim() - 1 if dim is None else dim)


@_function("_fused_sdp_choice(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, "
           "float? scale=None, bool enable_gqa=False) -> int")  # fmt: skip
def _fused_sdp_choice(query, key, value, attn_mask, dropout_p, is_causal, *, scale=None, enable_gqa=False):
    """The number of the backend: 0, as there is one only."""
    return 0


# ---------------------------------------------------------------------------------------------------------------- norms
def _legit(overload: str, statistics: str) -> None:
    @_function(f"_native_batch_norm_legit{overload}(Tensor input, Tensor? weight, Tensor? bias, {statistics}bool training, float momentum, float eps)"
               " -> (Tensor, Tensor, Tensor)")  # fmt: skip
    def with_statistics(input, weight, bias, *rest):
        mean, variance = rest[:-3] or (None, None)
        return lookup("native_batch_norm")(input, weight, bias, mean, variance, *rest[-3:])

    with_statistics.body.__doc__ = with_statistics.__doc__ = "`native_batch_norm`."


_legit("", "Tensor(a!) running_mean, Tensor(b!) running_var, ")
_legit(".no_stats", "")


@_function("_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, "
           "float eps) -> (Tensor, Tensor, Tensor)")  # fmt: skip
def _native_batch_norm_legit_no_training(input, weight, bias, running_mean, running_var, momentum, eps):
    """`native_batch_norm` with the running statistics."""
    return lookup("native_batch_norm")(input, weight, bias, running_mean, running_var, False, momentum, eps)


@_function("_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)")
def _fused_rms_norm(input, normalized_shape, weight, eps):
    """`rms_norm`, and the reciprocals of the roots that it divided by."""
    dims = tuple(range(-len(normalized_shape), 0))
    eps = finfo(input.dtype).eps if eps is None else eps
    scale = (input.square().mean(dims, True) + eps).rsqrt()
    return lookup("rms_norm")(input, normalized_shape, weight, eps), scale.detach()


@_function("_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)")
def _weight_norm_interface(v, g, dim):
    """`_weight_norm`, and the norms of ``v``."""
    return lookup("_weight_norm")(v, g, dim), norm_except_dim(v, 2, dim)


# ---------------------------------------------------------------------------------------------------------------- decompositions
@_function("_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)")
def _linalg_det(A):
    """`linalg.det`, and the factors."""
    return lookup("det")(A), *lookup("lu_factor")(A)


@_function("_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)")
def _linalg_slogdet(A):
    """`linalg.slogdet`, and the factors."""
    return *lookup("slogdet")(A), *lookup("lu_factor_ex")(A)[:2]


@_function(
    "_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)"
)
def _linalg_solve_ex(A, B, *, left=True, check_errors=False):
    """`linalg.solve_ex`, and the factors."""
    result, info = lookup("solve_ex")(A, B, left=left, check_errors=check_errors)
    return result, *lookup("lu_factor_ex")(A)[:2], info
