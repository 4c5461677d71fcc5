"""Each test runs with torch and with pytorchlike, in a namespace of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch as real_torch

import pytorchlike as ours

_count = itertools.count()


@pytest.fixture(params=["torch", "pytorchlike"])
def torch(request: pytest.FixtureRequest) -> Any:
    return real_torch if request.param == "torch" else ours


@pytest.fixture
def space() -> str:
    return f"space{next(_count)}"


@pytest.fixture
def lib(torch: Any, space: str) -> Any:
    made = torch.library.Library(space, "DEF")
    yield made
    made._destroy()


@pytest.fixture
def answer() -> Callable[[Callable[[], Any]], Any]:
    """What a call gives, or the class and text of its error."""

    def call(function: Callable[[], Any]) -> Any:
        try:
            return function()
        except Exception as error:
            return type(error).__name__, str(error)

    return call


@pytest.fixture
def lib_of_ours(space: str) -> Any:
    made = ours.library.Library(space, "DEF")
    yield made
    made._destroy()
