"""Whether a module does for other sizes what it does for the examples', and how the sizes must be related if it does not.

Operators bind sizes, so nothing tells why a module depends on one: it is recorded for other sizes (trials.py), and from those for which it does
the same follows what is constant, which sizes go together, and the bounds.  A condition that excludes single sizes is found only if one of them is
tried.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from ..nn.modules.module import Module
from .dynamic_shapes import _DimHint, _DimHintType, _readable, affine_text
from .errors import UserError, UserErrorType
from .ranges import int_oo
from .recording import Program
from .shape_specs import Place, Symbol, Symbols, number_of
from .trials import MOST, SAMPLES, Numbers, Trials, extremes_of, floor_of, place_of, samples_of

__all__ = ["Samples", "settle"]

#: Sizes that one dimension is tried with, the others being the examples'.
_PROBES = (*range(2, 14), 16, 17, 23, 31, 47, 64, 113, 131, MOST)
_SHIFTS = (1, 2, 6, 12, 60)
_FACTORS = (1, 2, 3, 4, 6, 8, 16)


@dataclasses.dataclass
class Samples:
    """A module's programs for some combinations of sizes (the symbols' numbers)."""

    numbers: list[Numbers]
    programs: list[Program]

    def place_of(self, values: Sequence[Any]) -> Place | None:
        """The expression that gives a number for these combinations; None if it is one and the same, or if there is no expression."""
        return place_of(values, self.numbers)


@dataclasses.dataclass
class _Tie:
    """``symbol == factor * root + offset``."""

    symbol: str
    root: str
    factor: int
    offset: int


@dataclasses.dataclass
class _Found:
    """What was found out about the symbols.

    Attributes:
        constant: those that cannot be anything but what they are in the examples.
        ties: those that go with another one.
        bounds: the least and the largest size, where these are not the user's; None for no bound.
        steps: those that are ``rest`` more than a multiple of ``step``.
        related: those that depend on several others.
    """

    constant: list[str] = dataclasses.field(default_factory=list)
    ties: list[_Tie] = dataclasses.field(default_factory=list)
    bounds: dict[str, tuple[int, int | None]] = dataclasses.field(default_factory=dict)
    steps: dict[str, tuple[int, int]] = dataclasses.field(default_factory=dict)
    related: set[str] = dataclasses.field(default_factory=set)


def settle(module: Module, args: tuple, kwargs: dict[str, Any], symbols: Symbols, base: Program) -> Samples | None:
    """Hold the symbols against the module: those without names become what they must be.

    Args:
        base: the program for the examples.

    Returns:
        programs for several sizes; None where no size may differ, or where no common form is to be expected.

    Raises:
        UserError: a dimension cannot be what it was said to be; with torch's texts.
        ValueError: the bounds of one without a name exclude all sizes; torch's text.
    """
    trials = Trials(module, args, kwargs, symbols, base)
    found = _Found([s.name for s in symbols.table.values() if s.example < 2 and s.is_input])
    samples: list[Numbers] = []
    if not found.constant:
        samples = samples_of(symbols)
        if not symbols.table:
            return None
        if not trials.are_same([*samples, *extremes_of(symbols)]):
            found = _Diagnosis(trials).run()
    _complain(symbols, found)
    if found.constant or found.ties or found.bounds or found.steps:
        _apply(symbols, found)
        trials.shapes = list(symbols.shapes)
        samples = samples_of(symbols)
    if not symbols.table:
        return None
    if not all(map(trials.is_same, samples)):
        return None
    return Samples(samples, [program for program in map(trials.recorded, samples) if isinstance(program, Program)])


# ---------------------------------------------------------------------------------------------------------------- diagnosis
class _Diagnosis:
    """Finds what of the sizes the module's program depends on."""

    def __init__(self, trials: Trials) -> None:
        self.trials = trials
        self.table = trials.symbols.table
        self.examples = {name: symbol.example for name, symbol in self.table.items()}
        self.found = _Found()

    def run(self) -> _Found:
        dead = [name for name in self.table if not self._is_alive(name)]
        self._tie(dead)
        roots = {tie.root: [t for t in self.found.ties if t.root == tie.root] for tie in self.found.ties}
        tied = {tie.symbol for tie in self.found.ties}
        for name in self.table:
            if name in dead and name not in tied and name not in roots and name not in self.found.related:
                self.found.constant.append(name)
        for name in self.table:
            if name not in tied and name not in self.found.constant and name not in self.found.related:
                self._bound(name, roots.get(name, []))
        return self.found

    def _with(self, numbers: Numbers) -> bool:
        return self.trials.is_same({**self.examples, **numbers})

    def _is_allowed(self, name: str, size: int) -> bool:
        symbol = self.table[name]
        if symbol.kind != "Dim":  # its bounds are held against what is found
            return size >= 2
        return max(floor_of(symbol, self.trials.symbols), 2) <= size and (symbol.most is None or size <= symbol.most)

    def _is_alive(self, name: str) -> bool:
        """Whether a size may differ, the others being the examples'."""
        own = self.examples[name]
        candidates = [n for n in (own + 1, own + 2, 2 * own, own - 1, own - 2, 4 * own, 3 * own, 113, 64, 60) if self._is_allowed(name, n)]
        working = [n for n in candidates if self._with({name: n})]
        if not working:
            return not candidates
        return len(working) < 3 or self.trials.are_same([{**self.examples, name: n} for n in working[:SAMPLES]])

    # ------------------------------------------------------------------------------------------ sizes that go together
    def _tie(self, dead: Sequence[str]) -> None:
        """Find which of the sizes that cannot differ alone can differ together."""
        grouped: dict[str, tuple[str, ...]] = {}
        for count in range(2, min(len(dead), 5) + 1):
            for group in itertools.combinations(dead, count):
                if any(set(known) <= set(group) and known != group for known in grouped.values()) or not self._shifts(group):
                    continue
                if any(name in grouped for name in group):  # as in z = x + y
                    self.found.related.update(group, *[grouped[name] for name in group if name in grouped])
                grouped.update(dict.fromkeys(group, group))
        for group in dict.fromkeys(grouped.values()):
            if self.found.related.isdisjoint(group):
                root, *others = self._in_order(group)
                self.found.ties += [_Tie(name, root, 1, self.examples[name] - self.examples[root]) for name in others]
        for a, b in itertools.permutations([name for name in dead if name not in grouped], 2):
            if any(a in (tie.symbol, tie.root) and b in (tie.symbol, tie.root) or b == tie.symbol for tie in self.found.ties):
                continue
            factor = next((f for f in _FACTORS[1:] if self._moves(((a, 1), (b, f)))), None)
            if factor is not None:
                self.found.ties.append(_Tie(b, a, factor, self.examples[b] - factor * self.examples[a]))

    def _in_order(self, group: Sequence[str]) -> list[str]:
        """A group whose first is the one that the others are at least as large as."""
        return sorted(group, key=lambda name: self.examples[name])

    def _shifts(self, group: Sequence[str]) -> bool:
        return self._moves([(name, 1) for name in group])

    def _moves(self, rates: Sequence[tuple[str, int]]) -> bool:
        """Whether sizes may grow together at these rates."""
        for shift in _SHIFTS:
            for sign in (1, -1):
                sizes = {name: self.examples[name] + sign * shift * rate for name, rate in rates}
                if all(self._is_allowed(name, size) for name, size in sizes.items()) and self._with(sizes):
                    return True
        return False

    # ------------------------------------------------------------------------------------------------------------- bounds
    def _bound(self, name: str, ties: Sequence[_Tie]) -> None:
        """Find for which sizes the module does the same."""

        def numbers(size: int) -> Numbers:
            return {name: size, **{tie.symbol: tie.factor * size + tie.offset for tie in ties}}

        own = self.examples[name]
        allowed = sorted({n for n in (*_PROBES, own, own - 1, own + 1) if all(self._is_allowed(k, v) for k, v in numbers(n).items())})
        works = {n: self._with(numbers(n)) for n in allowed} | {own: True}
        near = self._near(own, [n for n in works if works[n] and n != own], numbers)

        def test(size: int) -> bool:
            given = [{**self.examples, **numbers(n)} for n in (size, *near)]
            return self._with(numbers(size)) and (len(near) < 2 or self.trials.follows(given[0], given[1:], lambda n: n.get(name, own)))

        works = {n: n == own or works[n] and test(n) for n in sorted(works)}
        if all(works.values()):
            return
        step = next((m for m in range(2, 17) if self._is_step(m, own, works)), 1)
        if step > 1:
            self.found.steps[name] = step, own % step
        close = [n for n in allowed if n % step == own % step]
        low = self._last([n for n in close if n <= own][::-1], works, test, step)
        high = self._last([n for n in close if n >= own], works, test, step)
        outside = [n for n in close if low is not None and n < low or high is not None and n > high]
        if any(works[n] for n in outside) or any(not self._with(numbers(n)) and self._is_relative(name, n) for n in outside):
            self.found.related.add(name)
        elif low is not None or high is not None:
            self.found.bounds[name] = 2 if low is None else low, high

    def _near(self, own: int, sizes: Sequence[int], numbers: Callable[[int], Numbers]) -> list[int]:
        """Two sizes next to the example's for which it is the same program, as far as that is seen."""
        above, below = [n for n in sizes if n > own][:2], [n for n in sizes if n < own][:-3:-1]
        for pair in (above, below):
            if len(pair) == 2 and self.trials.are_bound_alike([{**self.examples, **numbers(n)} for n in pair]):
                return pair
        return sorted(sizes, key=lambda n: abs(n - own))[:2]

    def _is_step(self, step: int, own: int, works: dict[int, bool]) -> bool:
        """Whether those that work are those with the example's rest; at the ends, other conditions may hold as well."""
        alike = [n for n in works if n % step == own % step]
        good = [n for n in works if works[n]]
        inner = [n for n in alike if min(good) <= n <= max(good)]
        return len(inner) > 2 and all(works[n] for n in inner) and all(n in alike for n in good)

    def _last(self, sizes: Sequence[int], works: dict[int, bool], test: Callable[[int], bool], step: int) -> int | None:
        """The last size, from the example's on, that works; None if all do."""
        good = sizes[0]
        for n in sizes:
            if not works[n]:
                while abs(n - good) > step:
                    middle = good + (n - good) // (2 * step) * step
                    if middle in (good, n):
                        break
                    good, n = (middle, n) if test(middle) else (good, middle)
                return good
            good = n
        return None

    def _is_relative(self, name: str, size: int) -> bool:
        """Whether a size that does not work does with other sizes of the others."""
        others = [k for k in self.table if k != name and k not in self.found.constant]
        return any(
            self._with({name: size, **dict.fromkeys(others, n)}) for n in (size - 1, size, size + 1, 131, 3) if others and all(self._is_allowed(k, n) for k in others)
        )


