"""Files that torch and pytorchlike write for each other."""

from __future__ import annotations

import ast
import io
import pickle
import subprocess
import sys
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours

from ..nn.layers import LAYERS
from .exchange import OURS, REAL, described, exchange, saved

DIRECTIONS = pytest.mark.parametrize(("source", "target"), [(REAL, OURS), (OURS, REAL), (OURS, OURS)], ids=["torch to ours", "ours to torch", "ours to ours"])
DTYPES = (
    "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 float8_e4m3fn float8_e5m2 "
    "float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu"
).split()


def tensors(t: Any) -> dict[str, Any]:
    x = t.arange(12.0)
    m = x.reshape(3, 4)
    return {
        "whole": m, "row": m[1], "column": m[:, 2], "block": m[1:, ::2], "transposed": m.t(), "expanded": x[:4].expand(3, 4), "scalar": x[3],
        "again": x, "empty": t.zeros(0, 3), "zero": t.tensor(2.5), "channels last": t.ones(2, 3, 4, 5).contiguous(memory_format=t.channels_last),
        "leaf": t.ones(2, requires_grad=True), "parameter": t.nn.Parameter(t.zeros(2)), "frozen": t.nn.Parameter(t.zeros(2), requires_grad=False),
        "buffer": t.nn.Buffer(t.ones(1), persistent=False), "meta": t.zeros(2, 3, device="meta"),
        "dtypes": {d: t.tensor([1, 2, 4, 1]).to(getattr(t, d)) for d in DTYPES}, "gap": t.empty_strided((2, 2), (3, 1)).fill_(1),
    }  # fmt: skip


def values(t: Any) -> dict[str, Any]:
    state = OrderedDict(w=t.ones(2))
    state._metadata = OrderedDict([("", {"version": 2})])
    return {
        "nested": [1, -1, 300, 1 << 40, 1 << 200, -(1 << 70), 2.5, float("inf"), True, None, "text", "\u20ac", b"bytes", (1, (2,)), [], {}, ()],
        "state": state, "counter": Counter("aab"), "set": {1, 2}, "array": bytearray(b"ab"), "complex": 1 - 2j, "dtypes": [getattr(t, d) for d in DTYPES],
        "devices": [t.device("cpu"), t.device("cuda", 1), t.device("meta")], "size": t.Size([1, 2]), "layout": t.strided, 7: "int key", (1, "a"): "tuple key",
        "long list": list(range(2000)), "long text": "x" * 70000,
    }  # fmt: skip


@DIRECTIONS
def test_tensors(executor: str, source: Any, target: Any) -> None:
    expected = described(tensors(REAL))
    for weights_only in (True, False):
        assert described(exchange(source, target, tensors(source), weights_only=weights_only)) == expected


@DIRECTIONS
def test_values(source: Any, target: Any) -> None:
    expected = described(values(REAL))
    for weights_only in (True, False):
        assert described(exchange(source, target, values(source), weights_only=weights_only)) == expected


@DIRECTIONS
def test_memory_stays_shared(executor: str, source: Any, target: Any) -> None:
    x = source.arange(6.0)
    wide = source.arange(6).to(source.uint16)
    tied = source.nn.Parameter(source.ones(2))
    obj = {"part": x[2:4], "flat": x, "matrix": x.view(2, 3), "tied": [tied, tied], "wide": [wide, wide[1:3]]}
    found = exchange(source, target, obj)
    found["flat"][3] = 9.0
    found["wide"][0][2] = 7
    assert found["part"].tolist() == [2.0, 9.0] and found["matrix"].tolist() == [[0.0, 1.0, 2.0], [9.0, 4.0, 5.0]]
    assert found["wide"][1].tolist() == [1, 7]
    assert found["tied"][0] is found["tied"][1]


