"""Instance normalization: each channel of each sample on its own."""

from __future__ import annotations

import warnings
from typing import Any

from ...tensors.tensor import Tensor
from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d"]


class _InstanceNorm(_NormBase):
    """Instance normalization of ``_spatial`` dimensions."""

    _spatial: int

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False, track_running_stats: bool = False,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self) -> int:
        return self._spatial + 1

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (self._spatial + 1, self._spatial + 2):
            raise ValueError(f"expected {self._spatial + 1}D or {self._spatial + 2}D input (got {input.dim()}D input)")

    def _apply_instance_norm(self, input: Tensor) -> Tensor:
        momentum = 0.0 if self.momentum is None else self.momentum
        return F.instance_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, self.training or not self.track_running_stats, momentum, self.eps
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        dim = input.dim() - self._spatial - 1
        if input.size(dim) != self.num_features:
            if self.affine:
                raise ValueError(f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: {input.size(dim)}.")
            warnings.warn(
                f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing in num_features, which is "
                "not used because affine=False",
                stacklevel=2,
            )
        if dim == 0:
            return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)
        return self._apply_instance_norm(input)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list, unexpected_keys: list,
                              error_msgs: list) -> None:  # fmt: skip
        version = local_metadata.get("version", None)
        if version is None and not self.track_running_stats:
            stale = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if stale:
                names = " and ".join(f'"{key}"' for key in stale)
                kind = type(self).__name__
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {names} for {kind} with track_running_stats=False. If state_dict is a checkpoint saved "
                    f"before 0.4.0, this may be expected because {kind} does not track running stats by default since 0.4.0. Please remove these "
                    "keys from state_dict. If the running stats are actually needed, instead set track_running_stats=True in "
                    f"{kind} to enable them. See the documentation of {kind} for details."
                )
                for key in stale:
                    state_dict.pop(key)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)


class InstanceNorm1d(_InstanceNorm):
    """Normalizes each channel of each sequence.

    Shape:   input ``(N, C, L)`` or ``(C, L)``
    """

    _spatial = 1


class InstanceNorm2d(_InstanceNorm):
    """Normalizes each channel of each image.

    Shape:   input ``(N, C, H, W)`` or ``(C, H, W)``
    """

    _spatial = 2


class InstanceNorm3d(_InstanceNorm):
    """Normalizes each channel of each volume.

    Shape:   input ``(N, C, D, H, W)`` or ``(C, D, H, W)``
    """

    _spatial = 3


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """An `InstanceNorm1d` whose ``num_features`` is that of its first input."""

    cls_to_become = InstanceNorm1d
    _spatial = 1


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """An `InstanceNorm2d` whose ``num_features`` is that of its first input."""

    cls_to_become = InstanceNorm2d
    _spatial = 2


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """An `InstanceNorm3d` whose ``num_features`` is that of its first input."""

    cls_to_become = InstanceNorm3d
    _spatial = 3
