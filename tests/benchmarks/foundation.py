"""Recording one operator, training steps of small networks, cold start, import: beside torch eager and hand-written JAX, in one run.

    python -m tests.benchmarks.foundation [--rounds 9] [--json FILE]

Every framework runs in this process, pinned to one core, torch on one thread; the rounds of the frameworks alternate, and a case's
figure is the median over rounds of CPU time for one repetition (wall time is printed, too: on a busy machine CPU time is the steadier one).
Cold starts run in processes of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

#: case -> the ratio to torch eager that the project asks for.
TARGETS = {"add 8x8": 1.5, "add 8x8, with autograd": 1.5, "MLP 3x16, batch 32": 1.2, "MLP 3x256, batch 64": 1.1}


def random_array(seed: int, *shape: int) -> np.ndarray:
    """Reproducible float32 normals."""
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def torch_like(torch: Any) -> dict[str, Callable[[], Any]]:
    """The cases, written once for torch and pytorchlike."""
    x, y = torch.from_numpy(random_array(0, 8, 8)).clone(), torch.from_numpy(random_array(1, 8, 8)).clone()
    g = torch.from_numpy(random_array(2, 8, 8)).clone().requires_grad_()
    cases: dict[str, Callable[[], Any]] = {"add 8x8": lambda: x + y, "add 8x8, with autograd": lambda: g + y}
    for name, width, batch in (("MLP 3x16, batch 32", 16, 32), ("MLP 3x256, batch 64", 256, 64)):
        cases[name] = torch_step(torch, width, batch)
    return cases


def torch_step(torch: Any, width: int, batch: int) -> Callable[[], float]:
    """A training step of a perceptron of three layers with SGD that reads the loss."""
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x = torch.from_numpy(random_array(3, batch, width)).clone()
    y = torch.from_numpy(np.random.RandomState(4).randint(0, 10, batch)).clone()

    def step() -> float:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def jax_cases() -> dict[str, Callable[[], Any]]:
    """The same by hand: ``jax.jit`` and optax."""
    import jax
    import jax.numpy as jnp

    x, y = jnp.asarray(random_array(0, 8, 8)), jnp.asarray(random_array(1, 8, 8))
    add = jax.jit(lambda a, b: a + b)
    cases: dict[str, Callable[[], Any]] = {"add 8x8": lambda: add(x, y)}
    for name, width, batch in (("MLP 3x16, batch 32", 16, 32), ("MLP 3x256, batch 64", 256, 64)):
        cases[name] = jax_step(width, batch)
    return cases


def jax_step(width: int, batch: int) -> Callable[[], float]:
    """The training step as one jitted function."""
    import jax
    import jax.numpy as jnp
    import optax

    sizes = [(width, width), (width, width), (10, width)]
    params = [(jnp.asarray(random_array(k, *s) / np.sqrt(width)), jnp.zeros(s[0])) for k, s in enumerate(sizes)]
    optimizer = optax.sgd(0.01, momentum=0.9)
    state = [params, optimizer.init(params)]
    x, y = jnp.asarray(random_array(3, batch, width)), jnp.asarray(np.random.RandomState(4).randint(0, 10, batch))

    def loss_of(params: Any, x: Any, y: Any) -> Any:
        for k, (w, b) in enumerate(params):
            x = x @ w.T + b
            x = jax.nn.relu(x) if k < 2 else x
        return optax.softmax_cross_entropy_with_integer_labels(x, y).mean()

    @jax.jit
    def update(params: Any, state: Any, x: Any, y: Any) -> Any:
        loss, grads = jax.value_and_grad(loss_of)(params, x, y)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss

    def step() -> float:
        state[0], state[1], loss = update(state[0], state[1], x, y)
        return float(loss)

    return step


def one_round(function: Callable[[], Any], seconds: float) -> tuple[float, float]:
    """CPU and wall seconds of one repetition, over about this many seconds."""
    start = time.perf_counter()
    function()
    count = max(3, int(seconds / max(time.perf_counter() - start, 1e-7)))
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        function()
    return (time.process_time() - cpu) / count, (time.perf_counter() - wall) / count


def measure(frameworks: dict[str, dict[str, Callable]], rounds: int, seconds: float) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """case -> framework -> (CPU, wall) of each round."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for case in next(iter(frameworks.values())):
        runs = {name: cases[case] for name, cases in frameworks.items() if case in cases}
        for function in runs.values():
            for _ in range(200 if "add" in case else 20):
                function()
        found[case] = {name: [] for name in runs}
        for _ in range(rounds):
            for name, function in runs.items():
                found[case][name].append(one_round(function, seconds))
    return found


