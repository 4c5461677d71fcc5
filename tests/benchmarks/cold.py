"""Code that runs once and sizes that keep changing, beside torch eager: how long one waits for what is new.

    python -m tests.benchmarks.cold [--cases NAME ...] [--repeat 3]

Every case and framework runs in a process of its own, pinned to one core, without a compilation cache on disk; the frameworks take turns.  A
figure is the median over processes of CPU time, which other jobs on the machine disturb little.

- ``lengths``: a training step for 20 sequence lengths that were not seen before, and the same lengths again (after one step of another length);
- ``generate``: 64 tokens one by one with a key-value cache that grows by concatenation;
- ``first``: making a model and its optimizer and one step right after the import, and the tenth step;
- ``operators``: a script that calls 200 different operators once each, the import included.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

LENGTHS = range(20, 40)
CASES = ["lengths lstm", "lengths gpt", "generate gpt", "first mlp", "first gpt", "first resnet18", "operators"]
#: Asked for: figure -> (factor, seconds): at most factor times torch's plus seconds.
ASKED = {
    "first pass": (5.0, 0.0), "second pass": (1.5, 0.0), "64 tokens": (5.0, 0.0), "first mlp": (1.0, 0.1), "first gpt": (1.0, 1.0),
    "first resnet18": (1.0, 2.0), "script": (3.0, 0.0),
}  # fmt: skip


def lstm(torch: Any) -> Any:
    """Characters through two layers of LSTM."""
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.token, self.rnn, self.head = nn.Embedding(65, 64), nn.LSTM(64, 128, 2, batch_first=True), nn.Linear(128, 65)

        def forward(self, x: Any) -> Any:
            return self.head(self.rnn(self.token(x))[0])

    return Model()


def stepper(torch: Any, model: Any, draw: Callable[[int], tuple[Any, Any]]) -> Callable[[int], float]:
    """A training step of a classifier with AdamW."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step(size: int) -> float:
        x, y = draw(size)
        optimizer.zero_grad()
        scores = model(x)
        loss = torch.nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), y.reshape(-1))
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def lengths(torch: Any, name: str) -> dict[str, float]:
    """New sequence lengths, and the same ones again."""
    from .compiled import gpt

    torch.manual_seed(0)
    step = stepper(torch, {"lstm": lstm, "gpt": gpt}[name](torch), lambda n: (torch.randint(0, 65, (8, n)), torch.randint(0, 65, (8, n))))
    step(16)
    found = {}
    for figure in ("first pass", "second pass"):
        start = time.process_time()
        for n in LENGTHS:
            step(n)
        found[figure] = time.process_time() - start
    return found


def generate(torch: Any, name: str) -> dict[str, float]:
    """A growing cache of keys and values, 4 layers."""
    nn, width, heads = torch.nn, 128, 4
    torch.manual_seed(0)
    token = nn.Embedding(65, width)
    layers = [(nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)) for _ in range(4)]
    head = nn.Linear(width, 65)
    with torch.no_grad():
        start = time.process_time()
        cache: list[Any] = [None] * len(layers)
        current, text = torch.zeros(1, 1, dtype=torch.long), []
        for _ in range(64):
            x = token(current)
            for k, (norm, attend, project, widen, narrow) in enumerate(layers):
                q, key, value = [part.view(1, 1, heads, width // heads).transpose(1, 2) for part in attend(norm(x)).split(width, dim=2)]
                if cache[k] is not None:
                    key, value = torch.cat([cache[k][0], key], dim=2), torch.cat([cache[k][1], value], dim=2)
                cache[k] = (key, value)
                mixed = nn.functional.scaled_dot_product_attention(q, key, value)
                x = x + project(mixed.transpose(1, 2).reshape(1, 1, width))
                x = x + narrow(nn.functional.gelu(widen(x)))
            current = head(x)[:, -1].argmax(-1, keepdim=True)
            text.append(current.item())
        return {"64 tokens": time.process_time() - start}


def first(torch: Any, name: str) -> dict[str, float]:
    """A model, its optimizer and a step; the median of steps 10 to 14."""
    from .compiled import gpt
    from .operators import resnet18

    start = time.process_time()
    torch.manual_seed(0)
    nn = torch.nn
    if name == "mlp":
        model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 10))
        step = stepper(torch, model, lambda n: (torch.randn(32, 16), torch.randint(0, 10, (32,))))
    elif name == "gpt":
        step = stepper(torch, gpt(torch), lambda n: (torch.randint(0, 65, (16, 64)), torch.randint(0, 65, (16, 64))))
    else:
        step = stepper(torch, resnet18(torch), lambda n: (torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))))
    step(0)
    found = {f"first {name}": time.process_time() - start}
    for _ in range(8):
        step(0)
    times = []
    for _ in range(5):
        start = time.process_time()
        step(0)
        times.append(time.process_time() - start)
    return found | {f"tenth {name}": statistics.median(times)}


