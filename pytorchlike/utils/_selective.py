"""Selective activation checkpointing: a policy says which operators of a region are kept and which are computed again."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from ..core.device import CPU
from ..dispatch.call import replay
from ..dispatch.modes import TorchDispatchMode
from ..dispatch.overloads import OpOverload, OpOverloadPacket, overload_of
from ..dispatch.registry import OPERATORS, Operator
from ..tensors.tensor import Tensor

__all__ = ["SAC_IGNORED_OPS", "CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"]

#: Operators that no policy is asked about.
SAC_IGNORED_OPS: set[OpOverload] = set()

_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that changed between forward and "
    "backward."
)


class CheckpointPolicy(enum.Enum):
    """What becomes of an operator's results: they are kept (on the host, with ``CPU_OFFLOAD``) or computed again."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


CheckpointPolicy.__module__ = "torch.utils.checkpoint"
_SAVES = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
_OFFLOADS = (CheckpointPolicy.MUST_CPU_OFFLOAD, CheckpointPolicy.PREFER_CPU_OFFLOAD)


class SelectiveCheckpointContext:
    """What a policy is told beside the operator and its arguments.

    Attributes:
        is_recompute: always False; policies are asked in the forward only.
        op_output: the operator's result.
    """

    __module__ = "torch.utils.checkpoint"

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


class _Kept:
    """A result that was kept: its value, and the version at which it was."""

    def __init__(self, tensor: Tensor, offload: bool) -> None:
        self.device = tensor.device
        self.alias = tensor.detach().to(CPU) if offload else tensor.detach()
        self.version = self.alias._version

    def get(self, allow_mutation: bool) -> Any:
        """The value.

        Raises:
            RuntimeError: the tensor was modified, and that is not allowed.
        """
        if self.alias._version != self.version and not allow_mutation:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.alias.to(self.device)._content()


_RECOMPUTE, _CONSUMED = object(), object()


def _key(func: OpOverload, args: tuple) -> OpOverload:
    """The overload under which torch's dispatcher would show this call: it takes products apart before modes see them."""
    name = func.declared.name
    if name == "linear":
        name = "mm" if len(args) < 3 or args[2] is None else "addmm"
    elif name == "matmul":
        left, right = (a.dim() for a in args[:2])
        name = {(1, 1): "dot", (2, 1): "mv"}.get((left, right), "mm" if right <= 2 else "bmm")
    return overload_of(OPERATORS[name], "") if name in OPERATORS and name != func.declared.name else func


class _Keeping(TorchDispatchMode):
    """The mode of the first computation: keeps what the policy wants to be kept."""

    def __init__(self, policy: Callable[..., Any], storage: dict[OpOverload, dict[int, Any]]) -> None:
        self.policy = policy
        self.storage = storage
        self.counts: dict[OpOverload, int] = defaultdict(int)

    def __torch_dispatch__(self, func: Any, types: Sequence[type], args: tuple = (), kwargs: dict | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        key = _key(func, args)
        if key in SAC_IGNORED_OPS:
            return result
        position = self.counts[key]
        self.counts[key] += 1
        policy = self.policy(SelectiveCheckpointContext(is_recompute=False, op_output=result), key, *args, **(kwargs or {}))
        if isinstance(policy, bool):
            policy = CheckpointPolicy.MUST_SAVE if policy else CheckpointPolicy.PREFER_RECOMPUTE
        computes = isinstance(func.declared, Operator) and func.form == ""
        if computes and policy in (*_SAVES, *_OFFLOADS):
            results = result if isinstance(result, tuple) else (result,)
            self.storage[key][position] = [_Kept(r, policy in _OFFLOADS) for r in results]
        else:
            self.storage[key][position] = _RECOMPUTE
        return result


class _Replaying(TorchDispatchMode):
    """The mode of the second computation: takes what was kept."""

    def __init__(self, storage: dict[OpOverload, dict[int, Any]], allow_mutation: bool) -> None:
        self.storage = storage
        self.allow_mutation = allow_mutation
        self.counts: dict[OpOverload, int] = defaultdict(int)

    def __enter__(self) -> Any:
        self.counts.clear()
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Sequence[type], args: tuple = (), kwargs: dict | None = None) -> Any:
        key = _key(func, args)
        if key in SAC_IGNORED_OPS:
            return func(*args, **(kwargs or {}))
        position = self.counts[key]
        self.counts[key] += 1
        kept = self.storage.get(key)
        if kept is None:
            raise RuntimeError(f"{key} encountered during backward but not found in storage. {_MISMATCH}")
        entry = kept.get(position)
        if entry is None:
            raise RuntimeError(f"{key} invocation index {position} encountered during backward but not found in storage. {_MISMATCH}")
        if entry is _CONSUMED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under selective activation checkpoint."
            )
        if entry is _RECOMPUTE:
            return func(*args, **(kwargs or {}))
        kept[position] = _CONSUMED
        return replay(func.declared, args, kwargs or {}, tuple([k.get(self.allow_mutation) for k in entry]))


def create_selective_checkpoint_contexts(policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False) -> tuple[TorchDispatchMode, TorchDispatchMode]:
    """The contexts of a selectively checkpointed region, for ``checkpoint(..., context_fn=...)``.

    Args:
        policy_fn_or_list: ``policy(ctx, op, *args, **kwargs) -> CheckpointPolicy``, or a list of overloads to keep.
        allow_cache_entry_mutation: kept tensors may be modified in place (the old content is used).

    Raises:
        ValueError: the list holds something else than overloads.
        TypeError: neither a function nor a list.

    Limits: a policy sees the operators as `TorchDispatchMode` does; ``linear`` and ``matmul`` are shown as torch's ``mm``, ``addmm``, ``bmm`` ...
        Views and in-place operators are always computed again.
    """
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, OpOverload):
                hint = (
                    "Please update the OpOverloadPacket to a specific OpOverload.For example, if you have `torch.ops.aten.mm`, change it to "
                    "`torch.ops.aten.mm.default`."
                    if isinstance(op, OpOverloadPacket)
                    else ""
                )
                raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. {hint}")
        kept = frozenset(policy_fn_or_list)
        policy: Callable[..., Any] = lambda ctx, op, *a, **k: CheckpointPolicy.MUST_SAVE if op in kept else CheckpointPolicy.PREFER_RECOMPUTE
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: dict[OpOverload, dict[int, Any]] = defaultdict(dict)
    return _Keeping(policy, storage), _Replaying(storage, allow_cache_entry_mutation)
