"""`script`: functions and modules whose calls are captured and replayed as one XLA program, with the faces of torch's scripted ones.

There is no TorchScript: the Python code runs, and what it does is captured (compiler/compiled.py), so everything that Python can say may stand in it.
"""

from __future__ import annotations

import copy
import inspect
import pickle
import textwrap
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from .._jit_internal import ignore, unused
from ..compiler import settings
from ..compiler.compiled import Compiled
from ..compiler.region import placeholder
from ..core import pytree
from ..nn.modules.module import Module
from ..tensors.tensor import Tensor
from . import _state

__all__ = [
    "Attribute", "CompilationUnit", "Error", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "ScriptWarning", "interface", "script", "script_method",
]  # fmt: skip

_NO_PICKLE = (
    "ScriptModules cannot be deepcopied using copy.deepcopy or saved using torch.save. Mixed serialization of script and non-script modules is not "
    "supported. For purely script modules use my_script_module.save(<filename>) instead."
)


class Error(RuntimeError):
    """torch.jit.Error: what scripted code raises; here errors keep their own types."""

    __module__ = "torch.jit"


class ScriptWarning(Warning):
    """A warning about scripted code."""

    __module__ = "torch.jit"


class Attribute(NamedTuple):
    """A value with the type that scripted code takes it to have."""

    value: Any
    type: Any


class Quiet(Compiled):
    """A compiled function that runs without compilation, and without a word, past the limit of captured calls.

    Attributes:
        examples: the arguments of its captured calls, with placeholders for tensors: `torch.jit.save` records programs for them.
    """

    def __init__(self, function: Callable, target: Any, fullgraph: bool, name: str) -> None:
        super().__init__(function, target, fullgraph, name)
        self.examples: list[tuple[tuple, dict[str, Any]]] = []

    def _capture(self, args: tuple, kwargs: dict[str, Any], structure: Any, leaves: list[Any]) -> Any:
        self._note(args, kwargs)
        return super()._capture(args, kwargs, structure, leaves)

    def _otherwise(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        if not self.examples:
            self._note(args, kwargs)
        return super()._otherwise(args, kwargs)

    def _note(self, args: tuple, kwargs: dict[str, Any]) -> None:
        if len(self.examples) < settings.config.cache_size_limit:
            self.examples.append(pytree.tree_map(lambda leaf: placeholder(leaf) if isinstance(leaf, Tensor) else leaf, (args, kwargs)))

    def _past_the_limit(self, limit: tuple[str, int], args: tuple, kwargs: dict[str, Any]) -> Any:
        return self.function(*args, **kwargs)


def _around(function: Callable, context: Callable[[], AbstractContextManager]) -> Callable:
    """A function that runs inside a context, and is found through ``__wrapped__``."""
    if context is nullcontext:
        return function

    def inside(*args: Any, **kwargs: Any) -> Any:
        with context():
            return function(*args, **kwargs)

    inside.__wrapped__ = function  # type: ignore[attr-defined]
    return inside


def operators_of(compiled: Compiled) -> str:
    """The operators of the last captured call, a line each."""
    if not compiled.replays:
        return "graph():  # no call has been captured yet\n"
    instruction = compiled.replays[0].instruction
    inputs = ", ".join([f"%{slot}" for slot in instruction.inputs])
    lines = [f"graph({inputs}):"]
    for step in instruction.steps:
        assert step.instruction is not None and step.inference is not None
        made = ", ".join([f"%{step.slot + k} : {aval}" for k, aval in enumerate(step.inference.outputs)])
        lines.append(f"  {made} = {step.instruction.name}({', '.join([f'%{slot}' for slot in step.slots])})")
    return "\n".join([*lines, f"  return ({', '.join([f'%{slot}' for slot in instruction.results])})", ""])


def _source_of(function: Callable) -> str:
    try:
        return textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
    except (OSError, TypeError):
        return ""


class ScriptFunction:
    """A scripted or traced function.

    Args:
        function: the Python function.
        context: made around each run of its Python code.

    Attributes:
        compiled: its captured calls.
        is_traced: its code knows that it is traced.
    """

    __module__ = "torch.jit"

    def __init__(self, function: Callable, context: Callable[[], AbstractContextManager] = nullcontext) -> None:
        self.__wrapped__ = function
        self.__doc__ = function.__doc__
        self.__name__ = self.name = getattr(function, "__name__", type(function).__name__)
        self.qualified_name = f"__torch__.{self.__name__}"
        self._torchdynamo_inline = function
        self.is_traced = context is not nullcontext
        self.compiled = Quiet(_around(function, context), function, False, self.__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.compiled(*args, **kwargs)

    @property
    def graph(self) -> str:
        """The operators of the last captured call."""
        return operators_of(self.compiled)

    inlined_graph = graph

    @property
    def code(self) -> str:
        """The Python source."""
        return _source_of(self.__wrapped__)

    def save(self, f: Any, _extra_files: Any = None) -> None:
        """See `torch.jit.save`."""
        from ._serialization import save

        save(self, f, _extra_files)

    def __deepcopy__(self, memo: dict) -> ScriptFunction:
        return self

    def __reduce__(self) -> Any:
        raise pickle.PickleError("ScriptFunction cannot be pickled")


class ScriptModule(Module):
    """The base class of scripted modules, and of modules whose methods carry `script_method`."""

    __module__ = "torch.jit._script"

    def define(self, src: str) -> None:
        """Add methods in TorchScript's language.

        Raises:
            NotImplementedError: always, there is no TorchScript.
        """
        raise NotImplementedError("torch.jit.ScriptModule.define: TorchScript's source is not supported; write the method in Python")

    def save(self, f: Any, _extra_files: Any = None) -> None:
        """See `torch.jit.save`."""
        from ._serialization import save

        save(self, f, _extra_files)


class RecursiveScriptModule(ScriptModule):
    """A module whose forward is captured; all state, and everything else, is the original module's own.

    Args:
        original: the module.
        context: made around each run of its Python code.
    """

    __slots__ = ("_original", "_compiled")
    __module__ = "torch.jit._script"
    _original: Module
    _compiled: Quiet

    def __init__(self, original: Module, context: Callable[[], AbstractContextManager] = nullcontext) -> None:
        object.__setattr__(self, "__dict__", original.__dict__)  # parameters, buffers, hooks, mode: whoever changes one changes both
        object.__setattr__(self, "_original", original)
        object.__setattr__(self, "_compiled", Quiet(_around(original.__call__, context), original, False, type(original).__name__))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the captured forward."""
        return self._compiled(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def train(self, mode: bool = True) -> RecursiveScriptModule:
        """Set the mode of the original module."""
        self._original.train(mode)
        return self

    @property
    def original_name(self) -> str:
        """The original module's class."""
        return type(self._original).__name__

    @property
    def graph(self) -> str:
        """The operators of the last captured call."""
        return operators_of(self._compiled)

    inlined_graph = graph

    @property
    def code(self) -> str:
        """The Python source of ``forward``."""
        return _source_of(type(self._original).forward)

    def __len__(self) -> int:
        return len(self._original)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator:
        return iter(self._original)  # type: ignore[call-overload, attr-defined]

    def __getitem__(self, index: Any) -> Any:
        return self._original[index]  # type: ignore[index]

    def __contains__(self, key: Any) -> bool:
        return key in self._original  # type: ignore[operator, attr-defined]

    def __bool__(self) -> bool:
        return True

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._original)})

    def __repr__(self) -> str:
        return shown(self._original, lambda module: "RecursiveScriptModule")

    def __copy__(self) -> RecursiveScriptModule:
        return self._again(copy.copy(self._original))

    def __deepcopy__(self, memo: dict) -> RecursiveScriptModule:
        return self._again(copy.deepcopy(self._original, memo))

    def _again(self, original: Module) -> RecursiveScriptModule:
        return type(self)(original)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise pickle.PickleError(_NO_PICKLE)


