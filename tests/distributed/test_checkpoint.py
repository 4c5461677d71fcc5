"""``torch.distributed.checkpoint`` on orbax: states saved and loaded in place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pytorchlike as torch
from pytorchlike.distributed import checkpoint

DTYPES = (
    "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 float8_e4m3fn float8_e5m2 "
    "float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu"
).split()


def trained() -> tuple[Any, Any]:
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model(torch.randn(4, 3)).square().sum().backward()
    optimizer.step()
    return model, optimizer


def test_states_are_loaded_in_place(tmp_path: Path) -> None:
    model, optimizer = trained()
    checkpoint.save({"model": model.state_dict(), "optimizer": optimizer, "epoch": 3, "list": [torch.ones(2), 7], "name": "x"}, checkpoint_id=tmp_path / "c")
    other, other_optimizer = trained()
    state = {"model": other.state_dict(), "optimizer": other_optimizer, "epoch": 0, "list": [torch.zeros(2), 0]}
    weight, held = state["model"]["0.weight"], state["list"][0]
    assert checkpoint.load(state, checkpoint_id=tmp_path / "c") is None
    assert state["model"]["0.weight"] is weight and held.tolist() == [1.0, 1.0]
    assert state["epoch"] == 3 and state["list"][1] == 7 and "name" not in state
    for name, tensor in model.state_dict().items():
        assert other.state_dict()[name].tolist() == tensor.tolist()
    mine, theirs = optimizer.state_dict(), other_optimizer.state_dict()
    assert mine["param_groups"] == theirs["param_groups"]
    assert all(mine["state"][k][n].tolist() == theirs["state"][k][n].tolist() for k in mine["state"] for n in mine["state"][k])


def test_dtypes_and_views(tmp_path: Path) -> None:
    state: dict[str, Any] = {d: torch.tensor([1, 2, 4]).to(getattr(torch, d)) for d in DTYPES}
    state |= {"scalar": torch.tensor(2.5), "empty": torch.zeros(0, 3), "view": torch.arange(6.0).reshape(2, 3).t(), "a/b": torch.ones(1)}
    checkpoint.save(state, storage_writer=checkpoint.FileSystemWriter(tmp_path / "c"))
    found = {name: torch.zeros_like(tensor) for name, tensor in state.items()}
    checkpoint.load(found, storage_reader=checkpoint.FileSystemReader(tmp_path / "c"))
    assert {n: (t.dtype, t.stride(), t.tolist()) for n, t in found.items()} == {n: (t.dtype, t.stride(), t.tolist()) for n, t in state.items()}


def test_async_save_takes_the_values_of_its_call(tmp_path: Path) -> None:
    x = torch.arange(3.0)
    done = checkpoint.async_save({"x": x}, checkpoint_id=tmp_path / "c")
    x.zero_()
    done.result(60)
    checkpoint.load({"x": x}, checkpoint_id=tmp_path / "c")
    assert x.tolist() == [0.0, 1.0, 2.0]
    checkpoint.save({"x": x + 1}, checkpoint_id=tmp_path / "c")  # written over
    checkpoint.load({"x": x}, checkpoint_id=tmp_path / "c")
    assert x.tolist() == [1.0, 2.0, 3.0]


def test_errors(tmp_path: Path) -> None:
    checkpoint.save({"model": {"weight": torch.ones(2, 2)}, "n": 1}, checkpoint_id=tmp_path / "c")
    for state, error, text in (
        ({"z": torch.ones(1)}, RuntimeError, "Missing key in checkpoint state_dict: z."),
        ({"z": 1}, RuntimeError, "Missing key in checkpoint state_dict: z."),
        ({"model": {"weight": torch.ones(3)}}, ValueError, "Size mismatch between saved torch.Size\\(\\[2, 2\\]\\) and current: torch.Size\\(\\[3\\]\\)"),
        ({"model": {"weight": 3}}, ValueError, "model.weight is a tensor in the checkpoint"),
    ):
        with pytest.raises(checkpoint.CheckpointException, match=text) as caught:
            checkpoint.load(state, checkpoint_id=tmp_path / "c")
        assert type(caught.value.failures[0]) is error
    replaced = {"n": torch.ones(1)}
    checkpoint.load(replaced, checkpoint_id=tmp_path / "c")
    assert replaced == {"n": 1}
    with pytest.raises(checkpoint.CheckpointException):
        checkpoint.load({"x": torch.ones(1)}, checkpoint_id=tmp_path / "none")
    with pytest.raises(RuntimeError, match="`checkpoint_id` must be specified if storage_reader/storage_writer is None."):
        checkpoint.save({})
    with pytest.raises(NotImplementedError, match="planner is not supported"):
        checkpoint.save({}, checkpoint_id=tmp_path, planner=object())
    with pytest.raises(ValueError, match="duplicated flatten key a.b"):
        checkpoint.save({"a": {"b": 1}, "a.b": 2}, checkpoint_id=tmp_path / "d")
    with pytest.raises(RuntimeError, match="Checkpoint already exists"):
        checkpoint.save({"n": 1}, storage_writer=checkpoint.FileSystemWriter(tmp_path / "c", overwrite=False))
    assert not torch.distributed.is_available() and not torch.distributed.is_initialized()


def test_planners_and_older_names(tmp_path: Path) -> None:
    state = {"a": torch.ones(2), "b": {"c": torch.zeros(3)}}
    with pytest.warns(FutureWarning, match="Please use `save` instead"):
        checkpoint.save_state_dict(state, checkpoint.FileSystemWriter(tmp_path, single_file_per_rank=False), planner=checkpoint.DefaultSavePlanner())
    wanted = {"a": torch.zeros(2), "d": torch.full((2,), 7.0)}
    with pytest.raises(checkpoint.CheckpointException, match="Missing key"):
        checkpoint.load(wanted, checkpoint_id=tmp_path, planner=checkpoint.DefaultLoadPlanner())
    assert wanted["a"].tolist() == [0.0, 0.0]
    with pytest.warns(FutureWarning, match="Please use `load` instead"):
        checkpoint.load_state_dict(wanted, checkpoint.FileSystemReader(tmp_path), planner=checkpoint.DefaultLoadPlanner(allow_partial_load=True))
    assert (wanted["a"].tolist(), wanted["d"].tolist()) == ([1.0, 1.0], [7.0, 7.0])
    with pytest.raises(NotImplementedError, match="flatten_state_dict=False"):
        checkpoint.DefaultLoadPlanner(flatten_state_dict=False)
