"""Programs of compiled calls on the disk: a second process does not compile them again, and gets the same numbers."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from pytorchlike.graph import store

SCRIPT = """
import jax
import pytorchlike as torch
from pytorchlike.graph.instruction import Instruction

traced, trace = [], Instruction._jaxpr
Instruction._jaxpr = lambda self, *a: traced.append(self.name) or trace(self, *a)
compiled = []
jax.monitoring.register_event_duration_secs_listener(lambda name, *_, **__: "backend_compile" in name and compiled.append(name))

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Embedding(10, 8), torch.nn.Linear(8, 16), torch.nn.Dropout(0.5), torch.nn.ReLU(), torch.nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

@torch.compile(fullgraph=True)
def step(x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss

x, y = torch.arange(10) % 7, torch.arange(10) % 3
torch.graph.flush_all()
traced.clear()
print([step(x, y).item().hex() for _ in range(6)])
print(len(traced), len(compiled))
try:
    step(x + 5, y).item()
except IndexError as error:
    print(error)
"""


def run(folder: pathlib.Path) -> tuple[str, int, int, str]:
    """The losses, how many operators were traced, how many programs compiled, the error of a wrong index."""
    environment = {**os.environ, "PYTORCHLIKE_CACHE_DIR": str(folder)}
    environment.pop("PYTORCHLIKE_CACHE", None)
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    losses, counts, error = done.stdout.splitlines()
    traced, compiled = map(int, counts.split())
    return losses, traced, compiled, error


@pytest.mark.slow
@pytest.mark.ci
def test_a_second_process_compiles_no_step(tmp_path: pathlib.Path) -> None:
    first = run(tmp_path)
    assert first[1] > 10 and first[2] >= 1 and "index" in first[3]
    second = run(tmp_path)
    assert second[0] == first[0] and second[3] == first[3]
    assert second[1] <= first[1] and second[2] < first[2]  # its first runs are interpreted, which traces operators singly
    # Files that cannot be read do no harm.
    files = [file for file in (tmp_path / "programs").rglob("*") if file.is_file()]
    assert len(files) >= 2
    for k, file in enumerate(files):
        file.write_bytes(b"" if k % 2 else b"not a program")
    assert [run(tmp_path)[0] for _ in range(2)] == [first[0]] * 2


@pytest.mark.slow
@pytest.mark.ci
def test_a_program_that_jax_kept_is_not_written_again(tmp_path: pathlib.Path) -> None:
    """What XLA writes of a program that it has read itself cannot be run."""
    first = run(tmp_path)
    shutil.rmtree(tmp_path / "programs")
    for _ in range(3):
        assert run(tmp_path)[0] == first[0]


def test_folders_of_old_environments_are_removed(tmp_path: pathlib.Path) -> None:
    for k in range(12):
        folder = tmp_path / "programs" / f"old{k}"
        folder.mkdir(parents=True)
        os.utime(folder, (k, k))
    assert store._made(str(tmp_path), "new") == tmp_path / "programs" / "new"
    assert sorted(f.name for f in (tmp_path / "programs").iterdir()) == ["new", "old10", "old11", "old5", "old6", "old7", "old8", "old9"]


def test_numbers_are_computed_once(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_folder", lambda: tmp_path)
    computed = []

    def compute() -> list[int]:
        computed.append(1)
        return [1, 2]

    assert [store.number_list(b"key", compute) for _ in range(3)] == [[1, 2]] * 3 and len(computed) == 1
    (tmp_path / b"key".hex()).write_bytes(b"\xff{")
    assert store.number_list(b"key", compute) == [1, 2] and len(computed) == 2


def test_without_a_folder_everything_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTORCHLIKE_CACHE", "0")
    assert store._folder() is None and store.load_program(b"key", None) is None
    assert store.number_list(b"key", lambda: [3]) == [3]


def test_damaged_lines_of_shapes_are_passed_over(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_folder", lambda: tmp_path)
    (tmp_path / "shapes").write_text('aa [[[2, 3], "float32"]]\nbb [[[2, 3]\n\ncc\ndd [[[], "bfloat16"], [[4], "bool"]]\n')
    table = store._ShapeTable()
    table.open()
    assert [(s.shape, str(s.dtype)) for s in table.find(b"\xaa") or ()] == [((2, 3), "float32")]
    assert table.find(b"\xbb") is None and table.find(b"\xcc") is None
    assert [(s.shape, str(s.dtype)) for s in table.find(b"\xdd") or ()] == [((), "bfloat16"), ((4,), "bool")]
