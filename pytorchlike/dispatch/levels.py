"""Transformations that are active in a thread: what ``vmap`` and forward mode have in common.

``thread.state.levels`` is their stack, innermost last.  While it is not empty every operator takes the general way, and the innermost level
does it: it runs what becomes of the operator's instruction one level further out (`outside`), and so on until nobody is left and the
instruction is recorded like any other.  So transformed code is recorded in the same trace, at no other price than a second look-up, and
nests in any order.

- `batching.BatchLevel`: a tensor inside holds a `batching.Batched` value around a tensor of the level outside, with one more dimension.
- `forward.ForwardLevel`: values are what they are outside; the level knows the tangents of some of them.

Reverse mode needs no level: the tape of the code inside is that of the region it is in (the code inside of one ``vmap``), see ``func/``.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.state import ThreadState, thread
from ..graph.instruction import Instruction
from ..graph.value import Value
from ..tensors.tensor import Tensor

__all__ = ["Level", "inside_transform", "outside", "pop", "push"]


class Level:
    """One active transformation."""

    __slots__ = ()

    def apply(self, instruction: Instruction, tensors: Sequence[Tensor], floats: tuple[float, ...], ints: tuple[int, ...]) -> tuple[Tensor, ...]:
        """Run an instruction on tensors, with the tape (like `call.apply`)."""
        raise NotImplementedError

    def record(self, instruction: Instruction, values: tuple[Value, ...], floats: tuple[float, ...], ints: tuple[int, ...]) -> tuple[Value, ...]:
        """Run an instruction on values whose place on the tape is somebody else's business (like `recorder.record`)."""
        raise NotImplementedError

    def lift(self, tensor: Tensor) -> Tensor:
        """The same tensor as one of this region, where the tape inside can have a place for it."""
        raise NotImplementedError

    def refuse_out(self, name: str, tensors: Sequence[Tensor]) -> None:
        """Refuse the ``out=`` form of an operator on tensors where it cannot be differentiated.

        Raises:
            NotImplementedError: torch's text.
        """

    def shown(self, tensor: Tensor) -> tuple[str | None, list[str]]:
        """How a tensor prints itself: its whole text (None: like any other), and what to add to it."""
        return None, []

    def detach(self, tensor: Tensor) -> Tensor:
        """The elements of a tensor without a derivative, in this level and all outside of it; unlike elsewhere, a copy."""
        raise NotImplementedError

    def data(self, tensor: Tensor) -> Tensor:
        """What ``tensor.data`` is."""
        return self.detach(tensor)


def push(level: Level) -> None:
    """Make a level the innermost one of this thread."""
    state = thread.state
    state.levels.append(level)
    state.immediate += 1
    state.slow += 1


def pop(level: Level) -> None:
    """Take the innermost level away."""
    state = thread.state
    assert state.levels and state.levels[-1] is level, "levels end in the order in which they began"
    state.levels.pop()
    state.immediate -= 1
    state.slow -= 1


class outside:  # noqa: N801 - reads as a statement
    """What runs inside the block runs one level further out."""

    __slots__ = ("state", "level")

    def __init__(self, level: Level) -> None:
        self.level = level

    def __enter__(self) -> ThreadState:
        state = self.state = thread.state
        state.levels.pop()
        state.immediate -= 1
        state.slow -= 1
        return state

    def __exit__(self, *error: object) -> None:
        state = self.state
        state.levels.append(self.level)
        state.immediate += 1
        state.slow += 1


class inside_transform:  # noqa: N801 - reads as a statement
    """Inside the block user code is being transformed by one of ``torch.func``'s functions, where the tape's own calls are refused."""

    __slots__ = ()

    def __enter__(self) -> None:
        thread.state.transforms += 1

    def __exit__(self, *error: object) -> None:
        thread.state.transforms -= 1
