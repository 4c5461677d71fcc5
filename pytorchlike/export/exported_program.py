"""`export` and `ExportedProgram`: a module's call as a pure program with a signature."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from ..compiler.compiled import Unsupported
from ..compiler.region import Output
from ..core import pytree
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..tensors.tensor import Tensor
from ..utils._pytree import tree_flatten_with_path
from .dynamic_shapes import Dim, is_within, marked
from .graph_signature import ConstantArgument, ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec, TensorArgument
from .recording import Program, key_of, named_state, record_program
from .text import Graph, graph_of

__all__ = ["ExportedModule", "ExportedProgram", "export"]


class CallSpec(NamedTuple):
    """The structures of the arguments and of the result."""

    in_spec: Any
    out_spec: Any


class ExportedProgram:
    """A program with its signature and state.

    Attributes:
        graph_signature: what its inputs and outputs mean.
        state_dict: parameters and persistent buffers, by name in the module.
        constants: other tensors that it uses, buffers outside of the state_dict among them.
        graph: its operators.
        example_inputs: the arguments that it was made with; None for a loaded one.
        range_constraints: bounds of dimensions that may differ, by name.
    """

    __module__ = "torch.export.exported_program"

    def __init__(self, programs: list[Program], signature: ExportGraphSignature, state: dict[str, Tensor], constants: dict[str, Tensor],
                 in_spec: Any, graph: Graph, dynamic: list[dict[int, Any]], origin: Module | None = None, example: Any = None) -> None:  # fmt: skip
        self.graph_signature, self.constants, self.graph = signature, constants, graph
        self.state_dict = {name: t for name, t in state.items() if name not in signature.non_persistent_buffers}
        self.example_inputs = example
        self.verifiers: list[Any] = []
        self._programs, self._in_spec, self._dynamic, self._origin = programs, in_spec, dynamic, origin

    @property
    def call_spec(self) -> CallSpec:
        """The structures of the arguments and of the result."""
        return CallSpec(self._in_spec, self._programs[0].structure)

    @property
    def range_constraints(self) -> dict[str, tuple[int, int | None]]:
        """Bounds of the dimensions that may differ."""
        return {getattr(d, "name", str(d)): (d.min, d.max) for dims in self._dynamic for d in dims.values()}

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
        """A module that runs the program, on the program's own (the exported module's) parameters and buffers."""
        return ExportedModule(self)

    def run_decompositions(self, decomp_table: Any = None, decompose_custom_triton_ops: bool = False) -> ExportedProgram:
        """The program itself: it is functional already, and its operators are what they are."""
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("Unable to call ExportedProgram directly. You should use `exported_program.module()` instead.")

    def __str__(self) -> str:
        return f"ExportedProgram:\n{self.graph.readable()}\nGraph signature: {self.graph_signature}\nRange constraints: {self.range_constraints}\n"

    __repr__ = __str__

    def print_readable(self, print_output: bool = True) -> str:
        """The program's text."""
        text = self.graph.readable()
        if print_output:
            print(text)
        return text


class ExportedModule(Module):
    """What runs an exported program: parameters and buffers under their names, and the program as ``forward``.

    Raises:
        ValueError: arguments of another structure; AssertionError: of other shapes or values.  torch's texts.
    """

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        self.__dict__["_program"] = program
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
        return run_program(self.__dict__["_program"], self._state(), args, kwargs)

    def __deepcopy__(self, memo: dict) -> ExportedModule:
        made = type(self).__new__(type(self))
        made.__dict__.update({name: value if name == "_program" else copy.deepcopy(value, memo) for name, value in self.__dict__.items()})
        return made


def run_program(exported: ExportedProgram, state: list[Tensor], args: tuple, kwargs: Mapping[str, Any], training: bool | None = None) -> Any:
    """Check the arguments, find the program for their shapes (and the mode), and run it."""
    leaves, spec = pytree.flatten((args, dict(kwargs)))
    if spec != exported._in_spec:
        raise ValueError(
            f"Trying to flatten user inputs with exported input tree spec: \n{exported._in_spec}\nbut actually got inputs with tree spec of: \n{spec}.\n"
            "Please check that the inputs have the same number and type of args and kwargs as the ones you used when tracing."
        )
    specs = [s for s in exported.graph_signature.input_specs if s.kind is InputKind.USER_INPUT]
    for leaf, each in zip(leaves, specs, strict=True):
        if isinstance(each.arg, ConstantArgument) != (not isinstance(leaf, Tensor)) or isinstance(each.arg, ConstantArgument) and leaf != each.arg.value:
            raise AssertionError(f"Guard failed: {each.arg.name} == {getattr(each.arg, 'value', 'a tensor')!r}")
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
        found = _for_other_shapes(exported, leaves, specs, key, args, kwargs)
    return found([*state, *tensors])


