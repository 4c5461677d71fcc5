"""Files of safetensors, exchanged with ``safetensors.torch`` and torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.torch as real_safetensors
import torch as real_torch

import pytorchlike as ours
from pytorchlike.interop import safetensors as our_safetensors

from ..serialization.exchange import described

BOTH = [(real_torch, real_safetensors), (ours, our_safetensors)]
DTYPES = (
    "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 float8_e4m3fn float8_e5m2 float8_e4m3fnuz "
    "float8_e5m2fnuz"
).split()


def tensors(t: Any) -> dict[str, Any]:
    return {"matrix": t.arange(6.0).reshape(2, 3), "empty": t.zeros(0, 2), "scalar": t.tensor(3), **{d: t.tensor([1, 2, 4]).to(getattr(t, d)) for d in DTYPES}}


def sorted_description(found: dict[str, Any]) -> Any:
    return described(dict(sorted(found.items())))


def test_files_both_ways(executor: str, tmp_path: Path) -> None:
    expected = sorted_description(tensors(real_torch))
    for source, saver in BOTH:
        saver.save_file(tensors(source), tmp_path / "a.safetensors", {"k": "v"})
        data = saver.save(tensors(source))
        for _, loader in BOTH:
            for found in (loader.load_file(tmp_path / "a.safetensors"), loader.load_file(tmp_path / "a.safetensors", backend="pread"), loader.load(data)):
                assert sorted_description(found) == expected
        with safetensors.safe_open(tmp_path / "a.safetensors", "np") as file:
            assert file.metadata() == {"k": "v"}
    assert our_safetensors.save(tensors(ours), {"k": "v"}) == real_safetensors.save(tensors(real_torch), {"k": "v"})
    for load in (ours.load, real_torch.load):
        assert sorted_description(load(tmp_path / "a.safetensors")) == expected
    assert ours.load(str(tmp_path / "a.safetensors"), map_location="meta")["matrix"].is_meta
    with pytest.raises(RuntimeError, match="Loading safetensors file with dict map_location is not supported"):
        ours.load(tmp_path / "a.safetensors", map_location={"cpu": "cpu"})


def test_loaded_tensors_are_their_own(tmp_path: Path) -> None:
    our_safetensors.save_file({"x": ours.arange(4.0)}, tmp_path / "a.safetensors")
    before = (tmp_path / "a.safetensors").read_bytes()
    found = our_safetensors.load_file(tmp_path / "a.safetensors")["x"]
    found[1:].mul_(2)
    assert found.tolist() == [0.0, 2.0, 4.0, 6.0] and (tmp_path / "a.safetensors").read_bytes() == before
    assert str(our_safetensors.load_file(tmp_path / "a.safetensors", device="cpu:1")["x"].device) == "cpu:1"


def test_what_cannot_be_saved() -> None:
    for t, module in BOTH:
        x = t.arange(6.0)
        with pytest.raises(RuntimeError, match="Some tensors share memory, this will lead to duplicate memory on disk"):
            module.save({"x": x, "y": x[:3]})
        assert module.load(module.save({"a": x[:2], "b": x[2:]}))["b"].tolist() == [2.0, 3.0, 4.0, 5.0]
        with pytest.raises(ValueError, match="You are trying to save a non contiguous tensor: `x` which is not allowed"):
            module.save({"x": x.reshape(2, 3).t()})
        with pytest.raises(ValueError, match="Expected a dict of"):
            module.save([x])
        with pytest.raises(ValueError, match="Key `x` is invalid, expected torch.Tensor"):
            module.save({"x": 1})
        with pytest.raises((safetensors.SafetensorError, KeyError, ValueError)):
            module.save({"x": x.to(t.complex128)})


def test_damaged_files(tmp_path: Path) -> None:
    data = our_safetensors.save({"x": ours.arange(6.0)})
    header = json.dumps({"x": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]}}).encode()
    for damaged in (b"", data[:7], data[:-1], b"\xff" * 20, data.replace(b"[6]", b"[7]"), len(header).to_bytes(8, "little") + header):
        (tmp_path / "a.safetensors").write_bytes(damaged)
        for load in (lambda: our_safetensors.load_file(tmp_path / "a.safetensors"), lambda: our_safetensors.load(damaged)):  # noqa: B023
            with pytest.raises(safetensors.SafetensorError):
                load()
    (tmp_path / "a.safetensors").write_bytes(data.replace(b"F32", b"F9X"))
    with pytest.raises(Exception, match="F9X"):
        our_safetensors.load_file(tmp_path / "a.safetensors")


def _tied(t: Any) -> Any:
    class Tied(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = t.nn.Linear(3, 3), t.nn.Linear(3, 3)
            self.second.weight = self.first.weight

    return Tied()


def test_modules(tmp_path: Path) -> None:
    path = str(tmp_path / "a.safetensors")
    for source, saver in BOTH:
        model = _tied(source)
        saver.save_model(model, path)
        for target, loader in BOTH:
            other = _tied(target)
            assert loader.load_model(other, path) == (set(), [])
            np.testing.assert_array_equal(other.second.weight.detach().numpy(), model.first.weight.detach().numpy())
            assert set(loader.load_file(path)) == {"first.weight", "first.bias", "second.bias"}
    for t, module in BOTH:
        with pytest.raises(RuntimeError, match="None is covering the entire storage"):
            module._remove_duplicate_names({"part": t.ones(3)[1:]})
    texts = []
    for t, module in BOTH:
        assert module.load_model(t.nn.Linear(2, 2), path, strict=False) == ({"bias", "weight"}, sorted(module.load_file(path)))
        with pytest.raises(RuntimeError) as caught:
            module.load_model(t.nn.Linear(2, 2), path)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
    for preferred, discarded in ((None, None), (["second.weight"], None), (None, ["first.weight"])):
        found = [m._remove_duplicate_names(_tied(t).state_dict(), preferred_names=preferred, discard_names=discarded) for t, m in BOTH]
        assert dict(found[0]) == found[1]


def test_under_the_name_torch(tmp_path: Path) -> None:
    real_safetensors.save_file({"x": real_torch.arange(6.0).reshape(2, 3)}, tmp_path / "a.safetensors")
    script = """
import sys, torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
assert "pytorchlike" in torch.__file__
x = load_file(sys.argv[1])["x"]
save_file({"y": x * 2, "t": x.t().contiguous()}, sys.argv[2])
with safe_open(sys.argv[1], framework="pt") as file:  # the package's own reader makes tensors through ``import torch``
    print(file.get_tensor("x").tolist(), file.get_slice("x")[1:, :2].tolist(), load_file.__module__)
"""
    done = subprocess.run(
        [sys.executable, "-m", "pytorchlike", "-c", script, tmp_path / "a.safetensors", tmp_path / "b.safetensors"], capture_output=True, text=True
    )
    assert done.stdout == "[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] [[3.0, 4.0]] pytorchlike.interop.safetensors\n", done.stderr
    found = real_safetensors.load_file(tmp_path / "b.safetensors")
    assert found["y"].tolist() == [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]] and found["t"].shape == (3, 2)
