"""What the inputs and outputs of an exported program mean."""

from __future__ import annotations

import dataclasses
from enum import Enum, auto
from typing import Any

__all__ = ["ConstantArgument", "ExportBackwardSignature", "ExportGraphSignature", "InputKind", "InputSpec", "OutputKind", "OutputSpec", "SymIntArgument", "TensorArgument"]


@dataclasses.dataclass
class TensorArgument:
    """A tensor of the program, by its name there."""

    name: str


@dataclasses.dataclass
class SymIntArgument:
    """A number that depends on sizes, by its name."""

    name: str


@dataclasses.dataclass
class ConstantArgument:
    """A number, a string or None."""

    name: str
    value: int | float | bool | str | None


class InputKind(Enum):
    """Where an input comes from."""

    USER_INPUT = auto()
    PARAMETER = auto()
    BUFFER = auto()
    CONSTANT_TENSOR = auto()
    CUSTOM_OBJ = auto()
    TOKEN = auto()


class OutputKind(Enum):
    """Where an output goes."""

    USER_OUTPUT = auto()
    LOSS_OUTPUT = auto()
    BUFFER_MUTATION = auto()
    PARAMETER_MUTATION = auto()
    GRADIENT_TO_PARAMETER = auto()
    GRADIENT_TO_USER_INPUT = auto()
    USER_INPUT_MUTATION = auto()
    TOKEN = auto()


def _shown(spec: Any) -> str:
    target = "" if spec.target is None else f" target={spec.target!r}"
    persistent = getattr(spec, "persistent", None)
    return f"{spec.arg.name}: {spec.kind.name}{target}{'' if persistent is None else f' persistent={persistent}'}"


@dataclasses.dataclass
class InputSpec:
    """An input: its kind, its name in the program, and for state the name in the module."""

    kind: InputKind
    arg: TensorArgument | SymIntArgument | ConstantArgument
    target: str | None
    persistent: bool | None = None

    def __str__(self) -> str:
        return _shown(self)


@dataclasses.dataclass
class OutputSpec:
    """An output: its kind, its name in the program, and what it is the new content of."""

    kind: OutputKind
    arg: TensorArgument | SymIntArgument | ConstantArgument
    target: str | None

    def __str__(self) -> str:
        return _shown(self)


@dataclasses.dataclass
class ExportBackwardSignature:
    """Which outputs of a program are gradients; programs of `export` have none."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


@dataclasses.dataclass
class ExportGraphSignature:
    """All inputs and outputs of a program, which is a pure function: new contents of buffers are outputs."""

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    def _targets(self, kind: InputKind) -> tuple[str, ...]:
        return tuple([s.target for s in self.input_specs if s.kind is kind and s.target is not None])

    def _by_name(self, kind: Any) -> dict[str, str]:
        specs: list[Any] = [*self.input_specs, *self.output_specs]
        return {s.arg.name: s.target for s in specs if s.kind is kind}

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters' names in the module."""
        return self._targets(InputKind.PARAMETER)

    @property
    def buffers(self) -> tuple[str, ...]:
        """The buffers' names in the module."""
        return self._targets(InputKind.BUFFER)

    @property
    def non_persistent_buffers(self) -> tuple[str, ...]:
        """The names of the buffers that are not in the state_dict."""
        return tuple([s.target for s in self.input_specs if s.kind is InputKind.BUFFER and s.persistent is False and s.target is not None])

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """The names of the tensors that are neither parameters nor buffers."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """The names of the arguments; for those that are no tensors, their values."""
        return tuple([s.arg.value if isinstance(s.arg, ConstantArgument) else s.arg.name for s in self.input_specs if s.kind is InputKind.USER_INPUT])

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """The names of the results; for those that are no tensors, their values."""
        return tuple([s.arg.value if isinstance(s.arg, ConstantArgument) else s.arg.name for s in self.output_specs if s.kind is OutputKind.USER_OUTPUT])

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        """Name in the program -> name in the module."""
        return self._by_name(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        """Name in the program -> name in the module."""
        return self._by_name(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> dict[str, str]:
        """Name in the program -> name of the constant."""
        return self._by_name(InputKind.CONSTANT_TENSOR)

    @property
    def buffers_to_mutate(self) -> dict[str, str]:
        """Name of the output -> the buffer that it is the new content of."""
        return self._by_name(OutputKind.BUFFER_MUTATION)

    @property
    def parameters_to_mutate(self) -> dict[str, str]:
        """Name of the output -> the parameter that it is the new content of."""
        return self._by_name(OutputKind.PARAMETER_MUTATION)

    @property
    def user_inputs_to_mutate(self) -> dict[str, str]:
        """Name of the output -> the argument that it is the new content of."""
        return self._by_name(OutputKind.USER_INPUT_MUTATION)

    @property
    def backward_signature(self) -> None:
        """None: programs compute no gradients of their own."""
        return None

    @property
    def assertion_dep_token(self) -> None:
        """None: programs assert nothing about data."""
        return None

    @property
    def input_tokens(self) -> tuple[str, ...]:
        """Empty: no operator has an effect whose order is to be kept."""
        return ()

    @property
    def output_tokens(self) -> tuple[str, ...]:
        """Empty, as `input_tokens`."""
        return ()

    @property
    def lifted_custom_objs(self) -> tuple[str, ...]:
        """Empty: programs take no objects."""
        return ()

    @property
    def inputs_to_lifted_custom_objs(self) -> dict[str, str]:
        """Empty: programs take no objects."""
        return {}

    def __str__(self) -> str:
        lines = ["", "# inputs", *map(str, self.input_specs), "", "# outputs", *map(str, self.output_specs), ""]
        return "\n".join(lines)
