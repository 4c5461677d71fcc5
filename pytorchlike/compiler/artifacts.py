"""``torch.compiler.save_cache_artifacts``: what this process has compiled, for another machine of the kind."""

from __future__ import annotations

import dataclasses
from collections import defaultdict

from ..graph import store

__all__ = ["CacheInfo", "load_cache_artifacts", "save_cache_artifacts"]


@dataclasses.dataclass
class CacheInfo:
    """What was saved or loaded.

    Attributes:
        artifacts: kind -> names.
    """

    artifacts: defaultdict[str, list[str]] = dataclasses.field(default_factory=lambda: defaultdict(list))

    @property
    def inductor_artifacts(self) -> list[str]:
        """The compiled programs, under the name that torch gives its own."""
        return self.artifacts["inductor"]

    def empty(self) -> bool:
        """Whether there are none."""
        return not any(self.artifacts.values())


def _info(names: list[str]) -> CacheInfo:
    info = CacheInfo()
    info.artifacts["inductor"] += names
    return info


def save_cache_artifacts() -> tuple[bytes, CacheInfo] | None:
    """The programs that compiled functions have made or found on the disk in this process; None where there are none, or no cache."""
    found = store.used_here()
    return None if found is None else (found[0], _info(found[1]))


def load_cache_artifacts(serialized_artifacts: bytes) -> CacheInfo | None:
    """Put what `save_cache_artifacts` has given into the cache; None where it was made by other sources, libraries or processors.

    A program is machine code, and what is kept beside it a pickle: load only what you trust.

    Raises:
        ValueError: it is something else.
    """
    names = store.take_over(serialized_artifacts)
    return None if names is None else _info(names)
