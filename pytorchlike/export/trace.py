"""`export`: a module's call recorded as an `ExportedProgram`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from ..compiler.region import Output
from ..core import pytree
from ..nn.modules.module import Module
from ..tensors.tensor import Tensor
from ..utils._pytree import register_dataclass as _register
from ..utils._pytree import tree_flatten_with_path
from .constraints import Samples, settle
from .errors import UserError, UserErrorType
from .exported_program import ExportedProgram, call_graph
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)  # fmt: skip
from .recording import Program, named_state, record_program
from .shape_specs import read_shapes
from .text import graph_of

__all__ = ["draft_export", "export", "register_dataclass"]


#: What may be a leaf of arguments and results.
_LEAVES = (Tensor, int, float, str, type(None))
_UNKNOWN_INPUT = (
    "Unsupported input type {}. Export only supports pytree containers of basic types (Tensor, int, float, ...) as input. To register a custom dataclass, "
    "use torch.export.register_dataclass. To register a custom container type, use torch.utils._pytree.register_pytree_node. To register a constant input, "
    "use torch.utils._pytree.register_constant"
)


def export(mod: Module, args: tuple, kwargs: Mapping[str, Any] | None = None, *, dynamic_shapes: Any = None, strict: bool = False,
           preserve_module_call_signature: tuple[str, ...] = (), prefer_deferred_runtime_asserts_over_guards: bool = False) -> ExportedProgram:  # fmt: skip
    """Record a module's call with example arguments as a pure program.

    Python runs once, on tensors without numbers, and is gone; where sizes may differ it runs for further sizes, to find out whether it does the
    same.  Writes to buffers and arguments are outputs of the program, which the signature lists after `run_decompositions`.

    Args:
        args, kwargs: examples; what is no tensor among them is a constant of the program.
        dynamic_shapes: which dimensions may differ (`Dim`), in the arguments' structure, or a `ShapesCollection` or `AdditionalInputs`.  Operators
            bind sizes: for other sizes the module, which the program keeps, is recorded again; a saved program is for all sizes.
        strict, prefer_deferred_runtime_asserts_over_guards: accepted.

    Raises:
        ValueError: not a module, or an argument of another class; torch's texts.
        UserError: ``args`` is no tuple; a size that was said to differ cannot, torch's texts.
        Unsupported: numbers are needed in the middle, with the line.
        RuntimeError: a result of another class; the beginning of torch's text.
        NotImplementedError: parts' signatures are to be preserved.
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise UserError(UserErrorType.INVALID_INPUT, f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
    if preserve_module_call_signature:
        raise NotImplementedError("export: preserve_module_call_signature: the calls of parts are not kept; export the parts")
    if any(kind.__name__ == "ScriptModule" for kind in type(mod).__mro__):
        raise ValueError("Exporting a ScriptModule is not supported.")
    keywords = dict(kwargs or {})
    leaves, in_spec = pytree.flatten((args, keywords))
    for leaf in leaves:
        if not isinstance(leaf, _LEAVES):
            raise ValueError(_UNKNOWN_INPUT.format(type(leaf)))
    symbols = read_shapes(mod, args, keywords, dynamic_shapes)
    program = record_program(mod, args, keywords)
    for leaf in program.leaves:
        if not isinstance(leaf, (Output, *_LEAVES)):
            raise RuntimeError(
                f"Found {type(leaf)} in output, which is not a known type. If this type holds tensors, you need to register a pytree for it."
            )
    samples = settle(mod, args, keywords, symbols, program) if symbols.table else None
    parameters, buffers = named_state(mod)
    inputs, constants, outside = _inputs(mod, program, parameters, buffers)
    for name, leaf in zip(_names_of(mod.forward, args, keywords), leaves, strict=True):
        argument = TensorArgument(name) if isinstance(leaf, Tensor) else ConstantArgument(name, leaf)
        inputs.append(InputSpec(InputKind.USER_INPUT, argument, None))
    arguments = [s.arg.name for s in inputs if isinstance(s.arg, TensorArgument) and s.kind is not InputKind.CONSTANT_TENSOR]
    graph, outputs = graph_of(program, [*parameters.values(), *buffers.values()], arguments, outside, {s.arg.name for s in inputs}, symbols, samples)
    signature = ExportGraphSignature(inputs, _outputs(program, [*parameters, *buffers], len(parameters), arguments, outputs, samples))
    named = [name for name, _ in mod.named_modules(remove_duplicate=False)]
    calls = call_graph(in_spec, program.structure, dict.fromkeys(named) | {"": _call_names(mod.forward, args, keywords)})
    return ExportedProgram(
        [program], signature, {**parameters, **buffers}, constants, in_spec, graph, symbols, calls, mod, (args, keywords), samples
    )


def draft_export(mod: Module, args: tuple, kwargs: Mapping[str, Any] | None = None, *, dynamic_shapes: Any = None,
                 preserve_module_call_signature: tuple[str, ...] = (), strict: bool = False,
                 prefer_deferred_runtime_asserts_over_guards: bool = False) -> NoReturn:  # fmt: skip
    """Not there: a program with a report of what is wrong with it.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("torch.export.draft_export: no program is made of a module that cannot be exported; `export` says what is wrong with it")


def register_dataclass(cls: type, *, serialized_type_name: str | None = None) -> None:
    """Have a dataclass count as a container of arguments and results; ``serialized_type_name`` lets `save` write programs that have one.

    Raises:
        ValueError: it is none.
    """
    _register(cls, serialized_type_name=serialized_type_name)


def _inputs(mod: Module, program: Program, parameters: Mapping[str, Tensor], buffers: Mapping[str, Tensor]) -> tuple[list[InputSpec], dict[str, Tensor], list[str]]:  # fmt: skip
    """The inputs that are state and constants, the tensors outside of the state_dict, and the names of what the program takes from outside."""
    persistent = set(mod.state_dict(keep_vars=True))
    constants: dict[str, Tensor] = {name: b for name, b in buffers.items() if name not in persistent}
    inputs = [InputSpec(InputKind.PARAMETER, TensorArgument(_placeholder("p", name)), name) for name in parameters]
    inputs += [InputSpec(InputKind.BUFFER, TensorArgument(_placeholder("b", name)), name, name in persistent) for name in buffers]
    known = _attribute_names(mod)
    outside = []
    lifted = 0
    for k, tensor in enumerate(program.outside):
        if k in program.draws:
            outside.append(f"random_{k}")
            continue
        name = known.get(id(tensor), "")
        if not name:
            name, lifted = f"lifted_tensor_{lifted}", lifted + 1
        constants[name] = program.outside[k] = tensor.detach().clone()
        inputs.append(InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(_placeholder("c", name)), name))
        outside.append(inputs[-1].arg.name)
    return inputs, constants, outside


def _outputs(program: Program, state: Sequence[str], parameters: int, arguments: Sequence[str], outputs: Sequence[str], samples: Samples | None) -> list[OutputSpec]:  # fmt: skip
    """What is written and what is returned."""
    specs = []
    for number, output in sorted(program.written.items()):
        if number >= len(state):
            specs.append(OutputSpec(OutputKind.USER_INPUT_MUTATION, TensorArgument(outputs[output]), arguments[number]))
        else:
            kind = OutputKind.PARAMETER_MUTATION if number < parameters else OutputKind.BUFFER_MUTATION
            specs.append(OutputSpec(kind, TensorArgument(outputs[output]), state[number]))
    sizes = 0
    for k, leaf in enumerate(program.leaves):
        argument: Any
        if isinstance(leaf, Output):
            argument = TensorArgument(outputs[leaf])
        elif samples is not None and samples.place_of([each.leaves[k] for each in samples.programs]) is not None:
            argument, sizes = SymIntArgument("sym_size" + (f"_{sizes}" if sizes else "")), sizes + 1
        else:
            argument = ConstantArgument("", leaf)
        specs.append(OutputSpec(OutputKind.USER_OUTPUT, argument, None))
    return specs


# -------------------------------------------------------------------------------------------------------------------- names
def _placeholder(kind: str, name: str) -> str:
    """The name of an input for what has a name in the module."""
    return f"{kind}_" + re.sub(r"[^a-zA-Z0-9]", "_", name.removeprefix("self_")).lower()


def _call_names(forward: Any, args: tuple, kwargs: dict[str, Any]) -> list[str]:
    """The names of the arguments of a call: ``x``, ``args_0``, keywords."""
    parameters = list(inspect.signature(forward).parameters.values())
    plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    return [*[plain[k] if k < len(plain) else f"{rest}_{k - len(plain)}" for k in range(len(args))], *kwargs]


def _names_of(forward: Any, args: tuple, kwargs: dict[str, Any]) -> list[str]:
    """The names of the leaves of the arguments, as torch gives them: ``x``, ``xs_0``, ``y_key``."""
    names: list[str] = []
    for name, arg in zip(_call_names(forward, args, kwargs), [*args, *kwargs.values()], strict=True):
        _add_names(name, arg, names)
    used: dict[str, int] = {}
    for k, name in enumerate(names):
        if name in used:
            used[name] += 1
            names[k] = f"{name}_{used[name]}"
        used.setdefault(name, 0)
    return names


def _add_names(prefix: str, value: Any, names: list[str]) -> None:
    for path, _ in tree_flatten_with_path(value)[0]:
        parts = [str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", key)))) for key in path]
        names.append("_".join([prefix, *parts]).replace(".", "_").lower())


def _attribute_names(module: Module) -> dict[int, str]:
    """Tensors that modules hold as plain attributes."""
    found: dict[int, str] = {}
    for prefix, each in module.named_modules():
        for name, value in each.__dict__.items():
            if isinstance(value, Tensor):
                found.setdefault(id(value), f"{prefix}.{name}" if prefix else name)
    return found
