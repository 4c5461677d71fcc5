"""``torch.utils``."""

from __future__ import annotations

import weakref
from typing import Any

from ..alias import attribute_fallback
from ..tensors.tape import AccumulateGrad
from ..tensors.tensor import Tensor

__all__ = ["rename_privateuse1_backend", "set_module", "swap_tensors"]


def set_module(obj: Any, mod: str) -> None:
    """Set the module that an object says it is from."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Let two tensors change places: each gets the class, content, gradient and place on the tape of the other.

    Raises:
        RuntimeError: their classes have different slots, or something refers to one of them weakly.
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        edge = tensor._edge
        if weakref.getweakrefcount(tensor) > (edge is not None and type(edge[0]) is AccumulateGrad):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    if _slots_of(t1) != _slots_of(t2):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    held = [{name: getattr(t, name) for name in _slots_of(t) if not name.startswith("__") and hasattr(t, name)} for t in (t1, t2)]
    t1.__class__, t2.__class__ = type(t2), type(t1)
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for tensor, before, after in ((t1, held[0], held[1]), (t2, held[1], held[0])):
        for name in before.keys() - after.keys():
            delattr(tensor, name)
        for name, value in after.items():
            setattr(tensor, name, value)
        edge = after.get("_edge")
        if edge is not None and type(edge[0]) is AccumulateGrad:
            edge[0].leaf = weakref.ref(tensor)


def _slots_of(tensor: Tensor) -> set[str]:
    return {name for cls in type(tensor).__mro__ for name in cls.__dict__.get("__slots__", ())}


def rename_privateuse1_backend(backend_name: str) -> None:
    """Not possible: devices are those of JAX.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(f"rename_privateuse1_backend({backend_name!r}): devices are those of JAX; others cannot be added")


__getattr__ = attribute_fallback(
    __name__,
    (
        "_contextlib", "_device", "_foreach_utils", "_python_dispatch", "_pytree", "_triton", "benchmark", "checkpoint", "collect_env",
        "cpp_extension", "data", "deterministic", "dlpack", "flop_counter", "hooks", "model_zoo", "module_tracker", "serialization", "tensorboard",
        "weak",
    ),
)  # fmt: skip
