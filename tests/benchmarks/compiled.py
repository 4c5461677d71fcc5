"""Compiled training steps beside hand-written JAX with optax, and beside torch eager; the overhead of a compiled call.

    python -m tests.benchmarks.compiled [--rounds 7] [--cases NAME ...] [--inductor] [--starts]

Every framework runs in this process, pinned to one core; rounds alternate, a figure is the median over rounds of CPU time for one step.
``--inductor`` adds real ``torch.compile``, which compiles C++ first.  ``--starts`` measures instead the first calls of a compiled step in processes
of their own: the first process with an empty folder for programs, and the second.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

from .foundation import random_array

WIDTHS = {"MLP 3x16": (16, 32), "MLP 3x256": (256, 64)}
LAYERS, HEADS, WIDTH, LENGTH, VOCABULARY, BATCH = 4, 4, 128, 64, 65, 16


# -- torch's programs, for torch and pytorchlike -------------------------------------------------------------------------------------------


def gpt(torch: Any) -> Any:
    """A character-level transformer with causal attention."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.attend, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.widen, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: Any) -> Any:
            b, t, c = x.shape
            q, k, v = [part.view(b, t, HEADS, c // HEADS).transpose(1, 2) for part in self.attend(self.norm1(x)).split(c, dim=2)]
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.project(mixed.transpose(1, 2).reshape(b, t, c))
            return x + self.narrow(nn.functional.gelu(self.widen(self.norm2(x))))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.token, self.place = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
            self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

        def forward(self, x: Any) -> Any:
            h = self.token(x) + self.place(torch.arange(x.shape[1]))
            return self.head(self.norm(self.blocks(h)))

    return Model()


def lstm(torch: Any) -> Any:
    """Two layers of LSTM over characters."""
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.token = nn.Embedding(VOCABULARY, WIDTH)
            self.lstm = nn.LSTM(WIDTH, WIDTH, 2, batch_first=True)
            self.head = nn.Linear(WIDTH, VOCABULARY)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(self.token(x))[0])

    return Model()


def model_and_batch(torch: Any, case: str) -> tuple[Any, Any, Any]:
    """The model of a case, inputs and targets (class numbers)."""
    nn = torch.nn
    torch.manual_seed(0)
    if case in WIDTHS:
        width, batch = WIDTHS[case]
        model = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))
        return model, torch.from_numpy(random_array(0, batch, width)).clone(), torch.arange(batch) % 10
    if case == "CNN":
        model = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(32 * 49, 10),
        )  # fmt: skip
        return model, torch.from_numpy(random_array(0, 32, 1, 28, 28)).clone(), torch.arange(32) % 10
    text = torch.arange(BATCH * (LENGTH + 1)).view(BATCH, LENGTH + 1) * 7 % VOCABULARY
    return (gpt if case == "char-GPT" else lstm)(torch), text[:, :-1].clone(), text[:, 1:].clone()


def torch_step(torch: Any, case: str, compile_: Callable | None) -> Callable[[], Any]:
    """A training step with Adam."""
    model, x, y = model_and_batch(torch, case)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x).flatten(0, -2), y.flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    run = compile_(step) if compile_ else step
    return lambda: run(x, y).item()


# -- the same by hand in JAX ---------------------------------------------------------------------------------------------------------------


def _linear(p: dict, name: str, x: Any) -> Any:
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def _norm(p: dict, name: str, x: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    centred = x - mean
    return centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5) * p[f"{name}.weight"] + p[f"{name}.bias"]


def jax_mlp(p: dict, x: Any) -> Any:
    for name in ("0", "2"):
        x = jax.nn.relu(_linear(p, name, x))
    return _linear(p, "4", x)


def jax_cnn(p: dict, x: Any) -> Any:
    for name in ("0", "3"):
        x = jax.lax.conv_general_dilated(x, p[f"{name}.weight"], (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))
        x = jax.nn.relu(x + p[f"{name}.bias"][:, None, None])
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    return _linear(p, "7", x.reshape(x.shape[0], -1))


def jax_gpt(p: dict, x: Any) -> Any:
    h = p["token.weight"][x] + p["place.weight"][: x.shape[1]]
    for k in range(LAYERS):
        at = f"blocks.{k}."
        q, k_, v = jnp.split(_linear(p, at + "attend", _norm(p, at + "norm1", h)), 3, -1)
        q, k_, v = [a.reshape(*a.shape[:2], HEADS, -1) for a in (q, k_, v)]
        mixed = jax.nn.dot_product_attention(q, k_, v, is_causal=True).reshape(h.shape)
        h = h + _linear(p, at + "project", mixed)
        h = h + _linear(p, at + "narrow", jax.nn.gelu(_linear(p, at + "widen", _norm(p, at + "norm2", h)), approximate=False))
    return _linear(p, "head", _norm(p, "norm", h))


def jax_lstm(p: dict, x: Any) -> Any:
    h = p["token.weight"][x].swapaxes(0, 1)
    for layer in (0, 1):
        w, u = p[f"lstm.weight_ih_l{layer}"], p[f"lstm.weight_hh_l{layer}"]
        entered = h @ w.T + p[f"lstm.bias_ih_l{layer}"] + p[f"lstm.bias_hh_l{layer}"]

        def cell(carry: Any, row: Any, u: Any = u) -> Any:
            hidden, memory = carry
            i, f, g, o = jnp.split(row + hidden @ u.T, 4, -1)
            memory = jax.nn.sigmoid(f) * memory + jax.nn.sigmoid(i) * jnp.tanh(g)
            hidden = jax.nn.sigmoid(o) * jnp.tanh(memory)
            return (hidden, memory), hidden

        start = jnp.zeros((h.shape[1], WIDTH), h.dtype)
        _, h = jax.lax.scan(cell, (start, start), entered)
    return _linear(p, "head", h.swapaxes(0, 1))


