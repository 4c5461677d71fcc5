"""`DistributedDataParallel` of one process, whose gradients need no other's."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...core.device import as_device, device
from ...core.process_groups import ProcessGroup, default_group
from ..modules.module import Module
from .scatter_gather import gather, scatter_kwargs

__all__ = ["DistributedDataParallel"]

_MEBIBYTE = 1 << 20


class DistributedDataParallel(Module):
    """A module whose gradients are averaged over all processes.  A world has one process so far, so it calls the module and that is all.

    The process group must be there, as in torch; states are named ``module.*``.

    Args:
        device_ids: the one device that inputs are moved to.
        output_device: accepted.
        process_group: the default one if left out.
        find_unused_parameters, gradient_as_bucket_view, static_graph, bucket_cap_mb, ...: about when gradients are sent; they change nothing.

    Raises:
        ValueError: there is no process group, or several devices.
        RuntimeError: no parameter asks for a gradient.
        NotImplementedError: ``mixed_precision``, ``device_mesh``.
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0, broadcast_buffers: bool | None = None,
        init_sync: bool = True, process_group: ProcessGroup | None = None, bucket_cap_mb: float | None = None, find_unused_parameters: bool = False,
        check_reduction: bool = False, gradient_as_bucket_view: bool = False, static_graph: bool = False, delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None, mixed_precision: Any = None, device_mesh: Any = None, skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: list[int] | None = None, batched_grad_copy: bool = False, forward_sync_buffers: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        for name, value in (("mixed_precision", mixed_precision), ("device_mesh", device_mesh)):
            if value is not None:
                raise NotImplementedError(f"DistributedDataParallel: {name} is not supported; autocast casts, and a world has one process")
        self.process_group = default_group() if process_group is None else process_group
        ignored = getattr(module, "_ddp_params_and_buffers_to_ignore", ())
        self.parameters_to_ignore = set(ignored)
        parameters = [p for name, p in module.named_parameters() if name not in self.parameters_to_ignore]
        if not any(p.requires_grad for p in parameters):
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient.")
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        places = {p.device for p in parameters}
        self.device_type = next(iter(places)).type
        self.is_multi_device_module = len(places) > 1
        if device_ids and (self.is_multi_device_module or self.device_type == "cpu"):
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-device GPU modules or CPU "
                f"modules, but got device_ids {device_ids}, output_device {output_device}, and module parameters {places}."
            )
        self.device_ids = [_index(d) for d in device_ids] if device_ids else None
        self.output_device = self.device_ids[0] if self.device_ids and output_device is None else output_device
        self.device = next(iter(places))
        self.dim = dim
        self.module = module
        self.forward_sync_buffers = _agreed(broadcast_buffers, forward_sync_buffers)
        self.find_unused_parameters = find_unused_parameters
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.mixed_precision = None
        self.batched_grad_copy = batched_grad_copy
        self.skip_all_reduce_unused_params = skip_all_reduce_unused_params
        self.bucket_bytes_cap_default = bucket_cap_mb is None
        self.bucket_bytes_cap = int((25 if bucket_cap_mb is None else bucket_cap_mb) * _MEBIBYTE)

    @property
    def broadcast_buffers(self) -> bool:
        """Another name of ``forward_sync_buffers``."""
        return self.forward_sync_buffers

    @broadcast_buffers.setter
    def broadcast_buffers(self, value: bool) -> None:
        self.forward_sync_buffers = value

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's result."""
        if self.device_ids:
            parts, named = self.to_kwargs(inputs, kwargs, self.device_ids[0])
            inputs, kwargs = parts[0], named[0]
        return self.module(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A block in which gradients are not averaged."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextmanager
    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False) -> Iterator[None]:
        """A block in which processes may have different numbers of batches."""
        yield

    def join_hook(self, **kwargs: Any) -> Any:
        """What a joined process does in the place of others.

        Raises:
            NotImplementedError: always: there are no others.
        """
        raise NotImplementedError("DistributedDataParallel.join_hook: a world has one process")

    @property
    def join_device(self) -> device:
        """The device of the module."""
        return self.device

    @property
    def join_process_group(self) -> ProcessGroup:
        """The process group."""
        return self.process_group

    def register_comm_hook(self, state: object, hook: Callable) -> None:
        """How gradients are sent.

        Raises:
            NotImplementedError: always: none are sent.
        """
        raise NotImplementedError("DistributedDataParallel.register_comm_hook: a world has one process, which sends no gradients")

    def will_sync_module_buffers(self) -> bool:
        """Whether buffers are sent before a forward."""
        return self.require_forward_param_sync and self.forward_sync_buffers and any(True for _ in self.module.buffers())

    def scatter(self, inputs: Any, kwargs: Any, device_ids: Any) -> Any:
        """The arguments on each device."""
        return scatter_kwargs(inputs, kwargs, device_ids, self.dim)

    def to_kwargs(self, inputs: Any, kwargs: Any, device_id: Any) -> Any:
        """The arguments on the device."""
        where = device(self.device_type, device_id) if isinstance(device_id, int) else as_device(device_id)
        positional, named = scatter_kwargs(inputs, kwargs, [where], self.dim)
        return positional or ((),), named or ({},)

    def gather(self, outputs: Any, output_device: Any) -> Any:
        """The results on the output device."""
        return gather(outputs, output_device, self.dim)

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Any, params_and_buffers_to_ignore: Any) -> None:
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore


def _index(where: Any) -> Any:
    return where if isinstance(where, int) else as_device(where).index or 0


def _agreed(broadcast_buffers: bool | None, forward_sync_buffers: bool | None) -> bool:
    """The setting that has two names."""
    if broadcast_buffers is not None and forward_sync_buffers is not None and broadcast_buffers != forward_sync_buffers:
        warnings.warn("broadcast_buffers and forward_sync_buffers differ; forward_sync_buffers is taken", stacklevel=3)
    chosen = broadcast_buffers if forward_sync_buffers is None else forward_sync_buffers
    return True if chosen is None else bool(chosen)
