"""What ``weights_only=True`` allows, and that nothing else happens: hostile pickles, lies about storages, endless structures."""

from __future__ import annotations

import io
import os
import pickle
import warnings
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours
from pytorchlike.serialization.unpickler import WeightsUnpickler, unpickle

from .exchange import OURS, REAL, saved
from .test_archive import records, rewritten

_TENSOR = saved(OURS, ours.arange(5.0)).getvalue()
_PICKLE = records(_TENSOR)["data.pkl"]


class Touch:
    """Unpickling it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple:
        return os.mkdir, (self.path,)


def machine(data: bytes) -> Any:
    return unpickle(io.BytesIO(data), None, None, {"encoding": "utf-8"})


def with_pickle(data: bytes) -> io.BytesIO:
    return io.BytesIO(rewritten(_TENSOR, data_pkl=data))


@pytest.mark.parametrize("use_zip", [True, False])
def test_nothing_is_run(use_zip: bool, tmp_path: Path) -> None:
    target = tmp_path / "made"
    for library in (REAL, OURS):
        for obj in (Touch(target), [{"a": Touch(target)}], (ours.ones(1) if library is OURS else REAL.ones(1), Touch(target))):
            file = saved(library, obj, _use_new_zipfile_serialization=use_zip)
            with pytest.raises(pickle.UnpicklingError, match="Trying to load unsupported GLOBAL posix.mkdir whose module posix is blocked"):
                ours.load(file)
    with pytest.raises(pickle.UnpicklingError, match="blocked"):
        ours.load(io.BytesIO(pickle.dumps(Touch(target), 2)))
    with ours.serialization.safe_globals([os.mkdir]), pytest.raises(pickle.UnpicklingError, match="blocked"):
        ours.load(io.BytesIO(pickle.dumps(Touch(target), 2)))
    assert not target.exists()


def test_advice_is_torchs() -> None:
    for obj in (print, np.arange(3), Touch(Path("x"))):
        texts = []
        for library in (REAL, OURS):
            with pytest.raises(pickle.UnpicklingError) as caught:
                library.load(saved(REAL, {"a": obj}))
            texts.append(str(caught.value))
        assert texts[0] == texts[1]


@pytest.mark.parametrize(("data", "text"), [
    (b"c__main__\nx\n.", "Unsupported global: GLOBAL __main__.x was not an allowed global by default"),
    (b"c__builtin__\neval\n(X\x01\0\0\x001tR.", "Unsupported global: GLOBAL eval was not"),
    (b"cbuiltins\ngetattr\n.", "Unsupported global: GLOBAL getattr was not"),
    (b"ctorch.nn.modules.linear\nLinear\n.", "Unsupported global"),
    (b"ctorch.storage\n_load_from_bytes\n.", "Unsupported global"),
    (b"ctorch\nquint8\n.", "torch.quint8 is not supported by pytorchlike"),
    (b"ctorch\nfloat32\n)R.", "Trying to call reduce for unrecognized function an object of <class 'torch.dtype'>"),
    (b"ctorch\nTensor\n(J\xff\xff\xff\x7ftR.", "Trying to call reduce for unrecognized function <class 'torch.Tensor'>"),
    (b"ctorch\nFloatTensor\n(J\xff\xff\xff\x7ftR.", "unrecognized function"),
    (b"X\x01\0\0\0a)R.", "Trying to call reduce"),
    (b"ctorch\ndevice\nK\x01R.", "arguments must be a tuple"),
    (b"ctorch\ndevice\n(X\x03\0\0\0footR.", "Expected one of cpu"),
    (b"c__builtin__\nbytearray\nJ\xff\xff\xff\x7f\x85R.", "a bytearray is expected as bytes"),
    (b"c_codecs\nencode\n(X\x01\0\0\0aX\x04\0\0\0zlibtR.", "bytes are expected as latin1 text"),
    (b"c__builtin__\nset\n)\x81X\x01\0\0\0ab.", "Can only build Tensor, Parameter, OrderedDict"),
    (b"ctorch._utils\n_rebuild_tensor_v2\n}X\x0c\0\0\0__defaults__)sb.", "Can only build Tensor"),
    (b"ccollections\nOrderedDict\n)R}K\x01K\x02sb.", "Can only build Tensor"),
    (b"ccollections\nOrderedDict\n}b.", "Can only build Tensor, Parameter, OrderedDict or types"),
    (b"c__builtin__\nset\n)\x81K\x01a.", "Can only append to lists, but got <class 'set'>"),
    (b"]K\x01K\x02s.", "Can only set items of dict"), (b"]Q.", "persistent_load id must be tuple or int"),
    (b"(X\x06\0\0\0moduletQ.", "Only persistent_load of storage is allowed"), (b"K\x01Q.", "expected a reference to a storage with 4 fields, but got int"),
    (b"i__main__\nx\n.", "Unsupported operand 105"), (b"\x93.", "Unsupported operand 147"), (b"\x82\x01.", "Unsupported operand 130"),
    (b".", "unexpected MARK"), (b"t.", "could not find MARK"), (b"K", "truncated"), (b"X\xff\xff\xff\xff1.", "truncated"), (b"h\x07.", "Memo value not found"),
    (b"cx", "truncated"), (b"X\x01\0\0\0\xff.", "utf-8"), (b"}]K\x01s.", "unhashable"), (b"}(K\x01u.", "odd number"), (b"K\x01", "truncated"),
])  # fmt: skip
def test_instructions_that_are_refused(data: bytes, text: str) -> None:
    with pytest.raises((pickle.UnpicklingError, RuntimeError), match=text):
        ours.load(with_pickle(b"\x80\x02" + data))


def test_nothing_endless_is_walked() -> None:
    twice = b")" + b"q\0h\0\x86" * 200  # a tuple of 2**200 parts
    deep = b")" + b"\x85" * 20_000
    for data, text in (
        (b"}" + twice + b"K\x01s.", "a key with more than 4096 parts"),
        (b"}" + deep + b"K\x01s.", "a key with more than 4096 parts"),
        (b"c__builtin__\nset\n](" + twice + b"e\x85R.", "a key with more than 4096 parts"),
        (b"ccollections\nOrderedDict\n](]" + b"(" + deep + b"K\x01ee\x85R.", "a key with more than 4096 parts"),
        (twice + b")R.", "an object of <class 'tuple'>"),
        (twice + b"Q.", "Only persistent_load of storage|unsupported persistent id"),
        (b"ctorch._utils\n_rebuild_meta_tensor_no_storage\n(ctorch\nfloat32\n" + twice + twice + b"\x89tR.", "must be made of non-negative ints"),
    ):
        with pytest.raises((pickle.UnpicklingError, RuntimeError), match=text):
            machine(b"\x80\x02" + data)
    nested = machine(b"\x80\x02" + b"]" * 20_000 + b"a" * 19_999 + b".")
    for _ in range(19_999):
        nested = nested[0]
    assert nested == []


def _changed(old: bytes, new: bytes) -> io.BytesIO:
    assert _PICKLE.count(old) == 1
    return with_pickle(_PICKLE.replace(old, new))


@pytest.mark.parametrize(("old", "new", "text"), [
    (b"K\x05tq\x05Q", b"K\x06tq\x05Q", "storage has wrong byte size: expected 24 got 20"),
    (b"K\x05tq\x05Q", b"J\xff\xff\xff\xfftq\x05Q", "fields of the wrong type"),
    (b"K\x05tq\x05Q", b"G@\x14\0\0\0\0\0\0tq\x05Q", "fields of the wrong type"),
    (b"K\x05tq\x05Q", b"tq\x05Q", "a reference to a storage with 4 fields"),
    (b"FloatStorage", b"DoubleStorage", "wrong byte size: expected 40 got 20"),
    (b"FloatStorage", b"float32", "fields of the wrong type"),
    (b"QK\x00K\x05\x85", b"QK\x01K\x05\x85", "sizes \\[5\\], strides \\[1\\], storage offset 1, and itemsize 4 requiring a storage size of 24 are out of bounds"),
    (b"QK\x00K\x05\x85", b"QK\x00K\x06\x85", "out of bounds for storage of size 20"),
    (b"QK\x00K\x05\x85", b"QK\x00J\xff\xff\xff\x7f\x85", "out of bounds"),
    (b"QK\x00K\x05\x85", b"QJ\xff\xff\xff\xffK\x05\x85", "storage_offset must be made of non-negative ints"),
    (b"QK\x00K\x05\x85", b"QK\x00K\x05K\x01\x86", "mismatch in length of strides and shape"),
    (b"QK\x00K\x05\x85", b"QK\x00\x8a\x10" + b"\xff" * 15 + b"\x7f\x85", "size must be made of non-negative ints"),
    (b"K\x01\x85q\x07\x89", b"J\xff\xff\xff\xff\x85q\x07\x89", "stride must be made of non-negative ints"),
    (b"K\x01\x85q\x07\x89", b"Nq\x07\x89", "stride must be made of"),
    (b"q\x02X\x01\0\0\x000", b"q\x02X\x01\0\0\x009", "locating file data/9: file not found"),
    (b"X\x03\0\0\0cpu", b"X\x03\0\0\0foo", "don't know how to restore data location of torch.storage.UntypedStorage \\(tagged with foo\\)"),
    (b"X\x03\0\0\0cpu", b"X\x06\0\0\0cuda:0", "Attempting to deserialize object on a CUDA device but torch.cuda.is_available\\(\\) is False"),
])  # fmt: skip
def test_lies_about_storages(old: bytes, new: bytes, text: str) -> None:
    assert ours.load(_changed(old, old)).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    for weights_only in (True, False):
        with pytest.raises((RuntimeError, pickle.UnpicklingError), match=text):
            ours.load(_changed(old, new), weights_only=weights_only)


def test_lies_in_the_old_format() -> None:
    data = saved(OURS, [ours.arange(5.0), ours.ones(2)], _use_new_zipfile_serialization=False).getvalue()
    numel = data.index((5).to_bytes(8, "little"))
    for damaged, text in (
        (data.replace(b"K\x05Nt", b"J\xff\xff\xff\x7fNt"), "unexpected EOF, expected \\d+ more bytes. The file might be corrupted."),
        (data[:numel] + (6).to_bytes(8, "little") + data[numel + 8 :], "storage has wrong byte size: expected 20 got 24"),
        (data[:-1], "unexpected EOF, expected 1 more bytes"), (data[:numel], "unexpected EOF, expected 8 more bytes|more bytes"),
        (data[: numel - 12], "more bytes|truncated"),
        (data.replace(b"]q\x00(X\x01\0\0\x000", b"]q\x00(X\x01\0\0\x009"), "storage key '9' not found"),
        (data.replace(b"\xe9\x03", b"\xe8\x03", 1), "Invalid protocol version: 1000"),
        (pickle.dumps(1, 2), "Invalid magic number; corrupt file"),
        (bytes(257) + b"ustar" + bytes(300), "legacy .tar format"),
    ):
        assert damaged != data
        with pytest.raises((RuntimeError, pickle.UnpicklingError), match=text):
            ours.load(io.BytesIO(damaged))


class Point:
    def __init__(self, x: int) -> None:
        self.x = x


class WithState:
    def __getstate__(self) -> Any:
        return (None, {"y": 2})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WithState) and self.y == 2  # type: ignore[attr-defined]


def test_safe_globals() -> None:
    s = ours.serialization
    file = saved(OURS, {"p": Point(3), "s": WithState(), "array": np.arange(2.0)})
    path = f"{__name__}.Point"
    numpy_names = ["numpy._core.multiarray._reconstruct", "numpy.dtype", "numpy.ndarray"]
    assert sorted(s.get_unsafe_globals_in_checkpoint(file)) == sorted([path, f"{__name__}.WithState", *numpy_names])
    file.seek(0)
    assert s.get_safe_globals() == []
    allowed = [Point, WithState, np.ndarray, np.dtype, np.dtypes.Float64DType, (np._core.multiarray._reconstruct, numpy_names[0])]
    with s.safe_globals(allowed):
        assert set(s.get_safe_globals()) == set(allowed) and s.get_unsafe_globals_in_checkpoint(file) == []
        file.seek(0)
        found = ours.load(file)
    assert found["p"].x == 3 and found["s"] == WithState() and found["array"].tolist() == [0.0, 1.0]
    assert s.get_safe_globals() == []
    s.add_safe_globals([ours.nn.Linear, set])
    try:
        assert s.get_unsafe_globals_in_checkpoint(saved(REAL, REAL.nn.Linear(1, 1))) == []
        assert isinstance(ours.load(saved(REAL, REAL.nn.Linear(1, 1))), ours.nn.Linear)
    finally:
        s.clear_safe_globals()
    assert s.get_safe_globals() == []
    for wrong, error in (((Point, "a", "b"), ValueError), ((Point, 1), TypeError)):
        with s.safe_globals([wrong]), pytest.raises(error, match="Expected"):
            ours.load(saved(OURS, 1))
    with pytest.raises(ValueError, match="Expected input to be a checkpoint returned by torch.save"):
        s.get_unsafe_globals_in_checkpoint(io.BytesIO(b"x"))


class My(ours.Tensor):
    pass


def test_tensors_of_users() -> None:
    x = ours.ones(2).as_subclass(My)
    x.note = 5
    with pytest.raises(pickle.UnpicklingError, match="My"):
        ours.load(saved(OURS, x))
    with ours.serialization.safe_globals([My]):
        found = ours.load(saved(OURS, x))
    assert type(found) is My and found.note == 5


def test_attributes_cannot_replace_what_a_tensor_is_made_of() -> None:
    x = ours.ones(2)
    x.note = 1
    data = records(saved(OURS, x).getvalue())["data.pkl"]
    with pytest.raises(RuntimeError, match="Invalid serialized state"):
        ours.load(io.BytesIO(rewritten(saved(OURS, x).getvalue(), data_pkl=data.replace(b"X\4\0\0\0note", b"X\5\0\0\0_edge"))))


def test_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    module = saved(OURS, ours.nn.Linear(1, 1)).getvalue()
    for name, value in (("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1"), ("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "y")):
        monkeypatch.setenv(name, value)
        if value == "1":
            with pytest.raises(pickle.UnpicklingError):
                ours.load(io.BytesIO(module), weights_only=False)
            monkeypatch.delenv(name)
    with pytest.warns(UserWarning, match="forcing weights_only=False"):
        assert isinstance(ours.load(io.BytesIO(module)), ours.nn.Linear)
    with pytest.raises(pickle.UnpicklingError):
        ours.load(io.BytesIO(module), weights_only=True)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="Only one of"):
        ours.load(io.BytesIO(module))


def test_warnings() -> None:
    with pytest.warns(UserWarning, match="pickle_load_args only works if `weights_only=False`"):
        ours.load(saved(OURS, 1), encoding="latin1")
    with pytest.warns(UserWarning, match="Detected pickle protocol 4 in the checkpoint"), pytest.raises(pickle.UnpicklingError, match="Unsupported operand 149"):
        ours.load(saved(OURS, 1.5, pickle_protocol=4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ours.load(saved(OURS, OrderedDict(a=1))) == OrderedDict(a=1)


def test_strings_of_python_2() -> None:
    data = b"\x80\x02U\x02\xc3\xa9."
    assert machine(data) == "\u00e9" and WeightsUnpickler(io.BytesIO(data)).load() == b"\xc3\xa9"
    assert ours.load(with_pickle(data), weights_only=False, encoding="bytes") == real_torch.load(with_pickle(data), weights_only=False, encoding="bytes")
