"""The compilation cache on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import pytorchlike as torch
x = torch.arange(5.0)
print((x.tanh() * 2 + x).sum().item())
"""


def start(folder: Path) -> subprocess.Popen:
    environment = {**os.environ, "PYTORCHLIKE_CACHE_DIR": str(folder), "PYTORCHLIKE_TIERS": "full"}
    environment.pop("PYTORCHLIKE_CACHE", None)
    return subprocess.Popen([sys.executable, "-c", SCRIPT], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.ci
def test_two_processes_share_it_and_damaged_entries_do_no_harm(tmp_path: Path) -> None:
    outcomes = [process.communicate() + (process.returncode,) for process in [start(tmp_path), start(tmp_path)]]
    entries = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert entries, "nothing was kept"
    for k, path in enumerate(entries):
        path.write_bytes(b"" if k % 2 else b"not a program")
    process = start(tmp_path)
    outcomes.append(process.communicate() + (process.returncode,))
    assert [code for *_, code in outcomes] == [0, 0, 0], outcomes[-1]
    assert len({printed for printed, *_ in outcomes}) == 1
    assert "ersistent compilation cache" in outcomes[-1][1], "no warning"
