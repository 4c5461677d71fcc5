"""`save` and `load` of exported programs.

The file is a zip: ``program.json`` has the signature and structures, ``programs/k.stablehlo`` a program for each combination of shapes
(``jax.export``, with its derivative), ``state.pt`` parameters, buffers and constants as ``torch.save`` writes them.  Nothing in it is run but XLA's
programs, and loading needs neither the module's class nor a pickle.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import warnings
import zipfile
from typing import Any

import jax
import numpy as np

from .. import serialization
from ..aten.compare import equal
from ..compiler.region import Output
from ..core import dtype as dtypes
from ..dispatch.derivative import Differentiable
from ..graph.instruction import enable_x64
from ..nn.parameter import Parameter
from ..tensors.tensor import Tensor
from ..utils._pytree import treespec_dumps, treespec_loads
from .constraints import Samples
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
from .recording import Program
from .shape_specs import Argument, Place, Shape, Symbol, Symbols
from .symbolic import NotGeneral, exported
from .text import Graph, Node

__all__ = ["load", "read", "save", "write"]

_VERSION = 2
#: Platforms that a saved program is for; those for which XLA lacks one of its operators are left out.
_PLATFORMS = ("cpu", "cuda", "tpu")


# ------------------------------------------------------------------------------------------------------------------- saving
def save(ep: ExportedProgram, f: str | os.PathLike[str] | io.BytesIO, *, extra_files: dict[str, Any] | None = None, opset_version: Any = None,
         pickle_protocol: int = 2) -> None:  # fmt: skip
    """Write an exported program to a file.

    Args:
        f: a path, or a file opened for writing.
        extra_files: names -> strings or bytes to store with it.

    Raises:
        TypeError: not an exported program; NotImplementedError: it draws random numbers, or its results hold objects of other kinds.
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead.")
    if isinstance(f, (str, os.PathLike)) and not str(f).endswith(".pt2"):
        warnings.warn(f"Expect archive file to be a file ending in .pt2, but got {f}", stacklevel=2)
    write(ep, f, "exported program", extra_files or {})


def write(ep: ExportedProgram, f: Any, kind: str, extra: dict[str, Any], more: dict[str, Any] | None = None) -> None:
    """Write a program with what else is to be known of it.

    Args:
        kind: exported program, module or function.
        more: further entries of ``program.json``.
    """
    state = {**{name: t.detach() for name, t in ep.state_dict.items()}, **{f"constant:{name}": t.detach() for name, t in ep.constants.items()}}
    inputs = [ep.state_dict[n] if n in ep.state_dict else ep.constants[n] for n in [*ep.graph_signature.parameters, *ep.graph_signature.buffers]]
    names = {id(t): n for n, t in ep.constants.items()}
    programs, described = [], []
    if any(program.draws for program in ep._programs):
        raise NotImplementedError("export.save: the program draws random numbers, which cannot be saved; export the module in eval mode")
    symbolic = _general(ep, inputs)
    for k, program in enumerate(ep._programs if symbolic is None else ep._programs[:1]):
        for number, tensor in enumerate(program.outside):
            if id(tensor) not in names:  # a constant of a program for other shapes
                names[id(tensor)] = name = f"{k}_{number}"
                state[f"constant:{name}"] = tensor.detach()
        programs.append(_serialized(program, inputs) if symbolic is None else symbolic[1])
        shapes = [shape for shape, _, _ in program.key] if symbolic is None else symbolic[0]
        described.append({
            "key": [[_shape(shape), dtype.name, device] for shape, (_, dtype, device) in zip(shapes, program.key, strict=True)],
            "outside": [names[id(t)] for number, t in enumerate(program.outside) if symbolic is None or number not in symbolic[2]], "structure": treespec_dumps(program.structure),
            "leaves": [_leaf(leaf) for leaf in (program.leaves if symbolic is None else symbolic[3])],
            "written": [[a, b] for a, b in program.written.items()], "training": program.training,
        })  # fmt: skip
    text = json.dumps({
        "version": _VERSION, "kind": kind, "in_spec": treespec_dumps(ep._in_spec), "inputs": [_spec(s) for s in ep.graph_signature.input_specs],
        "outputs": [_spec(s) for s in ep._signature.output_specs], "programs": described, "graph": [dataclasses.asdict(n) for n in ep.graph.nodes],
        "symbols": [dataclasses.asdict(symbol) for symbol in (symbolic[4] if symbolic else ())],
        "shapes": [None if shape is None else _shape(shape) for shape in ep._symbols.shapes],
        "arguments": [dataclasses.asdict(argument) for argument in ep._symbols.arguments],
        "calls": [[e.fqn, None if e.signature is None else e.signature.forward_arg_names] for e in ep.module_call_graph],
        "dialect": ep.dialect, "tied": _tied(inputs, [*ep.graph_signature.parameters, *ep.graph_signature.buffers]), "trainable": [n for n, t in ep.named_parameters() if t.requires_grad], **(more or {}),
    })  # fmt: skip
    stored = io.BytesIO()
    serialization.save(state, stored)
    with zipfile.ZipFile(f, "w") as archive:
        archive.writestr("program.json", text)
        archive.writestr("state.pt", stored.getvalue())
        for k, each in enumerate(programs):
            archive.writestr(f"programs/{k}.stablehlo", each)
        for name, content in extra.items():
            archive.writestr(f"extra/{name}", content)


