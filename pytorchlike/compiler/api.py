"""`compile`, and what goes with it: ``torch.compile`` and ``torch.compiler``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..aten.constructors import as_tensor
from ..core import pytree
from ..core.capturing import break_capture
from ..core.state import thread
from ..nn.modules.module import Module
from ..tensors.tensor import Tensor
from . import settings
from .backends import get_default_backend, list_backends, lookup_backend
from .compiled import Compiled, all_compiled

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "explain", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "list_backends", "nested_compile_region", "reset", "set_stance", "substitute_in_graph", "wrap_numpy",
]  # fmt: skip

_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


class OptimizedModule(Module):
    """A module whose forward is compiled; everything else is the original module's."""

    __module__ = "torch._dynamo.eval_frame"

    def __init__(self, module: Module, compiled: Callable) -> None:
        super().__init__()
        self.__dict__["_orig_mod"] = module
        self._modules["_orig_mod"] = module
        self.__dict__["_compiled"] = compiled

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the compiled forward."""
        return self._compiled(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self.__dict__["_modules"]["_orig_mod"]
        return getattr(self.__dict__["_modules"]["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("_orig_mod", "_compiled", "training") and "_modules" in self.__dict__ or name in type(self).__dict__:
            if name == "training":
                self._orig_mod.training = value
            self.__dict__[name] = value
        elif "_orig_mod" in self.__dict__.get("_modules", {}):
            setattr(self._orig_mod, name, value)
        else:
            super().__setattr__(name, value)

    def __len__(self) -> int:
        return len(self._orig_mod)  # type: ignore[arg-type]

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *dir(self._orig_mod)]

    def train(self, mode: bool = True) -> OptimizedModule:
        """Set the mode of the original module."""
        self._orig_mod.train(mode)
        self.__dict__["training"] = mode
        return self

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return _optimized, (self._orig_mod,)


def _optimized(module: Module) -> Any:
    return compile(module)


def compile(model: Callable | None = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: str | Callable | None = None,
            mode: str | None = None, options: dict[str, Any] | None = None, name: str | None = None, disable: bool = False,
            recompile_limit: int | None = None, isolate_recompiles: bool = False, shapes_spec: Any = None) -> Any:  # fmt: skip
    """A function or module whose calls are captured once and replayed as one XLA program.

    The first call runs as always and is captured: its operators, what it read (arguments, attributes, globals, closures) and what it
    wrote (tensors in place, ``.grad``, attributes).  A later call that reads the same is replayed without running any Python of the
    user's.  A call that cannot be captured (it looks at numbers, prints, calls foreign extension code) simply runs.

    Args:
        model: a function or a module; None makes a decorator.
        fullgraph: raise where a call cannot be captured.
        dynamic: whether other sizes count as recompilations (``config.recompile_limit``): False: each does; True: none does; None: those of
            dimensions that are marked (``torch._dynamo.mark_dynamic``), or were seen with two sizes, do not.  Each is captured on its own.
        backend: "inductor", "aot_eager" and the like all mean XLA; "eager" runs the function as it is; a function, or the name of one that
            was registered, gets each captured call as (`torch.fx.GraphModule`, list of inputs) and returns what replays run.
        mode, options: torch's are accepted and change nothing; a backend that is a function gets them.
        name: what messages call it; its own name if left out.
        recompile_limit: how many captured calls it may have, instead of ``config.recompile_limit``.
        isolate_recompiles: accepted; each compiled function counts its own.
        disable: return the function as it is.

    Raises:
        RuntimeError: both ``mode`` and ``options``; a backend or a mode that is not known.
        NotImplementedError: ``shapes_spec``.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    if shapes_spec is not None:
        raise NotImplementedError("torch.compile: shapes_spec is not supported; each combination of shapes is captured on its own")
    chosen = lookup_backend(get_default_backend() if backend is None else backend)
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=chosen, mode=mode, options=options, name=name, disable=disable,
            recompile_limit=recompile_limit,
        )  # fmt: skip
    if not callable(model):
        raise RuntimeError(f"torch.compile: expected a function or a module, but got {type(model).__name__}")
    if disable or settings.config.disable:
        return model
    if not isinstance(chosen, str):
        given = {key: value for key, value in (("mode", mode), ("options", options)) if value is not None}
        own = functools.partial(chosen, **given) if given else chosen
    else:
        own = None
    if isinstance(model, Module):
        label = name or type(model).__name__
        return OptimizedModule(model, model.__call__ if chosen == "eager" else Compiled(model.__call__, model, fullgraph, label, recompile_limit, dynamic, own))
    if chosen == "eager":
        return model
    compiled = Compiled(model, model, fullgraph, name or str(getattr(model, "__name__", type(model).__name__)), recompile_limit, dynamic, own)

    @functools.wraps(model)
    def call_compiled(*args: Any, **kwargs: Any) -> Any:
        return compiled(*args, **kwargs)

    call_compiled._torchdynamo_orig_callable = model  # type: ignore[attr-defined]
    call_compiled._compiled = compiled  # type: ignore[attr-defined]
    return call_compiled


