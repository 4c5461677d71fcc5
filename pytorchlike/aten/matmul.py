"""Products of vectors, matrices and batches of them.

float32 is multiplied at full precision on every device (no TF32, no bfloat16 passes); half precision is accumulated in float32.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.dims import wrap_dim
from ..dispatch.registry import ALL_FORMS, FUNCTION, METHOD, OUT, op
from .elementwise import rounding_to
from .reduce import is_integral, scalar_type, widened
from .shape import common_dtype

_FORMS = FUNCTION | METHOD | OUT
FULL = lax.Precision.HIGHEST

#: What the errors of mm call a dtype: its name in C++.
_CPP_NAMES = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long int",
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip


def accumulator(dtype):
    """The dtype in which a product of this dtype is accumulated."""
    return jnp.float32 if dtype.itemsize == 2 and jnp.issubdtype(dtype, jnp.floating) else dtype


def product(a, b):
    """``matmul`` of arrays of one dtype, in the dtype in which it accumulates (float32 for half precision)."""
    return jnp.matmul(a, b, precision=FULL, preferred_element_type=accumulator(a.dtype))


def multiply(a, b):
    """``matmul`` of arrays of one dtype."""
    return product(a, b).astype(a.dtype)


def contract(a, b, axes_a, axes_b):
    """The product summed over pairs of axes; the other axes of ``a``, then those of ``b``, remain."""
    dims = ((tuple(axes_a), tuple(axes_b)), ((), ()))
    return lax.dot_general(a, b, dims, precision=FULL, preferred_element_type=accumulator(a.dtype)).astype(a.dtype)


def adjoint(x):
    """The conjugate transpose of matrices."""
    return jnp.swapaxes(x, -2, -1).conj()


def _scaled(x, factor):
    """``x`` times a scalar argument, in the dtype of ``x``; nothing to do for the number 1."""
    if not hasattr(factor, "dtype"):
        return x if factor == 1 else x * factor
    return x * factor.astype(x.dtype)


def _combined(self, product, beta, alpha):
    """``beta * self + alpha * product``; with ``beta`` 0 not even NaN passes from ``self``."""
    start = _scaled(widened(self), beta)
    if hasattr(beta, "dtype"):
        start = jnp.where(beta == 0, 0, start)
    return jnp.broadcast_to(start + _scaled(product, alpha), product.shape).astype(self.dtype)


def _shape(x) -> str:
    return "x".join(map(str, x.shape))


def check_same_dtype_mm(a, b) -> None:
    """Refuse matrices of different dtypes, and boolean ones, with the texts of ``mm``."""
    if a.dtype != b.dtype:
        names = (_CPP_NAMES.get(np.dtype(x.dtype).name, str(x.dtype)) for x in (a, b))
        raise RuntimeError("expected m1 and m2 to have the same dtype, but got: " + " != ".join(names))
    if a.dtype == np.bool_:
        raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")


def _check_inner(a_rows: int, a_cols: int, b) -> None:
    if a_cols != b.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a_rows}x{a_cols} and {_shape(b)})")


def check_expandable(shape: tuple[int, ...], target: tuple[int, ...]) -> None:
    """Whether a tensor of one shape may be expanded to the other.

    Raises:
        RuntimeError: it may not, torch's text.
    """
    for back in range(1, len(shape) + 1):
        if back <= len(target) and shape[-back] not in (1, target[-back]):
            raise RuntimeError(
                f"The expanded size of the tensor ({target[-back]}) must match the existing size ({shape[-back]}) at non-singleton dimension "
                f"{len(target) - back}.  Target sizes: {list(target)}.  Tensor sizes: {list(shape)}"
            )
    if len(shape) > len(target):
        raise RuntimeError(
            f"expand(torch.FloatTensor{{{list(shape)}}}, size={list(target)}): the number of sizes provided ({len(target)}) must be greater or "
            f"equal to the number of dimensions in the tensor ({len(shape)})"
        )


# -------------------------------------------------------------------------------------------------------- matrix products


@op("mm(Tensor self, Tensor mat2) -> Tensor", forms=_FORMS)
def mm(self, mat2):
    """The product of two matrices."""
    return multiply(self, mat2)


@mm.grad("self")
def _(g, mat2):
    return multiply(g, adjoint(mat2))


@mm.grad("mat2")
def _(g, self):
    return multiply(adjoint(self), g)


@mm.check
def _(self, mat2):
    for name, x in (("self", self), ("mat2", mat2)):
        if x.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix")
    _check_inner(self.shape[0], self.shape[1], mat2)
    check_same_dtype_mm(self, mat2)


@op("bmm(Tensor self, Tensor mat2) -> Tensor", forms=_FORMS)
def bmm(self, mat2):
    """The products of two batches of matrices, one by one."""
    return multiply(self, mat2)


@bmm.grad("self")
def _(g, mat2):
    return multiply(g, adjoint(mat2))


@bmm.grad("mat2")
def _(g, self):
    return multiply(adjoint(self), g)


def _check_bmm(a, b) -> None:
    for name, x in (("batch1", a), ("batch2", b)):
        if x.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    expected = [a.shape[0], a.shape[2]]
    if expected != list(b.shape[:2]):
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: {expected} but got: {list(b.shape[:2])}.")
    _check_same_dtype(a, b)


def _check_same_dtype(a, b) -> None:
    if a.dtype != b.dtype:
        raise RuntimeError(f"expected scalar type {scalar_type(a.dtype)} but found {scalar_type(b.dtype)}")


@bmm.check
def _(self, mat2):
    _check_bmm(self, mat2)


@op("matmul(Tensor self, Tensor other) -> Tensor", forms=_FORMS, namespaces=("", "linalg"))
def matmul(self, other):
    """The product of vectors, matrices or broadcast batches of matrices.

    Grad: a matrix that meets a batch gets its gradient in one product over the batch, without a copy of it for each element.
    """
    return multiply(self, other)


def _as_matrices(g, a_ndim: int, b_ndim: int):
    """The gradient with the dimension of size 1 that a vector on the left or right took away."""
    if b_ndim == 1:
        g = g[..., None]
    return g[..., None, :] if a_ndim == 1 else g


@matmul.grad("self")
def _(g, self_meta, other):
    g = _as_matrices(g, self_meta.ndim, other.ndim)
    other = other[:, None] if other.ndim == 1 else other
    if self_meta.ndim <= 2 and other.ndim > 2:
        summed = (*range(other.ndim - 2), other.ndim - 1)
        out = contract(g, other.conj(), summed, summed)
    else:
        out = multiply(g, adjoint(other))
    return out.reshape(out.shape[-1:]) if self_meta.ndim == 1 else out


@matmul.grad("other")
def _(g, self, other_meta):
    g = _as_matrices(g, self.ndim, other_meta.ndim)
    self = self[None] if self.ndim == 1 else self
    if other_meta.ndim <= 2 and self.ndim > 2:
        summed = tuple(range(self.ndim - 1))
        out = contract(self.conj(), g, summed, summed)
    else:
        out = multiply(adjoint(self), g)
    return out.reshape(out.shape[:1]) if other_meta.ndim == 1 else out


def _check_mv(mat, vec) -> None:
    if mat.shape[1] != vec.shape[0]:
        raise RuntimeError(f"size mismatch, got input ({mat.shape[0]}), mat ({_shape(mat)}), vec ({vec.shape[0]})")
    if mat.dtype != vec.dtype:
        names = [scalar_type(x.dtype) for x in (vec, mat, vec)]
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {names[0]}, {names[1]}, and {names[2]}")


def _check_dot(self, tensor) -> None:
    if self.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {self.ndim}D and {tensor.ndim}D tensors")
    if self.dtype != tensor.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {scalar_type(self.dtype)} and {scalar_type(tensor.dtype)}"
        )
    if self.shape != tensor.shape:
        n, m = self.shape[0], tensor.shape[0]
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number of elements, but got {n} and {m} elements "
            "respectively"
        )
    if self.dtype == np.bool_:
        raise NotImplementedError("\"dot\" not implemented for 'Bool'")


class _Shaped:
    """What a check sees of a tensor after a reshape."""

    def __init__(self, shape: tuple[int, ...], dtype) -> None:
        self.shape, self.dtype, self.ndim = tuple(shape), dtype, len(shape)


def _rows(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape[:-1], dtype=np.int64))


@matmul.check
def _(self, other):
    a, b = self.ndim, other.ndim
    if a == 0 or b == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D")
    if b == 1:
        if a == 1:
            _check_dot(self, other)
        else:
            _check_mv(_Shaped((_rows(self.shape), self.shape[-1]), self.dtype), other)
    elif b == 2:
        _check_inner(_rows(self.shape), self.shape[-1], other)
        check_same_dtype_mm(self, other)
    else:
        left = self.shape[-2] if a > 1 else 1
        batch = check_broadcast(self.shape[:-2], other.shape[:-2])
        whole = int(np.prod(batch, dtype=np.int64))
        _check_bmm(_Shaped((whole, left, self.shape[-1]), self.dtype), _Shaped((whole, *other.shape[-2:]), other.dtype))


def check_broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape two shapes broadcast to.

    Raises:
        RuntimeError: they do not, torch's text.
    """
    ndim = max(len(a), len(b))
    padded = [(1,) * (ndim - len(s)) + tuple(s) for s in (a, b)]
    for dim in reversed(range(ndim)):
        x, y = padded[0][dim], padded[1][dim]
        if x != y and 1 not in (x, y):
            raise RuntimeError(f"The size of tensor a ({x}) must match the size of tensor b ({y}) at non-singleton dimension {dim}")
    return tuple(y if x == 1 else x for x, y in zip(*padded))