COLD = """
import time, sys, numpy as np
start = time.perf_counter()
if {framework!r} == "torch":
    import torch
    torch.set_num_threads(1)
else:
    import pytorchlike as torch
imported = time.perf_counter()
sys.path.insert(0, {root!r})
from tests.benchmarks.foundation import torch_step
step = torch_step(torch, {width}, {batch})
step()
print(imported - start, time.perf_counter() - imported)
"""

IMPORTS = """
import time
import jax, jax.numpy
start = time.process_time()
import pytorchlike
print(time.process_time() - start)
"""


def in_process(code: str, cache: str) -> list[float]:
    """Run code in a fresh process, pinned; the numbers it prints."""
    environment = dict(os.environ, PYTORCHLIKE_CACHE_DIR=cache, OMP_NUM_THREADS="1")
    core = f"import os; os.sched_setaffinity(0, {{{CORE}}})\n"
    output = subprocess.run([sys.executable, "-c", core + code], env=environment, capture_output=True, text=True, check=True).stdout
    return [float(n) for n in output.split()]


def cold_starts(repetitions: int) -> dict[str, dict[str, float]]:
    """First training step after import, seconds: empty cache, warm cache, torch."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    found: dict[str, dict[str, float]] = {}
    for name, width, batch in (("MLP 3x16", 16, 32), ("MLP 3x256", 256, 64)):
        cold, warm, torch = [], [], []
        for _ in range(repetitions):
            with tempfile.TemporaryDirectory() as cache:
                code = COLD.format(framework="ours", root=root, width=width, batch=batch)
                cold.append(in_process(code, cache)[1])
                warm.append(in_process(code, cache)[1])
                torch.append(in_process(COLD.format(framework="torch", root=root, width=width, batch=batch), cache)[1])
        found[name] = {"cold": statistics.median(cold), "warm": statistics.median(warm), "torch": statistics.median(torch)}
    return found


CORE = 0


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.1, help="of each round")
    parser.add_argument("--no-cold", action="store_true", help="skip the cold starts")
    parser.add_argument("--json", help="write the figures to this file")
    options = parser.parse_args()
    os.sched_setaffinity(0, {CORE})
    import torch

    torch.set_num_threads(1)
    import jax

    import pytorchlike as ours

    found = measure({"torch": torch_like(torch), "jax": jax_cases(), "pytorchlike": torch_like(ours)}, options.rounds, options.seconds)
    print(f"{platform.processor() or platform.machine()}, torch {torch.__version__}, jax {jax.__version__}, load {os.getloadavg()[0]:.1f}\n")
    print("| case | torch | jax.jit | pytorchlike | pytorchlike / torch | asked |\n|---|---|---|---|---|---|")
    table = {}
    for case, runs in found.items():
        cpu = {name: statistics.median(c for c, _ in values) for name, values in runs.items()}
        ratios = [o[0] / t[0] for o, t in zip(runs["pytorchlike"], runs["torch"], strict=True)]
        quartiles = statistics.quantiles(ratios, n=4)
        table[case] = {**cpu, "ratio": statistics.median(ratios)}
        cells = [f"{cpu[n] * 1e6:.2f} us" if n in cpu else "" for n in ("torch", "jax", "pytorchlike")]
        print(f"| {case} | {' | '.join(cells)} | {statistics.median(ratios):.2f} ({quartiles[0]:.2f} to {quartiles[2]:.2f}) | {TARGETS[case]} |")
    if not options.no_cold:
        starts = cold_starts(3)
        imports = statistics.median(in_process(IMPORTS, tempfile.gettempdir())[0] for _ in range(5))
        print("\n| first step after import | torch | cold | warm | asked |\n|---|---|---|---|---|")
        for name, row in starts.items():
            print(f"| {name} | {row['torch']:.2f} s | {row['cold']:.2f} s | {row['warm']:.2f} s | 0.6 s, 0.35 s |")
        print(f"\nimport pytorchlike after import jax: {imports:.2f} s CPU (asked: 0.2 s)")
        table |= {"starts": starts, "import": imports}
    if options.json:
        with open(options.json, "w") as file:
            json.dump(table, file, indent=1)


if __name__ == "__main__":
    main()
