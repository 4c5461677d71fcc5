"""`ExportedProgram`: a module's call as a pure program with a signature, and the module that runs it."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from ..core import pytree
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..tensors.tensor import Tensor
from .constraints import Samples
from .graph_signature import ExportGraphSignature, InputKind, OutputKind
from .guards import check_leaves, check_shapes, flattened, numbers_of
from .ranges import ValueRanges, int_oo
from .recording import Program, key_of, record_program
from .shape_specs import Place, Symbols
from .text import Graph

__all__ = ["CallSpec", "ExportedModule", "ExportedProgram", "ModuleCallEntry", "ModuleCallSignature", "call_graph", "run_program"]

_MUTATIONS = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION, OutputKind.USER_INPUT_MUTATION)


class CallSpec(NamedTuple):
    """The structures of the arguments and of the result."""

    in_spec: Any
    out_spec: Any


@dataclasses.dataclass
class ModuleCallSignature:
    """How a module is called.

    Attributes:
        inputs, outputs: empty; the program's signature has those of the whole.
    """

    inputs: list[Any]
    outputs: list[Any]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec
    forward_arg_names: list[str] | None = None


@dataclasses.dataclass
class ModuleCallEntry:
    """A module of the exported one, by its name; the signature is that of the whole, and None for parts."""

    fqn: str
    signature: ModuleCallSignature | None = None


def call_graph(in_spec: pytree.TreeSpec, out_spec: pytree.TreeSpec, modules: Mapping[str, list[str] | None]) -> list[ModuleCallEntry]:
    """The modules with the whole's signature; ``modules`` maps names to those of the arguments."""
    return [ModuleCallEntry(name, None if names is None else ModuleCallSignature([], [], in_spec, out_spec, names)) for name, names in modules.items()]


class ExportedProgram:
    """A program with its signature and state.

    Attributes:
        graph_signature: what its inputs and outputs mean.
        state_dict: parameters and persistent buffers, by name in the module.
        constants: other tensors that it uses, buffers outside of the state_dict among them.
        graph: its operators.
        example_inputs: the arguments that it was made with; None for a loaded one.
        range_constraints: bounds of the sizes that may differ, by symbol (a string, where torch has sympy's).
        module_call_graph: the modules of the exported one.
        dialect: "TRAINING", where the signature has no mutations, or "ATEN".
    """

    __module__ = "torch.export.exported_program"

    def __init__(self, programs: list[Program], signature: ExportGraphSignature, state: dict[str, Tensor], constants: dict[str, Tensor],
                 in_spec: Any, graph: Graph, symbols: Symbols, calls: list[ModuleCallEntry], origin: Module | None = None, example: Any = None,
                 samples: Samples | None = None, dialect: str = "TRAINING") -> None:  # fmt: skip
        self.constants, self.graph, self.module_call_graph, self.dialect = constants, graph, calls, dialect
        self.state_dict = {name: t for name, t in state.items() if name not in signature.non_persistent_buffers}
        self.example_inputs = example
        self.verifiers: list[Any] = []
        self._signature, self._programs, self._in_spec, self._symbols = signature, programs, in_spec, symbols
        self._origin, self._samples = origin, samples
        self.graph_signature = signature
        if dialect == "TRAINING":
            outputs = [s for s in signature.output_specs if s.kind not in _MUTATIONS]
            self.graph_signature = ExportGraphSignature(signature.input_specs, outputs)

    @property
    def call_spec(self) -> CallSpec:
        """The structures of the arguments and of the result."""
        return CallSpec(self._in_spec, self._programs[0].structure)

    @property
    def range_constraints(self) -> dict[str, ValueRanges]:
        """Bounds of the sizes that may differ."""
        found: dict[str, ValueRanges] = {}
        places = [place for shape in self._symbols.tensor_shapes for place in shape if isinstance(place, Place)]
        for place in [*places, *map(Place, self._symbols.table)]:
            symbol = self._symbols.table[place.symbol]
            most = int_oo if symbol.most is None else place.of({symbol.name: symbol.most})
            found.setdefault(str(place), ValueRanges(place.of({symbol.name: symbol.least}), most))
        return found

    @property
    def tensor_constants(self) -> dict[str, Tensor]:
        """`constants`."""
        return self.constants

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """The parameters with their names."""
        return ((name, self.state_dict[name]) for name in self.graph_signature.parameters)

    def parameters(self) -> Iterator[Tensor]:
        """The parameters."""
        return (tensor for _, tensor in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their names."""
        return ((name, self.state_dict[name] if name in self.state_dict else self.constants[name]) for name in self.graph_signature.buffers)

    def buffers(self) -> Iterator[Tensor]:
        """The buffers."""
        return (tensor for _, tensor in self.named_buffers())

    def module(self, check_guards: bool = True) -> ExportedModule:
        """A module that runs the program, on the program's own (the exported module's) parameters and buffers.

        Args:
            check_guards: where it is false, arguments that the program is not for are refused too, with the errors of a program's inputs.
        """
        return ExportedModule(self, check_guards)

    def run_decompositions(self, decomp_table: Mapping[Any, Any] | None = None, decompose_custom_triton_ops: bool = False) -> ExportedProgram:
        """The program with the mutations in its signature; it is functional already, and its operators are what they are.

        Raises:
            NotImplementedError: ``decomp_table`` has functions for operators.
        """
        if decomp_table:
            raise NotImplementedError("ExportedProgram.run_decompositions: operators are not replaced by the functions of decomp_table; leave it out")
        made = copy.copy(self)
        made.dialect, made.graph_signature = "ATEN", self._signature
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("Unable to call ExportedProgram directly. You should use `exported_program.module()` instead.")

    def __str__(self) -> str:
        signature = str(self.graph_signature).strip("\n").replace("\n", "\n    ")
        ranges = ", ".join([f"{name}: {bounds}" for name, bounds in self.range_constraints.items()])
        return f"ExportedProgram:\n{self.graph.readable()}    \nGraph signature: \n    {signature}\n    \nRange constraints: {{{ranges}}}\n"

    __repr__ = __str__

    def __deepcopy__(self, memo: dict) -> ExportedProgram:
        made = copy.copy(self)
        made.state_dict = copy.deepcopy(self.state_dict, memo)
        state = set(self.graph_signature.buffers)
        made.constants = {name: copy.deepcopy(t, memo) if name in state else t for name, t in self.constants.items()}
        made._programs = list(self._programs)
        return made

    def print_readable(self, print_output: bool = True) -> str:
        """The program's text."""
        text = self.graph.readable()
        if print_output:
            print(text)
        return text


