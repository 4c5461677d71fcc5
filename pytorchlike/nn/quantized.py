"""``torch.nn.quantized``: the containers of operations that models prepared for quantization use while they compute in floats.

There are no quantized tensors here, so no modules that hold or compute them.
"""

from __future__ import annotations

from typing import Any

from ..aten.arithmetic import add as _add
from ..aten.arithmetic import mul as _mul
from ..aten.matmul import matmul as _matmul
from ..aten.shape import cat as _cat
from . import functional as F
from .modules.linear import Identity
from .modules.module import Module

__all__ = ["FXFloatFunctional", "FloatFunctional"]


class FXFloatFunctional(Module):
    """Operations as methods, so that a tool that looks at modules finds them.

    Raises:
        RuntimeError: it is called itself.
    """

    def forward(self, x: Any) -> Any:
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")

    def _observed(self, result: Any) -> Any:
        return result

    def add(self, x: Any, y: Any) -> Any:
        """``x + y``."""
        return self._observed(_add(x, y))

    def add_scalar(self, x: Any, y: float) -> Any:
        """``x + y`` of a number, which nothing observes."""
        return _add(x, y)

    def mul(self, x: Any, y: Any) -> Any:
        """``x * y``."""
        return self._observed(_mul(x, y))

    def mul_scalar(self, x: Any, y: float) -> Any:
        """``x * y`` of a number, which nothing observes."""
        return _mul(x, y)

    def cat(self, x: list[Any], dim: int = 0) -> Any:
        """Tensors one behind the other."""
        return self._observed(_cat(x, dim=dim))

    def add_relu(self, x: Any, y: Any) -> Any:
        """``relu(x + y)``."""
        return self._observed(F.relu(_add(x, y)))

    def matmul(self, x: Any, y: Any) -> Any:
        """``x @ y``."""
        return self._observed(_matmul(x, y))


class FloatFunctional(FXFloatFunctional):
    """Operations as methods, whose results go through ``activation_post_process``, where a tool puts an observer."""

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = Identity()

    def _observed(self, result: Any) -> Any:
        return self.activation_post_process(result)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"torch.nn.quantized.{name}: there are no quantized tensors in pytorchlike; FloatFunctional computes in floats")
