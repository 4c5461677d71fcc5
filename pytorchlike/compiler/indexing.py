"""Windows whose start moves: ``x[n]``, ``x[:, n]``, ``x[n : n + 3] = y`` with a number that varies.

Such a view is a real view, but its `Geometry` is a `_Moving` one: whoever reads or writes the window records it with its start as a number of the
trace, and whoever computes with the start in another way, to take a view of the view for example, shows by that that it cannot be followed.
"""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..aten import indexing
from ..core.state import thread
from ..graph.recorder import record
from ..tensors import views, windows
from ..tensors.geometry import Geometry, geometry
from ..tensors.tensor import PLAIN_TYPES, Tensor
from .expressions import Expression, Known, Parts

if TYPE_CHECKING:
    from .following import Following

__all__ = ["MovingWindows"]

#: Each place that a window may move to is tried, if there are no more.
_MOST_PLACES = 4096


class _Start(int):
    """An offset that tells when somebody computes with it."""

    touched: Callable[[], None]


def _telling(name: str) -> Callable[..., Any]:
    plain = getattr(int, name)

    def method(self: _Start, *others: Any) -> Any:
        self.touched()
        return plain(int.__add__(self, 0), *others)

    return method


for _name in "add sub mul floordiv truediv mod neg radd rsub rmul rfloordiv rmod int index float bool hash eq ne lt le gt ge repr str format".split():
    if hasattr(int, f"__{_name}__"):
        setattr(_Start, f"__{_name}__", _telling(f"__{_name}__"))


class _Moving(Geometry):
    """The geometry of a view whose start moves.

    Attributes:
        still: what it is in this call.
        start: its offset, as an expression.
    """

    __slots__ = ("still", "start")
    still: Geometry
    start: Expression


def _moving(still: Geometry, start: Expression, touched: Callable[[], None]) -> _Moving:
    made = object.__new__(_Moving)
    for name in Geometry.__slots__:
        if name != "__weakref__":
            object.__setattr__(made, name, getattr(still, name))
    for name in ("offset", "end"):
        number = _Start(getattr(still, name))
        number.touched = touched
        object.__setattr__(made, name, number)
    object.__setattr__(made, "still", still)
    object.__setattr__(made, "start", start)
    return made


