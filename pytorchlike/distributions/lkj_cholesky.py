"""`LKJCholesky`: Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.size import Size
from ..core.typeinfo import finfo
from ..tensors.tensor import Tensor
from . import constraints
from ._functions import T
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Lower Cholesky factors L of ``dim x dim`` correlation matrices with density proportional to ``det(L @ L.T) ** (concentration - 1)``.

    Raises:
        ValueError: ``dim`` is below 2.

    Ref: D. Lewandowski, D. Kurowicka and H. Joe, "Generating random correlation matrices based on vines and extended onion method",
    2009; the onion method, section 3.2.
    """

    arg_constraints = {"concentration": constraints.positive}  # type: ignore[assignment]
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # the squared length of each row's part below the diagonal; the first row has none, its number is drawn and not used
        offset = T.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        offset = T.cat([offset.new_zeros((1,)), offset])
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(LKJCholesky, batch_shape, _instance, concentration=0)
        new.dim = self.dim
        new._beta = self._beta.expand((*batch_shape, self.dim))
        return new

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        with no_grad():
            lengths = self._beta.sample(sample_shape).unsqueeze(-1)
            normal = T.randn(self._extended_shape(sample_shape), dtype=lengths.dtype, device=lengths.device).tril(-1)
            directions = (normal / normal.norm(dim=-1, keepdim=True)).nan_to_num(0.0)  # the first row is 0 / 0
            below = lengths.sqrt() * directions
            diagonal = (1 - (below**2).sum(-1)).clamp(min=finfo(below.dtype).tiny).sqrt()
            return below + diagonal.diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        row = T.arange(2, self.dim + 1, device=self.concentration.device)
        exponents = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - row
        below = self.dim - 1
        alpha = self.concentration + 0.5 * below
        log_norm = 0.5 * below * math.log(math.pi) + (alpha - 0.5).mvlgamma(below) - alpha.lgamma() * below
        return (exponents * diagonal.log()).sum(-1) - log_norm
