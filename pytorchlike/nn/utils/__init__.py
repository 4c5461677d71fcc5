"""Helpers around modules: clipping of gradients, packed sequences, parameters as a vector, weight normalization.

What needs the modules themselves is imported when it is asked for: the modules import from here.
"""

import importlib

from . import rnn
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters

_LATER = {"weight_norm": "weight_norm", "remove_weight_norm": "weight_norm", "skip_init": "init", "functional_call": "stateless", "stateless": None}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    home = _LATER[name]
    found = importlib.import_module(f"{__name__}.{home or name}")
    globals()[name] = found = found if home is None else getattr(found, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
