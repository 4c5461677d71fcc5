"""The dispatch keys of operators that users define, by torch's names, and sets of them."""

from __future__ import annotations

import enum
import functools
import threading
from collections.abc import Iterable
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.state import thread
from ..dispatch.autocast import set_enabled

__all__ = [
    "AUTOGRAD", "COMPOSITE", "AutoDispatchBelowAutograd", "DispatchKey", "DispatchKeySet", "ExcludeDispatchKeyGuard", "after_autograd", "backend_of",
    "is_below_autograd", "key_of_device", "keys_of_call", "parse_key",
]  # fmt: skip

#: Types of devices, by the keys of their kernels.
_DEVICES = {
    "cpu": "CPU", "cuda": "CUDA", "tpu": "XLA", "xla": "XLA", "meta": "Meta", "mps": "MPS", "xpu": "XPU", "hpu": "HPU", "ipu": "IPU", "hip": "HIP",
    "lazy": "Lazy", "maia": "MAIA", "mtia": "MTIA", "ve": "VE", "privateuseone": "PrivateUse1",
}  # fmt: skip
_BACKENDS = list(dict.fromkeys(_DEVICES.values()))
#: Kernels for all devices, in the order in which they are looked for.
COMPOSITE = ("CompositeExplicitAutogradNonFunctional", "CompositeExplicitAutograd", "CompositeImplicitAutograd")
AUTOGRAD = "Autograd"
#: From the lowest to the highest.
_ORDER = [
    "Undefined", *COMPOSITE, *_BACKENDS, "BackendSelect", "ADInplaceOrView", AUTOGRAD, "AutogradOther", *[f"Autograd{b}" for b in _BACKENDS], "Tracer",
    *[f"Autocast{b}" for b in _BACKENDS],
]  # fmt: skip
#: Keys of torch's that nothing here would call.
_REFUSED = [
    "Python", "PythonDispatcher", "PythonTLSSnapshot", "PreDispatch", "Functionalize", "Conjugate", "Negative", "ZeroTensor", "Dense", "Quantized", "Sparse",
    "SparseCsr", "NestedTensor", "CompositeImplicitAutogradNestedTensor", "AutogradFunctionality", "FuncTorchBatched", "FuncTorchBatchedDecomposition",
    "FuncTorchVmapMode", "FuncTorchGradWrapper", "FuncTorchDynamicLayerBackMode", "FuncTorchDynamicLayerFrontMode", "AutogradNestedTensor",
    *[f"{kind}{b}" for kind in ("Quantized", "Sparse", "SparseCsr", "NestedTensor") for b in _BACKENDS],
]  # fmt: skip

DispatchKey = enum.IntEnum("DispatchKey", {name: number for number, name in enumerate([*_ORDER, *_REFUSED])}, module="torch")  # type: ignore[misc]
DispatchKey.__str__ = enum.Enum.__str__  # type: ignore[method-assign]
DispatchKey.__doc__ = "Who handles the call of an operator; among the keys of a call the highest one that has a kernel."


def parse_key(name: str) -> str:
    """The name of a key for which kernels can be registered.

    Raises:
        RuntimeError: it is no key, torch's text.
        NotImplementedError: nothing here would call its kernels.
    """
    if name in _REFUSED:
        instead = "; use torch.library.register_vmap" if name == "FuncTorchBatched" else "; use torch.library.register_torch_dispatch" if name == "Python" else ""
        raise NotImplementedError(f"torch.library: kernels for the dispatch key {name} are never called in pytorchlike{instead}")
    if name not in _ORDER:
        raise RuntimeError(f"could not parse dispatch key: {name}")
    return name


def is_key(name: str) -> bool:
    """Whether torch has a key of this name."""
    return name in _ORDER or name in _REFUSED


def key_of_device(kind: str) -> str:
    """The key of kernels for a type of device.

    Raises:
        RuntimeError: there is no such type, torch's text.
    """
    found = _DEVICES.get(kind)
    if found is None:
        raise RuntimeError(
            "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, "
            f"privateuseone device type at start of device string: {kind}"
        )
    return found


def backend_of(key: str) -> bool:
    """Whether a key is that of a device's kernels."""
    return key in _BACKENDS or key == "Undefined"