def operators(torch: Any, name: str) -> dict[str, float]:
    """Functions of one small tensor, of two, reductions, shapes: each once, its result looked at."""
    unary = """abs acos acosh angle asin asinh atan atanh ceil conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac i0 isfinite
        isinf isnan isneginf isposinf isreal lgamma log log10 log1p log2 logit logical_not neg positive rad2deg reciprocal relu round rsqrt sgn sigmoid sign
        signbit sin sinc sinh sqrt square tan tanh trunc sum prod mean std var amax amin argmax argmin max min median mode logsumexp_ all any norm
        count_nonzero nansum nanmean nanmedian std_mean var_mean aminmax cumsum_ cumprod_ cummax_ cummin_ logcumsumexp_ sort argsort msort unique flip_
        fliplr flipud rot90 t diag diagonal trace tril triu flatten ravel squeeze clone nonzero numel_ isclose_ softmax_ log_softmax_ histc topk_ kthvalue_
        roll_ tile_ repeat_interleave_ unbind diff cov corrcoef det inverse slogdet matrix_exp pinverse zeros_like ones_like empty_like_ rand_like""".split()
    binary = """add sub mul div atan2 pow fmod remainder maximum minimum fmax fmin eq ne lt le gt ge logical_and logical_or logical_xor copysign hypot nextafter
        logaddexp logaddexp2 heaviside xlogy floor_divide true_divide ldexp_ matmul mm dist cdist kron isclose allclose equal cat_ stack_ hstack_ vstack_
        dstack_ where_ outer_ dot_ inner tensordot_ cross_ lerp_ addmm_ addcmul_ addcdiv_ bmm_ take_ gather_ index_select_ masked_select_ scatter_add_
        index_add_ searchsorted_ bucketize_""".split()
    functional = "elu gelu celu selu leaky_relu hardtanh hardsigmoid hardswish silu mish softplus softsign tanhshrink hardshrink softshrink relu6 logsigmoid normalize".split()
    x, y = torch.rand(3, 3) * 0.5 + 0.25, torch.rand(3, 3) * 0.5 + 0.25
    start, count = time.process_time(), 0
    calls: list[Callable[[], Any]] = []
    calls += [lambda n=n: getattr(torch, n)(x) for n in unary if not n.endswith("_")]
    calls += [lambda n=n: getattr(torch, n)(x, y) for n in binary if not n.endswith("_")]
    calls += [lambda n=n: getattr(torch.nn.functional, n)(x) for n in functional]
    calls += [lambda n=n: getattr(torch, n)(x, 0) for n in ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "logsumexp", "softmax", "log_softmax", "unsqueeze")]
    calls += [lambda n=n: getattr(torch, n)([x, y]) for n in ("cat", "stack", "hstack", "vstack", "dstack")]
    calls += [
        lambda: torch.where(x > y, x, y), lambda: torch.lerp(x, y, 0.5), lambda: torch.addmm(x, y, y), lambda: torch.addcmul(x, x, y), lambda: torch.addcdiv(x, x, y),
        lambda: torch.outer(x[0], y[0]), lambda: torch.dot(x[0], y[0]), lambda: torch.cross(x, y, dim=1), lambda: torch.topk(x, 2), lambda: torch.kthvalue(x, 2),
        lambda: torch.roll(x, 1), lambda: torch.tile(x, (2, 2)), lambda: torch.clamp(x, 0.3, 0.6), lambda: torch.einsum("ij,jk", x, y),
        lambda: torch.gather(x, 1, (x > 0.5).long()), lambda: torch.masked_select(x, x > 0.5), lambda: torch.bucketize(x, y[0].sort().values),
        lambda: x.index_select(0, torch.tensor([0, 2])), lambda: x.scatter_add(0, (x > 0.5).long(), y), lambda: x.index_add(0, torch.tensor([0, 1, 0]), y),
        lambda: torch.nn.functional.layer_norm(x, (3,)), lambda: torch.nn.functional.linear(x, y), lambda: torch.nn.functional.mse_loss(x, y),
        lambda: torch.nn.functional.conv1d(x[None], y[None]), lambda: torch.nn.functional.max_pool1d(x[None], 2), lambda: torch.nn.functional.avg_pool1d(x[None], 2),
    ]  # fmt: skip
    for call in calls[:200]:
        found = call()
        count += 1
        while isinstance(found, (tuple, list)):
            found = found[0]
        if hasattr(found, "tolist"):
            found.tolist()
    assert count == 200, count
    return {"script": time.process_time(), "without the import": time.process_time() - start}


def run_alone(framework: str, case: str) -> dict[str, float]:
    """Run one case in a process of its own."""
    environment = {**os.environ, "PYTORCHLIKE_CACHE": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # settings for old versions of the library slow down the one in numpy
        environment.pop(name, None)
    done = subprocess.run([sys.executable, "-m", "tests.benchmarks.cold", "--alone", framework, case], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def alone(framework: str, case: str) -> None:
    """The process of its own."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    if framework == "torch":
        import torch

        torch.set_num_threads(1)
    else:
        import pytorchlike as torch  # type: ignore[no-redef]
    kind, _, name = case.partition(" ")
    print(json.dumps({"lengths": lengths, "generate": generate, "first": first, "operators": operators}[kind](torch, name)))


def main() -> None:
    """Run all cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="*", default=CASES)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--alone", nargs=2, metavar=("FRAMEWORK", "CASE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        alone(*options.alone)
        return
    print("| case | torch | pytorchlike | ratio | asked |\n|---|---|---|---|---|", flush=True)
    for case in options.cases:
        found: dict[str, list[dict[str, float]]] = {"torch": [], "pytorchlike": []}
        for _ in range(options.repeat):
            for framework, results in found.items():
                results.append(run_alone(framework, case))
        for figure in found["torch"][0]:
            theirs, ours = (statistics.median(result[figure] for result in found[framework]) for framework in ("torch", "pytorchlike"))
            factor, seconds = ASKED.get(figure, (0.0, 0.0))
            asked = f"{factor:g}x" + (f" + {seconds:g} s" if seconds else "") if factor else ""
            print(f"| {case}: {figure} | {theirs:.3f} s | {ours:.3f} s | {ours / theirs:.2f} | {asked} |", flush=True)


if __name__ == "__main__":
    main()
