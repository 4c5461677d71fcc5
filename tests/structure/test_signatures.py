"""Public classes, methods and functions of the training stack take what torch's take: names, order, kinds and defaults of parameters."""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

NAMESPACES = [
    "nn", "nn.attention.bias", "nn.attention.varlen", "nn.functional", "nn.grad", "nn.init", "nn.parallel", "nn.parameter", "nn.utils", "nn.utils.parametrizations",
    "nn.utils.parametrize", "nn.utils.prune", "nn.utils.rnn", "nn.utils.stateless", "optim", "optim._adafactor", "optim._functional", "optim._muon",
    *(f"optim.{name}" for name in ("adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop", "rprop", "sgd")),
    "optim.lr_scheduler", "optim.swa_utils", "amp", "utils.data",
    *(f"utils.data.{name}" for name in ("datapipes.iter", "datapipes.map", "datapipes.utils.common", "graph", "graph_settings")),
    "distributions", "distributions.transforms", "distributions.constraints", "hub", "library",
]  # fmt: skip

#: What differs, and why.
DIFFERENT = {
    **dict.fromkeys(("DFIterDataPipe", "RoutedDecoder", "argument_validation", "runtime_validation", "runtime_validation_disabled"), "refused by name"),
    **dict.fromkeys(("ScalingType", "SwizzleType", "scaled_mm", "grouped_mm", "scaled_grouped_mm"), "matrix products of float8 in blocks are not here"),
    **dict.fromkeys(("Parameter", "UninitializedParameter", "UninitializedBuffer", "Buffer", "CausalBias"), "tensors: their methods are operators"),
}  # fmt: skip
#: Parameters that ours have beside torch's: numpy's word for ``dim``, and ``out`` of an operator that has two names.
FURTHER = {"axis", "out"}


def _parameters(value: Any) -> list[tuple[str, Any, Any]] | None:
    try:
        found = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):  # written in C++
        return None
    return [(p.name, p.kind, p.default) for p in found]


def _is_same_default(mine: Any, theirs: Any) -> bool:
    if mine is inspect.Parameter.empty or theirs is inspect.Parameter.empty:
        return mine is theirs
    return type(theirs) not in (bool, int, float, str, tuple, type(None)) or mine == theirs


def _difference(mine: Any, theirs: Any) -> str:
    """What differs between two functions, "" if nothing does that a caller could notice."""
    ours, wanted = _parameters(mine), _parameters(theirs)
    if ours is None or wanted is None or [name for name, _, _ in wanted] == ["args", "kwargs"]:
        return ""
    names = {name for name, _, _ in wanted}
    ours = [p for p in ours if p[0] in names or p[0] not in FURTHER]
    if "out" in names:  # an operator's ``out`` is a keyword
        ours, wanted = ([p for p in parameters if p[0] != "out"] for parameters in (ours, wanted))
    for (name, kind, default), (their_name, their_kind, their_default) in zip(ours, wanted):
        if (name, kind) != (their_name, their_kind) or not _is_same_default(default, their_default):
            return f"{name} ({kind.description}) = {default!r}, torch has {their_name} ({their_kind.description}) = {their_default!r}"
    return "" if len(ours) == len(wanted) else f"{[p[0] for p in ours]}, torch has {[p[0] for p in wanted]}"


def _methods(cls: type) -> Iterator[str]:
    for name in dir(cls):
        if (not name.startswith("_") or name in ("__call__", "__getitem__", "__setitem__")) and inspect.isfunction(getattr(cls, name)):
            yield name


def _is_of(namespace: Any, name: str, module: str) -> bool:
    """Whether a name is meant for users of a namespace, and not something that it imports for its own use."""
    stated = getattr(namespace, "__all__", None)
    return module.startswith(namespace.__name__) if stated is None else name in stated


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_signatures_equal_torchs(namespace: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = (importlib.import_module(f"{package}.{namespace}") for package in ("torch", "pytorchlike"))
        wrong = []
        for name, wanted in sorted(vars(theirs).items()):
            module = getattr(wanted, "__module__", None) or ""
            if name.startswith("_") or name in DIFFERENT or not callable(wanted) or not _is_of(theirs, name, module):
                continue
            mine = getattr(ours, name, None)
            if mine is None or isinstance(wanted, type) != isinstance(mine, type):
                wrong.append(f"{name}: {mine}")
            elif isinstance(wanted, type):
                pairs = [("__init__", mine.__init__, wanted.__init__)]  # type: ignore[misc]
                pairs += [(method, getattr(mine, method, None), getattr(wanted, method)) for method in _methods(wanted)]
                wrong += [f"{name}.{method}: {found}" for method, a, b in pairs if (found := "missing" if a is None else _difference(a, b))]
            elif found := _difference(mine, wanted):
                wrong.append(f"{name}: {found}")
    assert not wrong, "\n".join(wrong)
