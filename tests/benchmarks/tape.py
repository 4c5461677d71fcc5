"""The tape's speed and memory: backward beside torch eager, peak memory beside the same program in JAX, growth over many steps.

    python -m tests.benchmarks.tape [--rounds 15] [--json FILE]

Everything runs in one process, pinned to one core, torch on one thread; rounds of torch and pytorchlike alternate, and a figure is the median over
rounds of CPU time, a ratio the median of the rounds' ratios with its quartiles.  Flushes at the trace's cap are part of the time, as is the flush
that computes what is still pending.  Memory is what XLA plans for a program (arguments, results and temporaries), so it does not depend on the
machine.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

#: The most that the project asks for: times torch eager, times JAX.
SPEED, MEMORY = 1.3, 1.15
OPERATORS = 1000


# ---------------------------------------------------------------------------------------------------------------- speed
def graphs(torch: Any) -> dict[str, Callable[[], Any]]:
    """name -> function that builds a graph of 1,000 small operators and returns its loss and its leaves; written once for both."""
    x = torch.linspace(-1, 1, 64).reshape(8, 8).requires_grad_()
    w = torch.linspace(0.5, 1.5, 64).reshape(8, 8).requires_grad_()
    many = [torch.full((8, 8), 1.0 + k / 1000).requires_grad_() for k in range(100)]

    def mixed() -> Any:
        y = x
        for _ in range(OPERATORS // 4):
            y = (y * w + x).tanh() * 0.5
        return y.sum(), (x, w)

    def chain() -> Any:
        y = x
        for _ in range(OPERATORS // 2):
            y = y.sigmoid() * 1.01
        return y.sum(), (x,)

    def leaves() -> Any:
        y = x
        for k in range(OPERATORS // 2):
            y = (y * many[k % 100]).relu()
        return y.sum(), (x, *many)

    def views() -> Any:
        y = x
        for _ in range(OPERATORS // 5):
            y = (y.t() + y[0]).unsqueeze(0).squeeze(0)
        return y.mean(), (x,)

    return {"products, sums, tanh": mixed, "a chain of sigmoids": chain, "100 leaves": leaves, "views": views}


def backward_seconds(build: Callable[[], Any]) -> float:
    """CPU seconds of one backward pass, with what it leaves pending."""
    loss, leaves = build()
    for leaf in leaves:
        leaf.grad = None
    start = time.process_time()
    loss.backward()
    leaves[0].grad[0, 0].item()
    return time.process_time() - start


def measure_speed(rounds: int) -> dict[str, dict[str, Any]]:
    """name of the graph -> medians of torch and pytorchlike in seconds, their ratio with quartiles."""
    import torch

    import pytorchlike as ours

    torch.set_num_threads(1)
    found = {}
    theirs, mine = graphs(torch), graphs(ours)
    for name in theirs:
        for _ in range(12):  # the trace's programs are compiled fully after a few runs
            backward_seconds(mine[name]), backward_seconds(theirs[name])
        pairs = [(backward_seconds(theirs[name]), backward_seconds(mine[name])) for _ in range(rounds)]
        ratios = [m / t for t, m in pairs]
        found[name] = {
            "torch": statistics.median(t for t, _ in pairs),
            "pytorchlike": statistics.median(m for _, m in pairs),
            "ratio": statistics.median(ratios),
            "quartiles": statistics.quantiles(ratios, n=4)[::2],
        }
    return found


# ---------------------------------------------------------------------------------------------------------------- memory
DEPTH, BATCH, WIDTH = 16, 4096, 64


def planned_bytes(compiled: Any) -> int:
    """What a compiled program needs: arguments, results that are not arguments' buffers, temporaries."""
    plan = compiled.memory_analysis()
    return plan.argument_size_in_bytes + plan.output_size_in_bytes - plan.alias_size_in_bytes + plan.temp_size_in_bytes


