"""Programs run on the host with numpy, one primitive after the other, without a compiler."""

from . import arrangement, contractions, control, elementwise, indexing, pooling, reductions
from .prepare import Prepared, prepare
from .sizes import Sizes, SymbolicProgram
from .table import NotInterpretable

__all__ = ["NotInterpretable", "Prepared", "Sizes", "SymbolicProgram", "prepare"]
