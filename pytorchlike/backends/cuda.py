"""``torch.backends.cuda``: the switches for matrix products and attention; XLA has one attention, so the kinds are only kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..aten.attention import KERNELS as _attention
from ..core.device import device_count

__all__ = [
    "cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp", "flash_sdp_enabled", "is_built",
    "is_flash_attention_available", "math_sdp_enabled", "matmul", "mem_efficient_sdp_enabled", "preferred_blas_library", "preferred_linalg_library",
    "sdp_kernel",
]  # fmt: skip


class _MatmulSwitches:
    """``allow_tf32`` and its neighbours."""

    def __init__(self) -> None:
        self.allow_tf32 = False
        self.allow_fp16_reduced_precision_reduction = True
        self.allow_bf16_reduced_precision_reduction = True
        self.allow_fp16_accumulation = False
        self.fp32_precision = "none"

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in ("allow_tf32", "fp32_precision") and not name.startswith("allow_"):
            raise AttributeError(f"Unknown attribute {name}")
        super().__setattr__(name, value)


matmul = _MatmulSwitches()


def is_built() -> bool:
    """Whether JAX has a GPU backend in this process."""
    return device_count("cuda") > 0


def is_flash_attention_available() -> bool:
    """Whether there is a GPU: XLA's attention is fused there."""
    return is_built()


def flash_sdp_enabled() -> bool:
    """The switch of flash attention."""
    return _attention["flash"]


def mem_efficient_sdp_enabled() -> bool:
    """The switch of memory-efficient attention."""
    return _attention["mem_efficient"]


def math_sdp_enabled() -> bool:
    """The switch of attention by plain operators."""
    return _attention["math"]


def cudnn_sdp_enabled() -> bool:
    """The switch of cuDNN's attention."""
    return _attention["cudnn"]


def enable_flash_sdp(enabled: bool) -> None:
    """Set the switch of flash attention."""
    _attention["flash"] = bool(enabled)


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Set the switch of memory-efficient attention."""
    _attention["mem_efficient"] = bool(enabled)


def enable_math_sdp(enabled: bool) -> None:
    """Set the switch of attention by plain operators."""
    _attention["math"] = bool(enabled)


def enable_cudnn_sdp(enabled: bool) -> None:
    """Set the switch of cuDNN's attention."""
    _attention["cudnn"] = bool(enabled)


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """The switches have the given values inside the ``with`` block."""
    before = dict(_attention)
    _attention.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _attention.update(before)


def preferred_linalg_library(backend: Any = None) -> str:
    """XLA chooses; the answer is always ``"default"``."""
    return "default"


def preferred_blas_library(backend: Any = None) -> str:
    """XLA chooses; the answer is always ``"default"``."""
    return "default"
