"""``torch.nn.attention``: which kernel attention uses, as far as that means something here, and masks that are not tensors.

XLA has one attention, so every choice of kernels computes the same.
"""

from __future__ import annotations

import contextlib
import enum
import importlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

from ...aten.attention import KERNELS

__all__ = [
    "SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "activate_flash_attention_impl", "current_flash_attention_impl", "list_flash_attention_impls",
    "register_flash_attention_impl", "restore_flash_attention_impl", "sdpa_kernel",
]  # fmt: skip

_logger = logging.getLogger(__name__)
WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(enum.Enum):
    """The kernels of attention that torch knows."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self) -> int:
        return self.value


_backend_names = {
    "cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION", "mem_efficient": "EFFICIENT_ATTENTION", "math": "MATH", "overrideable": "OVERRIDEABLE",
}  # fmt: skip


def _backend_from_string(name: str) -> SDPBackend:
    return SDPBackend[name]


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    return [SDPBackend[_backend_names[name]] for name, enabled in KERNELS.items() if enabled]


@contextlib.contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[dict]:
    """Allow these kernels only inside the block; the switches of ``torch.backends.cuda`` say so, and the results are the same.

    Args:
        set_priority: the order of the kernels is that in which to try them.
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {type(backends).__name__}")
    chosen = [backends] if isinstance(backends, SDPBackend) else list(dict.fromkeys(backends))
    before = dict(KERNELS)
    KERNELS.update({name: SDPBackend[member] in chosen for name, member in _backend_names.items()})
    try:
        yield {}
    finally:
        KERNELS.update(before)


@contextlib.contextmanager
def _sdpa_kernel_variadic(*backends: SDPBackend) -> Iterator[None]:
    with sdpa_kernel(list(backends)):
        yield


# ------------------------------------------------------------------------------------------------------------- other people's kernels
def register_flash_attention_impl(impl: str, *, register_fn: Callable[..., Any]) -> None:
    """Not possible: kernels of attention come from XLA.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(f"register_flash_attention_impl({impl!r}): attention is compiled by XLA; other kernels cannot be registered")


def activate_flash_attention_impl(impl: str) -> None:
    """Use a registered kernel.

    Raises:
        ValueError: there is none, torch's text.
    """
    raise ValueError(f"Unknown flash attention impl '{impl}'. Available implementations: {list_flash_attention_impls()}")


def list_flash_attention_impls() -> list[str]:
    """The registered kernels: none."""
    return []


def current_flash_attention_impl() -> str | None:
    """The registered kernel in use: None."""
    return None


def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
    """Go back to the default kernel, which is in use anyway."""
    if _raise_warn:
        _logger.warning("Trying to restore default FA2 impl when no custom impl was activated")


def __getattr__(name: str) -> Any:
    if name not in ("bias", "flex_attention", "varlen"):
        raise AttributeError(f"module 'torch.nn.attention' has no attribute '{name}'")
    return importlib.import_module(f"{__name__}.{name}")
