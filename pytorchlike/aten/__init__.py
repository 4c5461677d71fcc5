"""The operators, one file a family; each in one place: schema, forward in jax.numpy, derivative."""

import gc
import importlib
import pkgutil

from ..dispatch import forms

# Nothing made here is garbage, and a full collection, which this many new objects set off, walks all of JAX's (0.15 s).
_collects = gc.isenabled()
gc.disable()
try:
    for _module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{_module.name}")
    forms.install()
finally:
    if _collects:
        gc.enable()
