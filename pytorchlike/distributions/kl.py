"""Kullback-Leibler divergences: `kl_divergence` finds the function that `register_kl` registered for a pair of classes.

Most divergences between different families are ``-entropy(p) - E_p[log q]``, where the last term needs few moments of p: the functions
``_cross_*`` below are that term for a family of q.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from ..dispatch.bind import broadcast_shapes
from ..tensors.tensor import Tensor
from ._functions import F, T, linalg
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal, _batch_lowrank_logdet, _batch_lowrank_mahalanobis
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis, _half_log_det
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost
from .utils import euler_constant as _euler_gamma

__all__ = ["kl_divergence", "register_kl"]

#: (class of p, class of q) -> the function of p and q that was registered for them.
_KL_REGISTRY: dict[tuple[type, type], Callable] = {}
#: What was found for pairs of classes so far.
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Callable], Callable]:
    """Register the decorated function ``f(p, q)`` for two classes of distributions and those derived from them.

    Raises:
        TypeError: no classes.
    """
    for name, given in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(given, type):  # classes that are no distributions pass, as in torch: libraries have bases of their own
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {given}")

    def register(function: Callable) -> Callable:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return register


def _distance(derived: type, base: type) -> int:
    """How far a base is from a class; one that says of itself that it is a base (``abc``) is farther than those that are."""
    lineage = derived.__mro__
    return lineage.index(base) if base in lineage else len(lineage)


def _dispatch_kl(type_p: type, type_q: type) -> Any:
    """The function of the nearest classes; p counts before q, and a warning tells when the other order finds another one."""
    distances = {
        (p, q): (_distance(type_p, p), _distance(type_q, q)) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)
    }
    if not distances:
        return NotImplemented
    by_p = min(distances, key=lambda pair: distances[pair])
    by_q = min(distances, key=lambda pair: distances[pair][::-1])
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[by_p]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence of q from p, ``E_p[log p - log q]``, of shape ``batch_shape``.

    Raises:
        NotImplementedError: nothing is registered for these classes.
    """
    classes = type(p), type(q)
    found = _KL_MEMOIZE.get(classes)
    if found is None:
        found = _KL_MEMOIZE[classes] = _dispatch_kl(*classes)
    if found is NotImplemented:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}")
    return found(p, q)


# --- two of a family ---------------------------------------------------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p, q):
    yes = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    no = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
    yes = yes.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0)
    return yes + no.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0)


