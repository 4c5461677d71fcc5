"""The operators of a program as text."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ..graph.value import Aval
from ..tensors.tensor import Tensor
from .constraints import Samples
from .recording import Program
from .shape_specs import Symbols

__all__ = ["Graph", "Node", "graph_of"]

_SHORT = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
    "bool": "b8", "complex64": "c64", "complex128": "c128",
}  # fmt: skip


@dataclasses.dataclass
class Node:
    """A line of a program.

    Attributes:
        op: placeholder, call_function or output.
        name: of its result.
        target: the operator.
        args: names of results, and numbers.
        meta: dtype and shape of the result, as text.
    """

    op: str
    name: str
    target: str
    args: tuple[Any, ...] = ()
    meta: str = ""


@dataclasses.dataclass
class Graph:
    """The lines of a program."""

    nodes: list[Node]

    def __str__(self) -> str:
        lines = ["graph():"]
        for node in self.nodes:
            given = ", ".join([f"%{a}" if isinstance(a, str) else str(a) for a in node.args])
            if node.op == "output":
                lines.append(f"    return ({given})")
            else:
                lines.append(f"    %{node.name} = {node.op}[target={node.target}](args = ({given}))")
        return "\n".join(lines)

    def readable(self) -> str:
        """As Python code."""
        inputs = ", ".join([f'{n.name}: "{n.meta}"' for n in self.nodes if n.op == "placeholder"])
        lines = ["    class GraphModule(torch.nn.Module):", f"        def forward(self, {inputs}):"]
        for node in self.nodes:
            given = ", ".join([str(a) for a in node.args])
            if node.op == "call_function":
                lines.append(f'            {node.name}: "{node.meta}" = {node.target}({given})')
            elif node.op == "output":
                lines.append(f"            return ({given}{',' if len(node.args) == 1 else ''})")
        return "\n".join([*lines, ""])


def _meta(dtype: Any, size: Sequence[Any]) -> str:
    return f"{_SHORT.get(dtype.name, dtype.name)}[{', '.join(map(str, size))}]"


def _sizes(number: int, k: int, aval: Aval, samples: Samples | None) -> Sequence[Any]:
    """The size of an operator's result; where it depends on symbols by a simple rule, with expressions.

    Args:
        number, k: of the operator, and of its result.
    """
    if samples is None:
        return aval.size
    alike = [program.region.captured.steps[number].inference.outputs[k].size for program in samples.programs]  # type: ignore[union-attr]
    return [samples.place_of(numbers) or ("?" if len(set(numbers)) > 1 else own) for own, *numbers in zip(aval.size, *alike, strict=True)]


def graph_of(program: Program, state: Sequence[Tensor], arguments: list[str], outside: list[str], taken: set[str], symbols: Symbols,
             samples: Samples | None) -> tuple[Graph, list[str]]:  # fmt: skip
    """The operators of a program, and the names of its outputs.

    Args:
        state: the tensors among its inputs that are not the call's.
        arguments, outside: the names of its inputs.
        taken: names that operators' results cannot have.
        symbols, samples: of sizes that may differ.
    """
    inputs = [(t.dtype, t.shape) for t in state] + [(key[1], shape) for key, shape in zip(program.key, symbols.tensor_shapes, strict=True)]
    inputs += [(t.dtype, t.shape) for t in program.outside]
    if samples is not None and any(len(p.region.captured.steps) != len(program.region.captured.steps) for p in samples.programs):  # type: ignore[union-attr]
        samples = None
    region = program.region
    assert region is not None
    names: dict[int, str] = {}
    metas = {name: _meta(*each) for name, each in zip([*arguments, *outside], inputs, strict=True)}
    used = dict.fromkeys(taken, 0)

    def source(k: int) -> str:
        return arguments[k] if k >= 0 else outside[-1 - k]

    def fresh(base: str) -> str:
        if base not in used:
            used[base] = 0
            return base
        used[base] += 1
        name = f"{base}_{used[base]}"
        return name if name not in used else fresh(base)

    for slot, origin in zip(region.captured.inputs, region.sources, strict=True):
        names[slot] = source(origin)
    lines: list[Node] = []
    for number, step in enumerate(region.captured.steps):
        instruction, before = step.instruction, step.parent
        assert instruction is not None and step.inference is not None and before is not None
        numbers = [
            *region.floats[before.float_count : before.float_count + instruction.float_count],
            *region.ints[before.int_count : before.int_count + instruction.int_count],
        ]
        given = (*[names[slot] for slot in step.slots], *numbers)
        made = step.inference.outputs
        name = fresh(instruction.name.replace(".", "_"))
        lines.append(Node("call_function", name, f"torch.ops.aten.{instruction.name}", given, _meta(made[0].dtype, _sizes(number, 0, made[0], samples)) if len(made) == 1 else "tuple"))
        if len(made) == 1:
            names[step.slot] = name
        else:
            for k, aval in enumerate(made):
                names[step.slot + k] = part = fresh("getitem")
                lines.append(Node("call_function", part, "operator.getitem", (name, k), _meta(aval.dtype, _sizes(number, k, aval, samples))))
    outputs = [names[region.captured.results[k]] if kind == "result" else source(k) for kind, k in region.outputs]
    placeholders = [Node("placeholder", name, name, (), metas[name]) for name in [*arguments, *outside]]
    return Graph([*placeholders, *lines, Node("output", "output", "output", tuple(outputs))]), outputs
