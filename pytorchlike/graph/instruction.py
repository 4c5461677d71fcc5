"""`Instruction`: one thing a trace can do, a pure function of arrays with everything static bound."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import jax
import numpy as np

from ..core import dtype as dtypes
from ..core.device import CPU, META, device
from ..core.state import thread
from .data_checks import DataCheck, HostCheck, verdict
from .fingerprint import Unknown, digest, remembered
from .generic import Bound, family_of
from .interpreter import NotInterpretable, Prepared, Sizes, prepare
from .store import shapes
from .value import Aval, aval_of

__all__ = ["Inference", "Instruction", "Traced", "enable_x64"]

#: int64 and float64 exist as in torch, yet only around our own calls: the user's JAX code keeps its setting.
enable_x64 = jax.enable_x64

FLOAT_SCALAR = jax.ShapeDtypeStruct((), np.dtype(np.float64))
INT_SCALAR = jax.ShapeDtypeStruct((), np.dtype(np.int64))

class Traced:
    """An instruction's function as a program, for inputs of certain sizes and dtypes.

    Args:
        outputs: shape and dtype of each result.
        make: traces it; called when the jaxpr is asked for.
        sizes: a program for all sizes and the numbers for this one, where there is one.
        prepared: the program as numpy calls, where they are known without a jaxpr.
    """

    __slots__ = ("outputs", "sizes", "_make", "_closed", "_prepared")

    def __init__(self, outputs: Sequence[Any], make: Callable[[], Any], sizes: Sizes | None = None, prepared: Prepared | None = None) -> None:
        self.outputs, self.sizes = outputs, sizes
        self._make = make
        self._closed: Any = None
        self._prepared: Any = prepared or ()

    @property
    def jaxpr(self) -> Any:
        """The jaxpr of the results and of the verdicts of the data checks."""
        return self._traced().jaxpr

    @property
    def consts(self) -> Sequence[Any]:
        """The constants of the jaxpr."""
        return self._traced().consts

    def _traced(self) -> Any:
        if self._closed is None:
            self._closed = self._make()
        return self._closed

    @property
    def prepared(self) -> Prepared | None:
        """The program as numpy calls; None when only XLA can run it."""
        if self._prepared == ():
            try:
                if self.sizes is None:
                    self._prepared = prepare(self.jaxpr, self.consts)
                else:
                    self._prepared = prepare(self.sizes.program.jaxpr, self.sizes.program.consts, self.sizes)
            except NotInterpretable:
                self._prepared = None
        return self._prepared


class _TracedLater(Traced):
    """A program whose results' shapes and dtypes are known from the disk: it is traced when somebody asks for more.

    Args:
        trace: what makes the program itself.
    """

    __slots__ = ("_found",)

    def __init__(self, outputs: Sequence[Any], trace: Callable[[], Traced]) -> None:
        super().__init__(outputs, trace)
        self._found: Traced | None = None

    def _now(self) -> Traced:
        if self._found is None:
            self._found = self._make()
        return self._found

    def _traced(self) -> Any:
        return self._now()._traced()

    @property
    def prepared(self) -> Prepared | None:
        return self._now().prepared


class Inference:
    """What shape inference found for one combination of inputs: output avals, and the program (None: the maker's `evaluate` does without)."""

    __slots__ = ("outputs", "traced")

    def __init__(self, outputs: tuple[Aval, ...], traced: Traced | None) -> None:
        self.outputs = outputs
        self.traced = traced

    def evaluate(self, arguments: Sequence[Any]) -> list[Any]:
        """Bind the program's equations again: inlined into whatever is being traced, or run at once on arrays."""
        assert self.traced is not None
        return jax.core.eval_jaxpr(self.traced.jaxpr, self.traced.consts, *arguments)

    @property
    def prepared(self) -> Prepared | None:
        """The program as numpy calls; None when only XLA can run it."""
        return None if self.traced is None else self.traced.prepared


#: How many traced programs are kept for instructions that are recorded anew, beside those that traces have.
MOST_TRACED = 8_000

_traced: deque[tuple[Instruction, tuple]] = deque()


def _remember(instruction: Instruction, key: tuple) -> None:
    """Note that an instruction has been traced, and forget what was traced long ago."""
    _traced.append((instruction, key))
    if len(_traced) > MOST_TRACED:
        oldest, sizes = _traced.popleft()
        oldest._traced.pop(sizes, None)
        oldest._inferred.clear()


class Instruction:
    """A pure function of arrays, then of Python floats, then of Python ints; interned by its maker, hashed by identity.

    Attributes:
        name: the operator's name, for messages and profiles.
        function: ``function(*arrays, *floats, *ints)`` -> array or tuple of arrays; the scalars are 0-d float64 / int64 arrays.
        float_count, int_count: how many scalars it takes from the trace.
        data_checks: errors that depend on data; ``at_once`` when one of them is.
        target: the device of the results when there are no inputs.
        bound: the avals that the function was made for, if it was.
    """

    __slots__ = ("name", "function", "float_count", "int_count", "data_checks", "at_once", "target", "bound", "_inferred", "_traced", "_fingerprint")

    def __init__(self, name: str, function: Callable, float_count: int = 0, int_count: int = 0,
                 data_checks: Sequence[DataCheck] = (), target: device = CPU, bound: Bound | None = None) -> None:  # fmt: skip
        self.name = name
        self.function = function
        self.float_count = float_count
        self.int_count = int_count
        self.data_checks = tuple(data_checks)
        self.at_once = any(check.at_once for check in data_checks)
        self.target = target
        self.bound = bound
        self._inferred: dict[tuple[Aval, ...], Inference] = {}
        self._traced: dict[tuple, Traced] = {}
        self._fingerprint: bytes | Unknown | None = None

    #: Whether it is a whole call that somebody wants to be one program: that is kept on the disk under its fingerprint (graph/store.py).
    is_whole = False

    @property
    def family(self) -> Hashable:
        """What it has in common with the instructions that come in its place when sizes change."""
        return self.name

    # ------------------------------------------------------------------ what makers of instructions override
    def check(self, avals: tuple[Aval, ...]) -> None:
        """Raise torch's error when the inputs' shapes or dtypes do not fit."""

    def strides(self, avals: tuple[Aval, ...], shapes: list[tuple[int, ...]]) -> Sequence[tuple[int, ...] | None]:
        """The strides torch would give each result; None is contiguous."""
        return [None] * len(shapes)

    def host_checks(self, avals: tuple[Aval, ...]) -> Sequence[HostCheck]:
        """Those of the data checks that can be made with numpy, for inputs of these avals."""
        return ()

    def derivative(self, needed: tuple[bool, ...], inputs: tuple[Aval, ...], outputs: tuple[Aval, ...]) -> Any:
        """How the tape differentiates this instruction (a `tensors.tape.Backward`) for the inputs that need it.

        Raises:
            NotImplementedError: the maker of the instruction gave it no derivative.
        """
        raise NotImplementedError(f"the derivative of {self.name} is not implemented")

    def identity(self) -> Any:
        """What the results depend on beside the inputs, of things that `fingerprint.described` tells."""
        checks = [(check.predicate, check.numbers) for check in self.data_checks]
        return self.float_count, self.int_count, checks, *((self.bound.family, self.bound.avals) if self.bound is not None else (self.function, self.target))

    @remembered
    def fingerprint(self) -> Any:
        """A digest of what it computes, the same in every process.

        Raises:
            Unknown: it has none.
        """
        return self.identity()

    # ------------------------------------------------------------------ inference
    def infer(self, avals: tuple[Aval, ...]) -> Inference:
        """Output avals for these inputs, after all checks; remembered.

        Raises:
            What `check` raises; RuntimeError for inputs on different devices.
        """
        found = self._inferred.get(avals)
        if found is None:
            self.check(avals)
            found = self._inferred[avals] = self._infer(avals)
        return found

    def _infer(self, avals: tuple[Aval, ...]) -> Inference:
        key = tuple((a.size, a.dtype) for a in avals)
        traced = self._traced.get(key)
        if traced is None:
            traced = self._traced[key] = self._trace(avals) if thread.state.capture is None else self._kept(avals)
            _remember(self, key)
        target = self._device(avals)
        strides = self.strides(avals, [o.shape for o in traced.outputs])
        results = tuple(
            aval_of(o.shape, dtypes.from_numpy(o.dtype), target, stride) for o, stride in zip(traced.outputs, strides, strict=True)
        )
        return Inference(results, traced)

    def _kept(self, avals: tuple[Aval, ...]) -> Traced:
        """The program for these inputs in a call that is compiled as a whole: where that is on the disk, the results' shapes are all that is needed."""
        try:
            key = digest(self.fingerprint(), [(tuple(a.size), a.dtype) for a in avals])
        except Unknown:
            return self._trace(avals)
        outputs = shapes.find(key)
        if outputs is not None:
            return _TracedLater(outputs, functools.partial(self._trace, avals))
        traced = self._trace(avals)
        shapes.note(key, traced.outputs)
        return traced

    def _trace(self, avals: tuple[Aval, ...]) -> Traced:
        """The program for these inputs: one for all sizes, if this instruction has been seen with several."""
        bound = self.bound
        if avals or bound is not None:
            count = 0 if bound is None else len(bound.avals)

            def trace_symbolic(symbolic: list[Any]) -> tuple[Any, Any]:
                function = self.function if bound is None else bound.make(symbolic[:count])
                return self._jaxpr(functools.partial(self.call, function=function), symbolic[count:])

            found = family_of(self, avals).find(avals if bound is None else (*bound.avals, *avals), trace_symbolic)
            if found is not None:
                sizes, outputs = found
                return Traced(outputs, lambda: self._jaxpr(self.call, avals)[0], sizes)
        closed, outputs = self._jaxpr(self.call, avals)
        return Traced(outputs, lambda: closed)

    def _jaxpr(self, call: Callable, avals: Sequence[Any]) -> tuple[Any, Any]:
        """A function of arrays and this instruction's numbers as a closed jaxpr, and its results' shapes and dtypes."""
        scalars = [FLOAT_SCALAR] * self.float_count + [INT_SCALAR] * self.int_count
        with enable_x64(True):
            closed, (outputs, _verdicts) = jax.make_jaxpr(call, return_shape=True)(*[a.shape_dtype for a in avals], *scalars)
        return closed, outputs

    def _device(self, avals: tuple[Aval, ...]) -> device:
        """The device of the results: the inputs' own.

        Raises:
            RuntimeError: inputs on different devices, torch's text.
        """
        if not avals:
            return self.target
        found = avals[0].device
        for aval in avals:
            if aval.device != found:
                if META in (aval.device, found):
                    return META
                raise RuntimeError(
                    f"Expected all tensors to be on the same device, but found at least two devices, {found} and {aval.device}! "
                    f"(when checking arguments of {self.name})"
                )
        return found

    def call(self, *arrays: Any, function: Callable | None = None) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Run the function (or another one in its place) and the data checks: (results, verdicts)."""
        results = (function or self.function)(*arrays)
        results = tuple(results) if isinstance(results, (tuple, list)) else (results,)
        return results, tuple(verdict(check, check.predicate(*arrays)) for check in self.data_checks)

    def __repr__(self) -> str:
        return f"<instruction {self.name}>"
