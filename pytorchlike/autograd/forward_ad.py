"""torch.autograd.forward_ad: dual tensors, which carry a tangent through everything that is computed with them.

What happens to an operator is in ``dispatch/forward.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..core.state import thread
from ..dispatch.call import apply
from ..dispatch.forward import ForwardLevel, PushForward
from ..dispatch.levels import pop, push
from ..tensors.tensor import Tensor, make_tensor, relayout
from .grad_mode import _Switch

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class _DualLevel(ForwardLevel):
    """The level of this module's functions: there is one at most."""

    __slots__ = ()

    def _compute(self, instruction: PushForward, primals: list[Tensor], tangents: list[Any], floats: tuple[float, ...], ints: tuple[int, ...]) -> Sequence[Any]:
        """A tangent on the tape saves values without tangents: a gradient of it, taken inside of this level, has none."""
        varying = instruction.varying(primals, tangents)
        if thread.state.grad_enabled and any(t._edge is not None for t in (*varying, *tangents)):
            varying = [make_tensor(relayout(p._value, p._value.aval.stride), p._edge) for p in varying]
        return apply(instruction, [*varying, *tangents], floats, ints)


def _current() -> _DualLevel | None:
    return next((level for level in thread.state.levels if isinstance(level, _DualLevel)), None)


def enter_dual_level() -> int:
    """Begin a forward differentiation; returns the number of its level, 0.

    Raises:
        RuntimeError: there is one already, torch's text.
    """
    if _current() is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    push(_DualLevel())
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the forward differentiation: tensors lose their tangents.

    Raises:
        RuntimeError: there is none, or another level than the last one was named; torch's texts.
    """
    current = _current()
    if level is not None and level != (-1 if current is None else 0):
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not supported.")
    if current is None:
        raise RuntimeError("Dual level must be a positive number.")
    pop(current)


class dual_level(_Switch):  # noqa: N801 - torch's name
    """A forward differentiation for the length of a block (or of the calls of a decorated function).

    Ref: https://docs.pytorch.org/docs/stable/generated/torch.autograd.forward_ad.dual_level.html
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *error: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor of the same elements, and in the same place on the tape, that has a tangent.

    Raises:
        RuntimeError: outside of a `dual_level`, for sizes that differ, for tensors that have a tangent already; torch's texts.
        ValueError: one of the tensors is not floating, torch's text.
    """
    current = _current()
    if current is None or (level is not None and level < 0):
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.")
    return _innermost(current, "make_dual").make_dual(tensor, tangent)


def _innermost(level: ForwardLevel, function: str) -> ForwardLevel:
    if thread.state.levels[-1] is not level:
        raise NotImplementedError(f"{function}() inside of a torch.func transform that runs inside of the dual_level; enter the dual_level inside of it")
    return level


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` returns: the elements, without a tangent, and the tangent (None where there is none)."""

    primal: Tensor
    tangent: Tensor | None


UnpackedDualTensor.__module__ = "torch.autograd.forward_ad"


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The elements and the tangent of a tensor; outside of a `dual_level` there is no tangent.

    Raises:
        TypeError: not a tensor, torch's text.
    """
    current = _current()
    if current is None or (level is not None and level < 0):
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {_type_name(tensor)}")
    tangent = _innermost(current, "unpack_dual").tangent(tensor)
    return UnpackedDualTensor(tensor if tangent is None else current.primal(tensor), tangent)


def _type_name(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
