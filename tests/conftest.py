"""Shared fixtures: both executors, a compilation cache that all tests share, torch on one thread."""

from __future__ import annotations

import os

import pytest

# A second device to test transfers with; and XLA's short cuts, since the tests run each program once: compiling takes a quarter of the time.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_force_host_platform_device_count=2 --xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_use_fusion_emitters=false",
)
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


def pytest_xdist_make_scheduler(config: pytest.Config, log):
    """Give a worker all tests of a function and family (they are compiled together), and other tests file by file."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFamily(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            function, bracket, sample = nodeid.partition("[")
            return function + "[" + sample.partition("-")[0] if bracket and "/test_operators.py" in function else nodeid.partition("::")[0]

    return ByFamily(config, log)
