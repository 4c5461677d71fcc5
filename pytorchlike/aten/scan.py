"""Cumulative operators, differences of neighbours, and the trapezoid rule."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.dims import wrap_dim
from ..dispatch.registry import ALL_FORMS, FUNCTION, METHOD, OUT, op
from .pairwise import log_add_exp
from .reduce import is_complex, is_integral, scalar_type, widened

_FORMS = FUNCTION | METHOD | OUT


def _kind(self, dtype):
    return dtype.numpy if dtype is not None else np.dtype(np.int64) if is_integral(self.dtype) else self.dtype


#: From this many lanes on, running sums are taken one step after the other on the CPU.
_MANY_LANES = 32


def _running_sum(x, axis: int, reverse: bool = False):
    """Running sums; on the CPU step by step over many lanes at once (1024x1024: 1.5 ms along rows, 0.2 ms along columns; `lax.cumsum` 3.2 and 6.7 ms)."""

    def step_by_step(x):
        rows = jnp.moveaxis(x, axis, 0)
        _, sums = lax.scan(lambda total, row: (total + row,) * 2, jnp.zeros(rows.shape[1:], x.dtype), rows, reverse=reverse)
        return jnp.moveaxis(sums, 0, axis)

    def at_once(x):
        return lax.cumsum(x, axis, reverse=reverse)

    wide = widened(x)
    many = x.shape[axis] >= _MANY_LANES and x.size >= _MANY_LANES * x.shape[axis]
    return (lax.platform_dependent(wide, cpu=step_by_step, default=at_once) if many else at_once(wide)).astype(x.dtype)


@op("cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", forms=ALL_FORMS)
def cumsum(self, dim, dtype):
    """The sums of each element and those before it; integers and bool as int64."""
    axis = wrap_dim(dim, self.ndim)
    x = self.astype(_kind(self, dtype))
    return _running_sum(x, axis) if self.ndim else x


@cumsum.grad("self")
def _(g, dim):
    return _running_sum(g, wrap_dim(dim, g.ndim), reverse=True) if g.ndim else g


@op("cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", forms=ALL_FORMS)
def cumprod(self, dim, dtype):
    """The products of each element and those before it; integers and bool as int64."""
    axis = wrap_dim(dim, self.ndim)
    kind = _kind(self, dtype)
    return lax.cumprod(widened(self.astype(kind)), axis).astype(kind) if self.ndim else self.astype(kind)


@op("logcumsumexp(Tensor self, int dim) -> Tensor", forms=_FORMS)
def logcumsumexp(self, dim):
    """The logarithms of the running sums of exponentials, without overflow."""
    axis = wrap_dim(dim, self.ndim)
    if self.size == 0 or self.ndim == 0:
        return self
    if is_complex(self.dtype):  # the turns of the imaginary part depend on the order
        first, *_ = rows = jnp.moveaxis(self, axis, 0)

        def step(total, row):
            total = log_add_exp(row, total)
            return total, total

        _, totals = lax.scan(step, first, rows[1:])
        return jnp.moveaxis(jnp.concatenate([first[None], totals]), 0, axis)
    return lax.associative_scan(jnp.logaddexp, widened(self), axis=axis).astype(self.dtype)


@logcumsumexp.check
def _(self, dim):
    wrap_dim(dim, self.ndim)
    if is_integral(self.dtype):
        raise NotImplementedError(f"\"logcumsumexp_out_cpu\" not implemented for '{scalar_type(self.dtype)}'")


def _running_extremum(x, dim: int, largest: bool):
    """Running extremum and the last index at which it was reached; from the first NaN on, NaN."""
    axis = wrap_dim(dim, x.ndim)
    if x.ndim == 0 or x.size == 0:
        return x, jnp.zeros(x.shape, np.int64)
    run = lax.cummax if largest else lax.cummin
    values = run(x.astype(np.uint8), axis).astype(bool) if x.dtype == np.bool_ else run(x, axis)
    reached = jnp.logical_or(x == values, jnp.isnan(x))
    return values, lax.cummax(jnp.where(reached, lax.broadcasted_iota(np.int64, x.shape, axis), 0), axis)


def add_at_indices(g, indices, shape, axis: int):
    """Zeros of a shape with ``g`` added at the indices along one axis: the gradient of a gather."""
    places = [lax.broadcasted_iota(np.int64, g.shape, a) for a in range(g.ndim)]
    places[axis] = indices
    return jnp.zeros(shape, g.dtype).at[tuple(places)].add(g)


def _declare_running_extremum(name: str, largest: bool) -> None:
    @op(f"{name}(Tensor self, int dim) -> (Tensor values, Tensor indices)", forms=_FORMS)
    def running(self, dim):
        return _running_extremum(self, dim, largest)

    running.__doc__ = (
        f"The {'largest' if largest else 'smallest'} element so far and the index at which it was last reached; NaN once there is one."
    )

    @running.grad("self")
    def _(g, self_meta, result1, dim):
        if self_meta.ndim == 0:
            return g[0]
        return add_at_indices(g[0], result1, self_meta.shape, wrap_dim(dim, self_meta.ndim))

    @running.check
    def _(self, dim):
        wrap_dim(dim, self.ndim)
        if is_complex(self.dtype):
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{scalar_type(self.dtype)}'")


_declare_running_extremum("cummax", True)
_declare_running_extremum("cummin", False)


@op("diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor", forms=_FORMS)
def diff(self, n, dim, prepend, append):
    """Differences of neighbours, taken ``n`` times; bool elements are compared for inequality."""
    axis = wrap_dim(dim, self.ndim)
    parts = [x for x in (prepend, self, append) if x is not None]
    kind = jnp.result_type(*(x.dtype for x in parts))
    x = jnp.concatenate([part.astype(kind) for part in parts], axis) if len(parts) > 1 else self
    for _ in range(min(n, x.shape[axis])):
        after, before = (lax.slice_in_dim(x, start, start + max(x.shape[axis] - 1, 0), axis=axis) for start in (1, 0))
        x = after != before if kind == np.bool_ else after - before
    return x


@diff.check
def _(self, n, dim, prepend, append):
    if self.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = wrap_dim(dim, self.ndim)
    for x in (prepend, append):
        if x is None:
            continue
        if x.ndim != self.ndim:
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        for d in range(self.ndim):
            if d != axis and x.shape[d] != self.shape[d]:
                raise RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of input except along the differencing dimension; "
                    f"input.size({d}) = {self.shape[d]}, but got tensor.size({d}) = {x.shape[d]}"
                )


# ------------------------------------------------------------------------------------------------------------ trapezoid rule


def _areas(y, dim: int, width):
    """Twice the areas under neighbouring points; ``width`` is a number, or the points' positions along the last dimension."""
    axis = wrap_dim(dim, y.ndim)
    y = jnp.moveaxis(y, axis, -1)
    if is_integral(y.dtype):
        y = y.astype(jnp.float32)
    if getattr(width, "ndim", 0):
        x = width if width.ndim == 1 else jnp.moveaxis(width, axis if width.ndim == y.ndim else wrap_dim(dim, width.ndim), -1)
        width = (x[..., 1:] - x[..., :-1]).astype(jnp.promote_types(x.dtype, y.dtype))
    elif hasattr(width, "dtype"):
        width = width.astype(y.dtype)
    return (y[..., 1:] + y[..., :-1]) * width


