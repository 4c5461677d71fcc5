"""`Compiled`: a function with its captured calls.  A call whose guards hold is replayed; another one runs, and is captured if it can be."""

from __future__ import annotations

import itertools
import logging
import threading
import types
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

from ..core.state import thread
from ..dispatch import autocast
from ..graph.recorder import step_boundary
from ..graph.store import shapes
from ..nn.modules import calls
from ..nn.modules.module import Module
from ..tensors.tensor import Tensor
from . import settings
from .capture import Break, Capture
from .following import Following
from .guards import ambient
from .logs import log
from .replay import Replay, Unreplayable
from .sizes import Sizes, shapes_of
from .structure import containers_of, flatten
from .values import MISSING, copied
from .watch import Watch

__all__ = ["BackendCompilerFailed", "Compiled", "FailOnRecompileLimitHit", "RecompileError", "Unsupported", "all_compiled"]

_warnings = logging.getLogger("torch._dynamo.convert_frame")

_numbers = itertools.count(1)
_capturing = threading.Lock()

#: A number that could not be followed so often is compared from then on.
_MOST_FAILURES = 2

#: Every compiled function that is alive, for `compiler.reset`.
all_compiled: weakref.WeakSet[Any] = weakref.WeakSet()


def _gives(known: list[Any], args: tuple, kwargs: dict[str, Any]) -> bool:
    """Put the lists and dictionaries among the arguments behind what a replay is given; False: one is there twice."""
    given = containers_of(args, kwargs)
    known += given
    return len(set(map(id, given))) == len(given)


class Unsupported(RuntimeError):  # noqa: N818 - torch's name
    """A call with ``fullgraph=True`` that cannot be captured as one graph."""

    __module__ = "torch._dynamo.exc"


class BackendCompilerFailed(Unsupported):
    """A backend that is a function raised an error."""

    __module__ = "torch._dynamo.exc"


class FailOnRecompileLimitHit(Exception):  # noqa: N818 - torch's name
    """A function with ``fullgraph=True`` would have to be captured more often than ``config.recompile_limit`` says."""

    __module__ = "torch._dynamo.exc"


class RecompileError(Exception):
    """A function would be captured again though ``config.error_on_recompile`` is set."""

    __module__ = "torch._dynamo.exc"


