"""Floats among the arguments that change from call to call: where a captured call only hands one to operators, a replay takes another one.

What shows that: in the function's code the parameter is nothing but an operand of ``+ - * /``, and each of these operations put that very
float object into the trace.  So nothing else can have seen it: no condition, no call, no arithmetic of Python numbers.
"""

from __future__ import annotations

import dis
import functools
import inspect
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..graph.trie import State
from ..nn.modules import calls
from ..nn.modules.module import Module

__all__ = ["Followed", "float_parameters", "operand_uses"]

#: Instructions that one of the operations records, with the float as it is.
_RECORDED_BY = frozenset({"add", "sub", "rsub", "mul", "div"})
_OPERATIONS = frozenset({"+", "-", "*", "/", "+=", "-=", "*=", "/="})
_PUSH = frozenset({"LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_CONST", "LOAD_SMALL_INT", "LOAD_GLOBAL", "LOAD_DEREF", "PUSH_NULL"})
_SKIP = frozenset({"CACHE", "EXTENDED_ARG", "NOP", "KW_NAMES"})
#: Instructions that push one result for what they pop.
_POP_AND_PUSH = frozenset({"CALL", "CALL_KW", "BINARY_OP", "BINARY_SUBSCR", "UNARY_NEGATIVE", "BUILD_TUPLE", "BUILD_LIST"})
_OPERATION_METHODS = {f"__{kind}{name}__" for name in ("add", "sub", "mul", "truediv") for kind in ("", "r", "i")} | {"__torch_function__", "__torch_dispatch__"}
_SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_INSPECTING = frozenset({"locals", "vars", "dir", "eval", "exec"})


#: For a kind of variable the instructions that read it, and those that mention its name without meaning it.
_READS = {"parameter": ("LOAD_FAST", "LOAD_FAST_BORROW"), "global": ("LOAD_GLOBAL",), "cell": ("LOAD_DEREF",)}
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR")
_OTHERS = {
    "parameter": ("LOAD_CONST", "LOAD_GLOBAL", "KW_NAMES", *_ATTRIBUTES),
    "global": ("LOAD_FAST", "STORE_FAST", "LOAD_DEREF", "STORE_DEREF", "MAKE_CELL", "COPY_FREE_VARS", "KW_NAMES"),  # a module's attribute may be the global
    "cell": ("LOAD_CONST", "LOAD_GLOBAL", "KW_NAMES", "COPY_FREE_VARS", *_ATTRIBUTES),
}


@functools.cache
def operand_uses(code: types.CodeType, name: str, kind: str = "parameter") -> int | None:
    """How often a variable is read, each time as an operand of an operation; None: it is used in some other way, or perhaps repeatedly.

    Args:
        kind: "parameter", "global" or "cell", one of a closure.
    """
    instructions = list(dis.get_instructions(code))
    loops, uses = any("JUMP_BACKWARD" in instruction.opname for instruction in instructions), 0
    for at, instruction in enumerate(instructions):
        mentioned = instruction.argval == name or isinstance(instruction.argval, tuple) and name in instruction.argval
        if not mentioned or instruction.opname.startswith(_OTHERS[kind]):
            continue
        if instruction.opname not in _READS[kind] or loops or not _is_operand(instructions[at + 1 :]):
            return None
        uses += 1
    return None if _INSPECTING & {*code.co_names} or uses and code.co_flags & _SUSPENDED else uses


def _is_operand(following: Sequence[dis.Instruction]) -> bool:
    """Whether the value on top of the stack becomes an operand of an operation and nothing else."""
    above = 0  # how many values lie on it
    for instruction in following:
        name = instruction.opname
        if name == "BINARY_OP" and above <= 1:
            return instruction.argrepr in _OPERATIONS
        if name in _SKIP:
            continue
        effect = dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
        if name in _POP_AND_PUSH:
            if 1 - effect > above:
                return False
        elif name == "PRECALL":  # Python 3.11: pops the arguments
            if above + effect < 1:
                return False
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            if above < 1:
                return False
        elif name not in _PUSH:
            return False
        above += effect
    return False


def float_parameters(function: Callable, target: Any, args: tuple, kwargs: dict[str, Any]) -> dict[Any, int]:
    """Position or keyword of each float argument that is nothing but an operand -> how often it is."""
    if isinstance(target, Module):
        hooks = (target._forward_hooks, target._forward_pre_hooks, calls._global_forward_hooks, calls._global_forward_pre_hooks)
        if any(hooks):
            return {}
        function = target.forward
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if not isinstance(code, types.CodeType):
        return {}
    first = int(hasattr(function, "__func__"))
    names = code.co_varnames[first : code.co_argcount]
    found = {}
    given: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
    for key, value in given.items():
        if type(value) is not float or isinstance(key, int) and key >= len(names):
            continue
        name = names[key] if isinstance(key, int) else key
        uses = operand_uses(code, name) if name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] else None
        if uses:
            found[key] = uses
    return found


class Followed:
    """The floats of one captured call that are followed.

    Args:
        places: number of an argument -> (a float object that nothing else is, how often it is an operand).
    """

    def __init__(self, places: dict[int, tuple[float, int]]) -> None:
        self.places = places

    def confirm(self, floats: Sequence[float], position: State, entered: Iterable[types.CodeType]) -> None:
        """Keep those of which each use is found in what was recorded.

        Args:
            entered: the user's code that ran; where a class of the user's took part in an operation, that may have looked at the float.
        """
        if any(code.co_name in _OPERATION_METHODS for code in entered):
            self.places = {}
        counts = dict.fromkeys(self.places, 0)
        for state in position.path():
            if state.instruction is None or state.parent is None or state.instruction.name not in _RECORDED_BY:
                continue
            for value in floats[state.parent.float_count : state.float_count]:
                k = self.number_of(value)
                if k is not None:
                    counts[k] += 1
        self.places = {k: found for k, found in self.places.items() if counts[k] == found[1]}

    def number_of(self, value: Any) -> int | None:
        """The number of the argument that a recorded float is."""
        return next((k for k, (known, _) in self.places.items() if known is value), None)
