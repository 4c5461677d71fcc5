"""The operators, one file a family; each in one place: schema, forward in jax.numpy, derivative."""

import importlib
import pkgutil

from ..dispatch import forms

for _module in pkgutil.iter_modules(__path__):
    try:
        importlib.import_module(f"{__name__}.{_module.name}")
    except ImportError as _error:  # TEMPORARY while families are being written
        print("aten:", _module.name, _error)
forms.install()
