"""``torch.distributed.checkpoint.state_dict``: states of models and optimizers by the parameters' names in the plain model.

Wrappers (`DistributedDataParallel`, compiled modules) do not show in the names, and an optimizer's state does not depend on the order of its
parameters, so that a checkpoint fits however the model is wrapped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ...aten.constructors import tensor
from ...aten.create import zeros_like
from ...nn.modules.module import Module
from ...nn.parallel.distributed import DistributedDataParallel
from ...optim.optimizer import Optimizer
from ...tensors.tensor import Tensor

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict", "set_optimizer_state_dict",
    "set_state_dict",
]  # fmt: skip


@dataclass
class StateDictOptions:
    """What states hold and how they are loaded.

    Attributes:
        full_state_dict, broadcast_from_rank0: without effect on one process.
        cpu_offload: tensors are on the CPU.
        ignore_frozen_params: leave out parameters that ask for no gradient.
        keep_submodule_prefixes: of ``submodules``.
        strict: all names must fit.
        flatten_optimizer_state_dict: one dictionary with dots in its keys.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"

    def __post_init__(self) -> None:
        if self.broadcast_from_rank0 and not self.full_state_dict:
            raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")


def _plain_name(model: Module, name: str) -> str:
    """The name that a parameter, buffer or module has without wrappers."""
    found, at = [], model
    for part in name.split("."):
        if not (part == "_orig_mod" or part == "module" and isinstance(at, DistributedDataParallel)):
            found.append(part)
        at = getattr(at, part, None)  # type: ignore[assignment]
    return ".".join(found)


def _names_of_parameters(model: Module) -> dict[int, str]:
    return {id(p): _plain_name(model, name) for name, p in model.named_parameters()}


def _optimizers(optimizers: Any) -> tuple[Optimizer, ...]:
    return (optimizers,) if isinstance(optimizers, Optimizer) else tuple(optimizers)


def _offloaded(value: Any, options: StateDictOptions) -> Any:
    if isinstance(value, dict):
        return {key: _offloaded(inner, options) for key, inner in value.items()}
    return value.detach().cpu() if options.cpu_offload and isinstance(value, Tensor) else value


# -- models ------------------------------------------------------------------------------------------------------------------------------


def get_model_state_dict(model: Module, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None) -> dict[str, Any]:
    """The state of a model by plain names.

    Args:
        submodules: only theirs.
    """
    options = options or StateDictOptions()
    frozen = {_plain_name(model, name) for name, p in model.named_parameters() if options.ignore_frozen_params and not p.requires_grad}
    full = model.state_dict()
    state = type(full)((plain, value) for name, value in full.items() if (plain := _plain_name(model, name)) not in frozen)
    if submodules is not None:
        prefixes = [f"{_plain_name(model, name)}." for name, module in model.named_modules() if module in submodules]
        kept = 0 if options.keep_submodule_prefixes else 1
        state = {name[kept * len(prefix) :]: value for name, value in state.items() for prefix in prefixes if name.startswith(prefix)}
    return _offloaded(state, options) if options.cpu_offload else state


def set_model_state_dict(model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None) -> Any:
    """Load a state by plain names; returns the names that did not fit.

    Raises:
        RuntimeError: names do not fit, unless ``strict=False``.
    """
    options = options or StateDictOptions()
    own = {_plain_name(model, name): name for name in model.state_dict()}
    return model.load_state_dict({own.get(name, name): value for name, value in model_state_dict.items()}, strict=options.strict)


# -- optimizers --------------------------------------------------------------------------------------------------------------------------


