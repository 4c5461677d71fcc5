"""Device objects, and the JAX device behind each."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jax

__all__ = ["accelerator_type", "as_device", "device", "device_count", "jax_device", "of_jax_device"]

#: torch's device type -> the JAX platform that executes it (``xla`` means JAX's default platform).
PLATFORMS = {"cpu": "cpu", "cuda": "gpu", "tpu": "tpu", "xla": None}
_KNOWN_TYPES = frozenset({*PLATFORMS, "meta", "mps", "xpu", "hpu", "mtia", "ipu", "mkldnn", "vulkan", "privateuseone"})


class device:  # noqa: N801 - torch's name
    """Where a tensor lives: ``device("cuda:1")``, ``device("cuda", 1)`` or ``device(1)`` (the accelerator at hand).

    Raises:
        RuntimeError: the text names no device type or is not ``TYPE`` or ``TYPE:INDEX``.
    """

    __slots__ = ("type", "index")
    __module__ = "torch"

    type: str
    index: int | None

    if TYPE_CHECKING:  # ``with torch.device(...)`` is installed by dispatch/modes.py, which owns the stack of modes

        def __enter__(self) -> device: ...
        def __exit__(self, *error: object) -> None: ...

    def __init__(self, type: str | int | device, index: int | None = None) -> None:
        if isinstance(type, device):
            index, type = type.index, type.type
        elif isinstance(type, int):
            index, type = type, accelerator_type()
        elif ":" in type:
            text = type
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {text}")
            type, _, number = text.partition(":")
            if not number.isdigit() or (len(number) > 1 and number[0] == "0"):
                raise RuntimeError(f"Invalid device string: '{text}'")
            index = int(number)
        if type not in _KNOWN_TYPES:
            raise RuntimeError(
                f"Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, "
                f"mtia, privateuseone, tpu device type at start of device string: {type}"
            )
        if index is not None and index < 0:
            raise RuntimeError(f"Device index must not be negative, got {index}")
        object.__setattr__(self, "type", type)
        object.__setattr__(self, "index", index)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"attribute '{name}' of 'torch.device' objects is not writable")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"

    def __reduce__(self) -> tuple:
        # a function: the class calls itself torch.device, where pickle would not find it
        return _device, (self.type,) if self.index is None else (self.type, self.index)

    def __copy__(self) -> device:
        return self

    def __deepcopy__(self, memo: dict) -> device:
        return self


def _device(type: str, index: int | None = None) -> device:
    return device(type, index)


CPU = device("cpu")
META = device("meta")


@functools.cache
def _platform_devices(platform: str | None) -> tuple[jax.Device, ...]:
    import jax

    try:
        return tuple(jax.local_devices(backend=platform))
    except RuntimeError:  # JAX's answer when a platform is not there
        return ()


@functools.cache
def accelerator_type() -> str:
    """The device type of JAX's default backend: ``cuda``, ``tpu`` or, where there is no accelerator, ``cpu``."""
    import jax

    return {"gpu": "cuda", "cuda": "cuda", "rocm": "cuda", "tpu": "tpu"}.get(jax.default_backend(), "cpu")


def device_count(type: str) -> int:
    """How many devices of this type JAX sees in this process."""
    return len(_platform_devices(PLATFORMS[type])) if type in PLATFORMS else 0


@functools.lru_cache(maxsize=512)
def as_device(spec: str | int | device | None) -> device:
    """The device meant by what users pass as ``device=``, with its index filled in where the type has one.

    Raises:
        RuntimeError: there is no such device in this process.
    """
    if spec is None:
        return CPU
    found = spec if isinstance(spec, device) else device(spec)
    if found.type == "cpu":
        if found.index:
            return _checked(found)
        return CPU
    if found.type == "meta":
        return META
    return _checked(found if found.index is not None else device(found.type, 0))


def _checked(found: device) -> device:
    count = device_count(found.type)
    if (found.index or 0) >= count:
        platform = PLATFORMS.get(found.type, found.type)
        if count == 0:
            raise RuntimeError(f"no {found.type} device in this process: JAX has no '{platform}' platform; use 'cpu' or 'xla'")
        raise RuntimeError(f"{found}: invalid device ordinal; JAX has {count} '{platform}' device(s), 0 to {count - 1}")
    return found


@functools.lru_cache(maxsize=512)
def jax_device(target: device) -> jax.Device:
    """The JAX device that executes operators of this device."""
    return _platform_devices(PLATFORMS[target.type])[target.index or 0]


def of_jax_device(found: jax.Device) -> device:
    """Our device for a JAX device (an array that comes from outside)."""
    type = {"gpu": "cuda", "cuda": "cuda", "rocm": "cuda", "tpu": "tpu"}.get(found.platform, "cpu")
    index = _platform_devices(PLATFORMS[type]).index(found)
    return CPU if type == "cpu" and index == 0 else device(type, index)
