"""The table of distributions that every test here goes through: how to make one, from which parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """One distribution.

    Attributes:
        name: its class.
        parameters: name -> numbers (nested lists) of the tensors it is made of.
        make: ``make(D, t, **tensors)`` where that is not ``D.<name>(**tensors)``; ``t`` is torch or ours.
        fixed: further arguments.
        label: what tells it from other cases of its class.
        dtype: of the parameters.
        density_tolerance: relative, of moments and densities; None takes the dtype's.
        draw_tolerance: relative, of gradients of draws; None takes the dtype's.
        cdf_gradient: whether torch has one.
        sample_shape: of the draws.
    """

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    make: Callable | None = None
    fixed: dict[str, Any] = field(default_factory=dict)
    label: str = ""
    dtype: str = "float64"
    density_tolerance: float | None = None
    draw_tolerance: float | None = None
    cdf_gradient: bool = True
    sample_shape: tuple[int, ...] = (3, 2)

    def __str__(self) -> str:
        return self.name + (f"-{self.label}" if self.label else "")

    def tolerance(self, own: float | None) -> float:
        """The tolerance of a result."""
        return own or {"float32": 2e-5, "float64": 1e-9}[self.dtype]

    def build(self, t: Any, grad: bool = True, **options: Any) -> tuple[Any, list[Any]]:
        """The distribution, and its parameters as leaves of the tape."""
        tensors = {name: t.tensor(np.asarray(value, self.dtype)) for name, value in self.parameters.items()}
        if grad:
            for tensor in tensors.values():
                tensor.requires_grad_()
        if self.make is None:
            return getattr(t.distributions, self.name)(**tensors, **self.fixed, **options), list(tensors.values())
        return self.make(t.distributions, t, **tensors), list(tensors.values())


#: Torch computes the derivatives of gamma and beta draws to about three digits.
IMPLICIT = 3e-3
#: Torch computes the logarithm of the number of permutations in float32.
SINGLE = 2e-6

_PAIR = [[0.3], [1.7]], [0.6, 1.0, 2.5]
_FACTOR = [[1.2, 0.0, 0.0], [0.3, 0.8, 0.0], [-0.5, 0.2, 1.5]]
_COVARIANCE = [[1.5, 0.3, 0.1], [0.3, 0.9, -0.2], [0.1, -0.2, 2.0]]
_PROBS = [[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]
_LOGITS = [[0.3, -1.0, 2.0], [0.0, 0.5, 0.1]]


def _mixture(D, t, weights, loc, scale):
    return D.MixtureSameFamily(D.Categorical(weights), D.Normal(loc, scale))


def _vector_mixture(D, t, weights, loc, scale):
    return D.MixtureSameFamily(D.Categorical(logits=weights), D.Independent(D.Normal(loc, scale), 1))


def _transformed(D, t, loc, scale):
    return D.TransformedDistribution(D.Normal(loc, scale), [D.AffineTransform(1.0, -2.0), D.SigmoidTransform()])


CASES = [
    Case("Bernoulli", {"probs": [[0.2, 0.5, 1.0], [0.9, 0.0, 0.3]]}),
    Case("Bernoulli", {"logits": _LOGITS}, label="logits"),
    Case("Beta", {"concentration1": _PAIR[0], "concentration0": _PAIR[1]}, draw_tolerance=IMPLICIT),
    Case("Binomial", {"total_count": [[5.0], [5.0]], "probs": [0.2, 0.5, 0.9]}),
    Case("Binomial", {"logits": [0.3, -1.0]}, fixed={"total_count": 40}, label="logits"),
    Case("Categorical", {"probs": _PROBS}),
    Case("Categorical", {"logits": _LOGITS}, label="logits"),
    Case("Cauchy", {"loc": _PAIR[0], "scale": _PAIR[1]}),
    Case("Chi2", {"df": [0.5, 1.0, 7.0]}, draw_tolerance=IMPLICIT, cdf_gradient=False),
    Case("ContinuousBernoulli", {"probs": [[0.2, 0.5, 0.4995], [0.9, 0.0, 0.3]]}),
    Case("ContinuousBernoulli", {"logits": _LOGITS}, label="logits"),
    Case("Dirichlet", {"concentration": [[0.5, 0.7, 0.9], [4.0, 1.5, 2.0]]}, draw_tolerance=IMPLICIT),
    Case("Exponential", {"rate": [[0.3, 1.0], [2.0, 5.0]]}),
    Case("FisherSnedecor", {"df1": [[1.5], [5.0]], "df2": [1.0, 3.5, 9.0]}, draw_tolerance=IMPLICIT),
    Case("Gamma", {"concentration": _PAIR[0], "rate": _PAIR[1]}, draw_tolerance=IMPLICIT, cdf_gradient=False),
    Case("GeneralizedPareto", {"loc": [[0.5], [-1.0]], "scale": [0.6, 1.0, 2.5], "concentration": [0.3, 0.0, -0.4]}, dtype="float32"),
    Case("Geometric", {"probs": [0.2, 0.6, 1.0]}),
    Case("Geometric", {"logits": _LOGITS}, label="logits"),
    Case("Gumbel", {"loc": _PAIR[0], "scale": _PAIR[1]}),
    Case("HalfCauchy", {"scale": _PAIR[1]}),
    Case("HalfNormal", {"scale": _PAIR[1]}),
    Case("Independent", {"loc": _PAIR[0], "scale": _PAIR[1]}, make=lambda D, t, loc, scale: D.Independent(D.Normal(loc, scale), 1)),
    Case("InverseGamma", {"concentration": [[0.8], [2.7]], "rate": _PAIR[1]}, draw_tolerance=IMPLICIT, cdf_gradient=False),
    Case("Kumaraswamy", {"concentration1": _PAIR[0], "concentration0": _PAIR[1]}),
    Case("LKJCholesky", {"concentration": [0.5, 2.0]}, fixed={"dim": 3}),
    Case("Laplace", {"loc": _PAIR[0], "scale": _PAIR[1]}),
    Case("LogNormal", {"loc": _PAIR[0], "scale": _PAIR[1]}),
    Case("LogisticNormal", {"loc": _PAIR[0], "scale": _PAIR[1]}),
    Case("LowRankMultivariateNormal", {"loc": [[0.1, 0.2, 0.3], [1.0, 0.0, -1.0]], "cov_factor": [[0.5, 1.0], [-0.4, 0.3], [0.2, 0.1]],
                                       "cov_diag": [0.6, 1.0, 2.5]}),
    Case("MixtureSameFamily", {"weights": [[0.3, 0.7], [0.5, 0.5]], "loc": [[0.1, 0.2], [1.0, -1.0]], "scale": [0.6, 2.5]}, make=_mixture),
    Case("MixtureSameFamily", {"weights": [0.3, 0.7], "loc": [[0.1, 0.2, 0.3], [1.0, 0.0, -1.0]], "scale": [0.6, 1.0, 2.5]},
         make=_vector_mixture, label="vectors"),
    Case("Multinomial", {"probs": _PROBS}, fixed={"total_count": 5}, density_tolerance=SINGLE),
    Case("Multinomial", {"logits": _LOGITS}, fixed={"total_count": 5}, label="logits", density_tolerance=SINGLE),
    Case("MultivariateNormal", {"loc": [[0.1, 0.2, 0.3], [1.0, 0.0, -1.0]], "scale_tril": _FACTOR}),
    Case("MultivariateNormal", {"loc": [0.1, 0.2, 0.3], "covariance_matrix": _COVARIANCE}, label="covariance"),
    Case("MultivariateNormal", {"loc": [0.1, 0.2, 0.3], "precision_matrix": _COVARIANCE}, label="precision"),
    Case("NegativeBinomial", {"total_count": [[5.0], [2.5]], "probs": [0.2, 0.5, 0.9]}),
    Case("NegativeBinomial", {"total_count": [5.0, 0.0], "logits": [0.3, -1.0]}, label="logits"),
    Case("Normal", {"loc": _PAIR[0], "scale": _PAIR[1]}),
    Case("OneHotCategorical", {"probs": _PROBS}),
    Case("OneHotCategoricalStraightThrough", {"logits": _LOGITS}),
    Case("Pareto", {"scale": _PAIR[1], "alpha": [[0.5], [2.7]]}),
    Case("Poisson", {"rate": [[0.3, 2.0], [15.0, 0.0]]}),
    Case("RelaxedBernoulli", {"temperature": 0.7, "probs": [0.2, 0.5, 0.9]}),
    Case("RelaxedBernoulli", {"temperature": 0.7, "logits": [0.3, -1.0]}, label="logits"),
    Case("RelaxedOneHotCategorical", {"temperature": 0.7, "probs": _PROBS}),
    Case("RelaxedOneHotCategorical", {"temperature": 0.7, "logits": _LOGITS}, label="logits"),
    Case("StudentT", {"df": [[0.8], [3.5]], "loc": [0.1, 0.2, 0.3], "scale": _PAIR[1]}, draw_tolerance=IMPLICIT),
    Case("TransformedDistribution", {"loc": _PAIR[0], "scale": _PAIR[1]}, make=_transformed),
    Case("Uniform", {"low": [[0.3], [-1.7]], "high": [0.6, 1.0, 2.5]}),
    Case("VonMises", {"loc": _PAIR[0], "concentration": [0.6, 1.0, 5.5]}),
    Case("Weibull", {"scale": _PAIR[1], "concentration": [[0.8], [2.7]]}),
    Case("Wishart", {"df": [3.5, 6.0], "covariance_matrix": _COVARIANCE}, draw_tolerance=IMPLICIT, sample_shape=()),
    Case("Wishart", {"scale_tril": _FACTOR}, fixed={"df": 5}, label="factor", draw_tolerance=IMPLICIT, sample_shape=()),
]  # fmt: skip


def numbers(tensor: Any) -> np.ndarray:
    """A tensor's elements, of either library."""
    return np.asarray(tensor.detach().tolist())
