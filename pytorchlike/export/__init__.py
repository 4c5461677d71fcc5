"""``torch.export``: a module's call as a pure program that needs no Python, and can be saved."""

from .archive import load, save
from .dynamic_shapes import AdditionalInputs, Dim, ShapesCollection, dims
from .exported_program import ExportedModule, ExportedProgram, ModuleCallEntry, ModuleCallSignature
from .graph_signature import (
    ConstantArgument,
    ExportBackwardSignature,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)  # fmt: skip
from .trace import draft_export, export, register_dataclass
from .unflatten import FlatArgsAdapter, UnflattenedModule, unflatten

__all__ = [
    "AdditionalInputs", "ConstantArgument", "Dim", "ExportBackwardSignature", "ExportGraphSignature", "ExportedModule", "ExportedProgram", "FlatArgsAdapter",
    "InputKind", "InputSpec", "ModuleCallEntry", "ModuleCallSignature", "OutputKind", "OutputSpec", "ShapesCollection", "SymIntArgument", "TensorArgument",
    "UnflattenedModule", "dims", "draft_export", "export", "load", "register_dataclass", "save", "unflatten",
]  # fmt: skip