# --------------------------------------------------------------------------------------------------------------- complaints
def _complain(symbols: Symbols, found: _Found) -> None:
    """Raise for what was said otherwise."""
    table = symbols.table
    lines: list[tuple[str, str]] = []
    fixes: dict[str, list[str]] = {"constant": [], "bounds": [], "steps": [], "ties": []}
    _complain_of_hints(symbols, found)
    for name in found.constant:
        symbol = table[name]
        if symbol.kind != "AUTO":
            lines.append((symbol.label, _CONSTANT.format(symbol.label, symbol.example)))
            if symbol.kind == "Dim":
                fixes["constant"].append(f"{symbol.label} = {symbol.example}")
    for tie in found.ties:
        symbol, root = table[tie.symbol], table[tie.root]
        if symbol.kind == root.kind == "Dim":
            own, other = (f"{s.label} = {symbols.source(s.name)}" for s in (symbol, root))
            relation = affine_text(root.label, tie.factor, tie.offset)
            if (tie.factor, tie.offset) == (1, 0):
                lines.append((symbol.label, f"The values of {own} and {other} must always be equal."))
            else:
                lines.append((symbol.label, f"The values of {own} must always be related to the values of {other} by {symbol.label} = {relation}."))
            fixes["ties"].append(f"{symbol.label} = {relation}")
    for name in dict.fromkeys([*found.steps, *found.bounds]):
        if table[name].kind == "Dim" and table[name].is_input:
            _complain_of_bounds(symbols, found, table[name], lines, fixes)
    if lines:
        text = f"Constraints violated ({', '.join(dict.fromkeys(label for label, _ in lines))})!"
        text += "".join([f"\n  - {line}" for _, line in lines])
        suggested = [line for each in fixes.values() for line in each]
        if suggested:
            text += "\nSuggested fixes:" + "".join([f"\n  {line}" for line in suggested])
        raise UserError(UserErrorType.CONSTRAINT_VIOLATION, text)


