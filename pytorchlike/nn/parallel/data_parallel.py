"""A module on several devices of one process, each with a part of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...autograd.grad_mode import is_grad_enabled
from ...core.device import accelerator_type, as_device, device, device_count
from ..modules.module import Module
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter_kwargs

__all__ = ["DataParallel", "data_parallel"]


def _devices(device_ids: Sequence[Any] | None) -> list[device]:
    """The devices meant; all accelerators if None."""
    kind = accelerator_type()
    return [as_device(device(kind, i) if isinstance(i, int) else i) for i in (range(device_count(kind)) if device_ids is None else device_ids)]


def _check_place(module: Module, first: device) -> None:
    for t in [*module.parameters(), *module.buffers()]:
        if t.device != first:
            raise RuntimeError(
                f"module must have its parameters and buffers on device {first} (device_ids[0]) but found one of them on device: {t.device}"
            )


class DataParallel(Module):
    """Cuts the batch into a part for each device, runs copies of the module on them, and puts the results together.

    Without an accelerator it just calls the module, unless ``device_ids`` names devices.

    Args:
        device_ids: the devices, numbers or device objects; all accelerators if left out.
        output_device: where the result goes; the first of them if left out.
        dim: the dimension that is cut.
    """

    def __init__(self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        named = device_ids is not None and not any(isinstance(d, int) for d in device_ids)
        if accelerator_type() == "cpu" and not named:
            self.device_ids: list[Any] = []
            return
        self._devices = _devices(device_ids)
        self.device_ids = [d.index or 0 for d in self._devices]
        self.dim = dim
        self.src_device_obj = self._devices[0]
        self.output_device = self._devices[0] if output_device is None else output_device
        if len(self.device_ids) == 1:
            self.module.to(self.src_device_obj)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's result for the whole batch."""
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        _check_place(self.module, self.src_device_obj)
        parts, named = self.scatter(inputs, kwargs, self._devices)
        if not parts and not named:
            parts, named = ((),), ({},)
        if len(self._devices) == 1:
            return self.module(*parts[0], **named[0])
        replicas = self.replicate(self.module, self._devices[: len(parts)])
        return self.gather(self.parallel_apply(replicas, parts, named), self.output_device)

    def replicate(self, module: Any, device_ids: Sequence[Any]) -> list[Any]:
        """Copies of the module."""
        return replicate(module, device_ids, not is_grad_enabled())

    def scatter(self, inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, device_ids: Sequence[Any]) -> Any:
        """The arguments of each device."""
        return scatter_kwargs(inputs, kwargs, device_ids, self.dim)

    def parallel_apply(self, replicas: Sequence[Any], inputs: Sequence[Any], kwargs: Any) -> list[Any]:
        """The results of the copies."""
        return parallel_apply(replicas, inputs, kwargs, self._devices[: len(replicas)])

    def gather(self, outputs: Any, output_device: Any) -> Any:
        """The results as one."""
        return gather(outputs, output_device, self.dim)


def data_parallel(
    module: Module, inputs: Any, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    """Call a module on several devices, each with a part of the batch; see `DataParallel`.

    Raises:
        RuntimeError: the module is not on the first device.
    """
    given = inputs if isinstance(inputs, tuple) else (inputs,) if inputs is not None else ()
    devices = _devices(device_ids)
    _check_place(module, devices[0])
    parts, named = scatter_kwargs(given, module_kwargs, devices, dim)
    if not parts and not named:
        parts, named = ((),), ({},)
    if len(devices) == 1:
        return module(*parts[0], **named[0])
    used = devices[: len(parts)]
    return gather(parallel_apply(replicate(module, used), parts, named, used), devices[0] if output_device is None else output_device, dim)
