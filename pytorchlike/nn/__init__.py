"""``torch.nn``: modules, parameters, losses, and what goes with them."""

import importlib
from typing import Any

from . import functional, init, modules, parameter, utils
from .modules import *
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from .utils import spectral_norm as _spectral_norm  # now, so that importing the files of these names does not put modules in their place
from .utils import weight_norm as _weight_norm

_LATER = ("attention", "common_types", "grad", "intrinsic", "parallel", "quantizable", "quantized")
_WITHOUT = {"qat": "quantization-aware modules"}


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments for functions that make tensors, picked from those of a module.

    Raises:
        TypeError: another argument, or one that is given twice.
    """
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    unknown = kwargs.keys() - simple - {"factory_kwargs"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for key in simple & kwargs.keys():
        if key in found:
            raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
        found[key] = kwargs[key]
    return found


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return importlib.import_module(f"{__name__}.{name}")
    reason = f"pytorchlike has no {_WITHOUT[name]}" if name in _WITHOUT else f"torch.nn.{name} is not in pytorchlike yet"
    raise AttributeError(f"module 'torch.nn' has no attribute '{name}'" + ("" if name.startswith("__") else f" ({reason})"))
