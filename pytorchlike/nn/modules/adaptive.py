"""`AdaptiveLogSoftmaxWithLoss`: a softmax over many classes, frequent ones first."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from ...aten.shape import stack
from ...tensors.tensor import Tensor
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Classes in clusters: the head scores frequent classes and clusters, a smaller projection the classes of a cluster, arXiv:1609.04309.

    Args:
        cutoffs: first class of each cluster, increasing; classes are ordered by frequency.
        div_value: factor by which features shrink from one cluster to the next.
    """

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0, head_bias: bool = False, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        where = {"device": device, "dtype": dtype}
        super().__init__()
        cutoffs = list(cutoffs)
        if len(cutoffs) == 0:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        increasing = cutoffs == sorted(set(cutoffs))
        if not increasing or min(cutoffs) <= 0 or max(cutoffs) > n_classes - 1 or any(int(c) != c for c in cutoffs):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is between 1 and "
                "n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **where)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            hidden = int(in_features // (div_value ** (i + 1)))
            classes = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(Sequential(Linear(in_features, hidden, bias=False, **where), Linear(hidden, classes, bias=False, **where)))

    def reset_parameters(self) -> None:
        """Draw the head, then the clusters."""
        self.head.reset_parameters()
        for cluster in self.tail:
            for layer in cluster.children():
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """The log-probability of each target, and their negative mean."""
        self._check(input_, target_)
        batched = target_.dim() > 0
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        low, high, *present = self._summary(target) if target.numel() else [0] * (2 + self.n_clusters)
        if low < 0 or high >= self.n_classes:
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range [{low}, {high}] were found. ")
        # A cluster that no target is in is not computed: its parameters get no gradient, as in torch.
        output = self._get_full_log_prob(input, self.head(input), present).gather(1, target.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _check(self, input: Tensor, target: Tensor) -> None:
        if target.dim() == 1:
            if input.size(0) != target.size(0):
                raise RuntimeError("Input and target should have the same size in the batch dimension.")
            if input.dim() != 2:
                raise RuntimeError(f"1D target tensor expects 2D input tensors, but found inputs with size {input.size()}")
        elif target.dim() == 0:
            if input.dim() != 1:
                raise RuntimeError(f"0D target tensor expects 1D input tensors, but found inputs with size {input.size()}")
        else:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")

    def _summary(self, target: Tensor) -> list[int]:
        """The smallest and largest class, and for each cluster whether it has one."""
        inside = [((target >= start) & (target < stop)).any() for start, stop in zip(self.cutoffs, self.cutoffs[1:])]
        return stack([target.min(), target.max(), *[there.to(target.dtype) for there in inside]]).tolist()

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor, present: Sequence[int] | None = None) -> Tensor:
        result = input.new_empty((head_output.size(0), self.n_classes))
        head = F.log_softmax(head_output, dim=1)
        result[:, : self.shortlist_size] = head[:, : self.shortlist_size]
        for i, (start, stop) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            if present is not None and not present[i]:
                continue
            cluster = F.log_softmax(self.tail[i](input), dim=1)
            result[:, start:stop] = cluster + head[:, self.shortlist_size + i].unsqueeze(1)
        return result

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The class with the highest probability."""
        return self.log_prob(input).argmax(dim=1)