def _tied(tensors: list[Tensor], names: list[str]) -> dict[str, str]:
    """The further names of tensors that have several -> the first."""
    first: dict[int, str] = {}
    return {name: first[id(tensor)] for tensor, name in zip(tensors, names, strict=True) if first.setdefault(id(tensor), name) != name}


def _plain(leaf: Any) -> Any:
    if leaf is not None and not isinstance(leaf, (bool, int, float, str)):
        raise NotImplementedError(f"export.save: a result holds a {type(leaf).__name__}, which cannot be saved")
    return leaf


def _shape(shape: Shape) -> list[Any]:
    return [dataclasses.astuple(place) if isinstance(place, Place) else place for place in shape]


def _leaf(leaf: Any) -> dict[str, Any]:
    if isinstance(leaf, Output):
        return {"tensor": int(leaf)}
    return {"place": dataclasses.astuple(leaf)} if isinstance(leaf, Place) else {"value": _plain(leaf)}


def _spec(spec: InputSpec | OutputSpec) -> dict[str, Any]:
    found = {"kind": spec.kind.name, "name": spec.arg.name, "target": spec.target, "persistent": getattr(spec, "persistent", None)}
    if isinstance(spec.arg, ConstantArgument):
        found["value"] = _plain(spec.arg.value)
    return found | {"number": isinstance(spec.arg, SymIntArgument)}


def _serialized(program: Program, state: list[Tensor]) -> bytes:
    """A program as StableHLO, with its numbers bound, and its first derivative."""
    if program.region is None:  # it was loaded
        return program.instruction.serialized
    shapes = _arguments(program, state)
    function = jax.jit(_bound(program)(True))
    with enable_x64(True):
        try:
            exported = jax.export.export(function, platforms=_PLATFORMS)(*shapes)
        except Exception:  # some operators are library calls of one platform
            exported = jax.export.export(function)(*shapes)
        return bytes(exported.serialize(vjp_order=1))


def _general(ep: ExportedProgram, state: list[Tensor]) -> tuple[list[Shape], bytes, list[int], list[Any], list[Symbol]] | None:
    """The shapes of the tensor arguments, the program for all sizes, which constants it makes itself, the leaves of its result, and the symbols; None
    where no dimension may differ."""
    symbols = list(ep._symbols.table.values())
    if not symbols:
        return None
    program, named = ep._programs[0], ep._symbols.tensor_shapes
    if program.region is None:  # it was loaded
        return named, program.instruction.serialized, [], program.leaves, symbols
    labels = ", ".join(s.label for s in symbols)
    if ep._samples is None:
        raise NotGeneral(f"export.save: the module does not take all sizes of {labels}; how they are related is not known")
    samples, programs = ep._samples.numbers, ep._samples.programs
    if len({len(p.outside) for p in programs}) != 1:
        raise NotGeneral(f"export.save: how many constants there are depends on the sizes of {labels}")
    made = [k for k, same in enumerate(zip(*[p.outside for p in programs], strict=True)) if not all(_is_equal(same[0], each) for each in same)]
    shapes = [_arguments(program, state) for program in programs]
    fixed = [(tuple(s.shape), s.dtype) for s in shapes[0]]
    first, last = len(state), len(state) + len(named)
    arguments = [*fixed[:first], *[(shape, dtype) for shape, (_, dtype) in zip(named, fixed[first:last], strict=True)], *fixed[last:]]
    constants = {last + k: [np.asarray(program.outside[k].detach()) for program in programs] for k in made}
    builds = [_bound(program) for program in programs]
    leaves = _leaves_of(ep._samples, labels)
    written, bounded = exported(builds, shapes, symbols, samples, arguments, constants, _PLATFORMS)
    return named, written, made, leaves, bounded


def _leaves_of(samples: Samples, labels: str) -> list[Any]:
    """The leaves of the result, with expressions for numbers that depend on the sizes."""
    found = []
    for leaves in zip(*[program.leaves for program in samples.programs], strict=True):
        place = samples.place_of(leaves)
        if place is None and any(leaf != leaves[0] for leaf in leaves):
            raise NotGeneral(f"export.save: a result is {leaves[0]!r} or {leaves[1]!r}, depending on the sizes of {labels}, by no known rule")
        found.append(leaves[0] if place is None else place)
    return found