FORWARD = {"MLP 3x16": jax_mlp, "MLP 3x256": jax_mlp, "CNN": jax_cnn, "char-GPT": jax_gpt, "LSTM": jax_lstm}


def jax_step(torch: Any, case: str) -> Callable[[], Any]:
    """The step in JAX, from the same initial weights, with donated state."""
    model, x, y = model_and_batch(torch, case)
    params = {name: jnp.array(p.detach().numpy()) for name, p in model.named_parameters()}
    inputs, targets = jnp.array(x.numpy()), jnp.array(y.numpy())
    rule = optax.adam(1e-3)
    forward = FORWARD[case]

    def loss_of(p: dict, x: Any, y: Any) -> Any:
        logits = forward(p, x)
        return optax.softmax_cross_entropy_with_integer_labels(logits.reshape(-1, logits.shape[-1]), y.reshape(-1)).mean()

    def step(p: dict, state: Any, x: Any, y: Any) -> tuple:
        loss, grads = jax.value_and_grad(loss_of)(p, x, y)
        updates, state = rule.update(grads, state)
        return optax.apply_updates(p, updates), state, loss

    compiled = jax.jit(step, donate_argnums=(0, 1))
    held = [params, rule.init(params)]

    def run() -> float:
        held[0], held[1], loss = compiled(held[0], held[1], inputs, targets)
        return float(loss)

    return run


# -- measuring -----------------------------------------------------------------------------------------------------------------------------


def measure(programs: dict[str, Callable[[], Any]], rounds: int, seconds: float = 0.25) -> dict[str, list[float]]:
    """CPU seconds a call, one figure a round; the rounds of the programs alternate."""
    found: dict[str, list[float]] = {name: [] for name in programs}
    counts = {}
    for name, run in programs.items():
        for _ in range(10):  # the eager ones are compiled from their eighth run on
            run()
        start = time.process_time()
        run()
        counts[name] = max(1, int(seconds / max(time.process_time() - start, 1e-6)))
    for _ in range(rounds):
        for name, run in programs.items():
            start = time.process_time()
            for _ in range(counts[name]):
                run()
            found[name].append((time.process_time() - start) / counts[name])
    return found


_START = """
import sys, time
import pytorchlike
from tests.benchmarks.compiled import torch_step
step = torch_step(pytorchlike, sys.argv[1], pytorchlike.compile)
for _ in range(12):
    start = time.perf_counter()
    step()
    print(time.perf_counter() - start)
"""


def measure_starts(cases: list[str], rounds: int) -> None:
    """Print how long the first calls take in a first and in a second process."""
    names = ["first process: call 1", "2", "3", "second process: call 1", "2", "3", "later"]
    print(f"Milliseconds of single calls, medians of {rounds} rounds\n\n| case | " + " | ".join(names) + " |\n|---|" + "---|" * len(names))
    for case in cases:
        found: list[list[float]] = []
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                environment = {**os.environ, "PYTORCHLIKE_CACHE_DIR": folder, "PYTORCHLIKE_CACHE": "1", "OMP_NUM_THREADS": "1"}
                command = [sys.executable, "-c", _START, case]
                printed = [subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout for _ in range(2)]
            first, second = ([float(line) * 1e3 for line in text.split()] for text in printed)
            found.append([*first[:3], *second[:3], statistics.median(second[5:])])
        print(f"| {case} | " + " | ".join([f"{statistics.median(column):.1f}" for column in zip(*found, strict=True)]) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cases", nargs="*", default=list(FORWARD))
    parser.add_argument("--inductor", action="store_true")
    parser.add_argument("--starts", action="store_true")
    options = parser.parse_args()
    if options.starts:
        measure_starts(options.cases, options.rounds)
        return
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import torch

    import pytorchlike

    torch.set_num_threads(1)
    names = ["JAX by hand", "compiled", "eager", "torch eager", *(["torch.compile"] if options.inductor else [])]
    print(f"CPU time of a training step, ratio to JAX by hand (smallest to largest of {options.rounds} rounds)\n")
    print("| case | " + " | ".join(names) + " |\n|---|" + "---|" * len(names))
    for case in options.cases:
        programs = {
            "JAX by hand": jax_step(torch, case),
            "compiled": torch_step(pytorchlike, case, pytorchlike.compile),
            "eager": torch_step(pytorchlike, case, None),
            "torch eager": torch_step(torch, case, None),
        }
        if options.inductor:
            programs["torch.compile"] = torch_step(torch, case, torch.compile)
        losses = {name: run() for name, run in programs.items()}
        assert max(losses.values()) - min(losses.values()) < 1e-3, losses
        found = measure(programs, options.rounds)
        base = found["JAX by hand"]
        cells = [f"{statistics.median(base) * 1e6:.0f} us"]
        for name in names[1:]:
            ratios = [a / b for a, b in zip(found[name], base, strict=True)]
            cells.append(f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
        print(f"| {case} | " + " | ".join(cells) + " |", flush=True)
    x, a = pytorchlike.ones(3), jnp.ones(3)
    tiny, jitted = pytorchlike.compile(lambda x: x + 1), jax.jit(lambda x: x + 1)
    found = measure({"compiled": lambda: tiny(x), "jax.jit": lambda: jitted(a)}, options.rounds, 0.05)
    print(f"\na compiled call of x + 1: {min(found['compiled']) * 1e6:.1f} us, jax.jit {min(found['jax.jit']) * 1e6:.1f} us")


if __name__ == "__main__":
    main()
