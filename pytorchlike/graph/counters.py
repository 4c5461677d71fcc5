"""Counters of the graph layer, and `explain`, which prints them."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax

if TYPE_CHECKING:
    from .lower import Program
    from .trie import State

__all__ = ["compilations", "count_compilation", "count_flush", "explain", "flushes", "reset_counters", "tell", "watchers"]

logger = logging.getLogger("pytorchlike.graph")

#: reason -> how many flushes.
flushes: Counter[str] = Counter()
#: programs compiled since the start (or the last reset).
compilations: list[Program] = []
#: instructions recorded and flushed.
recorded = Counter[str]()

#: Called with (instructions that ran together, when that began, when their results were there) while somebody measures.
watchers: list[Callable[[list[Any], float, float], None]] = []

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


def tell(instructions: list[Any], start: float, results: Any) -> None:
    """Tell the watchers that instructions ran together; waits for the results, so that the time is that of the work.

    Args:
        start: of ``time.perf_counter``.
    """
    jax.block_until_ready(results)
    end = time.perf_counter()
    for watch in list(watchers):
        watch(instructions, start, end)


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