class ExportedModule(Module):
    """What runs an exported program: parameters and buffers under their names, and the program as ``forward``.

    Raises:
        ValueError: arguments of another structure; AssertionError: of other shapes or values; AttributeError: no tensors.  torch's texts.
    """

    def __init__(self, program: ExportedProgram, check_guards: bool = True) -> None:
        super().__init__()
        self.__dict__["_program"], self.__dict__["_check_guards"] = program, check_guards
        self.__dict__["_state_names"] = names = [*program.graph_signature.parameters, *program.graph_signature.buffers]
        for name in names:
            tensor = program.state_dict[name] if name in program.state_dict else program.constants[name]
            owner, last = self._owner(name)
            if isinstance(tensor, Parameter):
                owner.register_parameter(last, tensor)
            else:
                owner.register_buffer(last, tensor, name in program.state_dict)

    def _state(self) -> list[Tensor]:
        return [getattr(*self._owner(name)) for name in self.__dict__["_state_names"]]

    def _owner(self, name: str) -> tuple[Module, str]:
        owner: Module = self
        *path, last = name.split(".")
        for part in path:
            if part not in owner._modules:
                owner._modules[part] = Module()
            owner = owner._modules[part]  # type: ignore[assignment]
        return owner, last

    def train(self, mode: bool = True) -> NoReturn:  # type: ignore[override]
        """Not there: the program is what it was recorded as."""
        raise NotImplementedError("Calling train() is not supported yet.")

    def eval(self) -> NoReturn:  # type: ignore[override]
        """Not there: the program is what it was recorded as."""
        raise NotImplementedError("Calling eval() is not supported yet.")

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program."""
        return run_program(self.__dict__["_program"], self._state(), args, kwargs, as_guards=self.__dict__["_check_guards"])

    def __deepcopy__(self, memo: dict) -> ExportedModule:
        made = type(self).__new__(type(self))
        made.__dict__.update({name: value if name == "_program" else copy.deepcopy(value, memo) for name, value in self.__dict__.items()})
        return made


def run_program(exported: ExportedProgram, state: list[Tensor], args: tuple, kwargs: Mapping[str, Any], training: bool | None = None, as_guards: bool = True) -> Any:  # fmt: skip
    """Check the arguments, find the program for their shapes (and the mode), and run it.

    Args:
        as_guards: see `check_shapes`.
    """
    leaves = flattened(exported._in_spec, args, kwargs)
    specs = [s for s in exported.graph_signature.input_specs if s.kind is InputKind.USER_INPUT]
    check_leaves(leaves, specs, exported._symbols.arguments, as_guards)
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    key = key_of(tensors)
    found = next((p for p in exported._programs if p.key == key and (training is None or p.training is None or p.training == training)), None)
    if found is None and training is not None:
        known = [(["train" if p.training else "eval", *[list(shape) for shape, _, _ in p.key]]) for p in exported._programs]
        raise NotImplementedError(
            f"a loaded module has the programs that it was saved with, for mode and shapes {known}, not for "
            f"{['train' if training else 'eval', *[list(shape) for shape, _, _ in key]]}"
        )
    if found is None:
        check_shapes(tensors, exported._programs[0].key, exported._symbols, as_guards)
        found = _for_other_shapes(exported, leaves)
    return found([*state, *tensors], numbers_of(tensors, exported._symbols))


def _for_other_shapes(exported: ExportedProgram, leaves: list[Any]) -> Program:
    if exported._origin is None:  # its one program is for all sizes
        if any(0 in leaf.shape for leaf in leaves if isinstance(leaf, Tensor)):
            raise NotImplementedError("a program of a file takes no tensors of size 0")
        return exported._programs[0]
    args, kwargs = pytree.unflatten(leaves, exported._in_spec)
    program = record_program(exported._origin, args, kwargs)
    exported._programs.append(program)
    return program
