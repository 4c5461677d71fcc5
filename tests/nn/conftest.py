"""With ``PYTORCHLIKE_TEST_COMPILED=1`` each outermost call of a module in these tests is that of the compiled module."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

import pytorchlike as torch
from pytorchlike.nn.modules.calls import Calls

COMPILED = os.environ.get("PYTORCHLIKE_TEST_COMPILED") == "1"


@pytest.fixture(autouse=COMPILED)
def compiled_calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compile each module that is called, and call that instead; modules inside it are called as always."""
    call: Any = Calls.__call__
    compiled: dict[int, Any] = {}
    inside = False

    def outermost(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal inside
        if inside or isinstance(self, torch.jit.ScriptModule):
            return call(self, *args, **kwargs)
        inside = True
        try:
            if id(self) not in compiled:
                compiled[id(self)] = torch.compile(self)
            return compiled[id(self)](*args, **kwargs)
        finally:
            inside = False

    monkeypatch.setattr(Calls, "__call__", outermost)
    yield
    compiled.clear()
