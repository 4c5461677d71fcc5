"""The cycle collector passes over what an import makes: importing JAX makes a hundred thousand objects that stay as long as the process.

The collector looks at all of them at each full collection, which takes 80 ms, and as recording traces makes many objects, the first
seconds of a script have several.  `gc.freeze` is Python's means against that.  What was there before the import, and would have become a
cycle without an owner, is not collected either.
"""

from __future__ import annotations

import gc
import importlib

__all__ = ["freeze", "import_without_collections"]


def import_without_collections(*names: str) -> None:
    """Import modules while the collector rests, and freeze what they made."""
    collects = gc.isenabled()
    gc.disable()
    try:
        for name in names:
            importlib.import_module(name)
    finally:
        if collects:
            gc.enable()
    freeze()


def freeze() -> None:
    """Let the collector pass over everything that exists now, but for the garbage that it finds quickly."""
    if gc.isenabled():
        gc.collect(1)
    gc.freeze()


import_without_collections("jax", "jax.numpy")