_CONSTANT = (
    "You marked {} as dynamic but your code specialized it to be a constant ({}). If you're using mark_dynamic, either remove it or use "
    "maybe_mark_dynamic. If you're using Dim.DYNAMIC, replace it with either Dim.STATIC or Dim.AUTO."
)


def _complain_of_bounds(symbols: Symbols, found: _Found, symbol: Symbol, lines: list[tuple[str, str]], fixes: dict[str, list[str]]) -> None:
    source, label = symbols.source(symbol.name), symbol.label
    which = f"Not all values of {label} = {source} in the specified range {_range_text(symbol)}satisfy the generated guard"
    if symbol.name in found.steps:
        step, rest = found.steps[symbol.name]
        lines.append((label, f"{which} ({source} % {step}) == {rest}."))
        fixes["steps"] += [f"_{label} = Dim('_{label}'{'' if rest else ', min=1'}, max=oo)", f"{label} = {affine_text(f'_{label}', step, rest and rest - step)}"]
    if symbol.name in found.bounds:
        low, high = found.bounds[symbol.name]
        least, most = max(low, symbol.least), high if symbol.most is None or high is not None and high < symbol.most else symbol.most
        if least <= max(symbol.least, 2) and most == symbol.most:
            return
        lines.append((label, f"{which} {low} <= {source} and {source} <= {'IntInfinity()' if high is None else high}"))
        if symbol.name not in found.steps:
            fixes["bounds"].append(f"{label} = {_readable(label, least, int_oo if most is None else most)}")


