"""Modules as functions of their parameters: `functional_call`, `stack_module_state`, `replace_all_batch_norm_modules_`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dispatch.registry import lookup
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from ..nn.utils import stateless
from ..tensors.tensor import Tensor

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


def functional_call(module: Module, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: dict[str, Any] | None = None, *,
                    tie_weights: bool = True, strict: bool = False) -> Any:  # fmt: skip
    """Call a module as if its parameters and buffers were the given ones.

    Args:
        parameter_and_buffer_dicts: a dictionary from dotted names to tensors, or several of them with different names; what the call makes
            of a buffer (running statistics) is found in it afterwards.
        args, kwargs: the call's arguments; ``args`` that are no tuple are one argument.
        tie_weights: a tensor given for one name also replaces what the module has under other names.
        strict: every name must be given, and no other.

    Raises:
        ValueError: no dictionaries, or the same name in two of them; torch's texts.
        RuntimeError: with ``strict``, for names that are missing or unknown.

    Ref: https://docs.pytorch.org/docs/stable/generated/torch.func.functional_call.html
    """
    given = parameter_and_buffer_dicts
    if not isinstance(given, dict):
        if not isinstance(given, Sequence):
            raise ValueError(f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(given)}")
        if not all(isinstance(part, dict) for part in given):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        names = [name for part in given for name in part]
        repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given = {name: tensor for part in given for name, tensor in part.items()}
    return stateless.functional_call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of several modules of one class, stacked by name, for a `vmap` over all of them.

    Returns:
        ``(params, buffers)``; the parameters are new leaves.

    Raises:
        RuntimeError: no modules, or ones that differ in class, mode or in what asks for gradients; torch's texts.

    Ref: https://docs.pytorch.org/docs/stable/generated/torch.func.stack_module_state.html
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    params = _stacked([dict(model.named_parameters()) for model in models])
    return params, _stacked([dict(model.named_buffers()) for model in models])


def _stacked(states: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    found = {}
    for name in states[0]:
        tensors = [state[name] for state in states]
        asked = {t.requires_grad for t in tensors}
        if len(asked) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        stacked = lookup("stack")(tensors)
        found[name] = stacked.detach().requires_grad_() if asked == {True} else stacked
    return found


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Have the batch normalizations of a module, which is returned, keep no running statistics, so that `vmap` can go over them."""
    for module in root.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
