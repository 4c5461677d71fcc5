"""Counters of the graph layer, and `explain`, which prints them."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .lower import Program
    from .trie import State

__all__ = ["compilations", "count_compilation", "count_flush", "explain", "flushes", "reset_counters"]

logger = logging.getLogger("pytorchlike.graph")

#: reason -> how many flushes.
flushes: Counter[str] = Counter()
#: programs compiled since the start (or the last reset).
compilations: list[Program] = []
#: instructions recorded and flushed.
recorded = Counter[str]()

#: A first run that takes longer than this is worth a line in the log.
SLOW_COMPILATION_SECONDS = 1.0


def count_flush(reason: str, position: State) -> None:
    """A trace that ends at this position is run."""
    flushes[reason] += 1
    recorded["instructions"] += position.depth


def count_compilation(program: Program) -> None:
    """A program has run for the first time."""
    compilations.append(program)
    if program.first_run_seconds > SLOW_COMPILATION_SECONDS:
        logger.info("compiled a trace of %d operators in %.1f s", program.step_count, program.first_run_seconds)


def reset_counters() -> None:
    """Start counting anew (compiled programs stay)."""
    flushes.clear()
    compilations.clear()
    recorded.clear()


def explain(limit: int = 20) -> str:
    """What was recorded, why traces ran, and the programs that were compiled, the most expensive first.

    Args:
        limit: how many programs are listed.
    """
    total = sum(p.first_run_seconds for p in compilations)
    lines = [
        f"{recorded['instructions']} operators recorded, {sum(flushes.values())} flushes, {len(compilations)} programs compiled in {total:.2f} s",
        "flushes: " + (", ".join(f"{reason} {count}" for reason, count in flushes.most_common()) or "none"),
        f"{'operators':>9} {'inputs':>7} {'results':>7} {'donated':>7} {'runs':>6} {'first run':>10}",
    ]
    for program in sorted(compilations, key=lambda p: -p.first_run_seconds)[:limit]:
        lines.append(
            f"{program.step_count:>9} {len(program.inputs):>7} {len(program.live):>7} {len(program.donated):>7} {program.runs:>6} "
            f"{program.first_run_seconds:>8.3f} s"
        )
    return "\n".join(lines)