@op("mv(Tensor self, Tensor vec) -> Tensor", forms=_FORMS)
def mv(self, vec):
    """The product of a matrix and a vector."""
    return multiply(self, vec)


@mv.grad("self")
def _(g, vec):
    return g[:, None] * vec.conj()


@mv.grad("vec")
def _(g, self):
    return multiply(g, self.conj())


@mv.check
def _(self, vec):
    if self.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {self.ndim}, {vec.ndim}")
    _check_mv(self, vec)


@op("dot(Tensor self, Tensor tensor) -> Tensor", forms=_FORMS)
def dot(self, tensor):
    """The sum of the products of two vectors (without a conjugate)."""
    return multiply(self, tensor)


@dot.grad("self")
def _(g, tensor):
    return g * tensor.conj()


@dot.grad("tensor")
def _(g, self):
    return g * self.conj()


@dot.check
def _(self, tensor):
    _check_dot(self, tensor)


@op("vdot(Tensor self, Tensor other) -> Tensor", forms=_FORMS)
def vdot(self, other):
    """The sum of the products of two vectors, the first one conjugated."""
    return multiply(self.conj(), other)


@vdot.grad("self")
def _(g, other):
    return g.conj() * other


@vdot.grad("other")
def _(g, self):
    return g * self


@vdot.check
def _(self, other):
    _check_dot(self, other)