def _check_trapezoid(name: str, y, dim: int, x=None) -> None:
    if y.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    wrap_dim(dim, y.ndim)
    for label, array in (("y", y), ("x", x)):
        if array is not None and array.dtype == np.bool_:
            raise RuntimeError(f"{name}: received a bool input for `{label}`, but bool is not supported")
    if x is not None and x.ndim == 1 and x.shape[0] != y.shape[wrap_dim(dim, y.ndim)]:
        raise RuntimeError(f"{name}: There must be one `x` value for each sample point")


def _declare_trapezoid(name: str, cumulative: bool) -> None:
    def finish(areas, dim: int):
        if not cumulative:
            return jnp.sum(areas, axis=-1) / 2
        return jnp.moveaxis(jnp.cumsum(areas, axis=-1) / 2, -1, wrap_dim(dim, areas.ndim))

    @op(f"{name}.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", forms=FUNCTION)
    def over_points(y, x, dim):
        return finish(_areas(y, dim, x), dim)

    @op(f"{name}.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", forms=FUNCTION)
    def over_steps(y, dx, dim):
        return finish(_areas(y, dim, dx), dim)

    text = "The integral by the trapezoid rule, up to each point" if cumulative else "The integral by the trapezoid rule"
    over_points.__doc__ = f"{text}, of values at the positions ``x``."
    over_steps.__doc__ = f"{text}, of values ``dx`` apart."

    @over_points.check
    def _(y, x, dim):
        _check_trapezoid(name, y, dim, x)

    @over_steps.check
    def _(y, dx, dim):
        _check_trapezoid(name, y, dim)


_declare_trapezoid("trapezoid", False)
_declare_trapezoid("trapz", False)
_declare_trapezoid("cumulative_trapezoid", True)