class MovingWindows:
    """The windows of one captured call whose start moves.

    Attributes:
        pending: the index that the instruction that runs gives to a tensor.
    """

    def __init__(self, following: Following) -> None:
        self.following = following
        self.pending: Any = None
        self._made: dict[tuple[Geometry, str], _Moving] = {}
        self._previous: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> MovingWindows:
        get, write, read = Tensor.__getitem__, views.write_backward, views.view_backward
        put: Any = Tensor.__setitem__
        plain_record = views._record

        def __getitem__(tensor: Tensor, index: Any) -> Any:
            expected = self._expected()
            try:
                view = get(tensor, index)
            except BaseException:
                self.following.fail_in(expected)
                raise
            if expected is not None:
                self._move(tensor, expected, view)
            return view

        def __setitem__(tensor: Tensor, index: Any, value: Any) -> None:
            if self.pending is None or thread.state.capture is None or type(tensor) not in PLAIN_TYPES or type(value) not in (*PLAIN_TYPES, int, float):
                put(tensor, index, value)
                return
            if not isinstance(value, Tensor):
                indexing._check_number(tensor, value)
            target = __getitem__(tensor, index)
            if isinstance(value, Tensor):
                indexing._copy_into(target, value)
            else:
                target.fill_(value)

        def _record(kind: str, base: Geometry, at: Geometry, arguments: tuple) -> Any:
            if type(at) is not _Moving:
                return plain_record(kind, base, at, arguments)
            following, trace = self.following, thread.state.trace
            if trace is not following.capture.trace or not following.takes_ints:
                following.fail(at.start.numbers)
                return plain_record(kind, base, at.still, arguments)
            result = record(views.window(kind, base, views._at_zero(at.still), True), arguments, (), (at.still.offset,))[0]
            following.int_uses.append((len(trace.ints) - 1, at.start))
            return result

        def view_backward(aval: Any, base: Any, at: Any, inside: Any = None) -> Any:
            return read(aval, base, self._held(at), self._held(inside))

        def write_backward(needed: Any, aval: Any, base: Any, at: Any, new: Any, inside: Any = None) -> Any:
            return write(needed, aval, base, self._held(at), new, self._held(inside))

        exchanged = [(Tensor, "__getitem__", __getitem__), (Tensor, "__setitem__", __setitem__), (views, "_record", _record)]
        for holder, name, new in [*exchanged, (views, "view_backward", view_backward), (views, "write_backward", write_backward)]:
            self._previous.append((holder, name, getattr(holder, name)))
            setattr(holder, name, new)
        return self

    def __exit__(self, *error: Any) -> None:
        for holder, name, previous in self._previous:
            setattr(holder, name, previous)
        self._previous.clear()
        self._hold_still()
        self.following = None  # type: ignore[assignment]  # what is kept of a view's start keeps nothing of the call

    def _expected(self) -> Any:
        """The index with numbers that this thread's tensor is given now."""
        if self.pending is None or thread.state.capture is not self.following.capture:
            return None
        expected, self.pending = self.pending, None
        return expected

    def _touched(self, numbers: frozenset[int]) -> None:
        if self.following is not None:
            self.following.fail(numbers)

    def _held(self, at: Any) -> Any:
        """The geometry for a place on the tape, where it stays as it is."""
        if type(at) is not _Moving:
            return at
        self.following.fail(at.start.numbers)
        return at.still

    def _hold_still(self) -> None:
        """The call is over: a view that is still there is an ordinary one."""
        made, touched = list(self._made.values()), [at for at in self._made.values() if sys.getrefcount(at) > _UNUSED]
        self._made.clear()
        if not touched:
            return
        for holder in gc.get_referrers(*made):
            if isinstance(holder, Tensor) and type(holder._geometry) is _Moving:
                self.following.fail(holder._geometry.start.numbers)
                holder._geometry = holder._geometry.still

    def _move(self, tensor: Tensor, index: Any, view: Any) -> None:
        """Let a view move with the number in its index, if it can."""
        moves = self._dimension(tensor, index) if type(tensor) in PLAIN_TYPES and type(view) is Tensor else None
        at = None if moves is None else self._geometry(tensor, *moves, view)
        if at is None:
            self.following.fail_in(index)
        else:
            view._geometry = at

    def _dimension(self, tensor: Tensor, index: Any) -> tuple[int, Any] | None:
        """The dimension in which the view moves, and what it is given there; None: there is not just one."""
        items = index.items if isinstance(index, Parts) and index.kind is tuple else [index]
        consuming = [item for item in items if not (isinstance(item, Known) and (item.value is None or item.value is Ellipsis))]
        allowed = all(isinstance(i, (Expression, Parts)) or isinstance(i, Known) and (i.value is None or i.value is Ellipsis or type(i.value) in (int, slice)) for i in items)
        if not allowed or sum(not isinstance(item, Known) for item in items) != 1:
            return None
        place = next(k for k, item in enumerate(consuming) if not isinstance(item, Known))
        moving = consuming[place]
        if any(isinstance(item, Known) and item.value is Ellipsis for item in items[: items.index(moving)]):
            place += tensor.ndim - len(consuming)
        return place, moving

    def _geometry(self, tensor: Tensor, dim: int, item: Any, view: Tensor) -> Geometry | None:
        still, base = view._geometry, view._storage.base  # type: ignore[union-attr]
        if still.elements is not None or thread.state.grad_enabled and tensor._current_edge() is not None or thread.state.levels:
            return None
        size, stride = tensor.shape[dim], tensor._where().stride[dim]
        if isinstance(item, Expression):
            first, length = item, 1
            condition = f"{-size} <= {item.source} < 0" if item.value < 0 else f"0 <= {item.source} < {size}"
            places = range(-size, 0) if item.value < 0 else range(size)
        else:
            if item.kind is not slice or not isinstance(item.items[0], Expression) or len(item.items) == 3 and not (isinstance(item.items[2], Known) and item.items[2].value in (None, 1)):
                return None
            first, stop = item.items[:2]
            if not isinstance(stop, Expression) or type(first.value) is not int or type(stop.value) is not int:
                return None
            length = stop.value - first.value
            condition = f"0 <= {first.source} and {stop.source} <= {size} and {stop.source} - {first.source} == {length}"
            places = range(size - length + 1)
        if type(first.value) is not int or first.value not in places or length < 1 or len(places) > _MOST_PLACES:
            return None
        zero = still.offset - first.value * stride
        if not all(windows.is_dynamic_ok(base, geometry(still.size, still.stride, zero + k * stride)) for k in places):
            return None
        numbers = frozenset().union(*[e.numbers for e in ([item] if isinstance(item, Expression) else item.items[:2])])
        start = Expression(f"({zero} + {first.source} * {stride})", still.offset, numbers)
        self.following.condition(start, f"bool({condition})", True)
        found = self._made.get((still, start.source))
        if found is None:
            found = self._made[still, start.source] = _moving(still, start, functools.partial(self._touched, numbers))
        return found


def _calibrate() -> int:
    """``sys.getrefcount`` of a geometry that no tensor has, where it is counted."""
    made = {0: object()}
    return [sys.getrefcount(at) for at in made.values()][0]


_UNUSED = _calibrate()
