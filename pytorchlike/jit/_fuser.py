"""Settings of torch's fusers: XLA fuses, so they are kept and change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["enable_onednn_fusion", "fuser", "onednn_fusion_enabled", "optimized_execution", "set_fusion_strategy", "strict_fusion"]

_Strategy = list[tuple[str, int]]


class _Settings:
    """What was set."""

    onednn = False
    strategy: _Strategy = [("STATIC", 2), ("DYNAMIC", 10)]


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Accepted: programs are always optimized."""
    yield


@contextmanager
def fuser(name: str) -> Iterator[None]:
    """Accepted: one of "fuser0" to "fuser3" and "none".

    Raises:
        Exception: another name.
    """
    if name not in ("", "none", "fuser0", "fuser1", "fuser2", "fuser3"):
        raise Exception(f"unrecognized fuser option (name: {name})")
    yield


def set_fusion_strategy(strategy: _Strategy) -> _Strategy:
    """Set how often fused code may be specialised to shapes; return what was set before."""
    previous, _Settings.strategy = _Settings.strategy, list(strategy)
    return previous


def enable_onednn_fusion(enabled: bool) -> None:
    """Keep a switch that means nothing to XLA."""
    _Settings.onednn = bool(enabled)


def onednn_fusion_enabled() -> bool:
    """What `enable_onednn_fusion` was given last."""
    return _Settings.onednn


class strict_fusion:  # noqa: N801 - torch's name
    """A context in which scripted code must be fused as a whole: accepted, what is captured is one program."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass
