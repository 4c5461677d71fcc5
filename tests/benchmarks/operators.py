"""The 60 most used operators and a ResNet-18 training step, beside torch eager in one run.

    python -m tests.benchmarks.operators [--cases REGEX] [--rounds 7] [--seconds 0.05] [--no-networks] [--json FILE]

Everything runs in one process, pinned to one core, torch on one thread; rounds of torch and pytorchlike alternate.  A figure is the median over
rounds of the time of one call, a ratio the median of the rounds' ratios with its quartiles; ratios are of CPU time (wall time is in the JSON, too).

At the large size, a repetition is one call and a flush that waits for it: nothing around the operator can hide its cost.  At the small size it is
`MANY` calls on as many inputs before one flush, as programs call small operators.  With backward, it starts from a fixed gradient of the result and
ends with the gradients of all floating-point arguments.  Programs are compiled fully at once (`graph/tiers.py`) and run `WARM` times before the
clock starts.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Asked for, at the large size: geometric mean over all figures, the worst operator, convolutions, ResNet-18.
MEAN, WORST, CONVOLUTION, NETWORK = 1.0, 4.0, 1.5, 2.0
#: Calls before a flush at the small size, repetitions before the first measurement.
MANY, WARM = 8, 5


# ------------------------------------------------------------------------------------------------------------------------- cases
@dataclass
class Case:
    """An operator to measure.

    Attributes:
        call: (torch or pytorchlike, tensors) -> result.
        small, large: what to draw for each argument: a shape (float32 normals), ("int", shape, end) (indices), ("bool", shape),
            ("distinct", shape) (no two are equal: sorting has one answer), ("above", shape) (numbers from 0.5 to 1.5) or ("weight", shape) (normals times 0.1).
        backward: whether it is measured with its derivative, too.
    """

    call: Callable[..., Any]
    small: list[Any]
    large: list[Any]
    backward: bool = True


def draw(torch: Any, what: Any, seed: int) -> Any:
    """One argument, the same numbers for both."""
    random = np.random.RandomState(seed)
    kind, shape, *end = what if isinstance(what[0], str) else ("normal", what)
    if kind == "int":
        return torch.from_numpy(random.randint(0, end[0], shape)).clone()
    if kind == "bool":
        return torch.from_numpy(random.rand(*shape) < 0.5).clone()
    if kind == "distinct":
        return torch.from_numpy((random.permutation(math.prod(shape)) / math.prod(shape)).astype(np.float32).reshape(shape)).clone().requires_grad_()
    array = random.rand(*shape) + 0.5 if kind == "above" else random.randn(*shape) * (0.1 if kind == "weight" else 1)
    return torch.from_numpy(np.asarray(array, np.float32)).clone().requires_grad_()


def one(call: Callable[..., Any], small: Any = (16, 16), large: Any = (1024, 1024), backward: bool = True) -> Case:
    """A case with one argument."""
    return Case(call, [small], [large], backward)


def two(call: Callable[..., Any], small: Any = (16, 16), large: Any = (1024, 1024), backward: bool = True) -> Case:
    """A case with two arguments of one shape."""
    return Case(call, [small] * 2, [large] * 2, backward)


def image(call: Callable[..., Any], small: Any = (2, 4, 8, 8), large: Any = (16, 64, 56, 56)) -> Case:
    """A case over images."""
    return Case(call, [small], [large])


def convolution(features: int, kernel: int, large: Any, depthwise: bool = False, **options: Any) -> Case:
    """A two-dimensional convolution with as many features out, and bias."""

    def weights(channels: int, features: int) -> list[Any]:
        return [(features, 1 if depthwise else channels, kernel, kernel), (features,)]

    groups = {"small": 4, "large": large[1]} if depthwise else {}

    def call(t: Any, x: Any, w: Any, b: Any) -> Any:
        extra = {"groups": groups["small" if x.shape[1] == 4 else "large"]} if depthwise else {}
        return t.nn.functional.conv2d(x, w, b, **options, **extra)

    return Case(call, [(2, 4, 8, 8), *weights(4, 4)], [large, *weights(large[1], features)])


def lstm(t: Any, x: Any, w: Any, u: Any, b: Any, c: Any) -> Any:
    """One layer from a state of zeros."""
    zeros = t.zeros(1, x.shape[1], u.shape[1])
    return t.lstm(x, (zeros, zeros), [w, u, b, c], True, 1, 0.0, True, False, False)[0]


POSITIVE_SMALL, POSITIVE_LARGE = ("above", (16, 16)), ("above", (1024, 1024))

CASES: dict[str, Case] = {
    # pointwise
    "add": two(lambda t, a, b: a + b),
    "sub": two(lambda t, a, b: a - b),
    "mul": two(lambda t, a, b: a * b),
    "div": Case(lambda t, a, b: a / b, [(16, 16), POSITIVE_SMALL], [(1024, 1024), POSITIVE_LARGE]),
    "pow": one(lambda t, a: a**2),
    "sqrt": one(lambda t, a: a.sqrt(), POSITIVE_SMALL, POSITIVE_LARGE),
    "exp": one(lambda t, a: a.exp()),
    "log": one(lambda t, a: a.log(), POSITIVE_SMALL, POSITIVE_LARGE),
    "abs": one(lambda t, a: a.abs()),
    "clamp": one(lambda t, a: a.clamp(-1.0, 1.0)),
    "where": Case(lambda t, m, a, b: t.where(m, a, b), [("bool", (16, 16)), (16, 16), (16, 16)],
                  [("bool", (1024, 1024)), (1024, 1024), (1024, 1024)]),
    "masked_fill": Case(lambda t, a, m: a.masked_fill(m, 0.5), [(16, 16), ("bool", (16, 16))], [(1024, 1024), ("bool", (1024, 1024))]),
    "relu": one(lambda t, a: a.relu()),
    "gelu": one(lambda t, a: t.nn.functional.gelu(a)),
    "silu": one(lambda t, a: t.nn.functional.silu(a)),
    "sigmoid": one(lambda t, a: a.sigmoid()),
    "tanh": one(lambda t, a: a.tanh()),
    "eq": two(lambda t, a, b: a == b, backward=False),
    "dropout": one(lambda t, a: t.nn.functional.dropout(a, 0.1)),
    # reductions
    "sum": one(lambda t, a: a.sum()),
    "sum over rows": one(lambda t, a: a.sum(0)),
    "mean": one(lambda t, a: a.mean(-1)),
    "var": one(lambda t, a: a.var(-1)),
    "norm": one(lambda t, a: a.norm()),
    "max": one(lambda t, a: a.max(-1)[0]),
    "argmax": one(lambda t, a: a.argmax(-1), backward=False),
    "logsumexp": one(lambda t, a: a.logsumexp(-1)),
    "cumsum": one(lambda t, a: a.cumsum(-1)),
    "softmax": one(lambda t, a: a.softmax(-1)),
    "log_softmax": one(lambda t, a: a.log_softmax(-1)),
    # losses
    "cross_entropy": Case(lambda t, a, y: t.nn.functional.cross_entropy(a, y), [(16, 10), ("int", (16,), 10)],
                          [(1024, 1024), ("int", (1024,), 1024)]),
    "mse_loss": two(lambda t, a, b: t.nn.functional.mse_loss(a, b)),
    "binary_cross_entropy_with_logits": two(lambda t, a, b: t.nn.functional.binary_cross_entropy_with_logits(a, b)),
    # products
    "matmul": two(lambda t, a, b: a @ b, (16, 16), (512, 512)),
    "bmm": two(lambda t, a, b: t.bmm(a, b), (2, 8, 8), (64, 128, 128)),
    "linear": Case(lambda t, x, w, b: t.nn.functional.linear(x, w, b), [(16, 16), (16, 16), (16,)], [(512, 512), (512, 512), (512,)]),
    "einsum": two(lambda t, a, b: t.einsum("bihd,bjhd->bhij", a, b), (2, 8, 2, 4), (8, 128, 8, 64)),
    "scaled_dot_product_attention": Case(
        lambda t, q, k, v: t.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True), [(2, 2, 8, 4)] * 3, [(4, 8, 256, 64)] * 3),
    "lstm": Case(lstm, [(4, 2, 8), *[("weight", s) for s in ((32, 8), (32, 8), (32,), (32,))]],
                 [(32, 32, 128), *[("weight", s) for s in ((512, 128), (512, 128), (512,), (512,))]]),
    # convolutions, pools, norms, images
    "conv1d": Case(lambda t, x, w, b: t.nn.functional.conv1d(x, w, b, padding=1), [(2, 4, 8), (4, 4, 3), (4,)],
                   [(16, 64, 1024), (64, 64, 3), (64,)]),
    "conv2d 3x3": convolution(64, 3, (16, 64, 56, 56), padding=1),
    "conv2d 3x3, 14x14": convolution(256, 3, (16, 256, 14, 14), padding=1),
    "conv2d 3x3, stride 2": convolution(128, 3, (16, 64, 56, 56), padding=1, stride=2),
    "conv2d 3x3, 3 channels": convolution(32, 3, (32, 3, 64, 64), padding=1),
    "conv2d 1x1": convolution(256, 1, (16, 64, 56, 56)),
    "conv2d depthwise": convolution(64, 3, (16, 64, 56, 56), depthwise=True, padding=1),
    "conv_transpose2d": Case(lambda t, x, w, b: t.nn.functional.conv_transpose2d(x, w, b, stride=2), [(2, 4, 8, 8), (4, 4, 2, 2), (4,)],
                             [(16, 64, 28, 28), (64, 64, 2, 2), (64,)]),
    "max_pool2d": image(lambda t, x: t.nn.functional.max_pool2d(x, 2)),
    "max_pool2d, overlapping": image(lambda t, x: t.nn.functional.max_pool2d(x, 3, 2, 1)),
    "avg_pool2d": image(lambda t, x: t.nn.functional.avg_pool2d(x, 2)),
    "adaptive_avg_pool2d": image(lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 1)),
    "interpolate, bilinear": image(lambda t, x: t.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"), large=(16, 16, 56, 56)),
    "batch_norm": Case(lambda t, x, w, b: t.nn.functional.batch_norm(x, None, None, w, b, True), [(2, 4, 8, 8), (4,), (4,)],
                       [(16, 64, 56, 56), (64,), (64,)]),
    "layer_norm": Case(lambda t, x, w, b: t.nn.functional.layer_norm(x, w.shape, w, b), [(16, 16), (16,), (16,)],
                       [(1024, 1024), (1024,), (1024,)]),
    "group_norm": Case(lambda t, x, w, b: t.nn.functional.group_norm(x, 4, w, b), [(2, 4, 8, 8), (4,), (4,)],
                       [(16, 64, 56, 56), (64,), (64,)]),
    # places
    "embedding": Case(lambda t, i, w: t.nn.functional.embedding(i, w), [("int", (16,), 32), (32, 8)], [("int", (64, 128), 20000), (20000, 128)]),
    "index_select": Case(lambda t, a, i: a.index_select(0, i), [(16, 16), ("int", (8,), 16)], [(1024, 1024), ("int", (1024,), 1024)]),
    "index_add": Case(lambda t, a, i, b: a.index_add(0, i, b), [(16, 16), ("int", (8,), 16), (8, 16)],
                      [(1024, 256), ("int", (8192,), 1024), (8192, 256)]),
    "gather": Case(lambda t, a, i: a.gather(1, i), [(16, 16), ("int", (16, 8), 16)], [(1024, 1024), ("int", (1024, 512), 1024)]),
    "scatter_add": Case(lambda t, a, i, b: a.scatter_add(1, i, b), [(16, 16), ("int", (16, 8), 16), (16, 8)],
                        [(1024, 1024), ("int", (1024, 512), 1024), (1024, 512)]),
    "sort": one(lambda t, a: a.sort(-1)[0], ("distinct", (16, 16)), ("distinct", (1024, 1024))),
    "topk": one(lambda t, a: a.topk(5, -1)[0]),
    "cat": two(lambda t, a, b: t.cat([a, b], 1)),
    "permute, contiguous": one(lambda t, a: a.permute(0, 2, 1).contiguous(), (2, 8, 8), (16, 256, 256)),
    "pad": image(lambda t, x: t.nn.functional.pad(x, (1, 1, 1, 1))),
}  # fmt: skip


# --------------------------------------------------------------------------------------------------------------------- measuring
def repetition(torch: Any, case: Case, size: str, backward: bool, wait: Callable[[], Any]) -> Callable[[], Any]:
    """A function that runs the case once (`MANY` times at the small size) and waits for the results, which it returns."""
    arguments = case.small if size == "small" else case.large
    inputs = [[draw(torch, what, 10 * k + n) for n, what in enumerate(arguments)] for k in range(MANY if size == "small" else 1)]
    if not backward:
        inputs = [[x.detach() for x in tensors] for tensors in inputs]
        call = case.call

        def run() -> Any:
            results = [call(torch, *tensors) for tensors in inputs]
            wait()
            return results

        return run
    gradients = [draw(torch, ("normal", tuple(case.call(torch, *tensors).shape)), 99).detach() for tensors in inputs]
    leaves = [[x for x in tensors if x.requires_grad] for tensors in inputs]

    def run_backward() -> Any:
        found = []
        for tensors, wanted, g in zip(inputs, leaves, gradients, strict=True):
            result = case.call(torch, *tensors)
            found += [result.detach(), *torch.autograd.grad(result, wanted, g)]
            del result
        wait()
        return found

    return run_backward


def one_round(function: Callable[[], Any], count: int) -> tuple[float, float]:
    """CPU and wall seconds of one repetition, over this many."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        function()
    return (time.process_time() - cpu) / count, (time.perf_counter() - wall) / count