class Compiled:
    """A compiled function.

    Args:
        function: what is compiled.
        target: the object that guards refer to: the function, or the module whose forward it is.
        fullgraph: raise where a call cannot be captured.
        name: for messages and profiles.
        limit: how many captured calls it may have for the same dynamic sizes; None: the setting's.
        dynamic: which sizes are; see `Sizes`.
        backend: ``backend(graph, inputs)`` -> what replays run; None: XLA.

    Attributes:
        number: one of its own.
        replays: captured calls, the one that was used last in front.
        breaks: why calls could not be captured.
        misses: for each call that no captured one fitted: what differed from the last used one.
        calls, captures: how many calls, how many of them were captured.
    """

    def __init__(self, function: Callable, target: Any, fullgraph: bool, name: str, limit: int | None = None,
                 dynamic: bool | None = None, backend: Callable[..., Any] | None = None) -> None:  # fmt: skip
        self.function, self.target, self.fullgraph, self.name = function, target, fullgraph, name
        self.limit, self.backend = limit, backend
        self.number = next(_numbers)
        self.sizes = Sizes(dynamic)
        self.replays: list[Replay] = []
        self.breaks: list[Break] = []
        self.misses: list[str] = []
        self.floating: set[tuple] = set()
        self.counting: set[tuple] = set()  # places of numbers that were seen to change
        self.unfollowed: Counter[tuple] = Counter()  # how often each of them could not be followed
        self.calls = self.captures = self.failures = 0
        self.gave_up = self.has_warned = False
        all_compiled.add(self)

    @property
    def most(self) -> int:
        """How many captured calls it may have."""
        return settings.config.cache_size_limit if self.limit is None else self.limit

    def reset(self) -> None:
        """Forget the captured calls."""
        self.replays.clear()
        self.breaks.clear()
        self.misses.clear()
        self.floating.clear()
        self.counting.clear()
        self.unfollowed.clear()
        self.calls = self.captures = self.failures = 0
        self.sizes.varying.clear()
        self.gave_up = self.has_warned = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.replays and (steady := self.replays[0].steady) is not None:
            result = steady(args, kwargs)
            if result is not MISSING:
                self.calls += 1
                return result
        state = thread.state
        if state.immediate or state.capture is not None or settings.stance != "default":
            return self._otherwise(args, kwargs)
        self.calls += 1
        leaves: list[Any] = []
        structure = flatten((args, kwargs), leaves)
        failed = None
        for k, replay in enumerate(self.replays):
            known = replay.guards.check(structure, leaves)
            if known.__class__ is list:
                if replay.takes_containers and not _gives(known, args, kwargs):
                    break
                if k:
                    self.replays.insert(0, self.replays.pop(k))
                return replay(known)
            if failed is None:
                failed = known
        if self.gave_up:
            return self.function(*args, **kwargs)
        if failed is not None:
            self._missed(self.replays[0], failed)
        shapes = shapes_of(leaves)
        if self.replays:
            self.sizes.observe(leaves, shapes, self.replays[0].shapes)
            limit = self._limit_hit(shapes)
            if limit is not None:
                return self._past_the_limit(limit, args, kwargs)
        return self._capture(args, kwargs, structure, leaves)

    def _limit_hit(self, shapes: tuple) -> tuple[str, int] | None:
        """The limit that one more captured call would exceed."""
        alike = sum(self.sizes.are_alike(shapes, replay.shapes) for replay in self.replays)
        if alike >= self.most:
            return "recompile_limit", self.most
        most = settings.config.accumulated_recompile_limit
        return ("accumulated_recompile_limit", most) if len(self.replays) >= most else None

    def _otherwise(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Run where nothing is captured: inside JAX's transformations, inside another compiled function, or by `set_stance`."""
        if settings.stance in ("fail_on_recompile", "eager_on_recompile") and not thread.state.immediate and thread.state.capture is None:
            leaves: list[Any] = []
            structure = flatten((args, kwargs), leaves)
            for replay in self.replays:
                known = replay.guards.check(structure, leaves)
                if known.__class__ is list and (not replay.takes_containers or _gives(known, args, kwargs)):
                    return replay(known)
            if settings.stance == "fail_on_recompile":
                raise RuntimeError("Detected recompile when torch.compile stance is 'fail_on_recompile'")
        return self.function(*args, **kwargs)

    # ----------------------------------------------------------------------------------------------------------- capturing
    def _capture(self, args: tuple, kwargs: dict[str, Any], structure: Any, leaves: list[Any]) -> Any:
        if not _capturing.acquire(blocking=False):  # another thread captures a call, and watches what all threads use
            return self.function(*args, **kwargs)
        try:
            return self._capture_alone(args, kwargs, structure, leaves)
        finally:
            _capturing.release()

    def _capture_alone(self, args: tuple, kwargs: dict[str, Any], structure: Any, leaves: list[Any]) -> Any:
        ambience = ambient()
        shapes.open()
        capture = Capture()
        if self.sizes.dynamic:
            self.counting |= {("argument", k) for k, leaf in enumerate(leaves) if type(leaf) in (int, float)}
        places = {place for place in self.counting if self.unfollowed[place] < _MOST_FAILURES}
        watch = capture.watch = Watch(capture, self.floating, places, self.backend is None)
        state, casts = thread.state, autocast.settings.casts
        state.capture = capture
        autocast.settings.casts = {}  # an autocast context outside would keep the casts that the call makes
        try:
            for k, leaf in enumerate(leaves):
                if isinstance(leaf, Tensor):
                    watch.find(leaf, False, f"argument {k}")
                else:
                    watch.look_into(leaf, f"argument {k}")
            given = [(container, copied(container)) for container in containers_of(args, kwargs)]
            with watch.following as following:
                self._roots(watch)
                for mode in state.modes:
                    watch.look_into(mode, "a mode")
                args, kwargs = self._follow(following, args, kwargs)
                with watch:
                    result = self.function(*args, **kwargs)
        finally:
            watch.restore()
            state.capture = None
            autocast.settings.casts = casts
            capture.end()
            shapes.save()
        self.captures += 1
        if ambient() != ambience:
            capture.give_up("a mode is not what it was before the call")
        if capture.broken is None:
            try:
                following.confirm(watch.notes)
                self.unfollowed.update(places - following.numbers.keys())
                replay = Replay(self.name, self.number, capture, watch, leaves, structure, result, ambience, given)
                replay.take_over(self.backend)
                replay.shapes = shapes_of(leaves)
                self.replays.insert(0, replay)
                log("graph_code", "%s captured: %d operators, %d guards", self.name, len(replay.instruction.steps), len(replay.guards))
            except Unreplayable as reason:
                capture.give_up(str(reason))
        capture.watch = None  # no cycle: what was noted is freed at once
        if capture.broken is not None:
            self._broke(capture)
        if capture.has_boundary:
            step_boundary("compiled step")
        return result

    def _follow(self, following: Following, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """Arguments in which each float that varies is an object of its own; what is called knows them by the names of its parameters."""
        function: Any = self.function
        if isinstance(self.target, Module):
            if self.target._forward_hooks or self.target._forward_pre_hooks or calls._global_forward_hooks or calls._global_forward_pre_hooks:
                return args, kwargs
            function = self.target.forward
        code = getattr(getattr(function, "__func__", function), "__code__", None)
        if not isinstance(code, types.CodeType):
            return args, kwargs
        names = code.co_varnames[int(hasattr(function, "__func__")) : code.co_argcount]
        allowed = code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
        given: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        found, at = {}, 0
        for key, value in given.items():
            place, name = ("argument", at), names[key] if isinstance(key, int) and key < len(names) else key
            if place in following.places and type(value) in (int, float) and name in (names if isinstance(key, int) else allowed):
                if type(value) is float:
                    given[key] = value * 1.0
                found[name] = following.add(place, None, name, value)
            inside: list[Any] = []
            flatten(value, inside)
            at += len(inside)
        following.root = (code, found) if found else None
        return tuple([given[k] for k in range(len(args))]), {key: given[key] for key in kwargs}

    def _roots(self, watch: Watch) -> None:
        target = self.target
        if isinstance(target, Module):
            watch.adopt(target, self.name)
        function: Any = getattr(self.function, "__func__", self.function)
        while hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        if getattr(function, "__closure__", None):
            watch.closure_of(function)
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            if getattr(function, name, None):
                watch.note("attribute", function, name, getattr(function, name), f"{name} of {self.name}")
        owner = getattr(self.function, "__self__", None)
        if owner is not None:
            watch.look_into(owner, "self")

    def _broke(self, capture: Capture) -> None:
        assert capture.broken is not None
        self.breaks.append(capture.broken)
        log("graph_breaks", "Graph break in %s: %s", self.name, capture.broken)
        if self.fullgraph or capture.broken.is_error:
            raise Unsupported(f"{self.name} cannot be compiled as one graph: {capture.broken}")
        self.failures += 1
        if self.failures >= self.most and not self.replays:
            self.gave_up = True

    # ---------------------------------------------------------------------------------------------------------- recompiling
    def _missed(self, replay: Replay, number: int) -> None:
        reason = replay.guards.reasons[number]
        place = replay.guards.places[number]
        if place is not None:
            self.floating.add(place)
        if number in replay.guards.numbers and self.sizes.dynamic is not False:
            self.counting.add(replay.guards.numbers[number])
        self.misses.append(reason)
        log("recompiles", "Recompiling %s: %s", self.name, reason)
        if settings.config.error_on_recompile:
            raise RecompileError(f"Recompiling function {self.name}: {reason}")

    def _past_the_limit(self, limit: tuple[str, int], args: tuple, kwargs: dict[str, Any]) -> Any:
        if not self.has_warned:
            self.has_warned = True
            code = getattr(getattr(self.function, "__func__", self.function), "__code__", None)
            where = "" if code is None else f" ({code.co_filename}:{code.co_firstlineno})"
            _warnings.warning(
                'torch._dynamo hit config.%s (%s)\n   function: \'%s\'%s\n   last reason: %s\nTo log all recompilation reasons, use TORCH_LOGS="recompiles".',
                *limit, self.name, where, self.misses[-1] if self.misses else "none",
            )  # fmt: skip
        if self.fullgraph:
            raise FailOnRecompileLimitHit("Hard failure due to fullgraph=True")
        return self.function(*args, **kwargs)
