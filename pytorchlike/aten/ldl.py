"""LDL factorizations of symmetric and Hermitian matrices that need not be definite: LAPACK's, by SciPy on the host, as JAX has none."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..core.lazy import LazyModule
from ..dispatch.bind import column_major
from ..dispatch.registry import FUNCTION, OUT, op
from .elementwise import not_implemented
from .host_calls import calls_host, on_host
from .linalg import check_inexact, check_matrices
from .reduce import is_complex, is_integral, scalar_type

lapack = LazyModule("scipy.linalg.lapack")

_FORMS = FUNCTION | OUT


def _routine(name: str, dtype, hermitian: bool):
    """LAPACK's routine: ``?sytrf`` or, for complex Hermitian matrices, ``?hetrf``."""
    kind = "he" if hermitian and is_complex(dtype) else "sy"
    return getattr(lapack, {"f": "s", "d": "d", "F": "c", "D": "z"}[np.dtype(dtype).char] + kind + name)


def _factor_each(x: np.ndarray, hermitian: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    packed, pivots, verdicts = np.zeros_like(x), np.zeros(x.shape[:-1], np.int32), np.zeros(x.shape[:-2], np.int32)
    if x.shape[-1]:
        for at in np.ndindex(x.shape[:-2]):
            found, pivots[at], verdicts[at] = _routine("trf", x.dtype, hermitian)(x[at], lower=1)
            packed[at] = np.tril(found)
    return packed, pivots, verdicts


def _factor(x, hermitian: bool):
    """The factors of the matrices whose lower triangles are given, packed into one, the exchanges, and LAPACK's verdicts."""
    if isinstance(x, np.ndarray):
        return _factor_each(x, hermitian)
    shapes = (x, jax.ShapeDtypeStruct(x.shape[:-1], np.int32), jax.ShapeDtypeStruct(x.shape[:-2], np.int32))
    return on_host(lambda a: _factor_each(np.asarray(a), hermitian), shapes, x)


def _check(self) -> None:
    check_matrices("torch.linalg.ldl_factor_ex", self, square=True)
    check_inexact("torch.linalg.ldl_factor_ex", self)
    if self.dtype.itemsize == 2:
        raise not_implemented("ldl_factor_kernel_cpu", self)


def _no_derivative(g):
    raise RuntimeError("derivative for aten::linalg_ldl_factor_ex is not implemented")


@calls_host
@op(
    "ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)",
    forms=_FORMS, namespaces=("linalg",),
)  # fmt: skip
def ldl_factor_ex(self, hermitian, check_errors):
    """L (below the diagonal) and D of the matrices whose lower triangles are given, the exchanges, and the number of a zero block in D (0: none)."""
    return _factor(self, hermitian)


@calls_host
@op("ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)", forms=_FORMS, namespaces=("linalg",))
def ldl_factor(self, hermitian):
    """`ldl_factor_ex` without the verdict; a matrix with a zero block in D is refused."""
    return _factor(self, hermitian)[:2]


ldl_factor.grad("self")(_no_derivative)
ldl_factor_ex.grad("self")(_no_derivative)


@ldl_factor.check
def _(self, hermitian):
    _check(self)


@ldl_factor_ex.check
def _(self, hermitian, check_errors):
    _check(self)


_UNKNOWN = "torch.linalg.{}: Unknown error code: {{}}."


@ldl_factor.data_check(RuntimeError, _UNKNOWN.format("ldl_factor"))
def _(self, hermitian):
    verdict = _factor(self, hermitian)[2]
    return verdict != 0, verdict


@ldl_factor_ex.data_check(RuntimeError, _UNKNOWN.format("ldl_factor_ex"))
def _(self, hermitian, check_errors):
    if not check_errors:
        return False
    verdict = _factor(self, hermitian)[2]
    return verdict != 0, verdict


# ---------------------------------------------------------------------------------------------------------------------------- solve
def _solve(packed, pivots, b, hermitian: bool):
    """The solutions; linear in ``b``, with a transpose that JAX is told."""

    def each(packed, pivots, b):
        found = np.empty_like(b)
        for at in np.ndindex(b.shape[:-2]):
            found[at] = _routine("trs", b.dtype, hermitian)(packed[at], pivots[at], b[at], lower=1)[0]
        return found

    def solve(factors, b):
        return on_host(lambda *arrays: each(*map(np.asarray, arrays)), b, *factors, b)

    def solve_transposed(factors, b):
        return solve(factors, b.conj()).conj() if hermitian else solve(factors, b)

    return jax.custom_derivatives.linear_call(solve, solve_transposed, (packed, pivots), b)


@calls_host
@op("ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor", forms=_FORMS, namespaces=("linalg",))
def ldl_solve(LD, pivots, B, hermitian):
    """The solutions of systems given by the results of `ldl_factor`.  Grad: for ``B`` only."""
    batch = jnp.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    packed, B = (jnp.broadcast_to(x, batch + x.shape[-2:]) for x in (LD, B))
    if B.size == 0:
        return B
    return _solve(packed, jnp.broadcast_to(pivots, batch + pivots.shape[-1:]).astype(jnp.int32), B, hermitian)


@ldl_solve.grad("LD")
def _(LD_meta):
    return jnp.zeros(LD_meta.shape, LD_meta.dtype)


@ldl_solve.grad("B")
def _(g, LD, pivots, hermitian):
    packed, pivots = jnp.broadcast_to(LD, g.shape[:-2] + LD.shape[-2:]), jnp.broadcast_to(pivots, g.shape[:-2] + pivots.shape[-1:])
    solution = _solve(packed, pivots.astype(jnp.int32), g if hermitian else g.conj(), hermitian)
    return solution if hermitian else solution.conj()


@ldl_solve.check
def _(LD, pivots, B, hermitian):
    name = "torch.linalg.ldl_solve"
    check_matrices(name, LD, square=True)
    check_inexact(name, LD)
    if B.ndim < 2:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-max(B.ndim, 1)}, {max(B.ndim, 1) - 1}], but got -2)")
    if LD.dtype != B.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {scalar_type(B.dtype)} and A of type {scalar_type(LD.dtype)} instead."
        )
    if LD.shape[-1] != B.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {LD.shape[-1]} by {LD.shape[-1]} but each b matrix is {B.shape[-2]} by "
            f"{B.shape[-1]}"
        )
    if LD.shape[:-1] != pivots.shape:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape {list(pivots.shape)} instead"
        )
    if not is_integral(pivots.dtype):
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {scalar_type(pivots.dtype)}")


column_major |= {"ldl_factor": (0,), "ldl_factor_ex": (0,), "ldl_solve": (0,)}
