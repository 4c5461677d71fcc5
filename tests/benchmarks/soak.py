"""Hours of random shapes: memory has to stay flat.

    python -m tests.benchmarks.soak [--minutes 120] [--seed 0]

One process draws, again and again, one of seven programs and its sizes: training steps of an LSTM, a convolutional net and a perceptron, generation with a
growing cache, ragged batches that data decide, a compiled step, and a random chain of operators.  Each minute it prints the resident memory (after collecting
garbage), how many steps were taken and what the cache of traces holds.  Caches fill first, so the first third of the time is warming up; after it, memory must not
grow by more than 5%: the medians of the second and the last third are compared.
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from .tape import resident_bytes

ALLOWED_GROWTH = 1.05


def programs(torch: Any, draw: random.Random) -> list[Callable[[], None]]:
    """The seven programs; each call takes sizes of its own."""
    nn, functional = torch.nn, torch.nn.functional

    def trainer(model: Any) -> Callable[[Any, Any], None]:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

        def step(x: Any, y: Any) -> None:
            optimizer.zero_grad()
            scores = model(x)
            functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), y.reshape(-1)).backward()
            optimizer.step()

        return step

    class Characters(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.token, self.rnn, self.head = nn.Embedding(17, 16), nn.LSTM(16, 24, 2, batch_first=True), nn.Linear(24, 17)

        def forward(self, x: Any) -> Any:
            return self.head(self.rnn(self.token(x))[0])

    train_lstm = trainer(Characters())
    train_convolutions = trainer(
        nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))
    )
    train_perceptron = trainer(nn.Sequential(nn.Linear(12, 20), nn.GELU(), nn.Dropout(0.1), nn.Linear(20, 5)))
    compiled = torch.compile(nn.Sequential(nn.Linear(12, 20), nn.Tanh(), nn.Linear(20, 5)))
    train_compiled = trainer(compiled)

    def characters() -> None:
        batch, length = draw.randint(1, 6), draw.randint(1, 60)
        train_lstm(torch.randint(0, 17, (batch, length)), torch.randint(0, 17, (batch, length)))

    def pictures() -> None:
        batch, height, width = draw.randint(1, 6), draw.randint(8, 30), draw.randint(8, 30)
        train_convolutions(torch.randn(batch, 1, height, width), torch.randint(0, 5, (batch,)))

    def rows() -> None:
        batch = draw.randint(1, 300)
        train_perceptron(torch.randn(batch, 12), torch.randint(0, 5, (batch,)))

    def compiled_rows() -> None:
        batch = draw.randint(1, 300)
        train_compiled(torch.randn(batch, 12), torch.randint(0, 5, (batch,)))

    def generation() -> None:
        with torch.no_grad():
            cache, current = torch.zeros(1, 2, 0, 8), torch.randn(1, 2, 1, 8)
            for _ in range(draw.randint(1, 40)):
                cache = torch.cat([cache, current], dim=2)
                current = functional.scaled_dot_product_attention(current, cache, cache)
                if current.abs().max().item() > 1e3:
                    break

    def ragged() -> None:
        x = torch.randn(draw.randint(1, 80), 6, requires_grad=True)
        kept = x[x[:, 0] > 0]
        total = (kept.softmax(-1) * kept).sum() + sum(part.mean() for part in x.split(draw.randint(1, 9)))
        total.backward()
        float(x.grad.norm())

    unary = [torch.sin, torch.exp, torch.tanh, torch.sigmoid, torch.relu, torch.neg, torch.abs, functional.gelu, functional.softplus]

    def chain() -> None:
        rows, columns = draw.randint(1, 40), draw.randint(1, 40)
        x = torch.randn(rows, columns)
        for _ in range(draw.randint(1, 12)):
            kind = draw.randrange(4)
            x = (draw.choice(unary)(x), x + draw.random(), x.t().contiguous(), x * x.mean(0))[kind].clamp(-9, 9)
        x.sum().item()

    return [characters, pictures, rows, compiled_rows, generation, ragged, chain]


def main() -> int:
    """Runs the programs and judges the memory; the exit status is 1 if it grew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.minutes < 3:
        parser.error("--minutes: at least 3, one for each third")

    import pytorchlike as torch
    from pytorchlike.graph import counters
    from pytorchlike.graph.recorder import recent_traces

    draw = random.Random(arguments.seed)
    torch.manual_seed(arguments.seed)
    available = programs(torch, draw)
    megabytes: list[float] = []
    steps, start = 0, time.monotonic()
    print("| minute | steps | resident MB | programs | operators in traces |\n|---|---|---|---|---|")
    while (elapsed := (time.monotonic() - start) / 60) < arguments.minutes:
        draw.choice(available)()
        steps += 1
        if elapsed >= len(megabytes):
            gc.collect()
            megabytes.append(resident_bytes() / 1e6)
            print(f"| {elapsed:.0f} | {steps} | {megabytes[-1]:.0f} | {len(counters.compilations)} | {recent_traces.instructions} |", flush=True)
    third = len(megabytes) // 3
    growth = statistics.median(megabytes[2 * third :]) / statistics.median(megabytes[third : 2 * third])
    print(f"\n{steps} steps; the last third over the second: {growth:.3f} (allowed {ALLOWED_GROWTH})")
    return int(growth > ALLOWED_GROWTH)


if __name__ == "__main__":
    sys.exit(main())