@op("inner(Tensor self, Tensor other) -> Tensor", forms=_FORMS)
def inner(self, other):
    """Products summed over the last dimension of both; a 0-d tensor scales the other one."""
    if self.ndim == 0 or other.ndim == 0:
        return self * other
    return contract(self, other, (self.ndim - 1,), (other.ndim - 1,))


@inner.check
def _(self, other):
    if self.ndim and other.ndim:
        if self.dtype != other.dtype:
            raise RuntimeError("both inputs should have same dtype")
        if self.shape[-1] != other.shape[-1]:
            raise RuntimeError(
                f"inner() the last dimension must match on both input tensors but got shapes {list(self.shape)} and {list(other.shape)}"
            )


def _outer(a, b):
    kind = common_dtype([a, b])
    return a.astype(kind)[:, None] * b.astype(kind)


@op("outer(Tensor self, Tensor vec2) -> Tensor", forms=_FORMS)
def outer(self, vec2):
    """The product of each element of one vector with each one of the other, in their common dtype."""
    return _outer(self, vec2)


@op("ger(Tensor self, Tensor vec2) -> Tensor", forms=_FORMS)
def ger(self, vec2):
    """`outer` under its older name."""
    return _outer(self, vec2)


@outer.grad("self")
@ger.grad("self")
def _(g, vec2):
    return multiply(g, vec2.astype(g.dtype).conj())