@DIRECTIONS
def test_attributes_subclasses_and_what_needs_trust(source: Any, target: Any) -> None:
    plain = source.ones(2)
    plain.note = "kept"
    parameter = source.nn.Parameter(source.ones(2))
    parameter.note = 1
    generator = source.Generator().manual_seed(3)
    source.rand(5, generator=generator)
    obj = {"plain": plain, "parameter": parameter, "generator": generator, "array": np.arange(6.0).reshape(2, 3), "number": np.float32(2), "relu": source.relu,
           "gelu": source.nn.functional.gelu, "class": source.nn.Linear, "Tensor": source.Tensor, "method": source.Tensor.add, "results": source.max(source.ones(2, 2), 0)}  # fmt: skip
    found = exchange(source, target, obj, weights_only=False)
    assert found["plain"].note == "kept" and type(found["plain"]) is target.Tensor
    assert found["parameter"].note == 1 and type(found["parameter"]) is target.nn.Parameter
    assert target.rand(3, generator=found["generator"]).tolist() == source.rand(3, generator=generator).tolist()
    assert found["array"].tolist() == obj["array"].tolist() and type(found["number"]) is np.float32
    assert found["relu"] is target.relu and found["gelu"] is target.nn.functional.gelu and found["class"] is target.nn.Linear
    assert found["Tensor"] is target.Tensor and found["method"](target.ones(1), 1).tolist() == [2.0]
    assert [r.tolist() for r in found["results"]] == [[1.0, 1.0], [0, 0]]


@DIRECTIONS
def test_elements_that_are_not_the_storages_own(source: Any, target: Any) -> None:
    def views(t: Any) -> list[Any]:
        z = t.tensor([1 + 2j, 3 - 1j])
        return [z.imag, z.conj(), z.conj().imag, t.view_as_real(z), t.ones(2).view(t.int32)]

    for k, expected in enumerate(views(REAL)):
        found = exchange(source, target, views(source)[k], weights_only=False)
        assert (str(found.dtype), found.stride(), found.storage_offset()) == (str(expected.dtype), expected.stride(), expected.storage_offset())
        assert found.tolist() == expected.tolist() and (found.is_conj(), found.is_neg()) == (expected.is_conj(), expected.is_neg())


@pytest.mark.parametrize("name", ["Linear", "Conv2d", "BatchNorm2d", "LSTM", "TransformerEncoderLayer", "Embedding"])
def test_whole_modules(name: str) -> None:
    _exchange_layers([layer for layer in LAYERS if layer.name == name][:1], run=True)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_all_modules() -> None:
    _exchange_layers(LAYERS, run=False)


def _exchange_layers(layers: Any, run: bool) -> None:
    """Each layer by both libraries; the one that was loaded has the same state and, where that is cheap, computes the same."""
    random = np.random.default_rng(0)
    for layer in layers:
        inputs = [i.draw(random) for i in layer.inputs] if run else []
        for source, target in ((REAL, OURS), (OURS, REAL)):
            module = getattr(source.nn, layer.name)(*layer.args, **layer.kwargs).eval()
            found = exchange(source, target, module, weights_only=False)
            assert repr(found) == repr(module) and not found.training
            assert described(OrderedDict(found.state_dict())) == described(OrderedDict(module.state_dict())), layer
            if run:
                results = [m(*map(t.from_numpy, inputs)) for t, m in ((source, module), (target, found))]
                first, second = (r[0] if isinstance(r, tuple) else r for r in results)
                np.testing.assert_allclose(first.detach().numpy(), second.detach().numpy(), rtol=1e-4, atol=1e-5)


