"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from ...aten.shape import cat
from ...tensors.tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def _check_device(parameters: list[Tensor]) -> None:
    if any(p.device != parameters[0].device for p in parameters):
        raise TypeError("Found two parameters on different devices, this is currently not supported.")


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of the parameters, one after the other.

    Raises:
        TypeError: they live on different devices.
    """
    parameters = list(parameters)
    _check_device(parameters)
    return cat([p.view(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Replace the values of the parameters by slices of a vector.

    Raises:
        TypeError: ``vec`` is no tensor, or the parameters live on different devices.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__module__}.{type(vec).__name__}".replace("builtins.", ""))
    parameters = list(parameters)
    _check_device(parameters)
    start = 0
    for parameter in parameters:
        stop = start + parameter.numel()
        parameter.data = vec[start:stop].view_as(parameter).data
        start = stop
