"""Where storages come from and where they go: location tags in files, and what ``map_location`` makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.device import PLATFORMS, as_device, device, device_count
from ..tensors.storages import UntypedStorage

__all__ = ["MAP_LOCATION", "default_restore_location", "is_meta", "location_tag", "register_package", "restorer", "validate_cuda_device"]

#: What ``map_location`` may be.
MAP_LOCATION = Callable[[Any, str], Any] | device | str | dict[str, str] | None

Tagger = Callable[[Any], str | None]
Deserializer = Callable[[Any, str], Any]
_packages: list[tuple[int, Tagger, Deserializer]] = []


def register_package(priority: int, tagger: Tagger, deserializer: Deserializer) -> None:
    """Register how the storages of a kind of device are tagged in files, and restored.

    Args:
        priority: those with a lower one are asked first.
        tagger: storage -> tag, or None if it is not of this kind.
        deserializer: ``(storage on the CPU, tag)`` -> storage, or None if the tag is of another kind.
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage: Any) -> str:
    """The tag of the device that a storage is on, ``cpu`` or ``cuda:0``."""
    for _, tagger, _ in _packages:
        found = tagger(storage)
        if found:
            return found
    raise RuntimeError(f"don't know how to determine data location of {_name(storage)}")


def default_restore_location(storage: Any, location: str) -> Any:
    """A storage on the device that a tag names.

    Raises:
        RuntimeError: there is no such device here, or nobody knows the tag.
    """
    for _, _, deserializer in _packages:
        found = deserializer(storage, location)
        if found is not None:
            return found
    raise RuntimeError(f"don't know how to restore data location of {_name(storage)} (tagged with {location})")


def _name(storage: Any) -> str:
    return f"{type(storage).__module__}.{type(storage).__qualname__}"


def _tag(kind: str) -> Tagger:
    return lambda storage: str(storage.device) if storage.device.type == kind else None


def _restore(kind: str) -> Deserializer:
    return lambda storage, location: storage.to(_validated(kind, location)) if location.partition(":")[0] == kind else None


def _validated(kind: str, location: str) -> device:
    """The device of a tag, if there is one, with torch's errors."""
    count = device_count(kind)
    if not count:
        raise RuntimeError(
            f"Attempting to deserialize object on a {kind.upper()} device but torch.{kind}.is_available() is False. If you are running on a "
            "CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
        )
    found = device(location)
    if (found.index or 0) >= count:
        raise RuntimeError(
            f"Attempting to deserialize object on {kind.upper()} device {found.index} but torch.{kind}.device_count() is {count}. Please use "
            "torch.load with map_location to map your storages to an existing device."
        )
    return as_device(found)


def validate_cuda_device(location: str) -> int | None:
    """The index of the GPU that a tag names.

    Raises:
        RuntimeError: there is none.
    """
    return _validated("cuda", location).index


register_package(10, _tag("cpu"), lambda storage, location: storage if location == "cpu" else None)
register_package(22, _tag("meta"), lambda storage, location: storage.to("meta") if location == "meta" else None)
for _kind in PLATFORMS:
    register_package(20, _tag(_kind), _restore(_kind))


def restorer(map_location: Any) -> Callable[[UntypedStorage, str], Any]:
    """The function ``(storage on the CPU, tag) -> storage`` that a ``map_location`` stands for."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    if isinstance(map_location, (str, bytes, device)):
        wanted = map_location.decode() if isinstance(map_location, bytes) else str(map_location)
        return lambda storage, location: default_restore_location(storage, wanted)

    def restore(storage: UntypedStorage, location: str) -> Any:
        found = map_location(storage, location)
        return default_restore_location(storage, location) if found is None else found

    return restore


def is_meta(map_location: Any) -> bool:
    """Whether all storages go to the meta device, so that none has to be read."""
    return str(map_location) == "meta" if isinstance(map_location, (str, device)) else False