class Net(ours.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = ours.nn.Sequential(ours.nn.Linear(2, 2), ours.nn.ReLU())
        self.shared = self.inner[0]


def test_modules_of_users() -> None:
    net = Net()
    found = ours.load(saved(OURS, net), weights_only=False)
    assert type(found) is Net and found.shared is found.inner[0]
    assert found.shared.weight.tolist() == net.shared.weight.tolist()
    with pytest.raises(pickle.UnpicklingError, match=r"Unsupported global: GLOBAL \S+\.Net was not an allowed global by default"):
        ours.load(saved(OURS, net))


@DIRECTIONS
def test_old_format(source: Any, target: Any) -> None:
    def make(t: Any) -> dict[str, Any]:
        x = t.arange(4.0)
        return {"x": x, "part": x[1:3], "mask": t.tensor([True, False]), "half": t.ones(3).bfloat16(), "parameter": t.nn.Parameter(t.ones(2)), "n": [1, None]}

    for weights_only in (True, False):
        found = target.load(saved(source, make(source), _use_new_zipfile_serialization=False), weights_only=weights_only)
        assert described(found) == described(make(REAL))
    found["x"][1] = 9.0
    assert found["part"][0] == 9.0
    alone = target.load(saved(source, source.ones(2, 2).t(), _use_new_zipfile_serialization=False))
    assert alone.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    module = target.load(saved(source, source.nn.Linear(2, 1), _use_new_zipfile_serialization=False), weights_only=False)
    assert isinstance(module, target.nn.Linear)


def test_dtypes_without_a_storage_of_their_own_in_the_old_format() -> None:  # torch writes them and cannot read them
    for source in (REAL, OURS):
        x = source.arange(4).to(source.uint16)
        file = saved(source, [x, x[2:]], _use_new_zipfile_serialization=False)
        found = ours.load(file)
        found[0][3] = 8
        assert found[0].dtype is ours.uint16 and found[1].tolist() == [2, 8]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickle_protocols(protocol: int) -> None:
    for source, target in ((REAL, OURS), (OURS, REAL)):
        file = saved(source, {"x": source.ones(2), "d": source.float16, "p": source.nn.Parameter(source.ones(1))}, pickle_protocol=protocol)
        found = target.load(file, weights_only=False)
        assert found["x"].tolist() == [1.0, 1.0] and found["d"] is target.float16 and found["p"].requires_grad


def test_other_pickle_modules() -> None:
    factor = 3
    obj = {"f": lambda x: x * factor, "x": ours.arange(3.0), "d": ours.float16, "v": ours.arange(3.0)[1:]}
    found = ours.load(saved(OURS, obj, pickle_module=cloudpickle), pickle_module=pickle)
    assert found["f"](found["x"]).tolist() == [0.0, 3.0, 6.0] and found["d"] is ours.float16 and found["v"].tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module is specified"):
        ours.load(saved(OURS, 1), pickle_module=pickle, weights_only=True)


def test_files_of_torch_are_loaded_without_torch(tmp_path: Path) -> None:
    model = real_torch.nn.Linear(3, 2)
    real_torch.save({"model": model, "state": model.state_dict(), "half": real_torch.ones(2).bfloat16()}, tmp_path / "a.pt")
    script = """
import sys
sys.modules["torch"] = None
import pytorchlike
found = pytorchlike.load(sys.argv[1], weights_only=False)
print(found["model"](pytorchlike.ones(1, 3)).tolist(), found["half"].dtype, type(found["state"]).__name__)
"""
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "a.pt"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    numbers, dtype, kind = done.stdout.rsplit(maxsplit=2)
    assert ast.literal_eval(numbers)[0] == pytest.approx(model(real_torch.ones(1, 3))[0].tolist()) and (dtype, kind) == ("torch.bfloat16", "OrderedDict")


def test_torchs_own_pickles() -> None:
    class FromTorch(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            return ours.serialization.names.find(module, name) if module.startswith("torch") else super().find_class(module, name)

    found = FromTorch(io.BytesIO(pickle.dumps([real_torch.arange(3.0), real_torch.float16, real_torch.Size([1])]))).load()
    assert found[0].tolist() == [0.0, 1.0, 2.0] and found[1:] == [ours.float16, ours.Size([1])]


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storages() -> None:
    def make(t: Any) -> list[Any]:
        x = t.arange(3.0)
        return [x._typed_storage(), t.arange(3).to(t.uint8).untyped_storage()]

    for source, target in ((REAL, OURS), (OURS, REAL)):
        assert described(exchange(source, target, make(source), weights_only=False)) == described(
            [REAL.arange(3.0)._typed_storage(), REAL.arange(3).to(REAL.uint8)._typed_storage()]
        )
    x = ours.arange(2.0)
    with pytest.raises(RuntimeError, match="Cannot save multiple tensors or storages that view the same data as different types"):
        ours.save([x, x.untyped_storage()], io.BytesIO())


def test_hooks_are_left_behind_with_a_warning() -> None:
    x = ours.ones(2, requires_grad=True)
    x.register_hook(lambda g: g)
    with pytest.warns(UserWarning, match="backward hook .* on tensor will not be serialized"):
        file = saved(OURS, x)
    assert ours.load(file).requires_grad