def _range_text(symbol: Symbol) -> str:
    if symbol.most is None:
        return f"{symbol.label} >= {symbol.least} " if symbol.least > 2 else ""
    return f"{symbol.least} <= {symbol.label} <= {symbol.most} " if symbol.least > 2 else f"{symbol.label} <= {symbol.most} "


def _complain_of_hints(symbols: Symbols, found: _Found) -> None:
    """The conflicts of dimensions without names, whose texts are others."""
    conflicts = []
    for k, d, dim in symbols.places:
        shape = symbols.shapes[k]
        place = None if shape is None else shape[d]
        if not isinstance(dim, _DimHint) or not isinstance(place, Place):
            continue
        symbol, path = symbols.table[place.symbol], f"inputs{symbols.arguments[k].path}.shape[{d}]"
        if place.symbol in found.constant:
            low = high = symbol.example
            if dim.type is _DimHintType.DYNAMIC:
                if symbol.example > 1:
                    continue
                conflicts.append(
                    f"- Received user-specified dim hint Dim.DYNAMIC(min={dim.min}, max={dim.max}), but export 0/1 specialized due to hint of "
                    f"{symbol.example} for dimension {path}."
                )
                continue
        else:
            low, high = found.bounds.get(place.symbol, (2, None))  # type: ignore[assignment]
        if dim.min is not None and high is not None and dim.min > high or dim.max is not None and dim.max < low:
            conflicts.append(
                f"- Received user-specified min/max range of [{dim.min}, {dim.max}], conflicting with the inferred min/max range of "
                f"[{low}, {int_oo if high is None else high}], for {path}."
            )
    if conflicts:
        header = "Found the following conflicts between user-specified ranges and inferred ranges from model tracing:\n"
        raise ValueError(header + "\n".join(conflicts))


# ------------------------------------------------------------------------------------------------------------- what follows
def _apply(symbols: Symbols, found: _Found) -> None:
    """Have the symbols be what they must be."""
    table = symbols.table
    into: dict[str, Place | int] = {name: table[name].example for name in found.constant}
    equal: dict[str, str] = {}
    for tie in found.ties:
        symbol, root = table[tie.symbol], table[tie.root]
        into[tie.symbol] = Place(tie.root, tie.factor, tie.offset)
        least, most = Place("", tie.factor, tie.offset), symbol.most
        root.least = max(root.least, -((least.offset - symbol.least) // least.factor))
        if most is not None:
            bound = (most - tie.offset) // tie.factor
            root.most = bound if root.most is None else min(root.most, bound)
        if symbol.kind == "Dim" and root.kind != "Dim":
            root.kind, root.label = "Dim", symbol.label if (tie.factor, tie.offset) == (1, 0) else root.label
        if (tie.factor, tie.offset) == (1, 0):
            equal[tie.root] = min(equal.get(tie.root, tie.root), tie.symbol, key=number_of)
    for name, (low, high) in found.bounds.items():
        symbol = table[name]
        symbol.least = max(symbol.least, low) if low > 2 else symbol.least
        if high is not None:
            symbol.most = high if symbol.most is None else min(symbol.most, high)
    for name, (step, rest) in found.steps.items():
        table[name].step, table[name].rest = step, rest
    for k, shape in enumerate(symbols.shapes):
        if shape is not None:
            symbols.shapes[k] = tuple([_replaced(place, into, equal) if isinstance(place, Place) else place for place in shape])
    kept = {equal.get(name, name): symbol for name, symbol in table.items() if name not in into}
    for name, symbol in kept.items():
        symbol.name = name
    symbols.table = kept


def _replaced(place: Place, into: dict[str, Place | int], equal: dict[str, str]) -> Place | int:
    """A size with what its symbol became; of equal sizes, the symbol of the least number is kept."""
    new = into.get(place.symbol, Place(place.symbol))
    if isinstance(new, int):
        return place.factor * new + place.offset
    return Place(equal.get(new.symbol, new.symbol), place.factor * new.factor, place.factor * new.offset + place.offset)
