"""Shared fixtures: both executors, a compilation cache that all tests share, torch on one thread."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")  # a second device to test transfers with
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import torch as real_torch

import pytorchlike as ours
from pytorchlike.graph import executors

real_torch.set_num_threads(1)


@pytest.fixture(params=["deferred", "immediate"])
def executor(request: pytest.FixtureRequest):
    """Run the test under the deferred and under the immediate executor."""
    if request.param == "deferred":
        yield request.param
        return
    with executors.immediate():
        yield request.param


@pytest.fixture(autouse=True)
def fresh_state():
    """Every test starts from the same seed, and leaves nothing pending."""
    real_torch.manual_seed(0)
    ours.manual_seed(0)
    yield
    ours.graph.flush_all()
