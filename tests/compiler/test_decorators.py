"""torch._dynamo's decorators and blocks, beside torch's where both can say something."""

from __future__ import annotations

from typing import Any

import pytest
import torch as real
import torch._dynamo as their_dynamo

import pytorchlike as torch
from pytorchlike._dynamo.exc import Unsupported


def test_error_on_graph_break_makes_a_break_an_error() -> None:
    @torch.compile
    def inside(x: Any) -> Any:
        with torch._dynamo.error_on_graph_break(True):
            return x * 2 if x.sum() > 0 else x

    with pytest.raises(Unsupported, match="numbers are needed"):
        inside(torch.ones(3))

    @torch.compile
    @torch._dynamo.error_on_graph_break(False)
    def decorated(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x

    with torch._dynamo.error_on_graph_break(True):
        torch.testing.assert_close(decorated(torch.ones(3)), torch.full((3,), 2.0))


@pytest.mark.parametrize("name", ["graph_break", "skip_frame", "step_unsupported"])
def test_calls_that_end_a_graph(name: str) -> None:
    @torch.compile
    def function(x: Any) -> Any:
        y = x + 1
        getattr(torch._dynamo, name)("because")
        return y * 2

    assert function(torch.ones(2)).tolist() == [4, 4]
    assert str(function._compiled.breaks[0]).startswith("because (")


def test_run_captures_nothing_new() -> None:
    calls = []

    @torch.compile
    def function(x: Any) -> Any:
        calls.append(len(calls))
        return x * 2

    function(torch.ones(2))
    found = function._compiled.captures
    run = torch._dynamo.run(lambda x: function(x))
    assert run(torch.ones(3)).tolist() == [2, 2, 2] and function._compiled.captures == found
    assert torch._dynamo.run()(lambda x: function(x))(torch.ones(5)).tolist() == [2] * 5 and function._compiled.captures == found
    function(torch.ones(4))
    assert function._compiled.captures == found + 1


def test_optimize_assert_is_fullgraph() -> None:
    function = torch._dynamo.optimize_assert("inductor")(lambda x: x if x.sum() > 0 else -x)
    with pytest.raises(Unsupported):
        function(torch.ones(2))


@pytest.mark.parametrize("t", [torch, real], ids=["pytorchlike", "torch"])
def test_marks_that_change_nothing(t: Any) -> None:
    dynamo = t._dynamo if t is torch else their_dynamo
    for mark in (dynamo.nonstrict_trace, dynamo.dont_skip_tracing, dynamo.disable_nested_graph_breaks):
        assert mark(lambda x: x + 1)(t.ones(2)).tolist() == [2, 2]
    with dynamo.override_cudagraphs(False):
        assert t.ones(1).item() == 1
    assert dynamo.is_dynamo_disable_recursive(dynamo.disable(lambda: 0)) is True
    assert dynamo.is_dynamo_disable_recursive(dynamo.disable(lambda: 0, recursive=False)) is False
    assert dynamo.is_dynamo_disable_recursive(len) is None
    dynamo.set_recursion_limit(1000)
    dynamo.set_recursion_limit(-1)
    with pytest.raises(ValueError):
        dynamo.set_recursion_limit(0)


def test_settings_change_in_a_block() -> None:
    with torch._dynamo.patch_dynamo_config(recompile_limit=3):
        assert torch._dynamo.config.recompile_limit == 3
    assert torch._dynamo.config.recompile_limit == 8


def test_export_says_what_is_there_instead() -> None:
    with pytest.raises(NotImplementedError, match="torch.export.export"):
        torch._dynamo.export(lambda x: x)
