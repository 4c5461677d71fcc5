"""The operators, one file a family; each in one place: schema, forward in jax.numpy, derivative."""

import importlib
import pkgutil

from ..core.lazy import uncollected
from ..dispatch import forms
from ..dispatch.roster import roster

with uncollected():
    for _module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{_module.name}")
    forms.install()