class DispatchKeySet:
    """The keys of a call; iterates from the highest to the lowest."""

    __module__ = "torch"
    __slots__ = ("names",)

    def __init__(self, keys: str | Any | Iterable[str]) -> None:
        if isinstance(keys, str):
            keys = (keys,)
        elif isinstance(keys, enum.IntEnum):
            keys = (keys.name,)
        self.names = tuple(sorted(keys, key=lambda name: -DispatchKey[name]))

    def has(self, key: Any) -> bool:
        """Whether a key is in the set."""
        return getattr(key, "name", key) in self.names

    def highestPriorityTypeId(self) -> Any:
        """The highest key."""
        return DispatchKey[self.names[0]]

    def behind(self, position: int) -> DispatchKeySet:
        """The keys that are lower than the one at a position."""
        return _behind(self, position)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return _common(self, other)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet({*self.names, *other.names})

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet([n for n in self.names if n not in other.names])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self.names == other.names

    def __hash__(self) -> int:
        return hash(self.names)

    def __iter__(self) -> Any:
        return iter(self.names)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(reversed(self.names))})"


@functools.cache
def _behind(keys: DispatchKeySet, position: int) -> DispatchKeySet:
    return DispatchKeySet(keys.names[position + 1 :])


@functools.cache
def _common(keys: DispatchKeySet, others: DispatchKeySet) -> DispatchKeySet:
    return DispatchKeySet([n for n in keys.names if n in others.names])


@functools.cache
def keys_of_call(kinds: frozenset[str], autocast: frozenset[str], is_below: bool) -> DispatchKeySet:
    """The keys of a call.

    Args:
        kinds: the types of the tensors' devices; ``autocast``: those for which it is on.
        is_below: the keys of autograd are excluded.
    """
    backends = sorted({key_of_device(kind) for kind in kinds})
    found = [*(backends or ["Undefined"]), "BackendSelect", *[f"Autocast{key_of_device(kind)}" for kind in sorted(kinds & autocast)]]
    return DispatchKeySet(found if is_below else [*found, *[f"{AUTOGRAD}{b}" for b in backends]])


#: All keys that come after those of autograd.
after_autograd = DispatchKeySet([n for n in _ORDER if DispatchKey[n] < DispatchKey[AUTOGRAD]])


class _Excluded(threading.local):
    """Per thread: how many blocks exclude the keys of autograd."""

    autograd = 0


_excluded = _Excluded()


def is_below_autograd() -> bool:
    """Whether this thread is inside of an `AutoDispatchBelowAutograd`."""
    return _excluded.autograd > 0


class AutoDispatchBelowAutograd:
    """Inside the block operators are called without their kernels for autograd, and nothing is put on the tape."""

    def __enter__(self) -> None:
        self.grad_mode = no_grad()
        self.grad_mode.__enter__()
        self.constant = thread.state.off_tape_is_constant
        thread.state.off_tape_is_constant = False  # JAX's derivative is that of what runs inside
        _excluded.autograd += 1

    def __exit__(self, *error: Any) -> None:
        _excluded.autograd -= 1
        thread.state.off_tape_is_constant = self.constant
        self.grad_mode.__exit__(*error)


class ExcludeDispatchKeyGuard:
    """Inside the block operators are called without their kernels for some keys: those of autocast (it is off there) and of autograd.

    Raises:
        NotImplementedError: other keys, whose kernels are always called.
    """

    def __init__(self, keys: DispatchKeySet) -> None:
        self.devices = [kind for kind, key in _DEVICES.items() if keys.has(f"Autocast{key}")]
        gradients = [name for name in keys.names if name.startswith(AUTOGRAD)]
        other = [name for name in keys.names if not name.startswith((AUTOGRAD, "Autocast"))]
        if other:
            raise NotImplementedError(f"torch._C._ExcludeDispatchKeyGuard: kernels for {', '.join(other)} are always called in pytorchlike")
        self.below = AutoDispatchBelowAutograd() if gradients else None

    def __enter__(self) -> None:
        self.autocast = thread.state.autocast
        for kind in self.devices:
            set_enabled(kind, False)
        if self.below is not None:
            self.below.__enter__()

    def __exit__(self, *error: Any) -> None:
        if self.below is not None:
            self.below.__exit__(*error)
        for kind in set(self.devices) & set(self.autocast or ()):
            set_enabled(kind, True)
