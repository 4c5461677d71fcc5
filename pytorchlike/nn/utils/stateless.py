"""Calling a module with other parameters and buffers than its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...tensors.tensor import Tensor
from ..modules.module import Module

__all__ = ["functional_call"]


_MISSING: Any = object()


def _registry(module: Module, name: str) -> dict:
    return module._parameters if name in module._parameters else module._buffers


def _tied(module: Module, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """The given tensors, also under every other name of the tensor each one replaces.

    Raises:
        ValueError: several names of one tensor are given different tensors.
    """
    names_of: dict[int, list[str]] = {}
    for named in (module.named_parameters, module.named_buffers):
        for name, tensor in named(remove_duplicate=False):
            names_of.setdefault(id(tensor), []).append(name)
    result = dict(given)
    for names in names_of.values():
        here = [name for name in names if name in given]
        if len({id(given[name]) for name in here}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(here)}, which are tied. Consider using tie_weights=False"
            )
        if here:
            result.update((name, given[here[0]]) for name in names)
    return result


@contextmanager
def _reparametrize_module(module: Module, given: dict[str, Tensor], tie_weights: bool = False, strict: bool = False) -> Iterator[None]:
    own = given
    known = {name for named in (module.named_parameters, module.named_buffers) for name, _ in named(remove_duplicate=False)}
    unexpected, missing = sorted(set(given) - known), sorted(known - set(given))
    if tie_weights:
        given = _tied(module, given)
        missing = sorted(known - set(given))
    if strict and (missing or unexpected):
        texts = [f"{kind} key(s): {', '.join(map(repr, keys))}." for kind, keys in (("Unexpected", unexpected), ("Missing", missing)) if keys]
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(texts))
    replaced: list[tuple[dict, str, str, Any]] = []
    try:
        for path, tensor in given.items():
            parent, _, name = path.rpartition(".")
            owner = module.get_submodule(parent)
            registry = _registry(owner, name)
            if name not in registry:  # neither a parameter nor a buffer: an attribute for the length of the call
                registry = owner.__dict__
            replaced.append((registry, name, path, registry.get(name, _MISSING)))
            registry[name] = tensor
        yield
    finally:
        for registry, name, path, tensor in reversed(replaced):
            if path in own:
                own[path] = registry[name]  # a buffer that the module gave a new value
            if tensor is _MISSING:
                del registry[name]
            else:
                registry[name] = tensor


def functional_call(
    module: Module, parameters_and_buffers: Any, args: Any = None, kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True,
    strict: bool = False,
) -> Any:  # fmt: skip
    """Call the module as if its parameters and buffers were the given ones; its own are untouched afterwards.

    Args:
        parameters_and_buffers: dictionary from dotted names to tensors, or several of them.
        tie_weights: a tensor given for one name also replaces what is registered under other names.
        strict: every name must be given, and no other.
    """
    if isinstance(parameters_and_buffers, (list, tuple)):
        merged: dict[str, Tensor] = {}
        for part in parameters_and_buffers:
            repeated = sorted(set(part) & set(merged))
            if repeated:
                raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
            merged.update(part)
        parameters_and_buffers = merged
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights, strict):
        return module(*args, **(kwargs or {}))