def measure(theirs: Callable[[], Any], mine: Callable[[], Any], rounds: int, seconds: float) -> dict[str, Any]:
    """Medians of both in CPU and wall seconds, and the ratio with its quartiles."""
    runs: dict[str, list[tuple[float, float]]] = {"torch": [], "pytorchlike": []}
    functions = {"torch": theirs, "pytorchlike": mine}
    counts = {}
    for name, function in functions.items():
        for _ in range(WARM):
            function()
        counts[name] = max(1, int(seconds / max(one_round(function, 2)[1], 1e-7)))
    for _ in range(rounds):
        for name, function in functions.items():
            runs[name].append(one_round(function, counts[name]))
    ratios = [m[0] / t[0] for t, m in zip(runs["torch"], runs["pytorchlike"], strict=True)]
    found: dict[str, Any] = {"ratio": statistics.median(ratios), "quartiles": statistics.quantiles(ratios, n=4)[::2]}
    for name, values in runs.items():
        found[name] = {"cpu": statistics.median(c for c, _ in values), "wall": statistics.median(w for _, w in values)}
    return found


def check(name: str, theirs: Any, mine: Any) -> None:
    """Raise if the two compute something else: a figure for a wrong result is none."""
    if name == "dropout":  # the streams agree in one call each, not in many
        return
    for a, b in zip(theirs, mine, strict=True):
        x, y = np.asarray(a.detach().numpy()), np.asarray(b.detach().numpy())
        scale = max(float(np.abs(x).max()), 1.0) if x.size and x.dtype.kind == "f" else 1.0
        np.testing.assert_allclose(y, x, rtol=1e-3, atol=1e-4 * scale, err_msg=name)