@register_kl(Beta, Beta)
def _kl_beta_beta(p, q):
    a, b, c, d = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    return (
        (c.lgamma() + d.lgamma() - (c + d).lgamma()) - (a.lgamma() + b.lgamma() - (a + b).lgamma())
        + (a - c) * a.digamma() + (b - d) * b.digamma() + (c + d - a - b) * (a + b).digamma()
    )  # fmt: skip


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    divergence = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return divergence.masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p, q):
    terms = p.probs * (p.logits - q.logits)
    return terms.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p, q):
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p, q):
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p, q):
    log_norms = [d._cont_bern_log_norm() + (-d.probs).log1p() for d in (p, q)]
    return p.mean * (p.logits - q.logits) + log_norms[0] - log_norms[1]


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p, q):
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    mean_logs = a.digamma() - total.digamma().unsqueeze(-1)
    return total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1) + ((a - b) * mean_logs).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p, q):
    """The Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot                             be computed using Bregman "
            "divergences"
        )
    parameters, normalizer, slopes = p._normalizer_and_slopes()
    others = q._natural_params
    result = q._log_normalizer(*others) - normalizer
    for own, other, slope in zip(parameters, others, slopes):
        result = result - _sum_rightmost((other - own) * slope, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p, q):
    a, b = p.concentration, q.concentration
    return b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p, q):
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p, q):
    ratio, shift = p.scale / q.scale, (q.loc - p.loc) / q.scale
    return -ratio.log() - shift + ratio * _euler_gamma + (shift + (1 + ratio).lgamma()).exp() - (1 + _euler_gamma)


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p, q):
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return distance / q.scale + ratio * (-distance / p.scale).exp() - ratio.log() - 1


@register_kl(Normal, Normal)
def _kl_normal_normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p, q):
    ratio = q.alpha / p.alpha
    divergence = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return divergence.masked_fill(p.scale < q.scale, math.inf)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p, q):
    divergence = ((q.high - q.low) / (p.high - p.low)).log()
    return divergence.masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


# --- made of other distributions ---------------------------------------------------------------------------------------------------------


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _kl_independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# --- normal vectors: (log det q - log det p + trace(q^-1 p) + distance of the means - n) / 2 ---------------------------------------------


def _squares(matrix: Tensor) -> Tensor:
    """The trace of ``matrix @ matrix.T``."""
    return matrix.pow(2).sum((-2, -1))


def _vector_kl(what: str) -> Callable:
    """Make a divergence between two families of normal vectors of a function that gives its three terms."""

    def finish(terms: Callable) -> Callable:
        def divergence(p, q):
            if p.event_shape != q.event_shape:
                raise ValueError(
                    f"KL-divergence between two {what} with                          different event shapes cannot be computed"
                )
            log_dets, trace, distance = terms(p, q)
            return 0.5 * (log_dets + trace + distance - p.event_shape[0])

        divergence.__name__ = terms.__name__
        return divergence

    return finish


def _together(factor: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Two matrices expanded to the larger of their batches."""
    batch = broadcast_shapes(factor.shape[:-2], other.shape[:-2])
    return factor.expand((*batch, *factor.shape[-2:])), other.expand((*batch, *other.shape[-2:]))


def _whitened(q: MultivariateNormal, matrix: Tensor) -> Tensor:
    factor, matrix = _together(q._unbroadcasted_scale_tril, matrix)
    return linalg.solve_triangular(factor, matrix, upper=False)


def _lowrank(d: LowRankMultivariateNormal) -> tuple[Tensor, Tensor]:
    return d._unbroadcasted_cov_factor, d._unbroadcasted_cov_diag


def _reduced(q: LowRankMultivariateNormal) -> Tensor:
    """A with ``q^-1 = D^-1 - A^T A``."""
    factor, diagonal = _lowrank(q)
    return linalg.solve_triangular(q._capacitance_tril, factor.mT / diagonal.unsqueeze(-2), upper=False)


def _lowrank_log_det(d: LowRankMultivariateNormal) -> Tensor:
    return _batch_lowrank_logdet(*_lowrank(d), d._capacitance_tril)


def _lowrank_distance(p: Any, q: LowRankMultivariateNormal) -> Tensor:
    return _batch_lowrank_mahalanobis(*_lowrank(q), q.loc - p.loc, q._capacitance_tril)


@register_kl(MultivariateNormal, MultivariateNormal)
@_vector_kl("Multivariate Normals")
def _kl_multivariatenormal_multivariatenormal(p, q):
    log_dets = 2 * (_half_log_det(q._unbroadcasted_scale_tril) - _half_log_det(p._unbroadcasted_scale_tril))
    trace = _squares(_whitened(q, p._unbroadcasted_scale_tril))
    return log_dets, trace, _batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@_vector_kl("Low Rank Multivariate Normals")
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(p, q):
    factor, diagonal = _lowrank(p)
    other, reduced = q._unbroadcasted_cov_diag, _reduced(q)
    trace = (
        (diagonal / other).sum(-1) + _squares(factor * other.rsqrt().unsqueeze(-1))
        - _squares(reduced * diagonal.sqrt().unsqueeze(-2)) - _squares(reduced @ factor)
    )  # fmt: skip
    return _lowrank_log_det(q) - _lowrank_log_det(p), trace, _lowrank_distance(p, q)


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@_vector_kl("(Low Rank) Multivariate Normals")
def _kl_multivariatenormal_lowrankmultivariatenormal(p, q):
    factor = p._unbroadcasted_scale_tril
    trace = _squares(factor * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1)) - _squares(_reduced(q) @ factor)
    return _lowrank_log_det(q) - 2 * _half_log_det(factor), trace, _lowrank_distance(p, q)


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@_vector_kl("(Low Rank) Multivariate Normals")
def _kl_lowrankmultivariatenormal_multivariatenormal(p, q):
    factor, diagonal = _lowrank(p)
    trace = _squares(_whitened(q, factor)) + _squares(_whitened(q, diagonal.sqrt().diag_embed()))
    log_dets = 2 * _half_log_det(q._unbroadcasted_scale_tril) - _lowrank_log_det(p)
    return log_dets, trace, _batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)