def _make_state(optimizer: Optimizer) -> None:
    """Give an optimizer its first state, by a step of rate 0 with gradients of zeros; one that has gradients is left alone."""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state or any(p.grad is not None for p in params):
        return
    for p in params:
        if p.requires_grad:
            p.grad = zeros_like(p)
    rates = [group.get("lr") for group in optimizer.param_groups]
    for group, rate in zip(optimizer.param_groups, rates):
        if rate is not None:
            group["lr"] = tensor(0.0) if isinstance(rate, Tensor) else 0.0
    optimizer.step(closure=None)
    for group, rate in zip(optimizer.param_groups, rates):
        if rate is not None:
            group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def get_optimizer_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The states of optimizers as one, by the plain names of the parameters."""
    options = options or StateDictOptions()
    names = _names_of_parameters(model)
    prefixes = None
    if submodules is not None:
        prefixes = tuple(f"{_plain_name(model, name)}." for name, module in model.named_modules() if module in submodules)
    result: dict[str, Any] = {"state": {}, "param_groups": []}
    for optimizer in _optimizers(optimizers):
        _make_state(optimizer)
        found = optimizer.state_dict()
        name_of: dict[int, str] = {}
        for group, saved in zip(optimizer.param_groups, found["param_groups"]):
            name_of.update((number, names[id(p)]) for p, number in zip(group["params"], saved["params"]))
        kept = {number: name for number, name in name_of.items() if prefixes is None or name.startswith(prefixes)}
        result["state"].update({kept[number]: value for number, value in found["state"].items() if number in kept})
        for saved in found["param_groups"]:
            params = [kept[number] for number in saved["params"] if number in kept]
            if params or prefixes is None:
                result["param_groups"].append({**saved, "params": params})
    if options.flatten_optimizer_state_dict:
        result = dict(_flat(result))
    return _offloaded(result, options) if options.cpu_offload else result


def _flat(state: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """``state.NAME.KEY`` and ``param_groups.NAME.KEY``."""

    def spread(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(value, dict):
            for key, inner in value.items():
                yield from spread(f"{prefix}.{key}", inner)
        else:
            yield prefix, value

    for name, values in state["state"].items():
        yield from spread(f"state.{name}", values)
    for group in state["param_groups"]:
        for name in group["params"]:
            yield from ((f"param_groups.{name}.{key}", value) for key, value in group.items() if key != "params")


def _unflattened(optimizer: Optimizer, flat: dict[str, Any], names: dict[int, str]) -> dict[str, Any]:
    """The state of one optimizer from a flat one."""

    def gathered(prefix: str) -> Any:
        if prefix in flat:
            return flat[prefix]
        inner: dict[str, Any] = {}
        for key, value in flat.items():
            if key.startswith(f"{prefix}."):
                *path, last = key.removeprefix(f"{prefix}.").split(".")
                at = inner
                for part in path:
                    at = at.setdefault(part, {})
                at[last] = value
        return inner

    state: dict[str, Any] = {}
    groups = []
    for group in optimizer.param_groups:
        own = [names[id(p)] for p in group["params"]]
        state.update({names[id(p)]: {key: gathered(f"state.{names[id(p)]}.{key}") for key in optimizer.state[p]}
                      for p in group["params"] if p.requires_grad})  # fmt: skip
        groups.append({"params": own, **{key: flat[f"param_groups.{own[0]}.{key}"] for key in group if key != "params"}})
    return {"state": state, "param_groups": groups}


def set_optimizer_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], optim_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> None:
    """Load states by plain names.

    Raises:
        RuntimeError: the state of a parameter is missing, unless ``strict=False``.
    """
    options = options or StateDictOptions()
    names = _names_of_parameters(model)
    for optimizer in _optimizers(optimizers):
        _make_state(optimizer)
        if not optim_state_dict:
            continue
        given = _unflattened(optimizer, optim_state_dict, names) if options.flatten_optimizer_state_dict else optim_state_dict
        optimizer.load_state_dict(_numbered(optimizer, given, names, options.strict))


def _numbered(optimizer: Optimizer, given: dict[str, Any], names: dict[int, str], strict: bool) -> dict[str, Any]:
    """A state by names as the optimizer's own, by numbers."""
    if given["state"] and all(isinstance(key, int) for key in given["state"]):
        return given
    state: dict[int, Any] = {}
    groups = []
    number = 0
    for group in optimizer.param_groups:
        own = [names[id(p)] for p in group["params"]]
        settings: dict[str, Any] = next((saved for saved in given["param_groups"] if not set(own).isdisjoint(saved["params"])), {})
        first = number
        for p, name in zip(group["params"], own):
            if p.requires_grad and name in given["state"]:
                state[number] = given["state"][name]
            elif p.requires_grad and strict:
                raise RuntimeError(
                    f"Missing optimizer state for parameter '{name}' in checkpoint. The parameter requires gradients but has no saved optimizer "
                    "state. To load anyway, use StateDictOptions(strict=False)."
                )
            number += 1
        groups.append({**{key: value for key, value in settings.items() if key != "params"}, "params": list(range(first, number))})
    return {"state": state, "param_groups": groups}


# -- both --------------------------------------------------------------------------------------------------------------------------------


def get_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of a model and its optimizers."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], *, model_state_dict: dict[str, Any], optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:  # fmt: skip
    """Load the states of a model and its optimizers; returns the model's names that did not fit."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)
