"""How captured calls run: interpreted while they are new, or their sizes keep changing, then compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pytorchlike as torch
from pytorchlike import nn
from pytorchlike.core.state import thread
from pytorchlike.graph import counters, tiers


@pytest.fixture(autouse=True)
def usual_tiers():
    if thread.state.immediate:
        pytest.skip("about the deferred executor")
    torch.graph.flush_all()
    counters.reset_counters()
    with tiers.forced(""):
        yield


def training(width: int) -> tuple[Callable, nn.Module]:
    """A step whose operators no other test has captured in this order, and its model."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(9, width), *[nn.Tanh() for _ in range(width)], nn.Dropout(0.5), nn.Linear(width, 9))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), x)
        loss.backward()
        optimizer.step()
        return loss

    return step, model


def tier_now() -> str:
    return counters.compilations[-1].parts[0].tier


def test_a_captured_call_is_interpreted_twice_and_compiled_then() -> None:
    step, _ = training(16)
    compiled = torch.compile(step)
    found = []
    for _ in range(5):
        compiled(torch.arange(5)).item()
        found.append(bool(compiled._compiled.replays) and compiled._compiled.replays[0].packing is not None)
    assert found == [False, False, True, True, True]


def test_changing_sizes_are_interpreted() -> None:
    step, model = training(11)
    plain, other = training(11)
    compiled = torch.compile(step)
    losses, found = [], []
    for count in (5, 7, 6, 5, 7, 6, 8):
        torch.manual_seed(count)
        x = torch.arange(count)
        losses.append(compiled(x).item())
        torch.manual_seed(count)
        torch.testing.assert_close(losses[-1], plain(x).item(), rtol=1e-4, atol=1e-6)
        found = [p.parts[0].tier for p in counters.compilations if p.parts[0].is_whole]
    assert found == [tiers.INTERPRETED] * 4, found
    for mine, theirs in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


def test_other_sizes_that_come_often_are_compiled() -> None:
    step, _ = training(12)
    compiled = torch.compile(step)
    for count in (5, 7):
        compiled(torch.arange(count)).item()
    found = []
    for _ in range(tiers.COMPILED_FROM):
        compiled(torch.arange(7)).item()
        found.append(compiled._compiled.replays[0].packing is not None)
    assert found[-1] and not found[tiers.COMPILED_SOON_FROM - 1], found


def test_an_interpreted_call_checks_data() -> None:
    step, _ = training(13)
    compiled = torch.compile(step)
    for count in (4, 6):
        compiled(torch.arange(count)).item()
    compiled(torch.arange(6)).item()
    assert tier_now() == tiers.INTERPRETED
    with pytest.raises(IndexError, match="out of range"):
        compiled(torch.arange(6) + 5).item()


@pytest.mark.parametrize("tier", [tiers.INTERPRETED, tiers.QUICK, tiers.FULL])
def test_a_tier_can_be_forced(tier: str) -> None:
    with tiers.forced(tier):
        step, _ = training(10 + len(tier))
        compiled = torch.compile(step)
        for _ in range(4):
            compiled(torch.arange(5)).item()
        assert {p.parts[0].tier for p in counters.compilations if p.parts[0].is_whole} == {tier}
