"""`prefetch_to_device`: batches that are on the device before they are asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

__all__ = ["prefetch_to_device"]


class prefetch_to_device:  # noqa: N801 - called like a function
    """The batches of a loader on a device, each copied while the step before it runs.

    torch has nothing of the kind: there, scripts pin memory and copy with ``non_blocking=True``.  Copies and steps are asynchronous, so it
    suffices to ask for the next batch before handing out this one; worker processes of the loader load in the background.

    Args:
        loader: gives batches: tensors, or dictionaries, lists and tuples of them; what has a method ``to`` is copied, all else stays.
        device: where to.
        size: how many batches are on the device ahead of the one in use.

    Raises:
        ValueError: ``size`` is negative.
    """

    def __init__(self, loader: Iterable[Any], device: Any, size: int = 1) -> None:
        if size < 0:
            raise ValueError(f"prefetch_to_device: size must not be negative, but got {size}")
        self.loader = loader
        self.device = device
        self.size = size

    def __len__(self) -> int:
        return len(self.loader)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        batches = iter(self.loader)
        ahead = deque(moved(batch, self.device) for batch in islice(batches, self.size))
        for batch in batches:
            ahead.append(moved(batch, self.device))
            yield ahead.popleft()
        while ahead:
            yield ahead.popleft()


def moved(batch: Any, device: Any) -> Any:
    """A batch with everything that has a method ``to`` on the device."""
    if hasattr(batch, "to"):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, Mapping):
        return type(batch)({key: moved(value, device) for key, value in batch.items()})  # type: ignore[call-arg]
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[moved(value, device) for value in batch])
    if isinstance(batch, (list, tuple)):
        return type(batch)(moved(value, device) for value in batch)
    return batch
