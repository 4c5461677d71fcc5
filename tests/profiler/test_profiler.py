"""The profiler: what it counts and measures, schedules, files."""

from __future__ import annotations

import json

import pytest
import torch as real_torch

import pytorchlike as ours
from pytorchlike.graph import counters
from pytorchlike.profiler import ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler


def work(x):
    return (x * 2).sin().sum()


def test_operators_are_counted_and_blocks_measured(executor):
    x = ours.ones(4)
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        for _ in range(2):
            with record_function("block"):
                kept = work(x)
    assert kept.item() != 0
    sums = {e.key: e for e in seen.key_averages()}
    assert [sums[name].count for name in ("block", "aten::mul", "aten::sin", "aten::sum")] == [2, 2, 2, 2]
    assert sums["block"].cpu_time_total > sums["block"].self_cpu_time_total > 0
    programs = [e for e in seen.events() if e.cpu_parent is not None and e.cpu_parent.key == "block"]
    assert sum(e.cpu_time_total for e in programs) <= sums["block"].cpu_time_total
    table = seen.key_averages().table(sort_by="cpu_time_total", row_limit=2)
    assert [line.split()[0] for line in table.splitlines()[3:4]] == ["block"]
    assert "Self CPU time total:" in table
    assert not counters.watchers


def test_backward_and_optimizer_are_seen():
    layer = ours.nn.Linear(2, 2)
    optimizer = ours.optim.SGD(layer.parameters(), lr=0.1)
    with ours.autograd.profiler.profile() as seen:
        layer(ours.ones(1, 2)).sum().backward()
        optimizer.step()
    names = {e.key for e in seen.key_averages()}
    assert "SGD.step" in names and any(n.endswith("backward") for n in names)
    assert "# of Calls" in seen.table() and seen.total_average().count == len(seen.function_events)


@pytest.mark.parametrize("arguments", [{"wait": 1, "warmup": 1, "active": 2, "repeat": 2, "skip_first": 1}, {"wait": 0, "warmup": 1, "active": 1}])
def test_schedules(arguments):
    mine, theirs = schedule(**arguments), real_torch.profiler.schedule(**arguments)
    assert [mine(k).name for k in range(12)] == [theirs(k).name for k in range(12)]


def test_a_schedule_hands_over_each_cycle(tmp_path):
    ready = []
    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=lambda p: ready.append(len(p.events()))) as seen:
        for _ in range(9):
            kept = work(ours.ones(4))
            assert kept.item() != 0
            seen.step()
    assert len(ready) == 2 and ready[0] == ready[1] > 0
    seen.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {"aten::mul", "aten::sin"} <= {e["name"] for e in events}


def test_without_a_profiler_a_block_does_nothing():
    counters.flushes.clear()
    with record_function("block"):
        kept = work(ours.ones(4))
    assert record_function("named")(work)(ours.ones(4)).shape == kept.shape
    assert not counters.flushes


def test_options_without_effect_are_named():
    with pytest.warns(UserWarning, match="record_shapes, with_stack have no effect"):
        profile(record_shapes=True, with_stack=True)
    with pytest.raises(NotImplementedError, match="grouped by name only"):
        ours.autograd.profiler.EventList().key_averages(group_by_input_shapes=True)


@pytest.mark.slow
def test_timelines_are_kept_for_tensorboard(tmp_path):
    with profile(on_trace_ready=tensorboard_trace_handler(str(tmp_path))):
        assert work(ours.ones(4)).item() != 0
    assert list(tmp_path.rglob("*.xplane.pb"))
