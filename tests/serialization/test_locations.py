"""``map_location``: where loaded storages go."""

from __future__ import annotations

import io
from typing import Any

import pytest

import pytorchlike as ours

from .exchange import OURS, REAL, saved
from .test_archive import records, rewritten


def tagged(location: str, **keywords: Any) -> io.BytesIO:
    """A file whose storages say that they were on this device."""
    data = saved(REAL, {"x": REAL.arange(4.0).reshape(2, 2), "w": REAL.arange(3).to(REAL.uint16)}).getvalue()
    old, new = (len(name).to_bytes(4, "little") + name.encode() for name in ("cpu", location))
    return io.BytesIO(rewritten(data, data_pkl=records(data)["data.pkl"].replace(b"X" + old, b"X" + new)))


@pytest.mark.parametrize("where", ["cpu", ours.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage, b"cpu"])
def test_to_the_cpu(where: Any) -> None:
    found = ours.load(tagged("cuda:0"), map_location=where)
    assert found["x"].tolist() == [[0.0, 1.0], [2.0, 3.0]] and found["x"].device == ours.device("cpu") and found["w"].tolist() == [0, 1, 2]


def test_to_another_device() -> None:
    for use_zip in (True, False):
        file = saved(OURS, {"x": ours.arange(4.0).reshape(2, 2), "part": ours.arange(4.0)[1:]}, _use_new_zipfile_serialization=use_zip)
        for where in ("cpu:1", ours.device("cpu", 1), {"cpu": "cpu:1"}, lambda storage, location: storage.to("cpu:1")):
            file.seek(0)
            found = ours.load(file, map_location=where)
            assert str(found["x"].device) == "cpu:1" and found["x"].tolist() == [[0.0, 1.0], [2.0, 3.0]] and found["part"].tolist() == [1.0, 2.0, 3.0]
    back = ours.load(saved(OURS, found["x"]))
    assert str(back.device) == "cpu:1" and back.tolist() == [[0.0, 1.0], [2.0, 3.0]]


def test_to_meta() -> None:
    for where in ("meta", ours.device("meta")):
        found = ours.load(tagged("cuda:0"), map_location=where)
        assert found["x"].is_meta and found["x"].shape == (2, 2) and found["w"].dtype is ours.uint16


def test_functions_see_each_storage_once() -> None:
    x = ours.arange(4.0)
    seen = []

    def where(storage: Any, location: str) -> None:
        seen.append((type(storage).__name__, storage.nbytes(), location))

    assert ours.load(saved(OURS, [x, x[1:], ours.ones(2)]), map_location=where)[0].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert seen == [("UntypedStorage", 16, "cpu"), ("UntypedStorage", 8, "cpu")]
    with pytest.raises(TypeError, match="map_location must return a storage or None"):
        ours.load(saved(OURS, x), map_location=lambda storage, location: 1)


def test_devices_that_are_not_there() -> None:
    message = "Attempting to deserialize object on a CUDA device but torch.cuda.is_available\\(\\) is False. If you are running on a CPU-only machine"
    for library in (REAL, OURS):
        with pytest.raises(RuntimeError, match=message):
            library.load(tagged("cuda:1"))
        with pytest.raises(RuntimeError, match=message):
            library.load(tagged("cpu"), map_location="cuda")
        with pytest.raises(RuntimeError, match="don't know how to restore data location of torch.storage.UntypedStorage \\(tagged with foo\\)"):
            library.load(tagged("foo"))
    with pytest.raises(RuntimeError, match="CPU device 7 but torch.cpu.device_count\\(\\) is 2"):
        ours.load(tagged("cpu:7"))


def test_packages() -> None:
    s = ours.serialization
    before = list(s.locations._packages)
    try:
        s.register_package(5, lambda storage: "mine" if storage.nbytes() == 12 else None, lambda storage, tag: storage if tag == "mine" else None)
        assert s.location_tag(ours.ones(3).untyped_storage()) == "mine" and s.location_tag(ours.ones(2).untyped_storage()) == "cpu"
        file = saved(OURS, ours.ones(3))
        assert ours.load(file).tolist() == [1.0] * 3
    finally:
        s.locations._packages[:] = before
    file.seek(0)
    with pytest.raises(RuntimeError, match="tagged with mine"):
        ours.load(file)