# --- two families: -E_p[log q] ------------------------------------------------------------------------------------------------------------


def _cross_normal(q: Normal, mean: Tensor, variance: Tensor) -> Tensor:
    return 0.5 * math.log(2 * math.pi) + q.scale.log() + (variance + (mean - q.loc).pow(2)) / (2 * q.scale.pow(2))


def _cross_exponential(q: Exponential, mean: Tensor) -> Tensor:
    return q.rate * mean - q.rate.log()


def _cross_gamma(q: Gamma, mean: Tensor, mean_log: Tensor) -> Tensor:
    a = q.concentration
    return a.lgamma() - a * q.rate.log() - (a - 1) * mean_log + q.rate * mean


def _cross_gumbel(q: Gumbel, mean: Tensor, mean_decay: Tensor) -> Tensor:
    """``mean_decay``: the mean of ``exp(-x / q.scale)``."""
    return q.scale.log() + (mean - q.loc) / q.scale + (q.loc / q.scale).exp() * mean_decay


def _cross_beta(q: Beta, mean_log: Tensor, mean_log_rest: Tensor) -> Tensor:
    """``mean_log_rest``: the mean of ``log(1 - x)``."""
    a, b = q.concentration1, q.concentration0
    return a.lgamma() + b.lgamma() - (a + b).lgamma() - (a - 1) * mean_log - (b - 1) * mean_log_rest


def _cross_continuous_bernoulli(q: ContinuousBernoulli, mean: Tensor) -> Tensor:
    return -mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


