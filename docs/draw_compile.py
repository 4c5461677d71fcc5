"""Draws the pictures of compile.md from a step that is captured, compiled and replayed while this runs.

    python docs/draw_compile.py

writes compile_graph.svg and compile_timeline.svg beside itself.  Needs matplotlib.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import matplotlib
import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

import pytorchlike as torch
from pytorchlike import nn
from pytorchlike.compiler import packing, replay
from pytorchlike.compiler.structure import flatten
from pytorchlike.graph import lower, recorder

HERE = Path(__file__).parent
COLOURS = {"input": "#cfe2f3", "operator": "#fce5cd", "result": "#d9ead3"}
#: Parts of a call, in the order of the legend.
PARTS = {
    "the function's Python, watched": "#f6b26b", "notes become a check and plans": "#ffd966", "XLA compiles and runs": "#6fa8dc", "replay": "#93c47d",
}  # fmt: skip


def make_step(optimizer_class: Any, *widths: int) -> tuple[Any, Any, Callable]:
    """A model, its optimizer, and a training step, not compiled."""
    torch.manual_seed(0)
    layers = [layer for a, b in zip(widths, widths[1:]) for layer in (nn.Linear(a, b), nn.ReLU())][:-1]
    model = nn.Sequential(*layers) if len(layers) > 1 else layers[0]
    optimizer = optimizer_class(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return model, optimizer, step


# -- the graph -----------------------------------------------------------------------------------------------------------------------------


def draw_graph(path: Path) -> None:
    """The operators of the step of compile.md, with where each input is found and where each result goes."""
    model, _, step = make_step(torch.optim.SGD, 2, 1)
    run = torch.compile(step)
    for _ in range(3):
        run(torch.randn(4, 2), torch.randn(4, 1))
    captured = run._compiled.replays[0]
    owners = {id(p._storage): name for name, p in model.named_parameters()}
    labels, kinds, level, edges = {}, {}, {}, []
    arguments = iter(("argument x", "argument y"))
    for slot, (kind, what) in zip(captured.instruction.inputs, captured.input_plans):
        labels[slot] = owners[id(what)] if kind == "storage" else next(arguments) if kind == "memory" else "constant 1"
        kinds[slot], level[slot] = "input", 0
    produced = {}
    for step_ in captured.instruction.steps:
        name = step_.slot
        labels[name], kinds[name] = step_.instruction.name, "operator"
        level[name] = 1 + max(level[produced.get(s, s)] for s in step_.slots)
        edges += [(produced.get(s, s), name) for s in dict.fromkeys(step_.slots)]
        produced.update(dict.fromkeys(range(step_.slot, step_.slot + len(step_.inference.outputs)), name))
    goes_to = {}
    for storage, k, *_ in captured.storage_writes:
        goes_to[captured.instruction.results[k]] = f"{owners[id(storage)]}, in place"
    for k in captured.gradient_results():
        slot = captured.instruction.results[k]
        goes_to[slot] = f"gradient {list(captured.instruction.steps[-2].inference.outputs[slot - captured.instruction.steps[-2].slot].size)}"
    for slot in captured.instruction.results:
        labels[-slot], kinds[-slot] = goes_to.get(slot, "the result"), "result"
        level[-slot] = level[produced[slot]] + 1
        edges.append((produced[slot], -slot))
    deepest = max(level.values())
    level.update({n: deepest for n in level if kinds[n] == "result"})
    rows: dict[int, list[int]] = {}
    for n, depth in level.items():
        rows.setdefault(depth, []).append(n)
    place = {n: (depth * 2.3, -(k - (len(row) - 1) / 2) * 0.95) for depth, row in rows.items() for k, n in enumerate(row)}
    figure, axes = plt.subplots(figsize=(11.5, 4.2))
    boxes = {}
    for n, (x, y) in place.items():
        boxes[n] = FancyBboxPatch((x - 0.82, y - 0.22), 1.64, 0.44, boxstyle="round,pad=0.04", fc=COLOURS[kinds[n]], ec="#666666", lw=0.8, zorder=3)
        axes.add_patch(boxes[n])
        axes.text(x, y, labels[n], ha="center", va="center", fontsize=8, zorder=4)
    for a, b in edges:
        bend = 0.0 if level[b] - level[a] == 1 else -0.18 if place[a][1] > place[b][1] else 0.18
        axes.add_patch(FancyArrowPatch(place[a], place[b], arrowstyle="-|>", mutation_scale=10, patchA=boxes[a], patchB=boxes[b], shrinkA=0, shrinkB=1,
                                       color="#888888", lw=0.9, connectionstyle=f"arc3,rad={bend}"))  # fmt: skip
    for depth, text in ((0, "found again at each call"), (deepest / 2, "one instruction, one XLA program"), (deepest, "written, or returned")):
        axes.text(depth * 2.3, 2.75, text, ha="center", fontsize=9, style="italic")
    axes.set(xlim=(-1.1, deepest * 2.3 + 1.1), ylim=(-2.9, 3.1))
    axes.axis("off")
    figure.savefig(path, bbox_inches="tight")


# -- the timeline --------------------------------------------------------------------------------------------------------------------------


class Clock:
    """Notes when functions that are wrapped begin and end: (part, begin, end)."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, float, float]] = []

    def wrap(self, owner: Any, name: str, part: str) -> None:
        original = getattr(owner, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            begin = time.perf_counter()
            try:
                return original(*args, **kwargs)
            finally:
                self.spans.append((part, begin, time.perf_counter()))

        setattr(owner, name, timed)


def draw_timeline(path: Path) -> None:
    """The first calls of a step, and one replay in detail."""
    jax.config.update("jax_enable_compilation_cache", False)  # a first run, as without programs on the disk
    _, _, step = make_step(torch.optim.Adam, 32, 64, 64, 1)
    clock = Clock()
    clock.wrap(replay.Replay, "__init__", "notes become a check and plans")
    clock.wrap(replay.Replay, "take_over", "notes become a check and plans")
    clock.wrap(lower.Part, "run", "XLA compiles and runs")
    run = torch.compile(step)
    x, y = torch.randn(16, 32), torch.randn(16, 1)
    calls = []
    pack = replay.packing_of

    def packed(call: replay.Replay) -> Any:
        found = pack(call)
        if found is not None:
            clock.wrap(found.part, "function", "XLA compiles and runs")
        return found

    replay.packing_of = packed
    for _ in range(7):
        clock.spans.clear()
        captures = run._compiled.captures
        begin = time.perf_counter()
        run(x, y).item()
        end = time.perf_counter()
        base = "the function's Python, watched" if run._compiled.captures > captures else "replay"
        calls.append((begin, end, base, list(clock.spans)))
    replay.packing_of = pack
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(11, 5.4), gridspec_kw={"height_ratios": [3, 1.3]})
    for k, (begin, end, base, spans) in enumerate(calls):
        top.barh(k, (end - begin) * 1e3, color=PARTS[base])
        for part, a, b in spans:
            top.barh(k, (b - a) * 1e3, left=(a - begin) * 1e3, color=PARTS[part])
        top.text((end - begin) * 1e3, k, f" {(end - begin) * 1e3:.2f} ms", va="center", fontsize=8)
    names = ["1: no gradients yet", "2: gradients are there", "3: replayed, compiled fully", *[f"{k}: replayed" for k in range(4, len(calls) + 1)]]
    top.set_yticks(range(len(calls)), names, fontsize=8)
    top.invert_yaxis()
    top.set_xlabel("ms since the call")
    top.legend([plt.Rectangle((0, 0), 1, 1, color=c) for c in PARTS.values()], list(PARTS), fontsize=8, loc="lower right")
    top.set_xlim(0, max(end - begin for begin, end, *_ in calls) * 1.12e3)
    _draw_replay(bottom, run, x, y)
    figure.tight_layout()
    figure.savefig(path)


