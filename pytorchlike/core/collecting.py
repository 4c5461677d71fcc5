"""Importing this module imports JAX while Python's cycle collector rests; then the collector passes over what exists.

JAX makes a hundred thousand objects that stay as long as the process.  The collector looks at all of them at each full collection, which
takes 80 ms, and as recording traces makes many objects, the first seconds of a script have several.  `gc.freeze` is Python's means against
that.  What was there before, and becomes a cycle without an owner, is not collected either.
"""

from __future__ import annotations

import gc

from .lazy import uncollected

with uncollected():
    import jax.numpy  # noqa: F401

gc.freeze()