def _mean_log(p: Any) -> Tensor:
    """The mean of ``log(x)``."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Gamma):
        return p.concentration.digamma() - p.rate.log()
    if isinstance(p, Exponential):
        return -_euler_gamma - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return _uniform_mean_log(p.low, p.high)


def _uniform_mean_log(low: Tensor, high: Tensor) -> Tensor:
    return (high.xlogy(high) - low.xlogy(low)) / (high - low) - 1


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Laplace, Normal)
@register_kl(Uniform, Normal)
def _kl_any_normal(p, q):
    return _cross_normal(q, p.mean, p.variance) - p.entropy()


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p, q):
    return _kl_any_normal(p, q).masked_fill(p.alpha <= 2, math.inf)


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Gamma, Exponential)
def _kl_any_exponential(p, q):
    return _cross_exponential(q, p.mean) - p.entropy()


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p, q):
    return _kl_any_exponential(p, q).masked_fill(p.alpha <= 1, math.inf)


@register_kl(Uniform, Exponential)
def _kl_uniform_exponetial(p, q):
    return _kl_any_exponential(p, q).masked_fill(p.low < 0, math.inf)


@register_kl(Beta, Gamma)
@register_kl(Exponential, Gamma)
def _kl_any_gamma(p, q):
    return _cross_gamma(q, p.mean, _mean_log(p)) - p.entropy()


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p, q):
    return _kl_any_gamma(p, q).masked_fill(p.alpha <= 1, math.inf)


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p, q):
    return _kl_any_gamma(p, q).masked_fill(p.low < 0, math.inf)


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p, q):
    product = p.rate * q.scale
    return _cross_gumbel(q, p.mean, product / (product + 1)) - p.entropy()


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p, q):
    decay = (1 + (p.rate * q.scale).reciprocal()).pow(-p.concentration)
    return _cross_gumbel(q, p.mean, decay) - p.entropy()


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p, q):
    ratio, shift = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return shift + (0.5 * ratio.pow(2) - shift).exp() - ratio.log() - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p, q):
    low, high = (p.low - q.loc) / q.scale, (p.high - q.loc) / q.scale
    share = q.scale / (p.high - p.low)
    return share.log() + 0.5 * (low + high) - share * ((-high).exp() - (-low).exp())


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p, q):
    distance = p.loc - q.loc
    relative = distance / p.scale
    mean_distance = math.sqrt(2 / math.pi) * p.scale * (-0.5 * relative.pow(2)).exp() + distance * (math.sqrt(0.5) * relative).erf()
    return mean_distance / q.scale - (p.scale / q.scale).log() - 0.5 * (1 + math.log(0.5 * math.pi))


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _kl_beta_continuous_bernoulli(p, q):
    return _cross_continuous_bernoulli(q, p.mean) - p.entropy()


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p, q):
    divergence = (q.high - q.low).log() - p.entropy()
    return divergence.masked_fill((q.low > 0) | (q.high < 1), math.inf)


@register_kl(ContinuousBernoulli, Uniform)
def _kl_continuous_bernoulli_uniform(p, q):
    divergence = (q.high - q.low).log() - p.entropy()
    return divergence.masked_fill((q.low >= 0) | (q.high <= 1), math.inf)  # as torch has it, also where the intervals are equal


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p, q):
    divergence = _cross_beta(q, _mean_log(p), _uniform_mean_log(1 - p.high, 1 - p.low)) - p.entropy()
    return divergence.masked_fill((p.high > 1) | (p.low < 0), math.inf)


@register_kl(Uniform, ContinuousBernoulli)
def _kl_uniform_continuous_bernoulli(p, q):
    divergence = _cross_continuous_bernoulli(q, p.mean) - p.entropy()
    return divergence.masked_fill((p.high >= 1) | (p.low <= 0), math.inf)  # as torch has it, also where the intervals are equal


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p, q):
    cross = (q.alpha + 1) * _mean_log(p) - (q.alpha * q.scale.pow(q.alpha)).log()
    return (cross - p.entropy()).masked_fill(p.low < q.scale, math.inf)


# --- p reaches where q does not ------------------------------------------------------------------------------------------------------------

#: Class of p -> (its parameter whose shape the result has, classes of q).
_INFINITE: dict[type, tuple[str, tuple[type, ...]]] = {
    Beta: ("concentration1", (Pareto,)),
    ContinuousBernoulli: ("probs", (Pareto,)),
    Exponential: ("rate", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    Gamma: ("concentration", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    Gumbel: ("loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    Laplace: ("loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    Normal: ("loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    Pareto: ("scale", (Beta, ContinuousBernoulli, Uniform)),
    Poisson: ("rate", (Bernoulli, Binomial)),
}


def _infinite(parameter: str) -> Callable:
    return lambda p, q: T.full_like(getattr(p, parameter), math.inf)


for _type_p, (_parameter, _types_q) in _INFINITE.items():
    for _type_q in _types_q:
        register_kl(_type_p, _type_q)(_infinite(_parameter))


def _add_kl_info() -> None:
    """List the registered pairs in the documentation of `kl_divergence`."""
    pairs = sorted((p.__name__, q.__name__) for p, q in _KL_REGISTRY)
    rows = [f"* :class:`~torch.distributions.{p}` and :class:`~torch.distributions.{q}`" for p, q in pairs]
    text = "\n\t".join(["KL divergence is currently implemented for the following distribution pairs:", *rows])
    kl_divergence.__doc__ = f"{kl_divergence.__doc__}\n{text}"
