"""One program for all sizes, out of programs for some: what `archive.write` stores of a program with dynamic dimensions.

Operators bind sizes, so a module is recorded (trials.py) and traced by JAX for several combinations of sizes.  Where these traces differ, they differ in
numbers (shapes, limits of slices, a mean's divisor); each of these becomes the expression of the sizes that gives it for all combinations, and the
equations, with expressions for numbers, are bound again under ``jax.export``'s symbols.  Other differences are an error: then what is computed
depends on the sizes.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.errors import InconclusiveDimensionOperation
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from ..graph.instruction import enable_x64
from ..graph.jaxprs import called_by
from .shape_specs import Place, Symbol, sizes_of

__all__ = ["NotGeneral", "exported"]

#: The least size that a program is for: the first of these for which all that operators ask about it is known.
_LEAST = (1, 2, 3, 4, 6)


class NotGeneral(NotImplementedError):  # noqa: N818 - it reads as what is wrong
    """A module's programs for several sizes have no common form."""


# -------------------------------------------------------------------------------------------------------------- expressions
class _Expressions:
    """Finds expressions of sizes for numbers.

    Args:
        samples: the sizes of each trace, by name.
        plain: remainders are written as such, not as what is missing to a multiple.
        below: quotients are rounded after something was subtracted, not added.  `jax.export` does not see that such forms are equal.
    """

    def __init__(self, samples: Sequence[dict[str, int]], plain: bool = False, below: bool = False) -> None:
        self.plain, self.below = plain, below
        names = list(samples[0])
        self.samples = samples
        terms: list[tuple[str, ...]] = [*[(n,) for n in names], *itertools.combinations_with_replacement(names, 2), *itertools.combinations(names, 3)]
        self.terms = [(term, [int(np.prod([s[n] for n in term])) for s in samples]) for term in terms]

    def integer(self, values: Sequence[int]) -> Callable[[dict[str, Any]], Any]:
        """The expression that has these values."""
        if len(set(values)) == 1:
            return functools.partial(_always, values[0])
        for names, at in self.terms:
            for divisor in (1, 2, 3, 4, 5, 6, 8, 16, 32) if len(set(values)) == len(set(at)) else (1,):  # others would fit by chance
                found = _affine(values, at, divisor, self.below)
                if found is not None:
                    return functools.partial(_rounded, names, *found, divisor)
        remainder = self._with_remainders(values)
        if remainder is not None:
            return remainder
        for (first, a), (second, b) in itertools.combinations(self.terms, 2):
            x, y, z = _solved(a, b, values)
            if len(values) > 3 and all(x * p + y * q + z == v for p, q, v in zip(a, b, values, strict=True)):
                return functools.partial(_sum, first, x, second, y, z)
        raise NotGeneral(f"the numbers {list(values)} for the sizes {self.samples} follow no known rule")

    def _with_remainders(self, values: Sequence[int]) -> Callable[[dict[str, Any]], Any] | None:
        """An expression with the remainder of a size, up or down to a multiple; written so that `jax.export` sees what sums of it are."""
        for sign in (0,) if self.plain else (-1, 1, 0):
            for names, at in self.terms[: len(self.samples[0])]:
                for modulus, shift in [(m, r) for m in (2, 3, 4, 5, 8) for r in range(m)]:
                    remainders = [(shift - (sign or -1) * n) % modulus for n in at]
                    x, y, z = _solved(at, remainders, values)
                    if (y * sign > 0 or y and not sign) and len(set(remainders)) > 1 and all(x * p + y * q + z == v for p, q, v in zip(at, remainders, values, strict=True)):
                        return functools.partial(_remainder, names, x, y, z, modulus, shift, sign)
        return None

    def number(self, values: Sequence[Any]) -> Callable[[dict[str, Any]], Any]:
        """The same for the numbers of a program's arithmetic: a size, or one over a size."""
        dtype = np.asarray(values[0]).dtype
        if all(float(v).is_integer() for v in values):
            find = self.integer([int(v) for v in values])
            return lambda sizes: jax.numpy.asarray(find(sizes)).astype(dtype)
        for numerator in (1, 2, 3, 4):
            over = [round(numerator / float(v)) for v in values]
            if all(o and np.asarray(numerator / o, dtype) == v for o, v in zip(over, values, strict=True)):
                return functools.partial(_over, dtype, numerator, self.integer(over))
        for power in (0.5, -0.5) if all(float(v) > 0 for v in values) else ():
            of = [round(float(v) ** (1 / power)) for v in values]
            if all(n and np.asarray(n**power, dtype) == v for n, v in zip(of, values, strict=True)):
                return functools.partial(_root, dtype, power, self.integer(of))
        if all(float(v) > 1 for v in values):  # the unbiased variance's factor, n / (n - 1)
            of = [round(float(v) / (float(v) - 1)) for v in values]
            if all(n > 1 and np.asarray(n / (n - 1), dtype) == v for n, v in zip(of, values, strict=True)):
                find = self.integer(of)
                return lambda sizes: _unbiased(jax.numpy.asarray(find(sizes)).astype(np.float64)).astype(dtype)
        raise NotGeneral(f"the numbers {[float(v) for v in values]} for the sizes {self.samples} follow no known rule")

    def array(self, values: Sequence[np.ndarray]) -> Callable[[dict[str, Any]], Any]:
        """The same for arrays of constants: one number throughout, or equal steps along one dimension."""
        dtype, shape = values[0].dtype, self.any([tuple(map(int, v.shape)) for v in values])
        if any(v.size == 0 for v in values):
            raise NotGeneral("an array of constants is empty for some sizes")
        start = self.number([v.reshape(-1)[0] for v in values])
        if all((v == v.reshape(-1)[0]).all() for v in values):
            return lambda sizes: jax.numpy.broadcast_to(jax.numpy.asarray(start(sizes), dtype), shape(sizes))
        for axis in range(values[0].ndim):
            steps = [np.diff(v, axis=axis).reshape(-1) for v in values]
            if all(s.size and (s == s[0]).all() for s in steps) and all((v == np.take(v, [0], axis)).all() or _is_along(v, axis) for v in values):
                step = self.number([s[0] for s in steps])
                return functools.partial(_counted, dtype, shape, start, step, axis)
        raise NotGeneral(f"an array of constants of shapes {[v.shape for v in values]} depends on the sizes")

    def any(self, values: Sequence[Any]) -> Callable[[dict[str, Any]], Any]:
        """What a parameter of an equation is as a function of the sizes."""
        first = values[0]
        kind = type(first)
        if any(type(v) is not kind for v in values):
            raise NotGeneral(f"{kind.__name__} for one size is {[type(v).__name__ for v in values]} for others")
        if kind is int:
            return self.integer(values)
        if kind in (tuple, list) and not all(_is_equal(v, first) for v in values):
            if len({len(v) for v in values}) != 1:
                raise NotGeneral("there are more numbers for some sizes than for others")
            parts = [self.any(part) for part in zip(*values, strict=True)]
            return lambda sizes: kind([part(sizes) for part in parts])
        if all(_is_equal(v, first) for v in values) or isinstance(first, (Jaxpr, ClosedJaxpr)) and len(set(map(str, values))) == 1:
            return lambda sizes: first
        if dataclasses.is_dataclass(first) or isinstance(first, tuple):
            names = [f.name for f in dataclasses.fields(first)] if dataclasses.is_dataclass(first) else list(getattr(first, "_fields", ()))
            fields = {name: self.any([getattr(v, name) for v in values]) for name in names}
            return lambda sizes: kind(**{name: field(sizes) for name, field in fields.items()})
        raise NotGeneral(f"a {kind.__name__} differs between sizes")


