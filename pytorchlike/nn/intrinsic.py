"""``torch.nn.intrinsic``: sequences of layers that a quantization tool takes for one layer; they compute one after the other."""

from __future__ import annotations

from typing import ClassVar

from . import modules
from .modules.container import Sequential
from .modules.module import Module
from .utils.parametrize import type_before_parametrizations

__all__ = [
    "BNReLU2d", "BNReLU3d", "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d",
    "ConvReLU3d", "LinearBn1d", "LinearReLU",
]  # fmt: skip


class _FusedModule(Sequential):
    """A sequence of layers of given types."""

    KINDS: ClassVar[tuple[type[Module], ...]] = ()

    def _check(self, *layers: Module) -> None:
        found = [type_before_parametrizations(layer) for layer in layers]
        if tuple(found) != self.KINDS:
            *first, last = [kind.__name__ for kind in found]
            raise AssertionError(f"Incorrect types for input modules: {', '.join(first)}{',' * (len(first) > 1)} and {last}")
        super().__init__(*layers)


class _ConvReLU(_FusedModule):
    def __init__(self, conv: Module, relu: Module) -> None:
        self._check(conv, relu)


class _ConvBn(_FusedModule):
    def __init__(self, conv: Module, bn: Module) -> None:
        self._check(conv, bn)


class _ConvBnReLU(_FusedModule):
    def __init__(self, conv: Module, bn: Module, relu: Module) -> None:
        self._check(conv, bn, relu)


class _BNReLU(_FusedModule):
    def __init__(self, batch_norm: Module, relu: Module) -> None:
        self._check(batch_norm, relu)


class LinearReLU(_FusedModule):
    """`Linear`, `ReLU`."""

    KINDS = (modules.Linear, modules.ReLU)

    def __init__(self, linear: Module, relu: Module) -> None:
        self._check(linear, relu)


class LinearBn1d(_FusedModule):
    """`Linear`, `BatchNorm1d`."""

    KINDS = (modules.Linear, modules.BatchNorm1d)

    def __init__(self, linear: Module, bn: Module) -> None:
        self._check(linear, bn)


class ConvReLU1d(_ConvReLU):
    """`Conv1d`, `ReLU`."""

    KINDS = (modules.Conv1d, modules.ReLU)


class ConvReLU2d(_ConvReLU):
    """`Conv2d`, `ReLU`."""

    KINDS = (modules.Conv2d, modules.ReLU)


class ConvReLU3d(_ConvReLU):
    """`Conv3d`, `ReLU`."""

    KINDS = (modules.Conv3d, modules.ReLU)


class ConvBn1d(_ConvBn):
    """`Conv1d`, `BatchNorm1d`."""

    KINDS = (modules.Conv1d, modules.BatchNorm1d)


class ConvBn2d(_ConvBn):
    """`Conv2d`, `BatchNorm2d`."""

    KINDS = (modules.Conv2d, modules.BatchNorm2d)


class ConvBn3d(_ConvBn):
    """`Conv3d`, `BatchNorm3d`."""

    KINDS = (modules.Conv3d, modules.BatchNorm3d)


class ConvBnReLU1d(_ConvBnReLU):
    """`Conv1d`, `BatchNorm1d`, `ReLU`."""

    KINDS = (modules.Conv1d, modules.BatchNorm1d, modules.ReLU)


class ConvBnReLU2d(_ConvBnReLU):
    """`Conv2d`, `BatchNorm2d`, `ReLU`."""

    KINDS = (modules.Conv2d, modules.BatchNorm2d, modules.ReLU)


class ConvBnReLU3d(_ConvBnReLU):
    """`Conv3d`, `BatchNorm3d`, `ReLU`."""

    KINDS = (modules.Conv3d, modules.BatchNorm3d, modules.ReLU)


class BNReLU2d(_BNReLU):
    """`BatchNorm2d`, `ReLU`."""

    KINDS = (modules.BatchNorm2d, modules.ReLU)


class BNReLU3d(_BNReLU):
    """`BatchNorm3d`, `ReLU`."""

    KINDS = (modules.BatchNorm3d, modules.ReLU)