def disable(fn: Callable | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """A function that compiled functions do not capture: a call of it ends their graph."""
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if isinstance(fn, Module):
        fn.forward = disable(fn.forward, recursive, reason=reason)  # type: ignore[method-assign]
        return fn

    @functools.wraps(fn)
    def not_captured(*args: Any, **kwargs: Any) -> Any:
        break_capture(f"{getattr(fn, '__name__', fn)} is disabled for compilation" + (f": {reason}" if reason else ""))
        return fn(*args, **kwargs)

    not_captured._torchdynamo_disable = True  # type: ignore[attr-defined]
    not_captured._torchdynamo_disable_recursive = recursive  # type: ignore[attr-defined]
    return not_captured


def allow_in_graph(fn: Any) -> Any:
    """Accepted: what a function does is captured in any case."""
    return [allow_in_graph(each) for each in fn] if isinstance(fn, (list, tuple)) else fn


def assume_constant_result(fn: Callable) -> Callable:
    """Accepted: a captured call keeps what Python computed."""
    return fn


def substitute_in_graph(original_fn: Callable, **kwargs: Any) -> Callable:
    """Accepted: the original function is captured itself."""
    return lambda substitute: substitute


def is_compiling() -> bool:
    """Whether a compiled function's call is being captured now."""
    return thread.state.capture is not None


is_dynamo_compiling = is_compiling


def is_exporting() -> bool:
    """Whether `torch.export` is running the code."""
    return settings.exporting > 0


def nested_compile_region(fn: Callable | None = None, *, options: Any = None, max_reuse_entries: int = 8, reuse_hash_fn: Any = None) -> Any:
    """Accepted: equal operators are traced once in any case."""
    return (lambda function: function) if fn is None else fn


def wrap_numpy(fn: Callable) -> Callable:
    """A function of numpy arrays as one of tensors; numbers leave the tape, so it has no gradient."""

    @functools.wraps(fn)
    def on_tensors(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = pytree.tree_map(lambda x: x.numpy() if isinstance(x, Tensor) else x, (args, kwargs))
        return pytree.tree_map(lambda x: as_tensor(x) if isinstance(x, np.ndarray) else x, fn(*args, **kwargs))

    return on_tensors


def reset() -> None:
    """Forget all captured calls of all compiled functions."""
    for compiled in all_compiled:
        compiled.reset()


def cudagraph_mark_step_begin() -> None:
    """Nothing: there are no CUDA graphs."""


class set_stance:  # noqa: N801 - torch's name
    """Set, as a function, a context manager or a decorator, what compiled functions do: "default", "force_eager" (run the original),
    "eager_on_recompile" or "fail_on_recompile".

    Raises:
        RuntimeError: another stance.
    """

    def __init__(self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None) -> None:
        if stance not in ("default", "force_eager", "eager_on_recompile", "fail_on_recompile"):
            raise RuntimeError(f"invalid torch.compile stance {stance!r}")
        self.stance, self.previous = stance, settings.stance
        settings.stance = stance

    def __enter__(self) -> None:
        settings.stance = self.stance

    def __exit__(self, *error: Any) -> None:
        settings.stance = self.previous

    def __call__(self, function: Callable) -> Callable:
        settings.stance = self.previous

        @functools.wraps(function)
        def with_stance(*args: Any, **kwargs: Any) -> Any:
            with set_stance(self.stance):
                return function(*args, **kwargs)

        return with_stance


class Explanation:
    """What `explain` found.

    Attributes:
        graph_count, graph_break_count, op_count: how many.
        break_reasons: with the user's lines.
        guards: what the captured calls depend on.
        recompiles: what differed when a call was captured anew.
    """

    def __init__(self, compiled: Compiled) -> None:
        self.graph_count = len(compiled.replays) + len(compiled.breaks)
        self.graph_break_count = len(compiled.breaks)
        self.op_count = sum(len(r.instruction.steps) for r in compiled.replays)
        self.break_reasons = [str(b) for b in compiled.breaks]
        self.guards = [reason for r in compiled.replays for reason in r.guards.reasons]
        self.recompiles = list(compiled.misses)

    def __str__(self) -> str:
        lines = [f"Graph Count: {self.graph_count}", f"Graph Break Count: {self.graph_break_count}", f"Op Count: {self.op_count}", "Break Reasons:"]
        lines += [f"  {reason}" for reason in self.break_reasons]
        lines += [f"Guards: {len(self.guards)}", *[f"  {g}" for g in self.guards], "Recompiles:", *[f"  {r}" for r in self.recompiles]]
        return "\n".join(lines)


def explain(f: Callable, *extra_args: Any, **extra_kwargs: Any) -> Any:
    """Call a function compiled and tell what was captured: ``explain(fn)(*args)``."""

    def explained(*args: Any, **kwargs: Any) -> Explanation:
        compiled = _compiled_of(f)
        compiled(*args, **kwargs)
        return Explanation(compiled)

    return explained(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else explained


def _compiled_of(f: Any) -> Compiled:
    found = f.__dict__.get("_compiled") if hasattr(f, "__dict__") else None
    if isinstance(found, Compiled):
        return found
    if isinstance(f, Module):
        return Compiled(f.__call__, f, False, type(f).__name__)
    return Compiled(f, f, False, getattr(f, "__name__", "function"))
