"""``torch.export``: a module's call as a pure program that needs no Python, and can be saved."""

from .archive import load, save
from .dynamic_shapes import Dim, dims
from .exported_program import ExportedModule, ExportedProgram, export
from .graph_signature import ConstantArgument, ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec, TensorArgument

__all__ = [
    "ConstantArgument", "Dim", "ExportGraphSignature", "ExportedModule", "ExportedProgram", "InputKind", "InputSpec", "OutputKind", "OutputSpec", "TensorArgument", "dims",
    "export", "load", "save",
]  # fmt: skip
