"""torch.compiler's functions, beside torch's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch as real

import pytorchlike as torch


@pytest.fixture
def default_backend():
    yield
    torch.compiler.set_default_backend(None)


def test_the_default_backend(default_backend: None) -> None:
    assert torch.compiler.get_default_backend() == real.compiler.get_default_backend() == "inductor"
    seen = []

    def backend(graph: Any, inputs: Any) -> Any:
        seen.append(graph)
        return graph.forward

    torch.compiler.set_default_backend(backend)
    assert torch.compiler.get_default_backend() is backend
    compiled = torch.compile(lambda x: x * 3)
    compiled(torch.ones(2))
    assert compiled(torch.ones(2)).tolist() == [3, 3] and len(seen) == 1
    with pytest.raises(RuntimeError, match="Invalid backend"):
        torch.compiler.set_default_backend("no such")
    torch.compiler.set_default_backend("eager")
    assert torch.compile(len) is len
    torch.compiler.set_default_backend(None)
    assert torch.compiler.get_default_backend() == "inductor"


def test_numpy_functions_of_tensors() -> None:
    function = torch.compiler.wrap_numpy(lambda a, scale: {"sum": np.sum(a * a), "double": a * scale})
    theirs = real.compiler.wrap_numpy(lambda a, scale: {"sum": np.sum(a * a), "double": a * scale})
    mine, other = function(torch.arange(3.0), scale=2), theirs(real.arange(3.0), scale=2)
    assert mine["double"].tolist() == other["double"].tolist() == [0, 2, 4]
    compiled = torch.compile(torch.compiler.wrap_numpy(lambda a: np.cumsum(a)))
    for k in range(3):
        assert compiled(torch.full((3,), float(k))).tolist() == [k, 2 * k, 3 * k]


def test_nested_regions_change_nothing() -> None:
    @torch.compiler.nested_compile_region
    def layer(x: Any) -> Any:
        return x.sin() * 2

    @torch.compiler.nested_compile_region()
    def other(x: Any) -> Any:
        return x.cos()

    compiled = torch.compile(lambda x: other(layer(layer(x))), fullgraph=True)
    x = torch.linspace(0, 1, 5)
    for _ in range(3):
        torch.testing.assert_close(compiled(x), ((x.sin() * 2).sin() * 2).cos())


def _entries(t: Any) -> list:
    def entry(kind: str, is_global: bool, value: Any) -> Any:
        source = SimpleNamespace(is_unspecialized_nn_module=lambda: kind == "ID_MATCH", is_unspecialized_builtin_nn_module=lambda: is_global)
        return SimpleNamespace(guard_type=kind, is_global=is_global, value=value, orig_guard=SimpleNamespace(source=source))

    values = (t.ones(1), t.nn.Parameter(t.ones(1)), 3)
    return [entry(kind, is_global, value) for kind in ("TENSOR_MATCH", "SHAPE_ENV", "GLOBAL_STATE", "ID_MATCH") for is_global in (False, True) for value in values]


FILTERS = [
    "keep_portable_guards_unsafe", "keep_tensor_guards_unsafe", "skip_all_guards_unsafe", "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe", "skip_guard_on_inbuilt_nn_modules_unsafe",
]  # fmt: skip


@pytest.mark.parametrize("name", FILTERS)
def test_filters_of_guards(name: str) -> None:
    assert getattr(torch.compiler, name)(_entries(torch)) == getattr(real.compiler, name)(_entries(real))
    if name == "keep_tensor_guards_unsafe":
        assert torch.compiler.keep_tensor_guards_unsafe(_entries(torch), True) == real.compiler.keep_tensor_guards_unsafe(_entries(real), True)


def test_guards_are_checked_in_spite_of_a_filter() -> None:
    settings = {"scale": 2.0}
    compiled = torch.compile(lambda x: x * settings["scale"], options={"guard_filter_fn": torch.compiler.skip_all_guards_unsafe})
    assert compiled(torch.ones(1)).item() == 2
    settings["scale"] = 5.0
    assert compiled(torch.ones(1)).item() == 5
