"""Covariances and correlations of variables, and derivatives of sampled functions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from ..core.dims import wrap_dim, wrap_dims
from ..dispatch.registry import FUNCTION, Promote, composite, op
from ..tensors.tensor import Tensor
from .elementwise import rounded_once
from .reduce import is_complex, is_integral, scalar_type
from .shape import cat

# ----------------------------------------------------------------------------------------------------------------------- covariance


def _weights(fweights, aweights):
    """The product of the two kinds of weights; None where there is neither."""
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return fweights * aweights


def _covariance(x, correction, fweights, aweights):
    rows = x.reshape(1, -1) if x.ndim < 2 else x
    weights = _weights(fweights, aweights)
    total = rows.shape[1] if weights is None else jnp.sum(weights)
    weighted = rows if weights is None else rows * weights
    rows = rows - jnp.sum(weighted, 1, keepdims=True) / total
    if aweights is not None and correction:
        freedom = total - correction * jnp.sum(weights * aweights) / total
    else:
        freedom = total - correction
    freedom = jnp.maximum(jnp.asarray(freedom), 0).astype(rows.real.dtype)
    product = rows @ (rows if weights is None else rows * weights).T.conj()
    return jnp.squeeze(product / freedom)


@op("cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor", promote=Promote.INT_TO_FLOAT, promoted=("self",))
@rounded_once
def cov(self, correction, fweights, aweights):
    """The covariance matrix of variables (rows) from observations (columns).

    Args:
        correction: what is taken off the number of observations before dividing by it.
        fweights: how often each observation counts.
        aweights: how much each observation weighs.
    """
    return _covariance(self, correction, fweights, aweights)


def _check_variables(name: str, x) -> None:
    if x.ndim > 2:
        raise RuntimeError(f"{name}(): expected input to have two or fewer dimensions but got an input with {x.ndim} dimensions")
    if x.dtype == bool:
        raise RuntimeError("cov(): bool dtype is not supported for input")


def _is_floating(kind):
    return jnp.issubdtype(kind, jnp.floating)


@cov.check
def _(self, correction, fweights, aweights):
    _check_variables("cov", self)
    count = self.shape[-1] if self.ndim else 1
    for name, weights, kind, fits in (("fweights", fweights, "integral", is_integral), ("aweights", aweights, "floating point", _is_floating)):
        if weights is None:
            continue
        if weights.ndim > 1:
            raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.ndim} dimensions")
        if not fits(weights.dtype):
            raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {name} with {scalar_type(weights.dtype)} dtype")
        own = weights.shape[0] if weights.ndim else 1
        if own != count:
            raise RuntimeError(f"cov(): expected {name} to have the same numel as there are observations in the input but got {own} != {count}")
    if fweights is None and aweights is None and count - correction <= 0:
        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.", UserWarning, stacklevel=2
        )


@cov.data_check(RuntimeError, "cov(): fweights cannot be negative")
def _(fweights):
    return jnp.bool_(False) if fweights is None else jnp.any(fweights < 0)


@cov.data_check(RuntimeError, "cov(): aweights cannot be negative")
def _(aweights):
    return jnp.bool_(False) if aweights is None else jnp.any(aweights < 0)


@cov.data_check(RuntimeError, "cov(): weights sum to zero, can't be normalized")
def _(fweights, aweights):
    weights = _weights(fweights, aweights)
    return jnp.bool_(False) if weights is None else jnp.sum(weights) == 0


def _clipped(x):
    """The number in [-1, 1]; the gradient passes at the ends."""
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


@op("corrcoef(Tensor self) -> Tensor", promote=Promote.INT_TO_FLOAT)
@rounded_once
def corrcoef(self):
    """The matrix of Pearson's correlation coefficients of variables (rows) from observations (columns)."""
    covariance = _covariance(self, 1, None, None)
    if covariance.ndim == 0:
        return covariance / covariance
    deviation = jnp.sqrt(jnp.diagonal(covariance).real)
    found = covariance / deviation[:, None] / deviation
    return _clipped(found.real) + 1j * _clipped(found.imag) if is_complex(found.dtype) else _clipped(found)


@corrcoef.check
def _(self):
    _check_variables("corrcoef", self)


# ------------------------------------------------------------------------------------------------------------------------- gradient


