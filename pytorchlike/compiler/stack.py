"""A model of one frame's operand stack, which follows numbers from instruction to instruction while the frame runs.

What lies on the model is an `Expression` of numbers that vary, a `Known` value (the same at each replay), several of these in a `Parts`
(the index ``x[:, n]``), or nothing that is known.  What an instruction does that has no entry here is taken to look at all of the stack.
"""

from __future__ import annotations

import builtins
import dis
import functools
import operator
import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from .callees import SUSPENDED, Call, attribute_of
from .expressions import ARITHMETIC, COMPARISONS, FUNCTIONS, Expression, Known, Parts, expressions_in, literal

if TYPE_CHECKING:
    from .following import Following

__all__ = ["StackModel"]


#: What an expression may cost: a product of so many integers below 2**52 is still a float.
_MOST_FACTORS = 16

# ------------------------------------------------------------------------------------------------------------ the interpreter's instructions
#: Python 3.11's names of instructions for those of later versions (and its own variants) that do the same.
_SAME = {
    "LOAD_FAST_BORROW": "LOAD_FAST", "LOAD_FAST_CHECK": "LOAD_FAST", "LOAD_SMALL_INT": "LOAD_CONST", "LOAD_CONST_IMMORTAL": "LOAD_CONST",
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": "LOAD_FAST_LOAD_FAST", "POP_JUMP_FORWARD_IF_TRUE": "POP_JUMP_IF_TRUE",
    "POP_JUMP_FORWARD_IF_FALSE": "POP_JUMP_IF_FALSE", "POP_JUMP_BACKWARD_IF_TRUE": "POP_JUMP_IF_TRUE",
    "POP_JUMP_BACKWARD_IF_FALSE": "POP_JUMP_IF_FALSE",
}  # fmt: skip
#: Those that leave the stack alone.
_NOTHING = frozenset(
    "CACHE NOP RESUME PRECALL MAKE_CELL COPY_FREE_VARS JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT TO_BOOL NOT_TAKEN EXTENDED_ARG SETUP_ANNOTATIONS".split()
)
#: Those that take some values and push one.
_ONE_RESULT = frozenset(
    "BUILD_LIST BUILD_SET BUILD_MAP BUILD_STRING BUILD_CONST_KEY_MAP FORMAT_VALUE FORMAT_SIMPLE FORMAT_WITH_SPEC GET_ITER MAKE_FUNCTION UNARY_INVERT LIST_TO_TUPLE "
    "IS_OP CONTAINS_OP IMPORT_NAME CONVERT_VALUE".split()
)
_NULL = Known(None)


class _Code:
    """The instructions of a code object, without caches; an offset of a prefix counts as that of its instruction."""

    def __init__(self, code: types.CodeType) -> None:
        self.instructions: list[dis.Instruction] = []
        self.at: dict[int, int] = {}
        for instruction in dis.get_instructions(code):
            if instruction.opname == "CACHE":
                continue
            self.at[instruction.offset] = len(self.instructions)
            if instruction.opname != "EXTENDED_ARG":
                self.instructions.append(instruction)
        try:
            self.handlers = dis._parse_exception_table(code)  # type: ignore[attr-defined]
        except AttributeError:
            self.handlers = []


_code = functools.lru_cache(maxsize=4096)(_Code)