def _draw_replay(axes: Any, run: Any, x: Any, y: Any) -> None:
    """One replay: medians of many."""
    captured = run._compiled.replays[0]
    assert isinstance(captured.packing, packing.Packing)
    leaves: list[Any] = []
    structure = flatten(((x, y), {}), leaves)
    program = captured.packing.part.function
    spent: list[float] = []

    def timed(*arrays: Any) -> Any:
        begin = time.perf_counter()
        made = program(*arrays)
        jax.block_until_ready(made)
        spent.append(time.perf_counter() - begin)
        return made

    def median(function: Callable[[], Any]) -> float:
        times = []
        for _ in range(3000):
            begin = time.perf_counter()
            function()
            times.append(time.perf_counter() - begin)
        return statistics.median(times) * 1e6

    captured.packing.part.function = timed
    known = captured.guards.check(structure, leaves)
    whole = median(lambda: captured(known))
    inside = statistics.median(spent) * 1e6
    captured.packing.part.function = program
    total = {
        "flatten": median(lambda: flatten(((x, y), {}), [])), f"{len(captured.guards)} guards": median(lambda: captured.guards.check(structure, leaves)),
        "the program": inside, "inputs found, results written": whole - inside,
    }  # fmt: skip
    left = 0.0
    for (name, width), colour in zip(total.items(), ("#cccccc", "#ffd966", "#6fa8dc", "#93c47d"), strict=True):
        axes.barh(0, width, left=left, color=colour, label=f"{name}: {width:.1f} us")
        left += width
    axes.set_yticks([0], ["one replay"], fontsize=8)
    axes.set_xlabel("us (medians)")
    axes.legend(fontsize=8, ncols=4, loc="upper center", bbox_to_anchor=(0.5, 1.45))


def main() -> None:
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "compile", "font.family": "DejaVu Sans"})
    recorder.flush_all()
    draw_graph(HERE / "compile_graph.svg")
    draw_timeline(HERE / "compile_timeline.svg")


if __name__ == "__main__":
    main()