@outer.grad("vec2")
@ger.grad("vec2")
def _(g, self):
    return multiply(self.astype(g.dtype).conj(), g)


@outer.check
@ger.check
def _(self, vec2):
    for name, x in (("self", self), ("vec2", vec2)):
        if x.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {x.ndim}-D")


# ------------------------------------------------------------------------------------------------- products added to something


@op("addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", forms=ALL_FORMS)
def addmm(self, mat1, mat2, beta, alpha):
    """``beta * self + alpha * (mat1 @ mat2)``; with ``beta`` 0 the values of ``self`` do not matter, NaN included."""
    return _combined(self, product(mat1, mat2), beta, alpha)


@addmm.grad("mat1")
def _(g, mat2, alpha):
    return _scaled(multiply(g, adjoint(mat2)), _conj(alpha))


@addmm.grad("mat2")
def _(g, mat1, alpha):
    return _scaled(multiply(adjoint(mat1), g), _conj(alpha))


def _conj(factor):
    return factor.conjugate() if isinstance(factor, complex) else jnp.conj(factor) if hasattr(factor, "dtype") else factor


def _check_addmm(self, mat1, mat2) -> None:
    for name, x in (("mat1", mat1), ("mat2", mat2)):
        if x.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {x.ndim}-D tensor")
    _check_inner(mat1.shape[0], mat1.shape[1], mat2)
    check_expandable(self.shape, (mat1.shape[0], mat2.shape[1]))
    if self.dtype != mat2.dtype:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {scalar_type(self.dtype)} and {scalar_type(mat2.dtype)}")
    check_same_dtype_mm(mat1, mat2)


@addmm.check
def _(self, mat1, mat2, beta, alpha):
    _check_addmm(self, mat1, mat2)


@op("addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor", forms=ALL_FORMS)
def addmv(self, mat, vec, beta, alpha):
    """``beta * self + alpha * (mat @ vec)``."""
    return _combined(self, product(mat, vec), beta, alpha)


@addmv.grad("mat")
def _(g, vec, alpha):
    return _scaled(g, _conj(alpha))[:, None] * vec.conj()


@addmv.grad("vec")
def _(g, mat, alpha):
    return _scaled(multiply(g, mat.conj()), _conj(alpha))


@addmv.check
def _(self, mat, vec, beta, alpha):
    if mat.ndim != 2 or vec.ndim != 1 or self.ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {self.ndim}, {mat.ndim}, {vec.ndim}")
    if mat.shape[1] != vec.shape[0] or (self.ndim and self.shape[0] not in (1, mat.shape[0])):
        size = self.shape[0] if self.ndim and self.shape[0] != 1 else mat.shape[0]
        raise RuntimeError(f"size mismatch, got input ({size}), mat ({_shape(mat)}), vec ({vec.shape[0]})")
    if not self.dtype == mat.dtype == vec.dtype:
        names = [scalar_type(x.dtype) for x in (self, mat, vec)]
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {names[0]}, {names[1]}, and {names[2]}")


@op("baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", forms=ALL_FORMS)
def baddbmm(self, batch1, batch2, beta, alpha):
    """``beta * self + alpha * bmm(batch1, batch2)``."""
    return _combined(self, product(batch1, batch2), beta, alpha)


@baddbmm.grad("batch1")
def _(g, batch2, alpha):
    return _scaled(multiply(g, adjoint(batch2)), _conj(alpha))


@baddbmm.grad("batch2")
def _(g, batch1, alpha):
    return _scaled(multiply(adjoint(batch1), g), _conj(alpha))


@op("addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", forms=ALL_FORMS)
def addbmm(self, batch1, batch2, beta, alpha):
    """``beta * self`` plus ``alpha`` times the sum of the products of a batch."""
    return _combined(self, widened(jnp.einsum("bij,bjk->ik", batch1, batch2, precision=FULL)), beta, alpha)


@addbmm.grad("batch1")
def _(g, batch2, alpha):
    return _scaled(multiply(g, adjoint(batch2)), _conj(alpha))


@addbmm.grad("batch2")
def _(g, batch1, alpha):
    return _scaled(multiply(adjoint(batch1), g), _conj(alpha))