def shown(module: Module, name: Callable[[Module], str]) -> str:
    """The text of a scripted module and those below it."""
    lines = [f"original_name={type(module).__name__}"]
    children = [f"({key}): " + shown(child, name).replace("\n", "\n  ") for key, child in module._modules.items() if child is not None]
    if not children:
        return f"{name(module)}({lines[0]})"
    return f"{name(module)}(\n  " + "\n  ".join(lines + children) + "\n)"


class CompilationUnit:
    """A collection of functions in TorchScript's language.

    Raises:
        NotImplementedError: source is given, there is no TorchScript.
    """

    __module__ = "torch.jit"

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        if lang is not None:
            raise NotImplementedError("torch.jit.CompilationUnit: TorchScript's source is not supported; write functions in Python")


def script_method(fn: Callable) -> Callable:
    """Mark a method of a `ScriptModule`."""
    return fn


def interface(obj: Any) -> Any:
    """Mark a class that only says which methods modules have.

    Raises:
        RuntimeError: not a class.
    """
    if not inspect.isclass(obj):
        raise RuntimeError("interface must be applied to a class")
    return obj


def script(obj: Any, optimize: None = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """A function or module whose calls are captured once and replayed as one XLA program; a class is returned as it is.

    What Python does is captured, as with `torch.compile`: calls that cannot be captured simply run.  A scripted module shares all its state
    with the original one.

    Args:
        example_inputs: accepted; types are not inferred.

    Raises:
        RuntimeError: a class of modules.
        TypeError: neither a function, a module, a class nor a container.
    """
    if optimize is not None:
        warnings.warn("`optimize` is deprecated and has no effect. Use `with torch.jit.optimized_execution()` instead", FutureWarning, stacklevel=2)
    if not _state.enabled() or isinstance(obj, (ScriptFunction, RecursiveScriptModule, dict, list)):
        return obj
    prepare = getattr(obj, "__prepare_scriptable__", None)
    if prepare is not None and not inspect.isclass(obj):
        obj = prepare()
    if isinstance(obj, ScriptModule):
        return obj
    if isinstance(obj, Module):
        return RecursiveScriptModule(obj)
    if inspect.isclass(obj):
        if issubclass(obj, Module):
            raise RuntimeError(f"Type '{obj}' cannot be compiled since it inherits from nn.Module, pass an instance instead")
        return obj
    if inspect.isfunction(obj) or inspect.ismethod(obj):
        return ScriptFunction(obj)
    if callable(obj):  # an operator of ours, or an object that can be called
        return ScriptFunction(obj)
    raise TypeError(f"{type(obj)} is a built-in class")


#: torch has these names here, too.
_ignore, _unused = ignore, unused
