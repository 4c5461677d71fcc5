"""The bridge from ``grad_fn`` hooks to backward hooks."""

from __future__ import annotations

import warnings
from typing import Any

from ...autograd.function import Function
from ...autograd.grad_mode import is_grad_enabled
from ...tensors.tensor import Tensor

__all__ = ["BackwardHook", "unwrap_backward_result"]


def _replaced(arguments: tuple, positions: list[int], tensors: tuple) -> tuple:
    items = list(arguments)
    for position, tensor in zip(positions, tensors):
        items[position] = tensor
    return type(arguments)(*items) if hasattr(arguments, "_fields") else tuple(items)


def _spread(count: int, positions: list[int], values: tuple) -> tuple:
    items: list[Any] = [None] * count
    for position, value in zip(positions, values):
        items[position] = value
    return tuple(items)


class BackwardHookFunction(Function):
    """The identity on several tensors: one node of the tape at which all their gradients meet."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple:
        ctx.mark_non_differentiable(*[t for t in tensors if not t.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple:
        return grads


def _meet(arguments: tuple) -> tuple[tuple, list[int], Any]:
    """Pass the tensors of a tuple through one node; returns the new tuple, their positions and the node (None if none needs a gradient)."""
    positions = [i for i, value in enumerate(arguments) if isinstance(value, Tensor)]
    tensors = [arguments[i] for i in positions]
    if not (is_grad_enabled() and any(t.requires_grad for t in tensors)):
        return arguments, positions, None
    passed = BackwardHookFunction.apply(*tensors)
    node = next(t.grad_fn for t in passed if t.grad_fn is not None)
    return _replaced(arguments, positions, passed), positions, node


class BackwardHook:
    """Calls the full backward hooks of one call of a module.

    Gradients of the outputs are seen before the node behind them runs, gradients of the inputs after the node before them ran; a module
    none of whose inputs needs a gradient has its hooks called as soon as the gradients of the outputs are there.
    """

    def __init__(self, module: Any, user_hooks: list, user_pre_hooks: list) -> None:
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.grad_outputs: tuple | None = None
        self.n_inputs = -1
        self.input_positions: list[int] | None = None

    def setup_input_hook(self, args: tuple) -> tuple:
        """The arguments, passed through a node that sees the gradients of the inputs."""
        args, positions, node = _meet(args)
        self.n_inputs = len(args)
        if node is None:
            return args
        self.input_positions = positions

        def hook(grad_input: tuple, _: Any) -> Any:
            if self.grad_outputs is None:  # the gradient came round the module's outputs
                return None
            grads = _spread(self.n_inputs, positions, grad_input)
            for user_hook in self.user_hooks:
                answer = user_hook(self.module, grads, self.grad_outputs)
                if answer is not None:
                    grads = _as_grads(answer, self.n_inputs, "hook returned an invalid number of grad_input")
            self.grad_outputs = None
            return tuple(grads[i] for i in positions)

        node.register_hook(hook)
        return args

    def setup_output_hook(self, result: Any) -> Any:
        """The result, passed through a node that sees the gradients of the outputs."""
        is_tuple = isinstance(result, tuple)
        outputs, positions, node = _meet(result if is_tuple else (result,))
        if node is not None:
            node.register_prehook(lambda grads: self._outputs_arrive(_spread(len(outputs), positions, grads), positions))
        return outputs if is_tuple else outputs[0]

    def _outputs_arrive(self, grads: tuple, positions: list[int]) -> tuple:
        for hook in self.user_pre_hooks:
            answer = hook(self.module, grads)
            if answer is not None:
                grads = _as_grads(answer, len(grads), "pre hook returned an invalid number of grad_output")
        self.grad_outputs = grads
        if self.input_positions is None:
            if self.user_hooks:
                warnings.warn(
                    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require gradients. "
                    "See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook for more "
                    "details.",
                    stacklevel=5,
                )
            nothing = (None,) * self.n_inputs
            for hook in self.user_hooks:
                answer = hook(self.module, nothing, grads)
                if answer is not None and not (isinstance(answer, tuple) and all(value is None for value in answer)):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return None or None for all gradients."
                    )
            self.grad_outputs = None
        return tuple(grads[i] for i in positions)


def _as_grads(answer: Any, count: int, complaint: str) -> tuple:
    grads = answer if isinstance(answer, tuple) else (answer,)
    if len(grads) != count:
        raise RuntimeError(f"Backward {complaint}, got {len(grads)}, but expected {count}")
    return grads


def unwrap_backward_result(result: Any) -> Tensor | None:
    """The first tensor of a module's result, whose ``grad_fn`` carries the old style of backward hooks."""
    while not isinstance(result, Tensor):
        if isinstance(result, dict):
            result = next((value for value in result.values() if isinstance(value, Tensor)), None)
        elif isinstance(result, (tuple, list)) and result:
            result = result[0]
        else:
            return None
    return result
