"""Single instructions as compiled programs: for the immediate executor, and for what the interpreter cannot run."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax

from ..core.device import jax_device
from . import cache, tiers
from .instruction import Instruction
from .value import Aval

__all__ = ["compiled"]


@functools.lru_cache(maxsize=16384)
def compiled(instruction: Instruction, avals: tuple[Aval, ...]) -> Callable[..., tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """An instruction for inputs of these avals as a compiled function: arrays and numbers -> (results, verdicts of data checks)."""
    cache.configure()
    platform = jax_device(avals[0].device if avals else instruction.target).platform
    return jax.jit(instruction.call, compiler_options=tiers.options(tiers.QUICK if platform == "cpu" else tiers.FULL))
