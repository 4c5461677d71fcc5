"""The zip format: byte for byte torch's layout, mapped files, large files, damaged files."""

from __future__ import annotations

import io
import mmap
import os
import pickle
import struct
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as real_torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pytorchlike as ours
from pytorchlike.serialization import options
from pytorchlike.serialization.zip_reader import ArchiveReader

from .exchange import OURS, REAL, described, saved

LIBRARIES = pytest.mark.parametrize("source", [REAL, OURS], ids=["torch", "ours"])


def checkpoint(t: Any) -> dict[str, Any]:
    x = t.arange(5.0)
    return {"x": x, "part": x[1:3], "b": t.zeros(3, 4, dtype=t.bfloat16), "empty": t.zeros(0), "f8": t.ones(3).to(t.float8_e5m2), "n": [1, "x", None]}


def records(data: bytes) -> dict[str, bytes]:
    archive = zipfile.ZipFile(io.BytesIO(data))
    return {name.split("/", 1)[1]: archive.read(name) for name in archive.namelist()}


def rewritten(data: bytes, compression: int = zipfile.ZIP_STORED, **changes: bytes) -> bytes:
    """The archive as ``zipfile`` writes it, with other contents of some records (``data_0`` is ``data/0``)."""
    changes = {name.replace("data_pkl", "data.pkl").replace("_", "/"): new for name, new in changes.items()}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, old in records(data).items():
            archive.writestr(f"archive/{name}", changes.get(name, old))
    return file.getvalue()


def test_layout_is_torchs_byte_for_byte() -> None:
    theirs, mine = (saved(t, checkpoint(t)).getvalue() for t in (REAL, OURS))
    assert len(mine) == len(theirs)
    start = mine.rindex(b"Z", 0, mine.index(b"PK\1\2")) + 1  # the id of the last record is a hash, not the same one
    end = mine.index(b"PK\1\2")
    assert mine[:start] == theirs[:start] and end - start == 40 + 16
    crc = mine.rindex(b"PK\1\2") + 16
    assert mine[end:crc] == theirs[end:crc] and mine[crc + 4 :] == theirs[crc + 4 :]
    assert zipfile.ZipFile(io.BytesIO(mine)).testzip() is None


def test_records_are_aligned(tmp_path: Path) -> None:
    real_torch.utils.serialization.config.load.calculate_storage_offsets = True
    try:
        for alignment in (64, 4096):
            options.config.save.storage_alignment = alignment
            ours.save(checkpoint(ours), tmp_path / "a.pt")
            archive = ArchiveReader(open(tmp_path / "a.pt", "rb"))
            assert archive.offset_of("data/0") % alignment == 0 and archive.get_record(".storage_alignment") == str(alignment).encode()
            assert described(real_torch.load(tmp_path / "a.pt", mmap=True)) == described(checkpoint(REAL))  # torch computes the offsets
    finally:
        real_torch.utils.serialization.config.load.calculate_storage_offsets = False
        options.config.save.storage_alignment = 64


