"""Runs one piece of code on torch and on pytorchlike and compares what comes out: values, dtypes, strides, exceptions, warnings."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch as real_torch

import pytorchlike as ours
from pytorchlike.aten.legacy import LEGACY_TYPES
from pytorchlike.tensors.convert import from_dlpack
from pytorchlike.tensors.storages import TypedStorage, UntypedStorage

_EXTRA = {n: t for n, t in LEGACY_TYPES.items() if "." not in n} | {"from_dlpack": from_dlpack, "UntypedStorage": UntypedStorage}


class _Module(SimpleNamespace):
    """pytorchlike, with the names that a test wants whether or not the package exports them already."""

    def __getattr__(self, name: str) -> Any:
        return _EXTRA[name] if name in _EXTRA else getattr(ours, name)


MODULES = (real_torch, _Module())


def plain(value: Any) -> Any:
    """A result as something that compares with ``==`` (and NaN equals NaN)."""
    if isinstance(value, (real_torch.Tensor, ours.Tensor)):
        if str(value.dtype).endswith("bfloat16"):
            shown = value.detach().float().tolist()
        else:
            shown = value.detach().tolist()
        return ("tensor", str(value.dtype), tuple(value.shape), tuple(value.stride()) if value.numel() > 1 else (), repr(shown), value.requires_grad)
    if isinstance(value, (real_torch.storage.UntypedStorage, UntypedStorage, real_torch.storage.TypedStorage, TypedStorage)):
        return ("storage", value.tolist())
    if isinstance(value, np.ndarray):
        return ("array", str(value.dtype), value.shape, value.strides if value.size else (), repr(value.tolist()))
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if isinstance(value, (real_torch.dtype, ours.dtype, type)):
        return str(value)
    return repr(value)


def outcome(module: Any, code: Callable | str, values: dict[str, Any]) -> Any:
    """The result of ``code(torch)``, or of an expression, with the warnings; or the exception."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            names = {k: v(module) if callable(v) else v for k, v in values.items()} | {"torch": module, "np": np}
            result = plain(eval(code, names) if isinstance(code, str) else code(module))
        except Exception as error:
            return (type(error).__name__, re.sub(r"\s+didn't match.*", "", str(error), flags=re.S))
    texts = [re.sub(r" ?\(Triggered internally.*", "", str(w.message)) for w in caught if not issubclass(w.category, DeprecationWarning)]
    return result, list(dict.fromkeys(texts))


def same(code: Callable | str, *, warned: bool = False, **values: Any) -> Any:
    """Assert that both libraries give the same result, or fail with the same exception and text.

    Args:
        warned: compare warnings too (torch gives some of them once in a process).
        values: what the expression's names mean: functions of the module, or plain values.
    """
    theirs, mine = (outcome(module, code, values) for module in MODULES)
    if not warned and isinstance(theirs[1], list) and isinstance(mine[1], list):
        theirs, mine = theirs[0], mine[0]
    assert mine == theirs, f"{code}\n ours:  {mine}\n torch: {theirs}"
    return mine
