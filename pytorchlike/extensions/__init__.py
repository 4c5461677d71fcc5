"""Operators of other libraries' C++ extensions, written in JAX.

An extension is linked against torch's own C++ and cannot be loaded here.  ``torch.ops.load_library`` gets a file's path; where that is the extension
of a library in the table below, a module of ours defines the operators that it would have defined, under the same names and schemas, so that the
Python part of the library, gradients and shapes that it registers for them included, runs as it is.
"""

from __future__ import annotations

import importlib
from pathlib import PurePath

__all__ = ["load"]

#: (folder, start of the file's name) -> the module here that defines the same operators.
_STAND_INS = {("torchvision", "_C"): "torchvision"}


def load(path: str) -> bool:
    """Define the operators of an extension; whether there is a module for it."""
    file = PurePath(path)
    module = _STAND_INS.get((file.parent.name, file.name.partition(".")[0]))
    if module is not None:
        importlib.import_module(f"{__name__}.{module}")
    return module is not None