def _between(x: Tensor, dim: int, start: int, end: int | None) -> Any:
    """``x[start:end]`` along a dimension."""
    size = x.shape[dim]
    start, end, _ = slice(start, end).indices(size)
    return x.narrow(dim, start, max(end - start, 0))


def _evenly(x: Tensor, dim: int, step: Any, edge_order: int) -> Tensor:
    """The derivative from samples ``step`` apart."""

    def at(k: int) -> Any:
        return _between(x, dim, k, k + 1 or None)

    inside = (_between(x, dim, 2, None) - _between(x, dim, 0, -2)) / step / 2
    if edge_order == 1:
        first, last = (at(1) - at(0)) / step, (at(-1) - at(-2)) / step
    else:
        first, last = (at(0) * -1.5 + at(1) * 2 - at(2) * 0.5) / step, (at(-3) * 0.5 - at(-2) * 2 + at(-1) * 1.5) / step
    return cat([first, inside, last], dim)


def _unevenly(x: Tensor, dim: int, places: Tensor, edge_order: int) -> Tensor:
    """The derivative from samples at given places, by the parabola through three neighbours.

    Ref: Fornberg, Math. Comp. 51 (1988).
    """
    steps = _between(places, 0, 1, None) - _between(places, 0, 0, -1)
    shape = [1] * x.ndim
    shape[dim] = -1

    def at(k: int) -> Any:
        return _between(x, dim, k, k + 1 or None)

    before, after = (_between(steps, 0, *ends).reshape(shape) for ends in ((0, -1), (1, None)))
    inside = (
        _between(x, dim, 0, -2) * (-after / (before * (before + after)))
        + _between(x, dim, 1, -1) * ((after - before) / (before * after))
        + _between(x, dim, 2, None) * (before / (after * (before + after)))
    )
    if edge_order == 1:
        first, last = (at(1) - at(0)) / steps[0], (at(-1) - at(-2)) / steps[-1]
    else:
        a, b = steps[0], steps[1]
        first = at(0) * (-(2 * a + b) / (a * (a + b))) + at(1) * ((a + b) / (a * b)) + at(2) * (-a / (b * (a + b)))
        a, b = steps[-2], steps[-1]
        last = at(-3) * (b / (a * (a + b))) + at(-2) * (-(a + b) / (a * b)) + at(-1) * ((2 * b + a) / (b * (a + b)))
    return cat([first, inside, last], dim)


@composite("gradient(Tensor self, *, Any spacing=None, Any dim=None, int edge_order=1) -> Tensor[]", forms=FUNCTION)
def gradient(self, *, spacing, dim, edge_order):
    """The derivatives of a sampled function along dimensions, by central differences.

    Args:
        spacing: the samples' distance; a list with one for each dimension, or with the samples' places (tensors).
        dim: the dimensions, all of them unless given.
        edge_order: 1 or 2: the order of the differences at both ends.
    """
    dims = list(range(self.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    several = isinstance(spacing, Sequence)
    spacings: list[Any] = list(spacing) if several else [1 if spacing is None else spacing] * len(dims)
    if isinstance(spacing, Tensor) and spacing.ndim:
        raise TypeError("gradient() received an invalid combination of arguments - got (Tensor, spacing=Tensor)")
    _check_gradient(self, spacings, several, dim, dims, edge_order)
    found = []
    for d, step in zip(dims, spacings, strict=True):
        d = wrap_dim(d, self.ndim)
        if isinstance(step, Tensor) and several:
            found.append(_unevenly(self, d, step, edge_order))
        else:
            found.append(_evenly(self, d, step, edge_order))
    return tuple(found)


def _check_gradient(x: Tensor, spacings: list[Any], several: bool, dim: Any, dims: list[int], edge_order: int) -> None:
    if str(x.dtype) == "torch.uint8":
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if several and len(spacings) != len(dims):
        if dim is None:
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
                f"'self.dim() = {x.ndim}', since dim argument was not given, but got a list of length {len(spacings)}"
            )
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same length, but got a "
            f"spacing argument of length {len(spacings)} and a dim argument of length {len(dims)}."
        )
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    for d in wrap_dims(dims, x.ndim) if dims else ():
        if x.shape[d] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    for step in spacings if several else ():
        if isinstance(step, Tensor) and step.ndim != 1:
            raise RuntimeError(
                f"torch.gradient expected each element of spacing to have one dimension, but got an element with {step.ndim} dimensions!"
            )