@LIBRARIES
def test_mapped_files(source: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    source.save(checkpoint(source), path)
    before = path.read_bytes()
    found = ours.load(path, mmap=True)
    assert described(found) == described(checkpoint(REAL))
    found["x"] += 1
    found["x"][2] = 50
    assert found["part"].tolist() == [2.0, 50.0] and path.read_bytes() == before
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        ours.load(io.BytesIO(before), mmap=True)


def test_donation_leaves_mapped_memory_alone(tmp_path: Path) -> None:
    ours.save(ours.arange(float(1 << 18)), tmp_path / "a.pt")
    before = (tmp_path / "a.pt").read_bytes()
    for _ in range(2):
        x = ours.load(tmp_path / "a.pt", mmap=True)
        for _ in range(3):
            x.mul_(2)
            ours.graph.flush_all()
        assert x[:3].tolist() == [0.0, 8.0, 16.0]
    assert (tmp_path / "a.pt").read_bytes() == before


def test_shared_mapping_writes_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    ours.save({"x": ours.arange(4.0), "b": ours.ones(2).bfloat16()}, path)
    with ours.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        found = ours.load(path, mmap=True)
    assert ours.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    found["x"][1] = 9
    found["b"].zero_()
    again = real_torch.load(path)
    assert again["x"].tolist() == [0.0, 9.0, 2.0, 3.0] and again["b"].tolist() == [0.0, 0.0]


def test_archives_larger_than_four_gigabytes(tmp_path: Path) -> None:
    path = tmp_path / "large.pt"
    with ours.serialization.skip_data():  # leaves holes
        ours.save([ours.zeros(1, device="meta"), _Hole(1 << 32), _Hole(1 << 20), _Hole(7)], path)
    assert path.stat().st_size > 1 << 32 and path.stat().st_blocks * 512 < 1 << 20
    real_torch.utils.serialization.config.load.calculate_storage_offsets = True
    try:
        theirs = real_torch.load(path, mmap=True)
    finally:
        real_torch.utils.serialization.config.load.calculate_storage_offsets = False
    mine = ours.load(path, mmap=True)
    assert [t.numel() for t in mine] == [t.numel() for t in theirs] == [1, 1 << 32, 1 << 20, 7]
    assert mine[3].tolist() == theirs[3].tolist() == [0] * 7


class _Hole:
    """A tensor of bytes that only exists in a file."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes

    def __reduce__(self) -> tuple:
        from pytorchlike.serialization.stored import new_storage
        from pytorchlike.tensors import rebuild

        storage = new_storage(np.broadcast_to(np.zeros(1, np.uint8), self.nbytes), ours.uint8)
        return rebuild._rebuild_tensor_v2, (ours.storage.TypedStorage(wrap_storage=storage, dtype=ours.uint8), 0, (self.nbytes,), (1,), False, {})


def test_space_is_left_where_data_is_skipped(tmp_path: Path) -> None:
    x = {"x": ours.ones(5), "y": ours.ones(3, dtype=ours.int64)}
    for file in (tmp_path / "a.pt", io.BytesIO()):
        with ours.serialization.skip_data():
            ours.save(x, file)
        for library in (REAL, OURS):
            getattr(file, "seek", lambda at: None)(0)
            found = library.load(file)
            assert found["x"].tolist() == [0.0] * 5 and found["y"].shape == (3,)
    ours.save(x, tmp_path / "b.pt")
    with ours.serialization.skip_data():
        assert ours.load(tmp_path / "b.pt")["x"].tolist() == [0.0] * 5
        with pytest.raises(RuntimeError, match="Cannot use skip_data=True with _use_new_zipfile_serialization=False"):
            ours.save(x, io.BytesIO(), _use_new_zipfile_serialization=False)


@LIBRARIES
def test_without_checksums(source: Any) -> None:
    source.serialization.set_crc32_options(False)
    try:
        data = saved(source, checkpoint(source)).getvalue()
    finally:
        source.serialization.set_crc32_options(True)
    assert ours.serialization.get_crc32_options() is True
    assert {i.CRC for i in zipfile.ZipFile(io.BytesIO(data)).infolist()} == {0}
    for library in (REAL, OURS):
        assert described(library.load(io.BytesIO(data))) == described(checkpoint(REAL))


def test_byte_orders() -> None:
    data = saved(OURS, {"f": ours.tensor([1.0, 2.0]), "z": ours.tensor([1 + 2j]), "b": ours.ones(2).bfloat16(), "u": ours.tensor([True, False])}).getvalue()
    parts = records(data)
    swapped = {f"data_{k}": np.frombuffer(parts[f"data/{k}"], f">u{n}").astype(f"<u{n}").tobytes() for k, n in ((0, 4), (1, 4), (2, 2))}
    for order, expected in (("big", swapped), ("little", {})):
        found = ours.load(io.BytesIO(rewritten(data, byteorder=order.encode(), **expected)))
        assert [v.tolist() for v in found.values()] == [[1.0, 2.0], [1 + 2j], [1.0, 1.0], [True, False]]
    with pytest.raises(ValueError, match="Unknown endianness type: middle"):
        ours.load(io.BytesIO(rewritten(data, byteorder=b"middle")))
    file = io.BytesIO()
    ours.save(ours.tensor([1.0]), file, _disable_byteorder_record=True)
    native = ours.serialization.LoadEndianness
    for order, expected_value in ((None, 1.0), (native.NATIVE, 1.0), (native.LITTLE, 1.0), (native.BIG, struct.unpack(">f", struct.pack("<f", 1.0))[0])):
        ours.serialization.set_default_load_endianness(order)
        assert ours.serialization.get_default_load_endianness() is order
        file.seek(0)
        assert ours.load(file).item() == expected_value
    ours.serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError, match="Invalid argument type in function set_default_load_endianness"):
        ours.serialization.set_default_load_endianness("big")


def test_compressed_and_unaligned_archives(tmp_path: Path) -> None:
    data = saved(REAL, checkpoint(REAL)).getvalue()
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        other = rewritten(data, compression)
        assert described(ours.load(io.BytesIO(other))) == described(checkpoint(REAL))
        (tmp_path / "a.pt").write_bytes(other)
        assert described(ours.load(tmp_path / "a.pt", mmap=True)) == described(checkpoint(REAL))


def test_archive_within_a_file() -> None:
    data = saved(REAL, REAL.arange(3.0)).getvalue()
    file = io.BytesIO(b"before" + data)
    file.seek(6)
    assert ours.load(file).tolist() == [0.0, 1.0, 2.0]


# -- damage ------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cut", "error", "text"), [
    (0, EOFError, "Ran out of input"), (3, Exception, "Weights only load failed"), (10, RuntimeError, "not a ZIP archive"),
    (100, RuntimeError, "failed finding central directory"), (-30, RuntimeError, "failed finding central directory"),
    (-1, RuntimeError, "failed finding central directory"),
])  # fmt: skip
def test_truncated_files(cut: int, error: type, text: str) -> None:
    data = saved(REAL, REAL.arange(5.0)).getvalue()[: cut or 0]
    with pytest.raises(error, match=text):
        ours.load(io.BytesIO(data))


def _zip(*members: tuple[str, bytes], compression: int = zipfile.ZIP_STORED) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    file.seek(0)
    return file


def test_other_archives() -> None:
    for members, text in (
        ([("x", b"1")], "file in archive is not in a subdirectory: x"),
        ([("a/x", b"1")], 'Expected hasRecord\\("version"\\) to be true'),
        ([("a/version", b"99\n")], "maximum supported version for reading is 10"),
        ([("a/version", b"x" * 5000)], "Couldn't parse the version"),
        ([("a/version", b"3\n")], "failed locating file data.pkl: file not found"),
        ([("a/version", b"3\n"), ("a/constants.pkl", b"")], "Cannot use ``weights_only=True`` with TorchScript archives"),
    ):
        with pytest.raises(RuntimeError, match=text):
            ours.load(_zip(*members), weights_only=True)
    with pytest.raises(NotImplementedError, match="TorchScript"):
        ours.load(_zip(("a/version", b"3\n"), ("a/constants.pkl", b"")), weights_only=False)


def test_zip_bombs() -> None:
    bomb = _zip(("a/version", b"3\n"), ("a/data.pkl", bytes(80 << 20)), compression=zipfile.ZIP_DEFLATED)
    assert len(bomb.getvalue()) < 1 << 20
    with pytest.raises(RuntimeError, match="a zip bomb"):
        ours.load(bomb)
    file = _zip(("a/version", b"3\n"), ("a/data.pkl", b"x" * 1000))
    data = bytearray(file.getvalue())
    entry = data.rindex(b"PK\1\2")
    data[entry + 42 : entry + 46] = (0).to_bytes(4, "little")  # both entries point to the first record
    with pytest.raises(RuntimeError, match="it overlaps another record"):
        ours.load(io.BytesIO(bytes(data)))


def test_names_of_records_are_no_paths(tmp_path: Path) -> None:
    before = set(os.listdir(tmp_path))
    data = saved(OURS, ours.arange(2.0)).getvalue()
    pickled = records(data)["data.pkl"].replace(b"X\1\0\0\x000", b"X\x0d\0\0\x00../../../evil")
    with pytest.raises(RuntimeError, match=r"failed locating file data/\.\./"):
        ours.load(io.BytesIO(rewritten(data, data_pkl=pickled)))
    assert set(os.listdir(tmp_path)) == before


def test_checksums() -> None:
    data = bytearray(saved(OURS, ours.ones(1000)).getvalue())
    data[data.index(b"\0\0\x80\x3f" * 10) + 100] ^= 1
    with pytest.raises(RuntimeError, match="data/0: CRC-32 check failed"):
        ours.load(io.BytesIO(bytes(data)))


def _object() -> dict[str, Any]:
    x = ours.arange(6.0)
    x.note = 1
    return {"x": x, "v": x[1:3], "p": ours.nn.Parameter(ours.ones(2, 2)), "l": [1, "a", (None, 2.5)], "f8": ours.ones(3).to(ours.float8_e5m2), "s": {1},
            "m": ours.zeros(2, device="meta"), "d": ours.device("cpu")}  # fmt: skip


_ARCHIVE, _OLD = (saved(OURS, _object(), _use_new_zipfile_serialization=z).getvalue() for z in (True, False))
_FILES = {"archive": _ARCHIVE, "old format": _OLD, "pickle": records(_ARCHIVE)["data.pkl"]}


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(st.sampled_from(sorted(_FILES)), st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), max_size=4), st.floats(0, 1), st.booleans())
def test_damaged_files_give_clean_errors(kind: str, flips: list, cut: float, truncate: bool) -> None:
    damaged = bytearray(_FILES[kind])
    for at, bits in flips:
        damaged[int(at * len(damaged))] ^= bits
    if truncate:
        del damaged[int(cut * len(damaged)) :]
    data = rewritten(_ARCHIVE, data_pkl=bytes(damaged)) if kind == "pickle" else bytes(damaged)  # with a checksum that is right
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours.load(io.BytesIO(data))
    except (RuntimeError, pickle.UnpicklingError, EOFError):
        pass
    except ValueError as error:
        assert "Unknown endianness" in str(error)