def _is_equal(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and a.dtype is b.dtype and bool(equal(a, b))


def _bound(program: Program) -> Any:
    """``build(rules)`` -> the program's function with its numbers bound."""
    numbers = [*[np.float64(x) for x in program.floats], *[np.int64(x) for x in program.ints]]

    def build(rules: bool) -> Any:
        function = program.instruction._build(rules)
        return lambda *arrays: function(*arrays, *numbers)

    return build


def _arguments(program: Program, state: list[Tensor]) -> list[Any]:
    """The shapes and dtypes of what a program takes."""
    shapes = [jax.ShapeDtypeStruct(tuple(t.shape), t.dtype.numpy) for t in state]
    shapes += [jax.ShapeDtypeStruct(shape, dtype.numpy) for shape, dtype, _ in program.key]
    return shapes + [jax.ShapeDtypeStruct(tuple(t.shape), t.dtype.numpy) for t in program.outside]


# ------------------------------------------------------------------------------------------------------------------ loading
def load(f: str | os.PathLike[str] | io.BytesIO, *, extra_files: dict[str, Any] | None = None, expected_opset_version: Any = None) -> ExportedProgram:
    """An exported program from a file.

    Args:
        extra_files: names whose content is filled in.

    Raises:
        ValueError: the file is not what `save` writes.
    """
    stored = dict(extra_files or {})
    program, _ = read(f, stored)
    if extra_files is not None:
        extra_files.update({name: content.decode() for name, content in stored.items()})
    return program


def read(f: Any, extra: dict[str, Any] | None = None, map_location: Any = None) -> tuple[ExportedProgram, dict[str, Any]]:
    """A program, and what ``program.json`` says of it."""
    try:
        archive = zipfile.ZipFile(f)
        known = json.loads(archive.read("program.json"))
    except (KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"{f} is not a program that pytorchlike saved; programs and TorchScript archives of torch cannot be loaded") from error
    if known["version"] != _VERSION:
        raise ValueError(f"{f} was saved by another version of pytorchlike")
    with archive:
        state = serialization.load(io.BytesIO(archive.read("state.pt")), map_location=map_location, weights_only=True)
        programs = [archive.read(f"programs/{k}.stablehlo") for k in range(len(known["programs"]))]
        for name in extra or ():
            extra[name] = archive.read(f"extra/{name}")  # type: ignore[index]
    signature = ExportGraphSignature([_input(s) for s in known["inputs"]], [_output(s) for s in known["outputs"]])
    constants = {name.removeprefix("constant:"): t for name, t in state.items() if name.startswith("constant:")}
    trainable = set(known["trainable"])
    tensors = {name: t for name, t in state.items() if not name.startswith("constant:")}
    for name in signature.parameters:
        tensors[name] = Parameter(tensors[name], name in trainable)
    for name, first in known["tied"].items():
        for store in (tensors, constants):
            if name in store:
                store[name] = tensors[first] if first in tensors else constants[first]
    made = [_program(each, stablehlo, constants) for each, stablehlo in zip(known["programs"], programs, strict=True)]
    in_spec = treespec_loads(known["in_spec"])
    graph = Graph([Node(**{**n, "args": tuple(n["args"])}) for n in known["graph"]])
    shapes = [None if shape is None else _places(shape) for shape in known["shapes"]]
    symbols = Symbols({s["name"]: Symbol(**s) for s in known["symbols"]}, shapes, [Argument(**a) for a in known["arguments"]])
    calls = call_graph(in_spec, made[0].structure, dict(known["calls"]))
    return ExportedProgram(made, signature, tensors, constants, in_spec, graph, symbols, calls, dialect=known["dialect"]), known


def _places(shape: list[Any]) -> Shape:
    return tuple([Place(*place) if isinstance(place, list) else place for place in shape])


def _argument(spec: dict[str, Any]) -> TensorArgument | SymIntArgument | ConstantArgument:
    if "value" in spec:
        return ConstantArgument(spec["name"], spec["value"])
    return SymIntArgument(spec["name"]) if spec["number"] else TensorArgument(spec["name"])


def _input(spec: dict[str, Any]) -> InputSpec:
    return InputSpec(InputKind[spec["kind"]], _argument(spec), spec["target"], spec["persistent"])


def _output(spec: dict[str, Any]) -> OutputSpec:
    return OutputSpec(OutputKind[spec["kind"]], _argument(spec), spec["target"])


class _Loaded(Differentiable):
    """A program of a file as an instruction."""

    __slots__ = ("serialized",)

    def __init__(self, serialized: bytes) -> None:
        self.serialized = serialized
        called = jax.export.deserialize(bytearray(serialized)).call
        super().__init__("exported", lambda *arrays: tuple(called(*arrays)))


def _program(known: dict[str, Any], serialized: bytes, constants: dict[str, Tensor]) -> Program:
    key = tuple([(_places(shape), getattr(dtypes, "bool_" if dtype == "bool" else dtype), device) for shape, dtype, device in known["key"]])
    leaves = [Output(leaf["tensor"]) if "tensor" in leaf else Place(*leaf["place"]) if "place" in leaf else leaf["value"] for leaf in known["leaves"]]
    return Program(
        key, _Loaded(serialized), [constants[name] for name in known["outside"]], {}, treespec_loads(known["structure"]), leaves,
        {int(a): int(b) for a, b in known["written"]}, training=known["training"],
    )  # fmt: skip
