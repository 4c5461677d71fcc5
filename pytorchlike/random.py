"""``torch.random``: seeds and states of the default random stream."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from . import cuda
from .aten.random import device_generators
from .cuda.random import default_generators as gpu_generators
from .tensors.generator import Generator, default_generator
from .tensors.tensor import Tensor

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]

device_generators["cuda"] = gpu_generators


def manual_seed(seed: Any) -> Generator:
    """Seed the generators of all devices and return the default one; whatever ``int()`` takes is a seed."""
    seed = int(seed)
    default_generator.manual_seed(seed)
    cuda.manual_seed_all(seed)
    return default_generator


def seed() -> int:
    """Seed the generators of all devices from the operating system's randomness and return the seed."""
    found = default_generator.seed()
    cuda.manual_seed_all(found)
    return found


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The default generator's state, a tensor of bytes in torch's layout."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Continue the default generator from a state."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Iterable | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """Put the states of the generators back at the end of a ``with`` block.

    Args:
        devices: accelerators whose generators are included; by default all of this process.
        enabled: False makes the block an ordinary one.
    """
    if not enabled:
        yield
        return
    if devices is None:
        devices = range(cuda.device_count()) if device_type == "cuda" else ()
        if len(devices) > 1:
            warnings.warn(
                f"{device_type.upper()} reports that you have {len(devices)} available devices, and you have used {_caller} without "
                f"explicitly specifying which devices are being used; the states of all of them are kept. Name the devices through the "
                f"{_devices_kw} keyword argument to silence this warning.",
                stacklevel=3,
            )
    devices = list(devices)
    state, states = get_rng_state(), [cuda.get_rng_state(device) for device in devices]
    try:
        yield
    finally:
        set_rng_state(state)
        for device, kept in zip(devices, states, strict=True):
            cuda.set_rng_state(kept, device)
