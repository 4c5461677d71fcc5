"""Batch normalization, and the base it shares with instance normalization."""

from __future__ import annotations

from typing import Any

from ...aten.constructors import tensor
from ...aten.copy import set_to
from ...aten.create import empty, ones, zeros
from ...core import dtype as dtypes
from ...tensors.tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedBuffer, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "SyncBatchNorm"]


class _NormBase(Module):
    """Weight, bias and running statistics of a normalization over channels."""

    _version = 2  # 2: num_batches_tracked was added
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        where = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(empty(num_features, **where)) if affine else None)
        self.register_parameter("bias", Parameter(empty(num_features, **where)) if affine and bias else None)
        if track_running_stats:
            self.register_buffer("running_mean", zeros(num_features, **where))
            self.register_buffer("running_var", ones(num_features, **where))
            self.register_buffer("num_batches_tracked", tensor(0, dtype=dtypes.int64, device=device))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget what was tracked: mean 0, variance 1."""
        if self.track_running_stats:
            set_to(self.running_mean, 0)
            set_to(self.running_var, 1)
            set_to(self.num_batches_tracked, 0)

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, running statistics forgotten."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list, unexpected_keys: list,
                              error_msgs: list) -> None:  # fmt: skip
        version = local_metadata.get("version", None)
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            tracked = self.num_batches_tracked
            state_dict[key] = tracked if tracked is not None and tracked.device.type != "meta" else tensor(0, dtype=dtypes.int64)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)


class _BatchNorm(_NormBase):
    """Batch normalization of any dimension."""

    def _average_factor(self) -> float:
        """The weight of this batch in the running statistics; counts the batch."""
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                return 1.0 / float(self.num_batches_tracked)
        return 0.0 if self.momentum is None else self.momentum

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = self._average_factor()
        mean, var = self.running_mean, self.running_var
        use_batch = self.training or (mean is None and var is None)
        if self.training and not self.track_running_stats:
            mean = var = None
        return F.batch_norm(input, mean, var, self.weight, self.bias, use_batch, factor, self.eps)


def _expect_dims(input: Tensor, *dims: int) -> None:
    if input.dim() not in dims:
        raise ValueError(f"expected {' or '.join(f'{d}D' for d in dims)} input (got {input.dim()}D input)")


class BatchNorm1d(_BatchNorm):
    """Normalizes each channel over the batch and the sequence.

    Shape:   input ``(N, C)`` or ``(N, C, L)``
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _expect_dims(input, 2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalizes each channel over the batch and the image.

    Shape:   input ``(N, C, H, W)``
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _expect_dims(input, 4)


class BatchNorm3d(_BatchNorm):
    """Normalizes each channel over the batch and the volume.

    Shape:   input ``(N, C, D, H, W)``
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _expect_dims(input, 5)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization whose statistics are those of all processes of a group; alone in its group it is a `BatchNorm`."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
        process_group: Any = None, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def _check_non_zero_input_channels(self, input: Tensor) -> None:
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        self._check_non_zero_input_channels(input)
        return super().forward(input)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with every batch normalization in it replaced by a synchronized one with the same state."""
        converted = module
        if isinstance(module, _BatchNorm):
            made = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group)
            if module.affine:
                made.weight, made.bias = module.weight, module.bias
            made.running_mean, made.running_var = module.running_mean, module.running_var
            made.num_batches_tracked = module.num_batches_tracked
            made.training = module.training
            converted = made
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


class _LazyNormBase(LazyModuleMixin):
    """Normalizations that learn ``num_features`` from their first input."""

    def __init__(
        self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(0, eps, momentum, False, False, device=device, dtype=dtype)
        where = {"device": device, "dtype": dtype}
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(**where)
            if bias:
                self.bias = UninitializedParameter(**where)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**where)
            self.running_var = UninitializedBuffer(**where)
            self.num_batches_tracked = tensor(0, dtype=dtypes.int64, device=device)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor) -> None:
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for pending in (*self._parameters.values(), self.running_mean, self.running_var):
                if pending is not None:
                    pending.materialize((self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """A `BatchNorm1d` whose ``num_features`` is that of its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """A `BatchNorm2d` whose ``num_features`` is that of its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """A `BatchNorm3d` whose ``num_features`` is that of its first input."""

    cls_to_become = BatchNorm3d