@addmm.grad("self")
@addmv.grad("self")
@baddbmm.grad("self")
@addbmm.grad("self")
def _(g, beta):
    return _scaled(g, _conj(beta))


def _check_batches(self, batch1, batch2, target: tuple[int, ...]) -> None:
    check_expandable(self.shape, target)
    _check_bmm(batch1, batch2)
    if self.dtype != batch1.dtype:
        raise RuntimeError(f"Input dtypes must be the same, got: input {self.dtype}, batch1: {batch1.dtype}, batch2: {batch2.dtype}")


@baddbmm.check
def _(self, batch1, batch2, beta, alpha):
    for x in (batch1, batch2):
        wrap_dim(2, x.ndim)
    _check_batches(self, batch1, batch2, (*batch1.shape[:2], batch2.shape[2]))


@addbmm.check
def _(self, batch1, batch2, beta, alpha):
    for x in (batch1, batch2):
        wrap_dim(2, x.ndim)
    _check_batches(self, batch1, batch2, (batch1.shape[1], batch2.shape[2]))


@op("addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", forms=ALL_FORMS)
def addr(self, vec1, vec2, beta, alpha):
    """``beta * self + alpha * outer(vec1, vec2)``."""
    kind = common_dtype([self, vec1, vec2])
    if kind.itemsize <= 2 and jnp.issubdtype(kind, jnp.floating):  # torch rounds every step
        rounded = rounding_to(kind)
        factors, start = [rounded(f) for f in (beta, alpha)], widened(self.astype(kind))
        product = _outer(rounded(factors[1] * widened(vec1.astype(kind))), widened(vec2.astype(kind)))
        return jnp.where(factors[0] == 0, product, rounded(factors[0] * start) + rounded(product)).astype(kind)
    return _combined(self.astype(kind), _outer(vec1.astype(kind), vec2.astype(kind)), beta, alpha)


@addr.check
def _(self, vec1, vec2, beta, alpha):
    for name, x in (("vec1", vec1), ("vec2", vec2)):
        if x.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {x.ndim}-D")
    check_expandable(self.shape, (vec1.shape[0], vec2.shape[0]))
    for argument, factor in (("beta", beta), ("alpha", alpha)):
        floating = isinstance(factor, float) or (hasattr(factor, "dtype") and not is_integral(factor.dtype))
        if floating and is_integral(self.dtype):
            raise RuntimeError(f"For integral input tensors, argument {argument} must not be a floating point number.")


# ------------------------------------------------------------------------------------------------------------------ layers


@op("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", namespaces=("nn.functional",), forms=FUNCTION | OUT)
def linear(input, weight, bias):
    """``input @ weight.T + bias`` over the last dimension of ``input``."""
    out = contract_wide(input, weight)
    return (out if bias is None else out + widened(bias)).astype(input.dtype)


def contract_wide(input, weight):
    """The product over the last dimensions of both, in the dtype in which it accumulates."""
    dims = (((input.ndim - 1,), (weight.ndim - 1,)), ((), ()))
    return lax.dot_general(input, weight, dims, precision=FULL, preferred_element_type=accumulator(input.dtype))


@linear.grad("input")
def _(g, weight):
    return g[..., None] * weight.conj() if weight.ndim == 1 else multiply(g, weight.conj())


@linear.grad("weight")
def _(g, input, weight_meta):
    summed = tuple(range(input.ndim - 1))
    return contract(g, input.conj(), summed, summed)


@linear.grad("bias")
def _(g):
    return g


@linear.check
def _(input, weight, bias):
    if weight.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D")
    if input.ndim == 0 or weight.ndim == 0:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D")
    if weight.ndim == 1:
        if input.ndim == 1:
            _check_dot(input, weight)
        else:
            _check_mv(_Shaped((_rows(input.shape), input.shape[-1]), input.dtype), weight)
        return
    rows, turned = _rows(input.shape), _Shaped(weight.shape[::-1], weight.dtype)
    if bias is None:
        _check_inner(rows, input.shape[-1], turned)
        check_same_dtype_mm(input, weight)
    else:
        _check_addmm(bias, _Shaped((rows, input.shape[-1]), input.dtype), turned)
