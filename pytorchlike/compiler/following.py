"""Numbers that change from call to call: what a captured call does with them, so that a replay takes other ones.

While a call is captured, each number that was seen to change is followed on a model of the interpreter's stack (compiler/stack.py), from
where it is found (an argument, an attribute, a global variable, a cell) through arithmetic and user functions to what becomes of it:

* a number of an instruction that is recorded, or the start of a window: each replay computes it anew;
* a condition: the guards compare its outcome;
* the attribute's next value: each replay writes it.

A number that meets anything else is not followed: it is guarded by its value, as all others are.
"""

from __future__ import annotations

import functools
import math
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..core.state import thread
from ..nn.modules.module import Module
from ..tensors.tape import next_number
from ..tensors.tensor import Tensor
from ..tensors.views import Window
from .expressions import Expression, Known, expressions_in, literal
from .indexing import MovingWindows
from .stack import StackModel

__all__ = ["Following", "Formula", "Number", "kind_of_result"]

#: Larger integers are not exact as floats.
LARGEST = 1 << 52

#: A call with more conditions on its numbers than this is a loop over them.
_MOST_CONDITIONS = 64

#: Instructions that take numbers as they are given, and whose operators do nothing else with them.
_TAKE_FLOATS = frozenset(
    "add sub rsub mul div clamp clamp_min clamp_max lerp addcmul addcdiv eq ne lt le gt ge remainder fmod masked_fill fill".split()
)
_TAKE_INTS = frozenset({"add", "sub", "rsub", "mul", "clamp", "clamp_min", "clamp_max", "eq", "ne", "lt", "le", "gt", "ge"})

_OPERATIONS = tuple([f"__{kind}{name}__" for name in ("add", "sub", "mul", "truediv") for kind in ("", "r", "i")])

#: Whoever calls one of these can see, or write, variables and attributes in ways that are not followed.
_INSPECTING = frozenset({"locals", "vars", "dir", "eval", "exec", "setattr", "__dict__", "__setattr__", "__delattr__"})


def _setter(cls: type) -> Any:
    """How a class's objects are given attributes, the watch of it aside."""
    return getattr(cls.__setattr__, "original", cls.__setattr__)


class Number:
    """A number that varies.

    Args:
        index: in the order of finding; expressions call it ``m0``, ``m1``, ...
        place: where it is found: ("argument", number), ("item", id of a dictionary, key) or ("cell", id, "cell_contents").
        holder: the dictionary or the cell; None for an argument.
        name: as code calls it.
        value: before the call.

    Attributes:
        fails: it is not followed.
        now: what its place holds at this point of the call, an expression; None: something else.
        is_written: the call assigned to it.
        is_seen: the call read it, in a way that is followed.
        is_global: it is a global variable.
        is_only_written: what it was before is not followed.
    """

    def __init__(self, index: int, place: tuple, holder: Any, name: str, value: Any) -> None:
        self.index, self.place, self.holder, self.name, self.value = index, place, holder, name, value
        self.fails = type(value) not in (int, float) or type(value) is int and abs(value) >= LARGEST
        self.now: Expression | None = Expression(f"m{index}", value, frozenset({index}))
        self.is_global = self.is_written = self.is_seen = self.is_only_written = False

    def store(self, value: Any) -> None:
        """Let the variable hold this."""
        if isinstance(self.holder, dict):
            self.holder[self.name] = value
        else:
            self.holder.cell_contents = value


class Formula:
    """An expression of numbers, as a replay computes it.

    Args:
        source: the expression, with names ``m0``, ``m1``, ...
        places: index of a number -> where it is in the list that the guards return.
    """

    def __init__(self, source: str, places: Mapping[int, int]) -> None:
        self.source = source
        self.of = _function(re.sub(r"\bm(\d+)\b", lambda found: f"known[{places[int(found[1])]}]", source))


@functools.cache
def _function(text: str) -> Callable[[Any], Any]:
    return eval(f"lambda known: {text}", {"math": math})  # the text is made of our own operations and of numbers


def kind_of_result(function: Callable[[], Any]) -> type | None:
    """The type of what a function of numbers returns; None: it raises an error."""
    try:
        return type(function())
    except (ArithmeticError, ValueError):
        return None