def _for_other_shapes(exported: ExportedProgram, leaves: list[Any], specs: list[InputSpec], key: tuple, args: tuple, kwargs: Any) -> Program:
    expected = iter(exported._programs[0].key)
    sizes: dict[str, tuple[int, str]] = {}
    for leaf, spec, dynamic in zip(leaves, specs, exported._dynamic, strict=True):
        if not isinstance(leaf, Tensor):
            continue
        shape, dtype, device = next(expected)
        name = spec.arg.name
        if leaf.dim() != len(shape):
            raise AssertionError(f"Guard failed: len({name}.size()) == {len(shape)}")
        for d, (size, wanted) in enumerate(zip(leaf.shape, shape)):
            if d in dynamic:
                bound = is_within(dynamic[d], size)
                if bound is not None:
                    raise AssertionError(f"Guard failed: {name}.size()[{d}] {bound}")
                if isinstance(dynamic[d], Dim):
                    first = sizes.setdefault(dynamic[d].name, (size, f"{name}.size()[{d}]"))
                    if first[0] != size:
                        raise AssertionError(f"Guard failed: {name}.size()[{d}] == {first[1]}")
            elif size != wanted:
                raise AssertionError(f"Guard failed: {name}.size()[{d}] == {wanted}")
        if leaf.dtype != dtype:
            raise AssertionError(f"Guard failed: {name}.dtype == {dtype}")
        if leaf.device.type != device:
            raise AssertionError(f"Guard failed: {name}.device.type == {device!r}")
    if exported._origin is None and any(isinstance(n, str) for shape, _, _ in exported._programs[0].key for n in shape):
        return exported._programs[0]
    if exported._origin is None:
        raise NotImplementedError(
            "a loaded program has the shapes that it was saved with: "
            f"{[[list(shape) for shape, _, _ in p.key] for p in exported._programs]}, not {[list(shape) for shape, _, _ in key]}"
        )
    program = record_program(exported._origin, args, dict(kwargs))
    exported._programs.append(program)
    return program


# ----------------------------------------------------------------------------------------------------------------- export
def _names_of(forward: Any, args: tuple, kwargs: dict[str, Any]) -> list[str]:
    """The names of the leaves of the arguments, as torch gives them: ``x``, ``xs_0``, ``y_key``."""
    names: list[str] = []
    parameters = list(inspect.signature(forward).parameters.values())
    plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    for k, arg in enumerate(args):
        _add_names(plain[k] if k < len(plain) else f"{rest}_{k - len(plain)}", arg, names)
    for name, arg in kwargs.items():
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
    found = {}
    for prefix, each in module.named_modules():
        for name, value in each.__dict__.items():
            if isinstance(value, Tensor):
                found[id(value)] = f"{prefix}.{name}" if prefix else name
    return found


def export(mod: Module, args: tuple, kwargs: Mapping[str, Any] | None = None, *, dynamic_shapes: Any = None, strict: bool = False,
           preserve_module_call_signature: tuple[str, ...] = (), prefer_deferred_runtime_asserts_over_guards: bool = False) -> ExportedProgram:  # fmt: skip
    """Record a module's call with example arguments as a pure program.

    Python runs once, on tensors without numbers, and is gone.  Writes to buffers and arguments are outputs of the program (torch lists them after
    `run_decompositions`).

    Args:
        args, kwargs: examples; what is no tensor among them is a constant of the program.
        dynamic_shapes: which dimensions may differ (`Dim`).  Operators bind sizes: for other sizes the module, which the program keeps, is recorded
            again; a saved program has the sizes that were used until then.
        strict: accepted.

    Raises:
        ValueError: not a module; torch's text.
        Unsupported: ``args`` is no tuple; numbers are needed in the middle, with the line.
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise Unsupported(f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
    keywords = dict(kwargs or {})
    leaves, in_spec = pytree.flatten((args, keywords))
    dynamic = marked(mod.forward, args, keywords, dynamic_shapes)
    program = record_program(mod, args, keywords)
    parameters, buffers = named_state(mod)
    persistent = set(mod.state_dict(keep_vars=True))
    constants: dict[str, Tensor] = {name: b for name, b in buffers.items() if name not in persistent}
    inputs = [InputSpec(InputKind.PARAMETER, TensorArgument("p_" + name.replace(".", "_")), name) for name in parameters]
    inputs += [InputSpec(InputKind.BUFFER, TensorArgument("b_" + name.replace(".", "_")), name, name in persistent) for name in buffers]
    known = _attribute_names(mod)
    outside = []
    for k, tensor in enumerate(program.outside):
        if k in program.draws:
            outside.append(f"random_{k}")
            continue
        name = known.get(id(tensor)) or f"lifted_tensor_{sum(s.kind is InputKind.CONSTANT_TENSOR and 'lifted' in (s.target or '') for s in inputs)}"
        constants[name] = program.outside[k] = tensor.detach().clone()
        inputs.append(InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument("c_" + name.replace(".", "_")), name))
        outside.append(inputs[-1].arg.name)
    names = _names_of(mod.forward, args, keywords)
    for name, leaf in zip(names, leaves, strict=True):
        if isinstance(leaf, Tensor):
            inputs.append(InputSpec(InputKind.USER_INPUT, TensorArgument(name), None))
        else:
            inputs.append(InputSpec(InputKind.USER_INPUT, ConstantArgument(name, leaf), None))
    arguments = [s.arg.name for s in inputs if isinstance(s.arg, TensorArgument) and s.kind is not InputKind.CONSTANT_TENSOR]
    graph, outputs = graph_of(program, arguments, outside, {s.arg.name for s in inputs})
    state = [*parameters, *buffers]
    specs = []
    for number, output in sorted(program.written.items()):
        if number >= len(state):
            specs.append(OutputSpec(OutputKind.USER_INPUT_MUTATION, TensorArgument(outputs[output]), arguments[number]))
        else:
            kind = OutputKind.PARAMETER_MUTATION if number < len(parameters) else OutputKind.BUFFER_MUTATION
            specs.append(OutputSpec(kind, TensorArgument(outputs[output]), state[number]))
    for leaf in program.leaves:
        argument = TensorArgument(outputs[leaf]) if isinstance(leaf, Output) else ConstantArgument("", leaf)
        specs.append(OutputSpec(OutputKind.USER_OUTPUT, argument, None))
    signature = ExportGraphSignature(inputs, specs)
    return ExportedProgram([program], signature, {**parameters, **buffers}, constants, in_spec, graph, dynamic, mod, (args, keywords))