# ---------------------------------------------------------------------------------------------------------------------- networks
def resnet18(torch: Any) -> Any:
    """ResNet-18 for 10 classes."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, channels: int, features: int, stride: int) -> None:
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(channels, features, 3, stride, 1, bias=False), nn.BatchNorm2d(features)
            self.conv2, self.bn2 = nn.Conv2d(features, features, 3, 1, 1, bias=False), nn.BatchNorm2d(features)
            change = stride != 1 or channels != features
            self.short = nn.Sequential(nn.Conv2d(channels, features, 1, stride, bias=False), nn.BatchNorm2d(features)) if change else None

        def forward(self, x: Any) -> Any:
            y = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
            return (y + (x if self.short is None else self.short(x))).relu()

    widths = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1)]
    torch.manual_seed(0)
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    return nn.Sequential(*stem, *[Block(*w) for w in widths], nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def resnet18_step(torch: Any, wait: Callable[[], Any], batch: int = 8, size: int = 96) -> Callable[[], Any]:
    """A training step of ResNet-18 with SGD."""
    return training_step(torch, resnet18(torch), (batch, 3, size, size), wait)


def cnn_step(torch: Any, wait: Callable[[], Any]) -> Callable[[], Any]:
    """A training step of a small network for 28x28 digits."""
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                          nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10))  # fmt: skip
    return training_step(torch, model, (64, 1, 28, 28), wait)


def training_step(torch: Any, model: Any, shape: tuple[int, ...], wait: Callable[[], Any]) -> Callable[[], Any]:
    """A step of SGD with momentum on one batch; returns the loss."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x = draw(torch, shape, 0).detach()
    y = draw(torch, ("int", shape[:1], 10), 1)

    def step() -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        wait()
        return loss

    return step


