"""Helpers around modules: clipping of gradients, packed sequences, parametrizations, normalizations, pruning, parameters as a vector.

What needs the modules themselves is imported when it is asked for: the modules import from here.
"""

import importlib

from . import rnn
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters

#: Name -> the file it is in; None for the files themselves.
_LATER = {
    "convert_conv2d_weight_memory_format": "memory_format", "convert_conv3d_weight_memory_format": "memory_format", "functional_call": "stateless",
    "fuse_conv_bn_eval": "fusion", "fuse_conv_bn_weights": "fusion", "fuse_linear_bn_eval": "fusion", "fuse_linear_bn_weights": "fusion",
    "fusion": None, "init": None, "memory_format": None, "parametrizations": None, "parametrize": None, "prune": None,
    "remove_spectral_norm": "spectral_norm", "remove_weight_norm": "weight_norm", "skip_init": "init", "spectral_norm": "spectral_norm",
    "stateless": None, "weight_norm": "weight_norm",
}  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    home = _LATER[name]
    module = importlib.import_module(f"{__name__}.{home or name}")
    for own, file in _LATER.items():  # importing a file puts the module in place of a function of the same name
        if file is not None and file == home:
            globals()[own] = getattr(module, own)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
