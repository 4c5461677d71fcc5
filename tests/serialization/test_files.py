"""Paths and file objects; a file is never left half written."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import pytorchlike as ours

from .exchange import OURS, REAL, saved

#: Writes a large file over and over, until it is killed.
_WRITER = """
import sys, pytorchlike as torch
x = torch.ones(1 << 20)
while True:
    torch.save([x] + [torch.ones(1 << 20) * k for k in range(8)], sys.argv[1])
    print("saved", flush=True)
"""


def test_all_kinds_of_files(tmp_path: Path) -> None:
    for source, target in ((REAL, OURS), (OURS, REAL)):
        for path in (tmp_path / "a.pt", str(tmp_path / "b.model.pt"), tmp_path / "\u00fc.pt", tmp_path / "plain"):
            source.save(source.arange(3.0), path)
            assert target.load(path).tolist() == [0.0, 1.0, 2.0]
        with open(tmp_path / "c.pt", "w+b", buffering=0) as raw, tempfile.TemporaryFile() as temporary, gzip.open(tmp_path / "d.gz", "wb") as compressed:
            for file in (raw, temporary):
                source.save(source.arange(3.0), file)
                file.seek(0)
                assert target.load(file).tolist() == [0.0, 1.0, 2.0]
            source.save(source.arange(3.0), compressed)
        with gzip.open(tmp_path / "d.gz", "rb") as compressed:
            assert target.load(compressed).tolist() == [0.0, 1.0, 2.0]


class _Writes:
    """Only the least that a file must have."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, piece: Any) -> None:
        self.data += bytes(piece)


def test_objects_that_only_write() -> None:
    for use_zip in (True, False):
        file = _Writes()
        ours.save(ours.arange(3.0), file, _use_new_zipfile_serialization=use_zip)
        assert REAL.load(io.BytesIO(file.data)).tolist() == [0.0, 1.0, 2.0]


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like object with a 'write' attribute"):
        ours.save(1, 7)
    with pytest.raises(AttributeError, match="You can only torch.load from a file that is seekable|has no attribute 'seek'"):
        ours.load(7)
    for save in (OURS.save, REAL.save):
        with pytest.raises(RuntimeError, match=f"Parent directory {tmp_path}/no does not exist."):
            save(1, tmp_path / "no" / "a.pt")
    with pytest.raises(RuntimeError, match="invalid file name"):
        ours.save(1, "")
    with pytest.raises(FileNotFoundError):
        ours.load(tmp_path / "a.pt")
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        ours.save(1, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
        ours.load(tmp_path / "old.pt", mmap=True)
    ours.save(1, "/dev/null")


def test_a_failing_save_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    for use_zip in (True, False):
        with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
            ours.save({"x": ours.ones(3), "f": lambda: 1}, path, _use_new_zipfile_serialization=use_zip)
        assert os.listdir(tmp_path) == []
    ours.save(1, path)
    with pytest.raises(RuntimeError, match="stop"), _failing_writes():
        ours.save(ours.ones(3), path)
    assert os.listdir(tmp_path) == ["a.pt"] and ours.load(path) == 1


class _failing_writes:
    """Storages cannot be written within the block."""

    def __enter__(self) -> None:
        from pytorchlike.serialization import saving

        self._module, self._before = saving, saving._memory

        def fail(storage: Any) -> Any:
            raise RuntimeError("stop")

        saving._memory = fail

    def __exit__(self, *error: Any) -> None:
        self._module._memory = self._before


def test_links_and_permissions_are_kept(tmp_path: Path) -> None:
    target, link = tmp_path / "a.pt", tmp_path / "link.pt"
    ours.save(1, target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~_umask()
    target.chmod(0o600)
    link.symlink_to(target)
    ours.save(2, link)
    assert link.is_symlink() and ours.load(target) == 2 and stat.S_IMODE(target.stat().st_mode) == 0o600


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.slow
@pytest.mark.ci
def test_a_killed_process_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    with subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(3):
            assert process.stdout.readline() == "saved\n"
        process.send_signal(signal.SIGKILL)
    assert len(ours.load(path)) == 9


def test_old_and_new_files_one_after_the_other() -> None:
    file = io.BytesIO()
    for n in range(3):
        ours.save(ours.full((2,), float(n)), file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert [ours.load(file).tolist() for _ in range(3)] == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]


def test_pending_work_is_done_once() -> None:
    before = dict(ours.graph.counters.flushes)
    x = ours.arange(4.0)
    saved(OURS, {f"{k}": x * k for k in range(5)})
    after = ours.graph.counters.flushes
    assert after["torch.save"] - before.get("torch.save", 0) <= 1  # none under the immediate executor
