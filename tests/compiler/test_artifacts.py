"""Programs that one process has compiled, taken over by another one's cache."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

import pytorchlike as torch

SCRIPT = """
import sys
import pytorchlike as torch
from pytorchlike.graph import store

if sys.argv[1] == "load":
    info = torch.compiler.load_cache_artifacts(open(sys.argv[2], "rb").read())
    assert len(info.inductor_artifacts) == int(sys.argv[3]), info
torch.manual_seed(0)
model = torch.nn.Linear(3, 3)
function = torch.compile(lambda x: model(x).tanh().sum())
loaded = []
find = store.load_program
import pytorchlike.graph.lower as lower
lower.load_program = lambda key, target: loaded.append(find(key, target)) or loaded[-1]
print(*[function(torch.ones(2, 3)).item() for _ in range(5)])
print(sum(each is not None for each in loaded))
if sys.argv[1] == "save":
    content, info = torch.compiler.save_cache_artifacts()
    open(sys.argv[2], "wb").write(content)
    print(len(info.inductor_artifacts))
"""


def run(folder: pathlib.Path, *arguments: str) -> list[str]:
    import os

    environment = {**os.environ, "PYTORCHLIKE_CACHE_DIR": str(folder)}
    environment.pop("PYTORCHLIKE_TIERS", None)
    done = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_another_cache_takes_over_programs(tmp_path: pathlib.Path) -> None:
    file = str(tmp_path / "artifacts")
    losses, loaded, count = run(tmp_path / "one", "save", file)
    assert loaded == "0"
    again, found = run(tmp_path / "two", "load", file, count)
    assert again == losses and int(found) >= 1


def test_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="no cache artifacts"):
        torch.compiler.load_cache_artifacts(b"something else")