def jax_bytes() -> int:
    """Gradients of a deep perceptron, written in JAX."""
    import jax
    import jax.numpy as jnp

    def loss(weights: Any, x: Any) -> Any:
        for w in weights:
            x = jnp.tanh(x @ w)
        return (x * x).mean()

    weights = [jnp.full((WIDTH, WIDTH), 0.01)] * DEPTH
    return planned_bytes(jax.jit(jax.value_and_grad(loss)).lower(weights, jnp.ones((BATCH, WIDTH))).compile())


def our_bytes(checkpoint_every: int = 0) -> int:
    """The same with pytorchlike: the largest of the programs that it ran.

    Args:
        checkpoint_every: recompute segments of this many layers; 0 keeps everything.
    """
    import pytorchlike as torch
    from pytorchlike.graph import lower, tiers
    from pytorchlike.utils.checkpoint import checkpoint

    sizes: list[int] = []
    original = lower.Part._compile

    def measured(part: Any, tier: str) -> Any:
        compiled = original(part, tier)
        sizes.append(planned_bytes(compiled))
        return compiled

    weights = [torch.full((WIDTH, WIDTH), 0.01).requires_grad_() for _ in range(DEPTH)]
    x = torch.ones(BATCH, WIDTH)
    x.requires_grad_(bool(checkpoint_every))
    step = checkpoint_every or DEPTH
    lower.Part._compile = measured  # type: ignore[method-assign]
    try:
        with tiers.forced(tiers.FULL):
            y = x
            for k in range(0, DEPTH, step):
                segment = functools.partial(lambda k, t: functools.reduce(lambda a, w: (a @ w).tanh(), weights[k : k + step], t), k)
                y = checkpoint(segment, y, use_reentrant=False) if checkpoint_every else segment(y)
            loss = (y * y).mean()
            loss.backward()
            loss.item()
    finally:
        lower.Part._compile = original  # type: ignore[method-assign]
    return max(sizes)


def resident_bytes() -> int:
    """What this process has in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(steps: int) -> int:
    """How many bytes a process grows over this many backward passes, after a tenth as many to settle."""
    import pytorchlike as torch

    x, w = torch.linspace(-1, 1, 64).reshape(8, 8), torch.ones(8, 8).requires_grad_()

    def step() -> None:
        w.grad = None
        ((x @ w).tanh() ** 2).mean().backward()
        w.grad.sum().item()

    for _ in range(steps // 10):
        step()
    before = resident_bytes()
    for _ in range(steps):
        step()
    return resident_bytes() - before


# ---------------------------------------------------------------------------------------------------------------- report
def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--json", help="write the figures to this file")
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    speed = measure_speed(options.rounds)
    print(f"{platform.processor() or platform.machine()}, load {os.getloadavg()[0]:.1f}\n")
    print(f"| backward of {OPERATORS} operators | torch | pytorchlike | pytorchlike / torch | asked |\n|---|---|---|---|---|")
    for name, row in speed.items():
        low, high = row["quartiles"]
        print(f"| {name} | {row['torch'] * 1e3:.2f} ms | {row['pytorchlike'] * 1e3:.2f} ms | {row['ratio']:.2f} ({low:.2f} to {high:.2f}) | {SPEED} |")
    memory = {"JAX": jax_bytes(), "pytorchlike": our_bytes(), "pytorchlike, checkpoints of 4 layers": our_bytes(4)}
    print(f"\n| forward and backward of {DEPTH} layers | planned memory | times JAX | asked |\n|---|---|---|---|")
    for name, size in memory.items():
        print(f"| {name} | {size / 1e6:.2f} MB | {size / memory['JAX']:.2f} | {MEMORY if name == 'pytorchlike' else ''} |")
    grown = growth(options.steps)
    print(f"\ngrowth over {options.steps} steps: {grown / 1e6:.2f} MB")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"speed": speed, "memory": memory, "growth": grown}, file, indent=1)


if __name__ == "__main__":
    main()
