"""How a trace is run: by the interpreter while it is new, compiled once it comes again.

XLA's full compilation of a small training step takes ten times as long as running the step for the first time in torch, and code that
runs once, or with a new size each time, never earns it back.  So on the CPU

1. a new program is **interpreted** by numpy (`host`), without any compilation.  At its third run it is handed to a background thread that
   compiles it fully, and from its eighth run on it runs **full**, waiting for the compiler if need be.  The switch depends on the number
   of runs alone, so a script gives the same bits each time it is run;
2. where programs have come only once that have the same operators (in other sizes, mostly), each has to run that many times more often:
   traces that keep changing stay interpreted;
3. what a compiled function captured, which comes again by intention, is compiled at its third run, or, as under 2, that many times later.

**Quick** means compiled without LLVM's optimisations and without XLA's fusion emitters (about a fifth of the time): so are operators that the
interpreter has compiled singly.  Accelerators have only the full tier.  ``PYTORCHLIKE_TIERS`` forces one for all programs: ``interpreted``
and ``quick`` never promote, ``full`` compiles at once.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

__all__ = [
    "COMPILED_FROM", "COMPILED_SOON_FROM", "FULL", "HANDED_OVER_AT", "INTERPRETED", "QUICK", "count_run", "family_of", "first_tier", "forced",
    "is_due", "options", "outlook", "starts_background",
]  # fmt: skip

INTERPRETED, QUICK, FULL = "interpreted", "quick", "full"

#: The run of an interpreted program at which its compilation starts in the background ...
HANDED_OVER_AT = 3
#: ... and the first one that runs compiled.
COMPILED_FROM = 8
#: The first run that is compiled fully of what a compiled function captured, and of programs that are compiled quickly at once.
COMPILED_SOON_FROM = 3

_QUICK_OPTIONS = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}
_forced = os.environ.get("PYTORCHLIKE_TIERS", "")

#: A hash of programs' operators, in order, and the sizes of their inputs -> how often they have run; the first two times of each program count.
_runs: Counter[int] = Counter()
#: The operators -> with how many sizes they have run once and not again.
_seen_once: Counter[int] = Counter()


def family_of(instructions: Sequence[Hashable]) -> int:
    """What programs have in common whose instructions belong together (`Instruction.family`), in order."""
    return hash(tuple(instructions))


def count_run(family: int, sizes: Hashable) -> None:
    """A program of a family, with inputs of these sizes, runs for the first or the second time."""
    known = hash((family, sizes))
    _runs[known] += 1
    _seen_once[family] += {1: 1, 2: -1}.get(_runs[known], 0)


def first_tier(platform: str, interpretable: bool) -> str:
    """The tier a new program starts in."""
    if platform != "cpu" or _forced == FULL:
        return FULL
    return INTERPRETED if interpretable and _forced != QUICK else QUICK


def starts_background(run: int, family: int) -> bool:
    """Whether an interpreted program's compilation starts at this run (the first is 1), if it has not started."""
    return _forced == "" and run >= HANDED_OVER_AT * (1 + _seen_once[family])


def is_due(tier: str, run: int, family: int = 0, is_captured: bool = False) -> bool:
    """Whether a program that is not in the full tier yet is in it from this run on (the first is 1)."""
    first = COMPILED_FROM if tier is INTERPRETED and not is_captured else COMPILED_SOON_FROM
    return _forced != tier and run >= first * (1 + _seen_once[family])


def outlook(family: int, runs: int, is_captured: bool = False) -> str:
    """When an interpreted program will be compiled, in words."""
    if _forced == INTERPRETED:
        return "this tier is forced"
    others = _seen_once[family] - (runs == 1)
    because = f", as {others} others with the same operators came only once" if others else ""
    return f"compiled from run {(COMPILED_SOON_FROM if is_captured else COMPILED_FROM) * (1 + others)}{because}"


def options(tier: str) -> dict | None:
    """XLA's options for a tier."""
    return _QUICK_OPTIONS if tier == QUICK else None


@contextlib.contextmanager
def forced(tier: str) -> Iterator[None]:
    """Force a tier for the programs that are made inside the block, as ``PYTORCHLIKE_TIERS`` does; "" for the usual policy."""
    global _forced
    before, _forced = _forced, tier
    try:
        yield
    finally:
        _forced = before
