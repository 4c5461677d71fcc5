"""How a trace is compiled: quickly while it is new, fully once it comes again.

XLA's full compilation of a small training step takes ten times as long as running the step for the first time in torch.  On the CPU a
program therefore starts in a quick tier, compiled without LLVM's optimisations and without XLA's fusion emitters (about a fifth of the
time; matrix products and convolutions are library calls and as fast as ever).  The switch depends on the number of runs alone, so a
script gives the same bits each time it is run.

``PYTORCHLIKE_TIERS=full`` compiles everything fully at once, ``PYTORCHLIKE_TIERS=quick`` never promotes.
"""

from __future__ import annotations

import os

__all__ = ["FULL", "INTERPRETED", "QUICK", "QUICK_RUNS", "first_tier", "next_tier", "options"]

INTERPRETED, QUICK, FULL = "interpreted", "quick", "full"

#: A program is compiled fully at its run after this many ...
QUICK_RUNS = 2
#: ... and an interpreted one after this many.
INTERPRETED_RUNS = 8

_QUICK_OPTIONS = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}
_FORCED = os.environ.get("PYTORCHLIKE_TIERS", "")


def first_tier(platform: str, interpretable: bool) -> str:
    """The tier a new program starts in; accelerators have only the full one."""
    if platform != "cpu" or _FORCED == FULL:
        return FULL
    return INTERPRETED if interpretable and _FORCED != QUICK else QUICK


def next_tier(tier: str, runs: int) -> str:
    """The tier in which a program runs that was in another one for some runs."""
    if tier is INTERPRETED and runs >= INTERPRETED_RUNS and _FORCED != INTERPRETED:
        return FULL
    if tier is QUICK and runs >= QUICK_RUNS and _FORCED != QUICK:
        return FULL
    return tier


def options(tier: str) -> dict | None:
    """XLA's options for a tier."""
    return _QUICK_OPTIONS if tier == QUICK else None
