"""`save` and `load` of scripted and traced modules and functions, in the container of `torch.export.save`.

A saved module is the programs of the calls that were captured: loaded, it takes arguments of the same shapes, without its Python class.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from ..core import pytree
from ..export.archive import read, write
from ..export.exported_program import ExportedModule, ExportedProgram, run_program
from ..export.recording import Program, record_program
from ..export.trace import export
from ..nn.modules.module import Module
from . import _state
from ._script import RecursiveScriptModule, ScriptFunction
from ._trace import TracedModule

__all__ = ["jit_module_from_flatbuffer", "load", "save"]


class _Function(Module):
    """A function as a module."""

    def __init__(self, function: Callable) -> None:
        super().__init__()
        self.forward = function


class LoadedModule(ExportedModule):
    """A module of a file; its mode chooses among the programs that were saved."""

    def __init__(self, program: ExportedProgram, modules: dict[str, str]) -> None:
        super().__init__(program)
        for path, name in modules.items():
            if not path:
                continue
            owner, last = self._owner(path)
            inner = owner._modules.get(last)
            named = type(name, (Module,), {})()
            if inner is not None:
                named.__dict__.update(inner.__dict__)
            owner._modules[last] = named
        ordered = {path: i for i, path in enumerate(modules)}
        for prefix, each in list(self.named_modules()):
            own = sorted(each._modules, key=lambda n, p=prefix: ordered.get(f"{p}.{n}" if p else n, len(ordered)))  # type: ignore[misc]
            each.__dict__["_modules"] = {name: each._modules[name] for name in own}

    def train(self, mode: bool = True) -> Any:  # type: ignore[override]
        """Choose the programs that were recorded in this mode."""
        return Module.train(self, mode)

    def eval(self) -> Any:  # type: ignore[override]
        """Choose the programs that were recorded in eval mode."""
        return Module.train(self, False)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program."""
        return run_program(self.__dict__["_program"], self._state(), args, kwargs, self.training)


@contextlib.contextmanager
def _in_mode(module: Module, mode: bool) -> Iterator[None]:
    """A module in a mode, if it, or some of its submodules, are not."""
    previous = [(each, each.training) for each in module.modules()]
    try:
        module.train(mode)
        yield
    finally:
        for each, was in previous:
            each.training = was


def _recorded(original: Module, examples: list[tuple[tuple, dict]], traced: bool) -> ExportedProgram:
    with _state.tracing() if traced else contextlib.nullcontext():
        args, kwargs = examples[0]
        whole = export(original, args, kwargs)
        whole._programs[0].training = original.training
        for args, kwargs in examples[1:]:
            if pytree.flatten((args, kwargs))[1] == whole._in_spec:
                _add(whole, original, args, kwargs, original.training)
        if len({each.training for each in original.modules()}) == 1:
            with _in_mode(original, not original.training):
                for args, kwargs in examples:
                    if pytree.flatten((args, kwargs))[1] == whole._in_spec:
                        _add(whole, original, args, kwargs, original.training)
    return whole


def _add(whole: ExportedProgram, original: Module, args: tuple, kwargs: dict, training: bool) -> None:
    program: Program = record_program(original, args, kwargs)
    program.training = training
    known = {(p.key, p.training) for p in whole._programs}
    if not program.draws and (program.key, training) not in known:
        whole._programs.append(program)


def save(m: Any, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
    """Write a scripted or traced module or function to a file.

    What is written are the programs of the calls that were captured until now, in train and in eval mode (without those that draw random
    numbers), and the state.

    Args:
        f: a path, or a file opened for writing.
        _extra_files: names -> strings or bytes to store with it.

    Raises:
        AttributeError: neither scripted nor traced.
        NotImplementedError: it was not called yet, so that there is no program.
    """
    if not isinstance(m, (RecursiveScriptModule, ScriptFunction)):
        raise AttributeError(f"'{type(m).__name__}' object has no attribute 'save'")
    is_function = isinstance(m, ScriptFunction)
    compiled = m.compiled if isinstance(m, ScriptFunction) else m._compiled
    original = _Function(m.__wrapped__) if isinstance(m, ScriptFunction) else m._original
    if isinstance(original, LoadedModule):
        program = original.__dict__["_program"]
        for name, tensor in zip(original.__dict__["_state_names"], original._state(), strict=True):
            (program.state_dict if name in program.state_dict else program.constants)[name] = tensor
    elif not compiled.examples:
        raise NotImplementedError(f"torch.jit.save: {compiled.name} has not been called yet; a call shows which shapes the program is for")
    else:
        program = _without_draws(original, compiled.examples, m.is_traced if isinstance(m, ScriptFunction) else isinstance(m, TracedModule))
    modules = {name: type(each).__name__ for name, each in original.named_modules()}
    modules[""] = compiled.name
    write(program, f, "function" if is_function else "module", _extra_files or {}, {"modules": modules, "training": original.training})


def _without_draws(original: Module, examples: list, traced: bool) -> ExportedProgram:
    """The programs, in eval mode first where those in train mode draw random numbers."""
    program = _recorded(original, examples, traced)
    if program._programs[0].draws and original.training:
        with _in_mode(original, False):
            return _recorded(original, examples, traced)
    return program


def load(f: Any, map_location: Any = None, _extra_files: dict[str, Any] | None = None, _restore_shapes: bool = False) -> RecursiveScriptModule:
    """A module from a file that `save` wrote.

    Args:
        f: a path, or a file that can be sought in.
        map_location: see `torch.load`.
        _extra_files: names whose content (bytes) is filled in.

    Raises:
        ValueError: no such file, or no file that pytorchlike wrote (archives of torch's TorchScript cannot be loaded).
    """
    if isinstance(f, (str, os.PathLike)):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {f} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {f} is a directory")
    program, known = read(f, _extra_files, map_location)
    modules = known.get("modules", {"": "ExportedModule"})
    made = type(modules[""], (LoadedModule,), {})(program, modules)
    if known.get("training") is not None:
        Module.train(made, known["training"])
    return RecursiveScriptModule(made)


def jit_module_from_flatbuffer(f: Any) -> Any:
    """A module in torch's mobile format.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("torch.jit.jit_module_from_flatbuffer: torch's mobile format is not supported")