NETWORKS: dict[str, Callable[..., Any]] = {"CNN for digits, batch 64": cnn_step, "ResNet-18, 8x3x96x96": resnet18_step}


# ------------------------------------------------------------------------------------------------------------------------ report
def shown(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def geometric_mean(ratios: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


def row(name: str, found: dict[str, Any]) -> str:
    """A line of the table."""
    low, high = found["quartiles"]
    times = [shown(found[who][clock]) for who in ("torch", "pytorchlike") for clock in ("cpu", "wall")]
    return f"| {name} | {' | '.join(times)} | {found['ratio']:.2f} ({low:.2f} to {high:.2f}) |"


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="", help="regular expression")
    parser.add_argument("--sizes", nargs="*", default=["small", "large"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.05, help="of each round")
    parser.add_argument("--no-networks", action="store_true")
    parser.add_argument("--json", help="write the figures to this file")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    import torch

    os.environ["PYTORCHLIKE_TIERS"] = "full"
    import pytorchlike as ours

    torch.set_num_threads(1)

    def nothing() -> None:
        pass

    wait = ours.graph.flush_all
    print(f"{platform.processor() or platform.machine()}, torch {torch.__version__}, load {os.getloadavg()[0]:.1f}\n")
    print("| case | torch CPU | wall | pytorchlike CPU | wall | pytorchlike / torch, CPU |\n|---|---|---|---|---|---|")
    table: dict[str, dict[str, Any]] = {}
    for name, case in CASES.items():
        if not re.search(options.cases, name):
            continue
        for size in options.sizes:
            for backward in (False, True) if case.backward else (False,):
                theirs, mine = repetition(torch, case, size, backward, nothing), repetition(ours, case, size, backward, wait)
                check(name, theirs(), mine())
                label = f"{name}, {size}, {'forward and backward' if backward else 'forward'}"
                table[label] = measure(theirs, mine, options.rounds, options.seconds)
                print(row(label, table[label]), flush=True)
    operators = {label: found["ratio"] for label, found in table.items()}
    for name, build in NETWORKS.items():
        if options.no_networks or not re.search(options.cases, name):
            continue
        theirs, mine = build(torch, nothing), build(ours, wait)
        check(name, [theirs()], [mine()])
        table[name] = measure(theirs, mine, options.rounds, options.seconds)
        print(row(name, table[name]), flush=True)
    print("\n| size | geometric mean | forward | forward and backward | worst |\n|---|---|---|---|---|")
    for size in options.sizes:
        found = {label: ratio for label, ratio in operators.items() if f", {size}, " in label}
        if found:
            both = [ratio for label, ratio in found.items() if label.endswith("backward")] or [math.nan]
            forward = [ratio for label, ratio in found.items() if not label.endswith("backward")]
            print(f"| {size} | {geometric_mean(list(found.values())):.2f} | {geometric_mean(forward):.2f} | {geometric_mean(both):.2f} "
                  f"| {max(found.values()):.2f} |")  # fmt: skip
    print(f"\nasked at the large size: geometric mean {MEAN}, worst {WORST}, convolutions {CONVOLUTION}, ResNet-18 {NETWORK}\n\nthe worst ten:")
    for size in options.sizes:
        found = {label: ratio for label, ratio in operators.items() if f", {size}, " in label}
        for label in sorted(found, key=lambda k: -found[k])[:10]:
            print(f"  {found[label]:.2f}  {label}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(table, file, indent=1)


if __name__ == "__main__":
    main()