class Following:
    """The numbers of one captured call.

    Args:
        capture: the call.
        places: of the numbers that were seen to change.
        kind_of: frame -> whose code it runs: "user" or another.
        takes_ints: integers among what is recorded may be computed anew.

    Attributes:
        numbers: place -> the number.
        conditions: text of an expression -> (what it was, the numbers in it).
        uses: (a float that was recorded, the expression).
        int_uses: (number of a recorded integer, the expression).
        written: of the numbers those that the call assigned to.
        failed: places of numbers that were found and could not be followed.
    """

    def __init__(self, capture: Any, places: Iterable[tuple], kind_of: Callable[[types.FrameType], str], takes_ints: bool = True) -> None:
        self.capture, self.kind_of, self.takes_ints = capture, kind_of, takes_ints
        self.places = frozenset(places)
        self.numbers: dict[tuple, Number] = {}
        self.conditions: dict[str, tuple[Any, frozenset[int]]] = {}
        self.uses: list[tuple[float, Expression]] = []
        self.int_uses: list[tuple[int, Expression]] = []
        self.names = {place[2] for place in self.places if place[0] == "item" and isinstance(place[2], str)}
        self.user_calls = 0
        self.root: tuple[types.CodeType, dict[str, Number]] | None = None
        self.closures: dict[types.CodeType, dict[str, Expression]] = {}  # code of inner functions -> the variables around it that hold numbers
        self.exposing: dict[types.CodeType, set[int]] = {}  # code of functions that have such inner ones -> numbers
        self.read_by: types.FrameType | None = None  # the frame whose instruction has just read an attribute ...
        self.found: Expression | None = None  # ... and what it found
        self.outside: Mapping[int, Any] = {}  # the objects whose attributes' reads are seen
        self.failed: set[tuple] = set()
        self.written: dict[tuple, Number] = {}
        self.functions: Mapping[types.CodeType, list[types.FunctionType]] = {}  # the user's functions that were found outside
        self._models: dict[types.FrameType, StackModel] = {}
        self._inspected: set[types.CodeType] = set()
        self._lost: set[str] = set()  # names in code that is not seen
        self._texts: set[Any] = set()  # constants of the code that ran: by one of these a variable can be found, too
        self.is_operand = False  # the instruction that runs is an operation on a number that is followed
        self.windows = MovingWindows(self)
        self._operations: dict[str, Any] = {}  # the operations of tensors, while they are exchanged
        self._previous: Any = None
        self._traced = False

    # ------------------------------------------------------------------------------------------------------------- numbers
    def add(self, place: tuple, holder: Any, name: str, value: Any) -> Number:
        """A number from one of the places was found; variables hold a float object that nothing else is from now on."""
        found = self.numbers.get(place)
        if found is None:
            found = self.numbers[place] = Number(len(self.numbers), place, holder, name, value)
            if not self._traced:
                found.fails = True
        return found

    def add_variable(self, place: tuple, holder: Any, name: str) -> None:
        """A global variable or a cell whose number was seen to change."""
        if place not in self.places or place in self.numbers:
            return
        number = self.add(place, holder, name, holder[name] if isinstance(holder, dict) else holder.cell_contents)
        number.is_global = isinstance(holder, dict)
        number.fails = number.fails or name in self._lost
        if type(number.value) is float:
            number.store(number.value * 1.0)

    def fail(self, numbers: Iterable[int]) -> None:
        """These numbers are used in a way that cannot be followed."""
        for number in self.numbers.values():
            if number.index in numbers:
                number.fails = True

    def fail_all(self) -> None:
        """No number can be followed."""
        for number in self.numbers.values():
            number.fails = True

    def read(self, own: dict[str, Any], name: str, frame: types.FrameType) -> Any:
        """An attribute from one of the places is read in this frame; returns what the reader gets."""
        value = own[name]
        number = self.numbers.get(("item", id(own), name)) or self.add(("item", id(own), name), own, name, value)
        if number.fails:
            return value
        model = self._models.get(frame)
        if number.now is None or type(value) is not type(number.now.value) or model is None or not model.reads(frame, name):
            number.fails = number.fails or number.now is not None
            return value
        self.read_by, self.found, number.is_seen = frame, number.now, True
        return value * 1.0 if type(value) is float else value

    def condition(self, expression: Expression, text: str, outcome: Any) -> None:
        """The call depends on what this expression is."""
        if len(self.conditions) >= _MOST_CONDITIONS:
            self.fail(expression.numbers)
        self.conditions[text] = outcome, expression.numbers

    # ------------------------------------------------------------------------------------------------------------- tracing
    def __enter__(self) -> Following:
        self._previous = sys.gettrace()
        self._traced = bool(self.places) and self._previous is None
        if self._traced:
            for name in _OPERATIONS:
                self._operations[name] = original = Tensor.__dict__[name]
                setattr(Tensor, name, self._with_floats(original))
            self.windows.__enter__()
            sys.settrace(self._trace)
        else:
            self.fail_all()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._traced:
            sys.settrace(self._previous)
            self.windows.__exit__()
        for name, original in self._operations.items():
            setattr(Tensor, name, original)
        self._operations.clear()
        for number in self.numbers.values():
            if number.place[0] == "cell" or number.is_global:
                number.store(number.value)
        self._models.clear()
        del self.kind_of, self.windows  # no cycle: what was noted of the call is freed at once

    def _with_floats(self, original: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """An operation that takes an integer that is followed as a float, which is an object of its own: the tape has it, too."""

        def operation(tensor: Any, other: Any) -> Any:
            if self.is_operand and type(other) is int and abs(other) <= LARGEST and (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
                other = float(other)
            return original(tensor, other)

        return operation

    def _trace(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        if event != "call" or self.kind_of(frame) != "user":
            return None
        self.user_calls += 1
        code = frame.f_code
        if code not in self._inspected:
            self._inspected.add(code)
            self._texts.update(c for c in code.co_consts if isinstance(c, str))
            if _INSPECTING & {*code.co_names}:
                self.fail_all()
        if code in self.exposing:  # its inner functions belong to one call or the other
            self.fail(self.exposing[code])
        bound, function = self._bound(frame)
        if not bound and code not in self.closures and not self.names & {*code.co_names} and not code.co_freevars:
            return None
        model = self._models[frame] = StackModel(self, frame, bound, function)
        if model.is_lost:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._trace_inside

    def _trace_inside(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        model = self._models.get(frame)
        if model is None or model.is_lost:
            return None
        if event == "opcode":
            model.step(frame)
        elif event == "exception":
            model.raises()
        elif event == "return":
            self._returned(frame, self._models.pop(frame))
        return self._trace_inside

    def _bound(self, frame: types.FrameType) -> tuple[dict[str, Any], types.FunctionType | None]:
        """The parameters of a call that hold numbers, and the function that is called, if that is known."""
        if self.root is not None and frame.f_code is self.root[0]:
            numbers, self.root = self.root[1], None
            for number in numbers.values():
                number.is_seen = True
            return {name: number.now for name, number in numbers.items()}, None
        back = frame.f_back
        while back is not None and back not in self._models and self.kind_of(back) == "ours":
            back = back.f_back
        model = None if back is None else self._models.get(back)
        return ({}, None) if model is None else model.enters(frame, is_direct=back is frame.f_back)

    def _returned(self, frame: types.FrameType, model: StackModel) -> None:
        if model.returned is None:
            return
        back = frame.f_back
        caller = None if back is None else self._models.get(back)
        if caller is None or not caller.takes_result(frame, model.returned):
            self.fail(model.returned.numbers)

    def suspend(self) -> Callable[[], None]:
        """See nothing until the function that is returned is called."""
        previous = sys.gettrace()
        sys.settrace(None)
        return lambda: sys.settrace(previous)

    # ----------------------------------------------------------------------------------------------- what the models ask for
    def variable(self, place: tuple) -> Expression | None:
        """What a variable holds, if that is followed."""
        number = self.numbers.get(place)
        return None if number is None or number.fails else number.now

    def attribute_of_module(self, owner: Any, name: str) -> Expression | None:
        """A global variable that is read as a module's attribute."""
        return self.variable(("item", id(owner.__dict__), name)) if isinstance(owner, types.ModuleType) else None

    def fail_name(self, name: Any, only_variables: bool = True) -> None:
        """Something of this name, and it is not known of what, is read (or, if not ``only_variables``, changed)."""
        for number in self.numbers.values():
            if number.name == name and (not only_variables or number.is_global or number.place[0] == "cell"):
                number.fails = True

    def lose(self, code: types.CodeType) -> None:
        """What this code does from now on is not seen."""
        self._lost.update(code.co_names, code.co_freevars)
        for name in (*code.co_names, *code.co_freevars):
            self.fail_name(name)

    def enclosing(self, frame: types.FrameType, function: types.FunctionType | None, name: str) -> Expression | None:
        """What a variable of an enclosing function holds, if that is followed."""
        code, value = frame.f_code, frame.f_locals.get(name)
        found = self.closures.get(code, {}).get(name)
        if found is not None and (code in self.functions or not _is_equal(value, found.value)):  # a function from before the call has another cell
            self.fail(found.numbers)
            found = None
        for number in self.numbers.values():
            if number.place[0] != "cell" or number.name != name or number.fails:
                continue
            functions = [function] if function is not None else self.functions.get(code, [])
            holders = {id(dict(zip(code.co_freevars, f.__closure__ or ()))[name]) for f in functions}
            if not holders and type(number.value) is float and value is number.holder.cell_contents:  # the function was made by the call
                holders = {id(number.holder)}
            if len(holders) != 1 or holders == {id(number.holder)} and (number.now is None or not _is_equal(value, number.now.value)):
                number.fails = True
            elif holders == {id(number.holder)}:
                found = number.now
        return found

    def expose(self, code: types.CodeType, name: str, old: Expression | None, new: Expression | None) -> None:
        """A variable that inner functions may see is given a number."""
        inner = [each for each in _inner(code) if name in each.co_freevars]
        if not inner:
            return
        numbers = (frozenset() if old is None else old.numbers) | (frozenset() if new is None else new.numbers)
        if old is not None or new is None:
            self.fail(numbers)
            return
        self.exposing.setdefault(code, set()).update(numbers)
        for each in inner:
            known = self.closures.setdefault(each, {}).setdefault(name, new)
            if known is not new:
                self.fail(known.numbers | numbers)

    def assigns(self, owner: Any, is_known: bool, name: str, value: Any) -> bool:
        """An attribute is assigned; whether a number in ``value`` may go there."""
        if not is_known:
            self.fail_name(name, only_variables=False)
            return False
        cls = type(owner)
        is_seen = id(owner) in self.outside and isinstance(cls.__getattribute__, types.FunctionType)  # when it is read
        own = getattr(owner, "__dict__", None) if is_seen and _setter(cls) in (object.__setattr__, _setter(Module)) else None
        place = ("item", id(own), name)
        number = self.numbers.get(place)
        if number is None:
            if own is None or type(own.get(name)) not in (int, float) or place not in self.places and not isinstance(value, Expression):
                return False
            number = self.add(place, own, name, own[name])
            number.is_only_written = place not in self.places
            self.places |= {place}
        raw = getattr(type(owner), name, None)
        if number.fails or number.is_global or hasattr(type(raw), "__set__"):
            number.fails = True
            return False
        number.is_written = True
        if isinstance(value, Expression) and type(value.value) is not bool:
            number.now = value
            return True
        source = literal(value.value) if isinstance(value, Known) else None
        number.now = None if source is None else Expression(source, value.value, frozenset(), 1)
        return False

    def expect(self, expressions: list[Expression]) -> Callable[[], None]:
        """An operator is called with these numbers; the function that is returned is called when it is done."""
        trace, calls, nodes = self.capture.trace, self.user_calls, next_number()
        before = trace.position

        def check() -> None:
            if thread.state.trace is trace and self.user_calls == calls and self._is_recorded(before, expressions, next_number() > nodes + 1):
                return
            for expression in expressions:
                self.fail(expression.numbers)

        return check

    def expect_index(self, index: Any) -> Callable[[bool], None]:
        """Something is indexed with numbers; the function that is returned is called when that is done."""
        self.windows.pending = index

        def after(jumped: bool) -> None:
            if self.windows.pending is not None:  # it was no tensor
                self.windows.pending = None
                self.fail_in(index)

        return after

    def fail_in(self, entry: Any) -> None:
        """The numbers in this entry of a stack cannot be followed."""
        for expression in expressions_in([entry]):
            self.fail(expression.numbers)

    def _is_recorded(self, before: Any, expressions: list[Expression], is_on_tape: bool) -> bool:
        """Whether each of the numbers is one number of the one instruction that was recorded since."""
        trace = self.capture.trace
        state, taking = trace.position, []
        while state is not before:
            if state is None:
                return False
            if state.instruction is not None and not isinstance(state.instruction, Window) and (state.instruction.float_count or state.instruction.int_count):
                taking.append(state)
            state = state.parent
        if len(taking) != 1 or taking[0].instruction.name not in _TAKE_FLOATS:
            return False
        (taken,) = taking
        floats = [(k, trace.floats[k]) for k in range(taken.parent.float_count, taken.float_count)]
        ints = [(k, trace.ints[k]) for k in range(taken.parent.int_count, taken.int_count)]
        used: set[tuple[bool, int]] = set()
        for expression in expressions:
            value = expression.value
            if type(value) is bool:
                return False
            found = [(False, k) for k, number in floats if _is_equal(number, float(value))]
            found += [(True, k) for k, number in ints if _is_equal(number, value)]
            if len(found) != 1 or found[0] in used:
                return False
            used.add(found[0])
            is_int, k = found[0]
            if not is_int:
                if any(known is trace.floats[k] and other.source != expression.source for known, other in self.uses):
                    return False
                if type(value) is int:
                    self.condition(expression, f"bool({-LARGEST} <= {expression.source} <= {LARGEST})", True)
                    if abs(value) > LARGEST:
                        return False
                self.uses.append((trace.floats[k], expression))
                continue
            if is_on_tape or not self.takes_ints or taken.instruction.name not in _TAKE_INTS:
                return False
            self.condition(expression, f"bool({-(2**63)} <= {expression.source} < {2**63})", True)
            self.int_uses.append((k, expression))
        return True

    # --------------------------------------------------------------------------------------------------------------- the end
    def confirm(self, notes: Mapping[tuple, Any]) -> None:
        """The call is over: which numbers were followed all the way."""
        for number in self.numbers.values():
            is_argument = number.place[0] == "argument"
            if number.place not in notes and not is_argument and not number.is_only_written or is_argument and not number.is_seen or number.now is None or number.is_global and number.name in self._texts:
                number.fails = True
            elif isinstance(number.holder, dict) and not number.is_global and not _is_equal(number.holder.get(number.name), number.now.value):
                number.fails = True
        mixed = [e.numbers for _, e in (*self.uses, *self.int_uses)] + [numbers for _, numbers in self.conditions.values()]
        mixed += [n.now.numbers | {n.index} for n in self.numbers.values() if n.now is not None]
        failed: set[int] = set()
        while (now := {n.index for n in self.numbers.values() if n.fails}) != failed:
            failed = now
            for numbers in mixed:
                if numbers & failed:
                    self.fail(numbers)
        self.failed = {place for place, number in self.numbers.items() if number.fails}
        self.written = {place: number for place, number in self.numbers.items() if number.is_written and not number.fails}
        self.numbers = {place: number for place, number in self.numbers.items() if not (number.fails or number.is_only_written)}
        self.uses = [(value, e) for value, e in self.uses if not e.numbers & failed]
        self.int_uses = [(k, e) for k, e in self.int_uses if not e.numbers & failed]
        self.conditions = {text: found for text, found in self.conditions.items() if not found[1] & failed}

    def formulas(self, first: int) -> Callable[[str], Formula]:
        """How a replay computes an expression from the list that the guards return, in which the numbers begin at ``first``."""
        places = {number.index: first + k for k, number in enumerate(self.numbers.values())}
        return lambda source: Formula(source, places)


def _inner(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _inner(constant)


def _is_equal(new: Any, old: Any) -> bool:
    if type(new) is not type(old):
        return False
    return bool(new == old) and (type(old) is not float or math.copysign(1, new) == math.copysign(1, old)) or new != new and old != old
