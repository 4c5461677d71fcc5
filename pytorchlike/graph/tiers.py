"""How a trace is compiled: quickly while it is new, fully once it comes again.

XLA's full compilation of a small training step takes ten times as long as running the step for the first time in torch.  On the CPU a
program therefore starts in a quick tier, compiled without LLVM's optimisations and without XLA's fusion emitters (about a fifth of the
time; matrix products and convolutions are library calls and as fast as ever).  The switch depends on the number of runs alone, so a
script gives the same bits each time it is run.

``PYTORCHLIKE_TIERS=full`` compiles everything fully at once, ``PYTORCHLIKE_TIERS=quick`` never promotes.
"""

from __future__ import annotations

import os

__all__ = ["FULL", "QUICK", "QUICK_RUNS", "first_tier", "options", "promotes"]

QUICK, FULL = "quick", "full"

#: A program is compiled fully at its run after this many.
QUICK_RUNS = 2

_QUICK_OPTIONS = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}
_FORCED = os.environ.get("PYTORCHLIKE_TIERS", "")


def first_tier(platform: str) -> str:
    """The tier a new program starts in; accelerators have only the full one."""
    return QUICK if platform == "cpu" and _FORCED != FULL else FULL


def promotes(runs: int) -> bool:
    """Whether a quick program is compiled fully before its next run."""
    return runs >= QUICK_RUNS and _FORCED != QUICK


def options(tier: str) -> dict | None:
    """XLA's options for a tier."""
    return _QUICK_OPTIONS if tier == QUICK else None
