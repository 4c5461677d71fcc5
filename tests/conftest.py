"""Shared fixtures: both executors, a compilation cache that all tests share, torch on one thread."""

from __future__ import annotations

import gc
import itertools
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


def pytest_collection_finish() -> None:
    """Leave the thousands of collected tests to no garbage collection, and to no search for what refers to an object."""
    gc.collect()
    gc.freeze()


#: A process has 65,530 memory maps on Linux, and each compiled program takes about seven.
_MOST_MAPS = 20_000
_finished = itertools.count(1)


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Now and then look whether the programs of past tests take too much, and forget them."""
    if next(_finished) % 50 == 0 and os.path.exists("/proc/self/maps"):
        with open("/proc/self/maps") as maps:
            count = sum(1 for _ in maps)
        if count > _MOST_MAPS:
            ours.graph.forget_programs()
            gc.collect()


def pytest_xdist_make_scheduler(config: pytest.Config, log):
    """Give a worker all tests of a function and family (they are compiled together), and other tests file by file."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFamily(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            function, bracket, sample = nodeid.partition("[")
            return function + "[" + sample.partition("-")[0] if bracket and "/test_operators.py" in function else nodeid.partition("::")[0]

    return ByFamily(config, log)
