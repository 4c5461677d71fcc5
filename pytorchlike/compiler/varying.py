"""Numbers in attributes that change from call to call, as counters of steps: a replay takes the number it finds and writes what follows from it.

Each read of such an attribute is seen while a call is captured (compiler/watch.py), with the instruction that reads it.  What this instruction
and those behind it do with the number must be one of these, so that nothing else can have seen it:

* an operand of ``+ - *`` or ``/`` whose other operand is a tensor: the float that is recorded is computed anew,
* a condition, compared with a constant or not: the guards compare its outcome,
* the attribute's next value.

On the way there may be arithmetic with constants.
"""

from __future__ import annotations

import dis
import functools
import math
import types
from collections.abc import Callable, Mapping
from typing import Any

from ..core.state import thread
from ..tensors.tensor import Tensor

__all__ = ["Varying"]

_WITH_CONSTANTS = {"+", "-", "*", "//", "%", "/"}
_WITH_TENSORS = {"+", "-", "*", "/"}
_RECORDED_BY = frozenset({"add", "sub", "rsub", "mul", "div"})
_SKIPPED = frozenset({"CACHE", "EXTENDED_ARG", "NOP", "TO_BOOL"})
_NAMES = frozenset({"LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_DEREF", "LOAD_GLOBAL"})
_COMPARISONS = frozenset({"<", "<=", "==", "!=", ">", ">="})

#: Larger integers are not exact as floats.
_LARGEST = 1 << 52


@functools.cache
def _instructions(code: types.CodeType) -> tuple[list[dis.Instruction], dict[int, int]]:
    found = [i for i in dis.get_instructions(code) if i.opname not in _SKIPPED]
    return found, {instruction.offset: k for k, instruction in enumerate(found)}


class Varying:
    """One attribute whose number varies, in one captured call.

    Args:
        own, key: the dictionary and the key in it.
        value: before the call.

    Attributes:
        fails: it was used in a way that cannot be followed.
        predicates: (function of the number, as source with ``n``, its outcome).
        uses: (the float that was recorded, the function, as source).
        written: the function that gives the next value, as source, or None.
    """

    def __init__(self, own: dict[str, Any], key: str, value: Any) -> None:
        self.own, self.key, self.value = own, key, value
        self.fails = type(value) not in (int, float) or type(value) is int and abs(value) >= _LARGEST
        self.predicates: list[tuple[str, bool]] = []
        self.uses: list[tuple[float, str]] = []
        self.written: str | None = None
        self._pending: list[tuple[int, str]] = []

    def read(self, frame: types.FrameType, capture: Any) -> Any:
        """The attribute is read in this frame; returns what the reader gets."""
        value = self.own[self.key]
        if not self.fails and not self._follow(frame, capture):
            self.fails = True
        if self.fails or not self._pending or self._pending[-1][0] != -1:
            return value
        self._pending[-1] = (capture.trace.position.depth, self._pending[-1][1])
        return value * 1.0  # a float that is no other object

    def _follow(self, frame: types.FrameType, capture: Any) -> bool:
        instructions, numbers = _instructions(frame.f_code)
        at = numbers.get(frame.f_lasti)
        if at is None or instructions[at].opname != "LOAD_ATTR" or instructions[at].argval != self.key or thread.state.trace is not capture.trace:
            return False
        source, at = "n" if self.written is None else f"({self.written})", at + 1
        first, is_condition, exact = at, False, True
        while at + 1 < len(instructions):
            name, following = instructions[at].opname, instructions[at + 1]
            constant = instructions[at].argval
            if name in ("LOAD_CONST", "LOAD_SMALL_INT") and type(constant) in (int, float) and math.isfinite(constant) and not is_condition:
                if following.opname == "BINARY_OP" and (operation := following.argrepr.removesuffix("=")) in _WITH_CONSTANTS and (constant or operation not in ("/", "//", "%")):
                    source, exact = f"({source} {operation} {constant!r})", exact and operation not in ("/", "//", "%")
                elif following.opname == "COMPARE_OP" and (comparison := _comparison(following)) is not None:
                    source, is_condition = f"({source} {comparison} {constant!r})", True
                else:
                    return False
                at += 2
                continue
            break
        if at + 1 >= len(instructions):
            return False
        name = instructions[at].opname
        if "POP_JUMP" in name and name.endswith(("IF_TRUE", "IF_FALSE")):
            self.predicates.append((source, bool(self._of(source))))
            return True
        if is_condition:
            return False
        if self._stores(instructions, at, frame):
            self.written = source
            return True
        if type(self.value) is int and not exact:
            return False
        if name == "BINARY_OP" and instructions[at].argrepr.removesuffix("=") in _WITH_TENSORS and not instructions[at].argrepr.endswith("="):
            other = instructions[first - 3] if first >= 3 and instructions[first - 2].opname in _NAMES else None
        elif name in _NAMES and instructions[at + 1].opname == "BINARY_OP" and instructions[at + 1].argrepr in _WITH_TENSORS:
            other = instructions[at]
        else:
            return False
        tensor = _named(frame, other) if other is not None else None
        if type(tensor) is not Tensor or not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
            return False
        self._pending.append((-1, source))
        return True

    def _stores(self, instructions: list[dis.Instruction], at: int, frame: types.FrameType) -> bool:
        """Whether what is on the stack becomes the attribute of the same object."""
        name, following = instructions[at].opname, instructions[at + 1]
        if following.opname != "STORE_ATTR" or following.argval != self.key:
            return False
        if name == "SWAP":  # an augmented assignment
            return instructions[at].argval == 2
        holder = _named(frame, instructions[at])
        return holder is not None and getattr(holder, "__dict__", None) is self.own

    def _of(self, source: str) -> Any:
        return function_of(source)(self.value)

    def restore(self) -> None:
        """The call is over: nothing was exchanged."""

    def confirm(self, trace: Any, entered: Mapping[types.CodeType, dict[str, Any]]) -> None:
        """The call is over: see whether what was written and what was recorded is what was followed."""
        if self.fails:
            return
        after = self.own.get(self.key)
        expected = self.value if self.written is None else self._of(self.written)
        states = [state for state in trace.position.path() if state.instruction is not None]
        self.fails = type(after) is not type(expected) or after != expected
        for depth, source in self._pending:
            found = []
            if depth < len(states) and states[depth].instruction.name in _RECORDED_BY:
                state = states[depth]
                found = [*trace.floats[state.parent.float_count : state.float_count], *trace.ints[state.parent.int_count : state.int_count]]
            if len(found) != 1 or type(found[0]) is not float or found[0] != self._of(source):
                self.fails = True
                return
            self.uses.append((found[0], source))


def _named(frame: types.FrameType, instruction: dis.Instruction) -> Any:
    """What an instruction that loads a variable finds; None for another one."""
    if instruction.opname not in _NAMES:
        return None
    return (frame.f_globals if instruction.opname == "LOAD_GLOBAL" else frame.f_locals).get(instruction.argval)


def _comparison(instruction: dis.Instruction) -> str | None:
    text = instruction.argrepr.removeprefix("bool(").removesuffix(")")
    return text if text in _COMPARISONS else None


@functools.cache
def function_of(source: str) -> Callable[[Any], Any]:
    """The function of ``n`` that a source made of operations and constants stands for."""
    return eval(f"lambda n: {source}")  # the text is made of our own operations and of numbers
