"""``torch.backends.cudnn``: switches are kept; XLA chooses convolution algorithms itself and is deterministic on the CPU."""

from __future__ import annotations

import sys
from typing import Any

from ..core.device import device_count
from .switches import SwitchModule

CUDNN_TENSOR_DTYPES: frozenset = frozenset()
enabled = True
benchmark = False
benchmark_limit: int | None = None
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether XLA has a GPU, for which it uses cuDNN."""
    return device_count("cuda") > 0


def version() -> int | None:
    """The number of the cuDNN release JAX was given (``90100``); None where there is none."""
    if not is_available():
        return None
    import importlib.metadata

    for package in ("nvidia-cudnn-cu13", "nvidia-cudnn-cu12"):
        try:
            major, minor, patch = (int(part) for part in importlib.metadata.version(package).split(".")[:3])
        except importlib.metadata.PackageNotFoundError:
            continue
        return major * 10000 + minor * 100 + patch
    return None


def is_acceptable(tensor: Any) -> bool:
    """Whether a tensor lies on a GPU."""
    return is_available() and tensor.is_cuda


class _Cudnn(SwitchModule):
    SWITCHES = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")


sys.modules[__name__].__class__ = _Cudnn