class StackModel:
    """The model of one frame.

    Args:
        following: the numbers, and what becomes of them.
        frame: as it is entered.
        bound: its parameters that hold numbers.
        function: which function it runs, if that is known.

    Attributes:
        is_lost: what happens in the frame cannot be followed.
        raised: an error has just been raised in it.
        returned: the expression that it returns.
    """

    def __init__(self, following: Following, frame: types.FrameType, bound: dict[str, Any], function: types.FunctionType | None) -> None:
        code = frame.f_code
        self.following, self.frame, self.code = following, frame, _code(code)
        self.stack: list[Any] = []
        self.locals: dict[str, Expression] = {}
        self.is_lost = self.raised = False
        self.returned: Expression | None = None
        self.call: Call | None = None
        self._after: Callable[[bool], None] | None = None  # what is known of the last instruction once it has run; told whether it jumped
        self._last: int | None = None
        self._keywords: tuple[str, ...] = ()
        self._function = function
        self._involved: list[Any] = []  # what the instruction that runs is given, and what happens to it is not known
        if code.co_flags & SUSPENDED:
            self._lose([*bound.values(), *following.closures.get(code, {}).values()])
            return
        for name, entry in bound.items():
            if isinstance(entry, Expression):
                self._store(name, entry)
            elif isinstance(entry, Parts):
                self._fail([entry])

    def raises(self) -> None:
        """The instruction that runs raises an error: whether it does may depend on what it is given."""
        self.raised = True
        if self.call is None or not self.call.is_entered:
            self._fail(self._involved)

    # ------------------------------------------------------------------------------------------------------------- events
    def step(self, frame: types.FrameType) -> None:
        """An instruction is about to run; the one before it has."""
        at = self.code.at.get(frame.f_lasti)
        if at is None or at == self._last and not self.raised:  # the second event of an instruction with a prefix
            return
        instructions = self.code.instructions
        jumped = self._last is not None and at != self._last + 1
        if self.raised and not self._is_caught(instructions[at]):
            if self._last is None or instructions[self._last].opname != "FOR_ITER":
                self._lose(self.stack)
                return
        elif self._after is not None:
            after, self._after = self._after, None
            after(jumped)
        self.following.is_operand = False
        self.raised, self._after, self.call, self._involved = False, None, None, []
        self._last = at
        instruction = instructions[at]
        name = _SAME.get(instruction.opname, instruction.opname)
        if name in _NOTHING:
            return
        handler = getattr(self, f"_{name.lower()}", None)
        if handler is not None:
            handler(instruction)
        elif name in _ONE_RESULT:
            self._fail(self._pop_many(1 - dis.stack_effect(instruction.opcode, instruction.arg)))
            self.stack.append(None)
        else:
            self._other(instruction)
        if self.is_lost:
            self.stack.clear()

    def _is_caught(self, instruction: dis.Instruction) -> bool:
        """After an error: whether this is where it is caught."""
        assert self._last is not None
        offset = self.code.instructions[self._last].offset
        for entry in self.code.handlers:
            if entry.start <= offset < entry.end and entry.target == instruction.offset:
                del self.stack[entry.depth :]
                self.stack += [None] * (1 + bool(entry.lasti))
                return True
        return False

    def reads(self, frame: types.FrameType, name: str) -> bool:
        """Whether the instruction that runs is one that reads an attribute of this name."""
        instruction = None if self._last is None else self.code.instructions[self._last]
        return not self.is_lost and instruction is not None and instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and instruction.argval == name and self.code.at.get(frame.f_lasti) == self._last

    def enters(self, frame: types.FrameType, is_direct: bool) -> tuple[dict[str, Any], types.FunctionType | None]:
        """The parameters of a frame that the running instruction's call has entered, and the function that it runs."""
        call = self.call
        if call is None or not is_direct and not call.through_module:
            return {}, None
        bound = call.binds(frame)
        if bound is None:
            return {}, None
        call.is_entered = True
        target = call.target
        return bound, target.__func__ if isinstance(target, types.MethodType) else target  # type: ignore[return-value]

    def takes_result(self, frame: types.FrameType, result: Expression) -> bool:
        """A frame returns a number to the running instruction's call; False: not to it."""
        call = self.call
        if call is None or not call.is_entered or call.through_module:
            return False
        target = call.target
        function: Any = target.__func__ if isinstance(target, types.MethodType) else target
        if function.__code__ is not frame.f_code:
            return False
        call.result = result
        return True

    # ------------------------------------------------------------------------------------------------------------- helpers
    def _fail(self, entries: Iterable[Any]) -> None:
        for expression in expressions_in(entries):
            self.following.fail(expression.numbers)

    def _lose(self, entries: Iterable[Any]) -> None:
        self._fail([*entries, *self.locals.values()])
        self._fail(self._involved)
        self.following.lose(self.frame.f_code)
        self.is_lost = True

    def _pop(self) -> Any:
        if self.stack:
            return self.stack.pop()
        self._lose(())
        return None

    def _pop_many(self, count: int) -> list[Any]:
        return [self._pop() for _ in range(count)][::-1]

    def _other(self, instruction: dis.Instruction) -> None:
        """An instruction that is not known."""
        self._fail(self.stack)
        self.following.fail_name(instruction.argval)
        self._fail([self.locals.get(instruction.argval)] if isinstance(instruction.argval, str) else ())
        before = len(self.stack)

        def after(jumped: bool) -> None:
            change = dis.stack_effect(instruction.opcode, instruction.arg, jump=jumped)
            self.stack[:] = [None] * max(before + change, 0)

        self._after = after

    def _push(self, entry: Any) -> None:
        self.stack.append(entry)

    def _store(self, name: str, entry: Any) -> None:
        if isinstance(entry, Parts):
            self._fail([entry])
        old = self.locals.pop(name, None)
        if name in self.frame.f_code.co_cellvars and (old is not None or isinstance(entry, Expression)):
            self.following.expose(self.frame.f_code, name, old, entry if isinstance(entry, Expression) else None)
        if isinstance(entry, Expression):
            self.locals[name] = entry

    def _variable(self, name: str) -> Any:
        found = self.locals.get(name)
        if found is None and name in self.frame.f_code.co_freevars:
            found = self.following.enclosing(self.frame, self._function, name)
        if found is not None:
            return found
        space = self.frame.f_locals
        return Known(space[name]) if name in space else None

    def make(self, source: str, function: Callable[..., Any], operands: list[Any], cost: int, is_risky: bool = False) -> Expression | None:
        """The expression of a function of numbers; None: there is none."""
        values = [o.value for o in operands]
        numbers = frozenset().union(*[o.numbers for o in operands if isinstance(o, Expression)])
        try:
            value = function(*values)
        except (ArithmeticError, ValueError, TypeError):
            value = None
        if type(value) not in (int, float, bool) or cost > _MOST_FACTORS:
            self.following.fail(numbers)
            return None
        made = Expression(source, value, numbers, cost)
        if is_risky:
            self.following.condition(made, f"kind_of_result(lambda: {source})", type(value))
        return made

    # ------------------------------------------------------------------------------------------------------------- variables
    def _load_const(self, instruction: dis.Instruction) -> None:
        self._push(Known(instruction.argval))

    def _load_deref(self, instruction: dis.Instruction) -> None:
        self._push(self._variable(instruction.argval))

    def _load_fast(self, instruction: dis.Instruction) -> None:
        name = instruction.argval
        self._push(None if name in self.frame.f_code.co_cellvars else self._variable(name))  # since Python 3.13 this loads the cell itself

    def _load_fast_load_fast(self, instruction: dis.Instruction) -> None:
        for name in instruction.argval:
            self._push(self._variable(name))

    def _store_fast(self, instruction: dis.Instruction) -> None:
        self._store(instruction.argval, self._pop())

    _store_deref = _store_fast

    def _store_fast_store_fast(self, instruction: dis.Instruction) -> None:
        for name in instruction.argval:
            self._store(name, self._pop())

    def _store_fast_load_fast(self, instruction: dis.Instruction) -> None:
        stored, loaded = instruction.argval
        self._store(stored, self._pop())
        self._push(self._variable(loaded) if loaded in self.locals else None)

    def _delete_fast(self, instruction: dis.Instruction) -> None:
        self._store(instruction.argval, None)

    def _load_closure(self, instruction: dis.Instruction) -> None:
        self._push(None)

    def _load_global(self, instruction: dis.Instruction) -> None:
        name, space = instruction.argval, self.frame.f_globals
        found = self.following.variable(("item", id(space), name)) or Known(space.get(name, getattr(builtins, name, None)))
        self.stack += [_NULL, found] if instruction.arg is not None and instruction.arg & 1 else [found]

    def _push_null(self, instruction: dis.Instruction) -> None:
        self._push(_NULL)

    def _load_attr(self, instruction: dis.Instruction) -> None:
        owner, name = self._pop(), instruction.argval
        self._fail([owner])
        following = self.following
        following.read_by = following.found = None
        is_method = instruction.opname == "LOAD_METHOD" or "NULL|self" in instruction.argrepr

        def after(jumped: bool) -> None:
            found = following.found if following.read_by is self.frame else None
            if found is None and isinstance(owner, Known):
                found = following.attribute_of_module(owner.value, name) or attribute_of(owner.value, name)
            elif found is None:
                following.fail_name(name)
            following.read_by = following.found = None
            self.stack += [found, _NULL] if is_method else [found]

        self._after = after

    _load_method = _load_attr

    def _store_attr(self, instruction: dis.Instruction) -> None:
        owner, value = self._pop(), self._pop()
        if not self.following.assigns(owner.value if isinstance(owner, Known) else None, isinstance(owner, Known), instruction.argval, value):
            self._fail([value])
        self._fail([owner])

    def _delete_attr(self, instruction: dis.Instruction) -> None:
        self._fail([self._pop()])
        self.following.fail_name(instruction.argval, only_variables=False)

    # ---------------------------------------------------------------------------------------------------------------- stack
    def _pop_top(self, instruction: dis.Instruction) -> None:
        self._pop()

    def _copy(self, instruction: dis.Instruction) -> None:
        self._push(self.stack[-instruction.arg] if instruction.arg and instruction.arg <= len(self.stack) else None)

    def _list_extend(self, instruction: dis.Instruction) -> None:
        self._fail([self._pop()])

    _list_append = _set_add = _set_update = _dict_update = _dict_merge = _list_extend

    def _swap(self, instruction: dis.Instruction) -> None:
        k = instruction.arg or 1
        if k > len(self.stack):
            self._lose(self.stack)
            return
        self.stack[-1], self.stack[-k] = self.stack[-k], self.stack[-1]

    def _build_tuple(self, instruction: dis.Instruction) -> None:
        self._build(tuple, self._pop_many(instruction.arg or 0))

    def _build_slice(self, instruction: dis.Instruction) -> None:
        self._build(slice, self._pop_many(instruction.arg or 2))

    def _build(self, kind: type, items: list[Any]) -> None:
        if any(expressions_in(items)):
            self._push(Parts(kind, items))
        else:
            is_known = all(isinstance(item, Known) for item in items)
            self._push(Known(slice(*[i.value for i in items]) if kind is slice else tuple([i.value for i in items])) if is_known else None)

    # ----------------------------------------------------------------------------------------------------------- arithmetic
    def _binary_op(self, instruction: dis.Instruction) -> None:
        right, left = self._pop(), self._pop()
        name = instruction.argrepr
        if name == "[]":  # Python 3.14
            self._subscript([left, right])
        else:
            self._operate(name.removesuffix("="), left, right, ARITHMETIC, is_assigned=name.endswith("="))

    def _compare_op(self, instruction: dis.Instruction) -> None:
        right, left = self._pop(), self._pop()
        self._operate(instruction.argrepr.removeprefix("bool(").removesuffix(")"), left, right, COMPARISONS)

    def _operate(self, name: str, left: Any, right: Any, table: dict[str, Callable[[Any, Any], Any]], is_assigned: bool = False) -> None:
        operands = [left, right]
        expressions = list(expressions_in(operands))
        if not expressions:
            self._push(None)
            return
        sources = [o.source if isinstance(o, Expression) else literal(o.value) if isinstance(o, Known) else None for o in operands]
        if isinstance(left, Parts) or isinstance(right, Parts):
            self._fail(operands)
            self._push(None)
        elif None not in sources and name in table:
            cost = sum(o.cost if isinstance(o, Expression) else 1 for o in operands)
            is_risky = name in ("/", "//", "%") and isinstance(right, Expression)
            if name == "**":
                is_risky, cost = True, 4 * (left.cost if isinstance(left, Expression) else 1)
                is_small = type(right.value) is int and isinstance(right, Known) and 0 <= right.value <= 4
                if not is_small and type(left.value) is not float:
                    cost = _MOST_FACTORS + 1
            elif table is COMPARISONS:
                cost = 1
            self._push(self.make(f"({sources[0]} {name} {sources[1]})", table[name], operands, cost, is_risky))
        elif any(isinstance(o, Known) and sources[k] is None and isinstance(o.value, (int, float, complex, str, list, tuple)) for k, o in enumerate(operands)):
            self._fail(operands)
            self._push(None)
        else:
            self._use(expressions)

    def _unary_negative(self, instruction: dis.Instruction) -> None:
        operand = self._pop()
        self._push(self.make(f"(-{operand.source})", operator.neg, [operand], operand.cost) if isinstance(operand, Expression) else None)
        self._fail([operand] if isinstance(operand, Parts) else ())

    def _unary_not(self, instruction: dis.Instruction) -> None:
        operand = self._pop()
        self._push(self.make(f"(not {operand.source})", operator.not_, [operand], 1) if isinstance(operand, Expression) else None)
        self._fail([operand] if isinstance(operand, Parts) else ())

    def _use(self, expressions: list[Expression]) -> None:
        """An operator gets these numbers: what it records is looked at when it is done."""
        check = self.following.expect(expressions)
        self.following.is_operand, self._involved = True, [*expressions]

        def after(jumped: bool) -> None:
            self.following.is_operand = False
            check()
            self._push(None)

        self._after = after

    # ----------------------------------------------------------------------------------------------------------- conditions
    def _condition(self, entry: Any) -> None:
        if isinstance(entry, Expression):
            self.following.condition(entry, f"bool({entry.source})", bool(entry.value))

    def _pop_jump_if_true(self, instruction: dis.Instruction) -> None:
        self._condition(self._pop())

    _pop_jump_if_false = _pop_jump_if_true

    def _jump_if_true_or_pop(self, instruction: dis.Instruction) -> None:
        self._condition(self.stack[-1] if self.stack else None)

        def after(jumped: bool) -> None:
            if not jumped:
                self._pop()

        self._after = after

    _jump_if_false_or_pop = _jump_if_true_or_pop

    def _for_iter(self, instruction: dis.Instruction) -> None:
        def after(jumped: bool) -> None:
            if not jumped:
                self._push(None)
            elif self.code.instructions[self._position()].opname != "POP_ITER":  # Python 3.14 pops it there
                self._pop()

        self._after = after

    def _position(self) -> int:
        return self.code.at[self.frame.f_lasti]

    def _return_value(self, instruction: dis.Instruction) -> None:
        value = self._pop()
        if isinstance(value, Expression):
            self.returned = value
        self._fail([value] if isinstance(value, Parts) else ())

    # -------------------------------------------------------------------------------------------------------------- indices
    def _binary_subscr(self, instruction: dis.Instruction) -> None:
        self._subscript(self._pop_many(2))

    def _store_subscr(self, instruction: dis.Instruction) -> None:
        index, owner, value = self._pop(), self._pop(), self._pop()
        self._fail([owner, value])
        self._index(index)

    def _subscript(self, operands: list[Any]) -> None:
        owner, index = operands
        self._fail([owner])
        self._index(index, [None])

    def _binary_slice(self, instruction: dis.Instruction) -> None:
        owner, *bounds = self._pop_many(3)
        self._fail([owner])
        self._index(Parts(slice, bounds), [None])

    def _store_slice(self, instruction: dis.Instruction) -> None:
        value, owner, *bounds = self._pop_many(4)
        self._fail([value, owner])
        self._index(Parts(slice, bounds))

    def _index(self, index: Any, results: list[Any] | None = None) -> None:
        """A tensor, or something else, is indexed."""
        if any(expressions_in([index])):
            self._after, self._involved = self.following.expect_index(index), [index]
        self.stack += results or []

    # ---------------------------------------------------------------------------------------------------------------- calls
    def _kw_names(self, instruction: dis.Instruction) -> None:
        self._keywords = self.frame.f_code.co_consts[instruction.arg or 0]

    def _call_kw(self, instruction: dis.Instruction) -> None:
        names = self._pop()
        self._keywords = names.value if isinstance(names, Known) else ()
        if not isinstance(names, Known):
            self._fail(self.stack)
        self._call(instruction)

    def _call(self, instruction: dis.Instruction) -> None:
        arguments = self._pop_many(instruction.arg or 0)
        second, first = self._pop(), self._pop()
        names, self._keywords = self._keywords, ()
        found = second if first is _NULL else first
        callee = found.value if isinstance(found, Known) else None
        if first is not _NULL and second is not _NULL:  # a method found in a way that is not known: its owner is an argument
            callee = None
        self._fail([found])
        expressions = list(expressions_in(arguments))
        if expressions and not names and self._compute(callee, arguments):
            return
        self.call, self._involved = Call(callee, arguments, names), arguments
        call = self.call
        check = self.following.expect(expressions) if expressions and not any(isinstance(a, Parts) for a in arguments) else None
        if any(isinstance(a, Parts) for a in arguments):
            self._fail(arguments)

        def after(jumped: bool) -> None:
            if not call.is_entered and check is not None:
                check()
            self._push(call.result)

        self._after = after

    def _compute(self, callee: Any, arguments: list[Any]) -> bool:
        """A function of numbers."""
        try:
            name = FUNCTIONS.get(callee)
        except TypeError:
            return False
        if name is not None and len(arguments) == 1 and isinstance(arguments[0], Expression):
            (operand,) = arguments
            self._push(self.make(f"{name}({operand.source})", callee, [operand], operand.cost, is_risky=name not in ("abs", "float")))
            return True
        if callee not in (min, max) or len(arguments) != 2 or any(isinstance(a, Parts) for a in arguments):
            return False
        sources = [a.source if isinstance(a, Expression) else literal(a.value) if isinstance(a, Known) else None for a in arguments]
        if None in sources:
            return False
        first, second = arguments
        sign = "<" if callee is min else ">"  # as Python's: the first one, unless the second is less
        takes_second = COMPARISONS[sign](second.value, first.value)
        made = self.make(f"({sources[1]} {sign} {sources[0]})", COMPARISONS[sign], [second, first], 1)
        if made is not None:
            self.following.condition(made, f"bool({made.source})", takes_second)
        self._push(second if takes_second else first)
        return True
