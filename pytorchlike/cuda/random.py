"""Seeds and states of the GPUs' random streams, one generator for each GPU."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from ..core.device import device, device_count
from .state import current_index, index_of, require_device

__all__ = [
    "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all", "set_rng_state", "set_rng_state_all",
]  # fmt: skip


@functools.cache
def default_generators() -> tuple:
    """The GPUs' generators, by index."""
    from ..tensors.generator import Generator

    return tuple(Generator(device("cuda", index)) for index in range(device_count("cuda")))


def _generator(spec: Any = None) -> Any:
    require_device()
    index = index_of(spec)
    return default_generators()[current_index() if index < 0 else index]


def get_rng_state(device: Any = "cuda") -> Any:
    """The state of a GPU's generator, a tensor of bytes."""
    return _generator(device).get_state()


def get_rng_state_all() -> list:
    """The states of all GPUs' generators."""
    return [generator.get_state() for generator in default_generators()]


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Set the state of a GPU's generator."""
    _generator(device).set_state(new_state)


def set_rng_state_all(new_states: Iterable) -> None:
    """Set the states of all GPUs' generators."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    """Seed the current GPU's generator; nothing happens where there is no GPU."""
    if device_count("cuda"):
        _generator().manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs."""
    for generator in default_generators():
        generator.manual_seed(int(seed))


def seed() -> None:
    """Seed the current GPU's generator with a random number."""
    if device_count("cuda"):
        _generator().seed()


def seed_all() -> None:
    """Seed all GPUs' generators with one random number."""
    generators = default_generators()
    if generators:
        manual_seed_all(generators[0].seed())


def initial_seed() -> int:
    """The seed of the current GPU's generator."""
    return _generator().initial_seed()
