"""``torch.onnx.symbolic_helper``: what decorates functions for the exporter, none of which is called."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["parse_args"]


def parse_args(*arg_descriptors: str) -> Callable[[Callable], Callable]:
    """A decorator that leaves the function as it is."""
    return lambda fn: fn
