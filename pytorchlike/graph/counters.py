"""Counters of the graph layer, and `explain`, which prints them."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import jax

if TYPE_CHECKING:
    from .lower import Program
    from .trie import State

__all__ = ["compilations", "count_compilation", "count_flush", "explain", "flushes", "forget", "note_compilation", "reset_counters", "tell", "watchers"]

logger = logging.getLogger("pytorchlike.graph")

#: reason -> how many flushes.
flushes: Counter[str] = Counter()
#: Programs that ran for the first time since the start (or the last reset), in whatever tier, and were not forgotten.
compilations: list[Program] = []
#: instructions recorded and flushed.
recorded = Counter[str]()

#: Called with (instructions that ran together, when that began, when their results were there) while somebody measures.
watchers: list[Callable[[list[Any], float, float], None]] = []

#: A compilation that takes longer than this is worth a line in the log.
SLOW_COMPILATION_SECONDS = 1.0


def count_flush(reason: str, position: State) -> None:
    """A trace that ends at this position is run."""
    flushes[reason] += 1
    recorded["instructions"] += position.depth


def count_compilation(program: Program) -> None:
    """A program has run for the first time."""
    compilations.append(program)


def forget(programs: Iterable[Program]) -> None:
    """Programs are dropped; what lists them must not keep them."""
    dropped = set(programs)
    compilations[:] = [program for program in compilations if program not in dropped]


def note_compilation(operators: int, seconds: float) -> None:
    """XLA has compiled a program."""
    if seconds > SLOW_COMPILATION_SECONDS:
        logger.info("compiled a trace of %d operators in %.1f s", operators, seconds)


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
    """What was recorded, why traces ran, and their programs, the most expensive first: how each runs (`tiers`), how often it ran, and why it runs so.

    Args:
        limit: how many programs are listed.
    """
    from .recorder import recent_traces

    total = sum(p.compile_seconds for p in compilations)
    lines = [
        f"{recorded['instructions']} operators recorded, {sum(flushes.values())} flushes, {len(compilations)} programs, XLA compiled for {total:.2f} s",
        "flushes: " + (", ".join(f"{reason} {count}" for reason, count in flushes.most_common()) or "none"),
        f"{'operators':>9} {'inputs':>7} {'results':>7} {'donated':>7} {'runs':>6} {'first run':>10} {'compile':>10}  tier",
    ]
    if recent_traces.forgotten:
        lines.insert(1, f"{recent_traces.forgotten} traces forgotten, those that are kept have {recent_traces.instructions} operators")
    for program in sorted(compilations, key=lambda p: -(p.first_run_seconds + p.compile_seconds))[:limit]:
        tiers = "; ".join(dict.fromkeys(part.describe() for part in program.parts))
        lines.append(
            f"{program.step_count:>9} {len(program.inputs):>7} {len(program.live):>7} {len(program.donated):>7} {program.runs:>6} "
            f"{program.first_run_seconds:>8.3f} s {program.compile_seconds:>8.3f} s  {tiers}"
        )
    return "\n".join(lines)
