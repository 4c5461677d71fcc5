"""Data pipes: datasets that are chained from small steps.

Not here: pipes of data frames, decoders of files, validation of types at run time, restoring a pipe in the middle of a pass.
"""

from . import iter, map, utils

__all__ = ["iter", "map", "utils"]
