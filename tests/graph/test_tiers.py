"""When programs are interpreted, and when they are compiled."""

from __future__ import annotations

import gc
import itertools
import weakref

import numpy as np
import pytest

import pytorchlike as torch
from pytorchlike.core.state import thread
from pytorchlike.graph import background, counters, recorder, tiers
from pytorchlike.graph.lower import Part
from pytorchlike.graph.trie import RecentTraces, State

_numbers = itertools.count(5)


@pytest.fixture(autouse=True)
def deferred_only(monkeypatch: pytest.MonkeyPatch):
    if thread.state.immediate:
        pytest.skip("about the deferred executor")
    torch.graph.flush_all()
    counters.reset_counters()
    with tiers.forced(""):
        yield


def fresh_program(size: int = 3):
    """A function that runs a program of its own, with operators no other program has."""
    count = next(_numbers)

    def run(n: int = size) -> list[float]:
        x = torch.full((n,), 1.01)
        for _ in range(count):
            x = (x + 0.25).tanh()
        return x.tolist()

    return run


def test_a_repeated_program_is_compiled_at_a_certain_run() -> None:
    run = fresh_program()
    results = []
    for k in range(1, tiers.COMPILED_FROM + 2):
        results.append(run())
        (program,) = counters.compilations
        assert program.parts[0].tier == (tiers.FULL if k >= tiers.COMPILED_FROM else tiers.INTERPRETED), k
    np.testing.assert_allclose(results, results[:1] * len(results), rtol=1e-6)
    assert program.compile_seconds > 0


def test_where_sizes_keep_changing_programs_wait_longer() -> None:
    run = fresh_program()
    for n in range(2, 6):
        run(n)
    for _ in range(tiers.COMPILED_FROM):
        run(5)
    assert counters.compilations[3].parts[0].tier == tiers.INTERPRETED
    assert f"compiled from run {4 * tiers.COMPILED_FROM}, as 3 others with the same operators came only once" in torch.graph.explain()
    for n in range(2, 5):  # they come again, so the sizes do not keep changing
        run(n)
    run(5)
    assert counters.compilations[3].parts[0].tier == tiers.FULL
    assert counters.compilations[0].parts[0].tier == tiers.INTERPRETED


@pytest.mark.parametrize("tier", [tiers.FULL, tiers.QUICK, tiers.INTERPRETED])
def test_a_tier_can_be_forced(tier: str) -> None:
    with tiers.forced(tier):
        run = fresh_program()
        results = [run() for _ in range(2 * tiers.COMPILED_FROM)]
        (program,) = counters.compilations
        assert program.parts[0].tier == tier
    np.testing.assert_allclose(results, results[:1] * len(results), rtol=1e-6)


def test_an_error_of_the_compiler_arrives_where_the_program_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    run = fresh_program()

    def fail(part: Part, tier: str) -> None:
        raise MemoryError("no memory")

    monkeypatch.setattr(Part, "_compile", fail)
    for _ in range(tiers.COMPILED_FROM - 1):
        run()
    with pytest.raises(MemoryError):
        run()


def test_compiled_functions_are_not_interpreted() -> None:
    exponent = next(_numbers) + 0.5
    double = torch.compile(lambda x: (x**exponent) * 2)
    x = torch.ones(3)
    for _ in range(4):
        assert double(x).tolist() == [2.0, 2.0, 2.0]
    assert [program.parts[0].tier for program in counters.compilations][-1] in (tiers.QUICK, tiers.FULL)


def test_what_numpy_cannot_run_is_compiled_singly() -> None:
    matrix = torch.eye(next(_numbers) + 3) * 2
    q, _ = torch.linalg.qr(matrix)
    assert abs(float(q.abs().sum()) - len(matrix)) < 1e-4
    assert "1 operators compiled singly" in torch.graph.explain()


def test_jobs_run_once_wherever() -> None:
    calls = []
    job = background.submit(lambda: calls.append(1) or 5)
    assert job.result() == 5 and job.result() == 5 and calls == [1]

    def fail() -> None:
        raise ValueError("no")

    failing = background.submit(fail)
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            failing.result()


# -- forgetting ---------------------------------------------------------------------------------------------------------------------------


def test_traces_that_were_not_run_for_long_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder.recent_traces, "most", 40)
    run = fresh_program()
    run(1)
    program = weakref.ref(counters.compilations[-1])
    before = recorder.recent_traces.forgotten
    for n in range(2, 60):
        run(n)
    gc.collect()
    assert program() is None
    assert recorder.recent_traces.forgotten > before
    assert recorder.recent_traces.instructions <= recorder.recent_traces.most
    assert run(2) == pytest.approx(run(30)[:2])


def test_only_what_no_other_trace_passes_through_is_cut_out() -> None:
    recent = RecentTraces(most=5)
    root = State(None, None, (), None, None)

    class Known:
        outputs = ()

    def grow(parent: State, name: str) -> State:
        from pytorchlike.graph.instruction import Instruction

        instruction = Instruction(name, lambda: ())
        return parent.next.setdefault((instruction,), State(parent, instruction, (), Known(), None))  # type: ignore[arg-type]

    stem = grow(root, "stem")
    first, second = grow(stem, "first"), grow(stem, "second")
    third = grow(grow(stem, "third"), "third")
    for end in (first, second, first, third):
        end.programs[()] = ("program", frozenset())
        recent.touch(end)
    assert recent.forgotten == 1 and second.key not in stem.next and not second.programs
    assert first.key in stem.next and first.programs and stem.key in root.next
