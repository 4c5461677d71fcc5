"""The persistent compilation cache: compiled programs kept on disk, so that the second start of a script is warm."""

from __future__ import annotations

import functools
import os
import pathlib

import jax

__all__ = ["configure", "folder"]


@functools.cache
def configure() -> None:
    """Point JAX at our cache folder, once, before the first compilation, unless the user has chosen one.

    ``PYTORCHLIKE_CACHE_DIR`` names another folder; ``PYTORCHLIKE_CACHE=0`` keeps the disk out of it.
    """
    if os.environ.get("PYTORCHLIKE_CACHE", "1") == "0" or getattr(jax.config, "jax_compilation_cache_dir") is not None:
        return
    base = os.environ.get("PYTORCHLIKE_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.join(pathlib.Path.home(), ".cache"), "pytorchlike"
    )
    try:
        os.makedirs(base, exist_ok=True)
    except OSError:  # a read-only home: compile anew each time
        return
    jax.config.update("jax_compilation_cache_dir", base)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def folder() -> str | None:
    """Where programs are kept; None: nowhere, or in a place that is no folder of this machine (``gs://``)."""
    configure()
    values = jax.config.values
    found = values["jax_compilation_cache_dir"]
    if os.environ.get("PYTORCHLIKE_CACHE", "1") == "0" or not values["jax_enable_compilation_cache"] or found is None or "://" in found:
        return None
    return found