def _is_along(array: np.ndarray, axis: int) -> bool:
    """Whether an array changes along one dimension only."""
    return all((array == np.take(array, [0], other)).all() for other in range(array.ndim) if other != axis)


def _unbiased(count: Any) -> Any:
    return count / (count - 1)


def _is_equal(a: Any, b: Any) -> bool:
    try:
        return a is b or bool(np.all(a == b))
    except (TypeError, ValueError):
        return False


def _affine(values: Sequence[int], at: Sequence[int], divisor: int, below: bool) -> tuple[int, int, int] | None:
    """``factor, before, after`` with ``value == (factor * at + before) // divisor + after`` for all."""
    k = max(range(len(at)), key=lambda k: abs(at[k] - at[0]))
    if at[k] == at[0]:
        return None
    slope = (values[k] - values[0]) / (at[k] - at[0])
    for factor in {round(slope * divisor)} - {0}:
        for before in range(0, -divisor, -1) if below else range(divisor):
            after = values[0] - (factor * at[0] + before) // divisor
            if all((factor * a + before) // divisor + after == v for a, v in zip(at, values, strict=True)):
                return factor, before, after
    return None


def _solved(a: Sequence[int], b: Sequence[int], values: Sequence[int]) -> tuple[int, ...]:
    """``x, y, z`` with ``x * a + y * b + z`` next to the values."""
    solution = np.linalg.lstsq(np.array([a, b, [1] * len(values)], float).T, np.array(values, float), rcond=None)[0]
    return tuple([round(float(c)) for c in solution])


def _remainder(names: Sequence[str], x: int, y: int, z: int, modulus: int, shift: int, sign: int, sizes: dict[str, Any]) -> Any:
    size = _product(sizes, names)
    if sign == 0:
        return x * size + y * ((size + shift) % modulus) + z
    whole = modulus * ((size + shift) // modulus) if sign < 0 else modulus * ((size - shift + modulus - 1) // modulus)
    rest = size + shift - whole if sign < 0 else whole - size + shift
    return x * size + y * rest + z


def _always(value: Any, sizes: dict[str, Any]) -> Any:
    return value


def _rounded(names: Sequence[str], factor: int, before: int, after: int, divisor: int, sizes: dict[str, Any]) -> Any:
    value = factor * _product(sizes, names) + before
    return (value if divisor == 1 else value // divisor) + after


def _sum(first: Sequence[str], x: int, second: Sequence[str], y: int, z: int, sizes: dict[str, Any]) -> Any:
    return x * _product(sizes, first) + y * _product(sizes, second) + z


def _over(dtype: Any, numerator: int, find: Callable[[dict[str, Any]], Any], sizes: dict[str, Any]) -> Any:
    return (numerator / jax.numpy.asarray(find(sizes)).astype(np.float64)).astype(dtype)


def _root(dtype: Any, power: float, find: Callable[[dict[str, Any]], Any], sizes: dict[str, Any]) -> Any:
    return (jax.numpy.asarray(find(sizes)).astype(np.float64) ** power).astype(dtype)


def _counted(dtype: Any, shape: Callable, start: Callable, step: Callable, axis: int, sizes: dict[str, Any]) -> Any:
    return jax.numpy.asarray(start(sizes) + step(sizes) * lax.broadcasted_iota(dtype, shape(sizes), axis), dtype)


def _product(sizes: dict[str, Any], names: Sequence[str]) -> Any:
    found = 1
    for name in names:
        found = sizes[name] * found
    return found


# ----------------------------------------------------------------------------------------------------------------- programs
Run = Callable[[dict[str, Any], Sequence[Any]], list[Any]]


def _function(traces: Sequence[Any], expressions: _Expressions) -> Run:
    """The function of sizes and arrays that closed jaxprs are for certain sizes.

    Args:
        traces: of the same function, one for each combination of sizes.

    Raises:
        NotGeneral: they differ in more than numbers.
    """
    jaxprs = [trace.jaxpr for trace in traces]
    first = jaxprs[0]
    if len({len(j.eqns) for j in jaxprs}) != 1 or len({len(j.constvars) for j in jaxprs}) != 1:
        raise NotGeneral(f"there are {sorted({len(j.eqns) for j in jaxprs})} operations, depending on the sizes")
    constants = [_constant(values, expressions) for values in zip(*[trace.consts for trace in traces], strict=True)]
    numbers = [{v: k for k, v in enumerate(_variables(j))} for j in jaxprs]

    def atom(atoms: Sequence[Any]) -> Callable[[dict[str, Any], dict[int, Any]], Any]:
        if any(isinstance(a, Literal) for a in atoms):
            if not all(isinstance(a, Literal) for a in atoms):
                raise NotGeneral("a number for one size is computed for another")
            values = [a.val for a in atoms]
            if all(_is_equal(v, values[0]) for v in values):
                return lambda sizes, environment: values[0]
            find = expressions.number(values)
            return lambda sizes, environment: find(sizes)
        places = {known[a] for known, a in zip(numbers, atoms, strict=True)}
        if len(places) != 1:
            raise NotGeneral("operations are connected differently for other sizes")
        (place,) = places
        return lambda sizes, environment: environment[place]

    steps = []
    for equations in zip(*[j.eqns for j in jaxprs], strict=True):
        operands = [atom(atoms) for atoms in zip(*[e.invars for e in equations], strict=True)]
        steps.append((operands, _operation(equations, expressions), [numbers[0][v] for v in equations[0].outvars]))
    results = [atom(atoms) for atoms in zip(*[j.outvars for j in jaxprs], strict=True)]
    inputs, held = [numbers[0][v] for v in first.invars], [numbers[0][v] for v in first.constvars]

    def run(sizes: dict[str, Any], arguments: Sequence[Any]) -> list[Any]:
        environment = dict(zip(held, [constant(sizes) for constant in constants], strict=True)) | dict(zip(inputs, arguments, strict=True))
        for operands, operation, places in steps:
            environment.update(zip(places, operation(sizes, [operand(sizes, environment) for operand in operands]), strict=True))
        return [result(sizes, environment) for result in results]

    return run


def _variables(jaxpr: Any) -> Iterator[Any]:
    yield from jaxpr.constvars
    yield from jaxpr.invars
    for equation in jaxpr.eqns:
        yield from equation.outvars


def _constant(values: Sequence[Any], expressions: _Expressions) -> Callable[[dict[str, Any]], Any]:
    arrays = [np.asarray(v) for v in values]
    if all(a.shape == arrays[0].shape and np.array_equal(a, arrays[0]) for a in arrays):
        return lambda sizes: values[0]
    return expressions.number(arrays) if all(a.ndim == 0 for a in arrays) else expressions.array(arrays)


def _operation(equations: Sequence[Any], expressions: _Expressions) -> Run:
    """What an equation does."""
    primitive, params = equations[0].primitive, [e.params for e in equations]
    if len({e.primitive.name for e in equations}) != 1:
        raise NotGeneral(f"{' or '.join(sorted({e.primitive.name for e in equations}))} is computed, depending on the sizes")
    name = primitive.name
    called = [called for e in equations if (called := called_by(e)) is not None]
    if called:
        return _function(called, expressions)
    if name == "scan":
        return _scan(params, expressions)
    if name == "while":
        return _while(params, expressions)
    if name == "cond":
        return _condition(params, expressions)
    found = {key: expressions.any([p[key] for p in params]) for key in params[0]}

    def run(sizes: dict[str, Any], given: Sequence[Any]) -> list[Any]:
        made = primitive.bind(*given, **{key: find(sizes) for key, find in found.items()})
        return list(made) if primitive.multiple_results else [made]

    return run


def _condition(params: Sequence[dict[str, Any]], expressions: _Expressions) -> Run:
    """A condition; where a platform's own way differs between sizes, or is not seen to have the same results, the one for all platforms stands for it."""
    parts = [list(map(_closed, each)) for each in zip(*[p["branches"] for p in params], strict=True)]
    platforms = params[0].get("branches_platforms") or ()
    common = _function(parts[platforms.index(None)], expressions) if None in platforms else None

    def own(each: list[Any]) -> Run:
        try:
            return _function(each, expressions)
        except NotGeneral:
            if common is None:
                raise
            return common

    branches = [own(each) for each in parts]

    def run(sizes: dict[str, Any], given: Sequence[Any]) -> list[Any]:
        try:
            return list(lax.switch(given[0], [lambda *a, b=b: b(sizes, a) for b in branches], *given[1:]))  # type: ignore[misc]
        except TypeError:
            if common is None:
                raise
            return common(sizes, given[1:])

    return run


def _closed(jaxpr: Any) -> Any:
    return jaxpr if hasattr(jaxpr, "consts") else ClosedJaxpr(jaxpr, ())


def _scan(params: Sequence[dict[str, Any]], expressions: _Expressions) -> Run:
    body, length = _function([p["jaxpr"] for p in params], expressions), expressions.integer([p["length"] for p in params])
    constants, carried, first = params[0]["num_consts"], params[0]["num_carry"], params[0]

    def run(sizes: dict[str, Any], given: Sequence[Any]) -> list[Any]:
        def step(carry: Any, x: Any) -> tuple[Any, Any]:
            made = body(sizes, [*given[:constants], *carry, *(x if scanned else ())])
            return made[:carried], made[carried:]

        # `lax.scan` takes a length that is a symbol only from what it scans
        scanned = list(given[constants + carried :])
        over: Any = scanned or lax.broadcasted_iota(np.int32, (length(sizes),), 0)
        carry, made = lax.scan(step, list(given[constants : constants + carried]), over, reverse=first["reverse"], unroll=first["unroll"])
        return [*carry, *made]

    return run


def _while(params: Sequence[dict[str, Any]], expressions: _Expressions) -> Run:
    condition, body = (_function([p[key] for p in params], expressions) for key in ("cond_jaxpr", "body_jaxpr"))
    first, second = params[0]["cond_nconsts"], params[0]["cond_nconsts"] + params[0]["body_nconsts"]

    def run(sizes: dict[str, Any], given: Sequence[Any]) -> list[Any]:
        of_condition, of_body, start = given[:first], given[first:second], list(given[second:])
        return list(lax.while_loop(lambda c: condition(sizes, [*of_condition, *c])[0], lambda c: body(sizes, [*of_body, *c]), start))

    return run


# -------------------------------------------------------------------------------------------------------------- derivatives
def exported(builds: Sequence[Callable[[bool], Callable]], shapes: Sequence[Sequence[Any]], symbols: Sequence[Symbol], samples: Sequence[dict[str, int]],
             named: Sequence[Any], made: Mapping[int, Sequence[np.ndarray]], platforms: Sequence[str]) -> tuple[bytes, list[Symbol]]:  # fmt: skip
    """A program and its first derivative for all sizes, as `jax.export` writes it, and the symbols with the bounds that it has.

    Args:
        builds: for each combination of sizes ``build(rules)`` -> the function of arrays (`RegionInstruction`).
        shapes: for each the shapes and dtypes of its arguments.
        named: the arguments' shapes with symbols in them, and dtypes.
        made: arguments that are constants which depend on the sizes; they are made in the program: number -> the constant for each combination.

    Raises:
        NotGeneral: with the dimensions' names.
    """
    labels = ", ".join(s.label for s in symbols)
    floating = [k for k, s in enumerate(shapes[0]) if np.issubdtype(s.dtype, np.inexact) or s.dtype.name == "bfloat16"]
    inputs = [each for k, each in enumerate(named) if k not in made]
    with enable_x64(True):
        forward = [jax.make_jaxpr(build(False), return_shape=True)(*given) for build, given in zip(builds, shapes, strict=True)]
        results = [k for k, s in enumerate(forward[0][1]) if np.issubdtype(s.dtype, np.inexact) or s.dtype.name == "bfloat16"]
        gradients = [jax.make_jaxpr(_backward(build(True), floating, results))(given, [out[k] for k in results])
                     for build, given, (_, out) in zip(builds, shapes, forward, strict=True)]  # fmt: skip
        for plain, below in ((False, False), (False, True), (True, False)):
            expressions = _Expressions(samples, plain, below)
            try:
                run, backward = _function([jaxpr for jaxpr, _ in forward], expressions), _function(gradients, expressions)
                constants = {k: _constant(arrays, expressions) for k, arrays in made.items()}
            except NotGeneral as error:
                raise NotGeneral(f"export.save: no program for all sizes of {labels} was found: {error}") from error
            floors = dict.fromkeys([s.name for s in symbols], 0)
            while True:
                of_name = _dimensions(symbols, floors)
                arguments = [jax.ShapeDtypeStruct(sizes_of(shape, of_name), dtype) for shape, dtype in inputs]
                function = _with_derivative(run, backward, of_name, constants, len(named), floating, results)
                try:
                    return _written(function, arguments, platforms), [_from(symbol, floors[symbol.name]) for symbol in symbols]
                except Exception as error:  # shapes are not seen to be equal, or an operator has no form for symbols
                    failed = error
                asked = re.findall(r"\w+", str(failed).partition("is inconclusive")[0]) if isinstance(failed, InconclusiveDimensionOperation) else ()
                higher = [name for name in floors if name in asked and floors[name] + 1 < len(_LEAST)]
                if not higher:
                    break
                floors.update({name: floors[name] + 1 for name in higher})
        raise NotGeneral(f"export.save: no program for all sizes of {labels} can be written: {failed}") from failed


def _with_derivative(run: Run, backward: Run, of_name: dict[str, Any], constants: Mapping[int, Callable[[dict[str, Any]], Any]], count: int,
                     floating: Sequence[int], results: Sequence[int]) -> Callable[..., tuple[Any, ...]]:  # fmt: skip
    """The function of the arrays that are not made in the program, out of `count`, with its gradient."""

    def complete(arrays: Sequence[Any]) -> list[Any]:
        rest = iter(arrays)
        return [constants[k](of_name) if k in constants else next(rest) for k in range(count)]

    @jax.custom_vjp
    def function(*arrays: Any) -> tuple[Any, ...]:
        return tuple(run(of_name, complete(arrays)))

    def save(*arrays: Any) -> tuple[Any, Any]:
        return function(*arrays), arrays

    def pull(arrays: Any, cotangents: Any) -> tuple[Any, ...]:
        found = dict(zip(floating, backward(of_name, [*complete(arrays), *[cotangents[k] for k in results]]), strict=True))
        return tuple([found.get(k) for k in range(count) if k not in constants])

    function.defvjp(save, pull)
    return function


def _written(function: Callable, arguments: Sequence[Any], platforms: Sequence[str]) -> bytes:
    try:
        program = jax.export.export(jax.jit(function), platforms=platforms)(*arguments)
        return bytes(program.serialize(vjp_order=1))
    except InconclusiveDimensionOperation:
        raise
    except Exception:  # some operators are library calls of one platform
        return bytes(jax.export.export(jax.jit(function))(*arguments).serialize(vjp_order=1))


def _from(symbol: Symbol, floor: int) -> Symbol:
    """A symbol with the bound that it was written with."""
    bound = symbol.step * _LEAST[floor] + symbol.rest
    return symbol if not floor or bound <= symbol.least else dataclasses.replace(symbol, least=bound, kind="Dim")


def _dimensions(symbols: Sequence[Symbol], floors: Mapping[str, int]) -> dict[str, Any]:
    """What ``jax.export`` has for the symbols, from certain ones of the least sizes on."""
    constraints = []
    for s in symbols:
        constraints.append(f"{s.name} >= {max(-((s.rest - s.least) // s.step), _LEAST[floors[s.name]])}")
        constraints += [f"{s.name} <= {(s.most - s.rest) // s.step}"] if s.most is not None else []
    made = jax.export.symbolic_shape(",".join(s.name for s in symbols), scope=jax.export.SymbolicScope(constraints))
    return {s.name: Place(s.name, s.step, s.rest).of({s.name: dimension}) for s, dimension in zip(symbols, made, strict=True)}


def _backward(function: Callable, floating: Sequence[int], results: Sequence[int]) -> Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]:
    """The gradients of the floating arguments, of the arguments and the floating results' gradients."""

    def run(arrays: Sequence[Any], cotangents: Sequence[Any]) -> Sequence[Any]:
        def part(*given: Any) -> list[Any]:
            everything = list(arrays)
            for k, each in zip(floating, given, strict=True):
                everything[k] = each
            made = function(*everything)
            return [made[k] for k in results]

        _, pull = jax.vjp(part, *[arrays[k] for k in floating])
        return pull(list(cotangents))

    return run
