"""Pruning: parameters multiplied by masks of zeros and ones, which are chosen by size or by chance."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from ...aten.create import ones_like, zeros_like
from ...aten.random import rand, rand_like
from ...tensors.tensor import Tensor
from ..modules.module import Module
from .convert_parameters import parameters_to_vector

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer", "RandomStructured", "RandomUnstructured",
    "custom_from_mask", "global_unstructured", "identity", "is_pruned", "l1_unstructured", "ln_structured", "random_structured",
    "random_unstructured", "remove",
]  # fmt: skip


def _check_scores(scores: Tensor, tensor: Tensor, what: str) -> None:
    if scores.shape != tensor.shape:
        raise AssertionError(f"importance_scores should have the same shape as {what}, got {scores.shape} vs {tensor.shape}")


class BasePruningMethod(ABC):
    """The base of pruning methods: a hook that multiplies ``NAME_orig`` by ``NAME_mask`` before each forward.

    Attributes:
        PRUNING_TYPE: ``unstructured`` (single elements), ``structured`` (whole slices along ``dim``) or ``global``.
    """

    PRUNING_TYPE: ClassVar[str]
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for a tensor of which ``default_mask`` says what is pruned already."""

    def apply_mask(self, module: Module) -> Tensor:
        """The pruned tensor."""
        if getattr(self, "_tensor_name", None) is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask, original = getattr(module, self._tensor_name + "_mask"), getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def _joined(cls, module: Module, name: str, *args: Any, **kwargs: Any) -> BasePruningMethod:
        """A new method for a parameter, in a container with those that prune it already, whose hooks are removed."""
        earlier = [k for k, hook in module._forward_pre_hooks.items() if isinstance(hook, BasePruningMethod) and hook._tensor_name == name]
        if len(earlier) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a PruningContainer."
            )
        old = module._forward_pre_hooks.pop(earlier[0]) if earlier else None
        method = cls(*args, **kwargs)
        method._tensor_name = name
        if old is None:
            return method
        container = old if isinstance(old, PruningContainer) else PruningContainer(old)
        container.add_pruning_method(method)
        return container

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any) -> BasePruningMethod:
        """Prune a parameter of a module.

        Args:
            importance_scores: what is compared instead of the parameter.

        Returns:
            The hook: the method, or the container it joined.
        """
        method = cls._joined(module, name, *args, **kwargs)
        current = getattr(module, name)
        scores = current
        if importance_scores is not None:
            _check_scores(importance_scores, current, f"parameter {name} of {module}")
            scores = importance_scores
        is_first = not isinstance(method, PruningContainer)
        if is_first:
            module.register_parameter(name + "_orig", current)
            del module._parameters[name]
            default_mask = ones_like(current)
        else:
            default_mask = getattr(module, name + "_mask").detach().clone()
        try:
            module.register_buffer(name + "_mask", method.compute_mask(scores, default_mask=default_mask))
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if is_first:  # leave the module as it was
                module.register_parameter(name, module._parameters.pop(name + "_orig"))
            raise
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A pruned copy of a tensor.

        Args:
            default_mask: what is pruned already.
            importance_scores: what is compared instead of the tensor.
        """
        if importance_scores is not None:
            _check_scores(importance_scores, t, "tensor t")
        mask = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(t if importance_scores is None else importance_scores, default_mask=mask)

    def remove(self, module: Module) -> None:
        """Make the pruned values the parameter's own."""
        name = getattr(self, "_tensor_name", None)
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        pruned = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original: Any = module._parameters.pop(name + "_orig")
        original.data = pruned.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods that pruned a parameter one after the other; the last one decides on what the others left."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method for the same parameter.

        Raises:
            TypeError: not a pruning method.
            ValueError: one for another parameter.
        """
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer {self}. Found "
                f"'{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask after the last method has pruned what was left."""
        method = self._pruning_methods[-1]
        left = self._left(method, t, default_mask)
        mask = default_mask.to(dtype=t.dtype)
        mask = mask.clone() if mask is default_mask else mask
        mask[left] = method.compute_mask(t[left], default_mask=default_mask[left]).to(dtype=mask.dtype)
        return mask

    @staticmethod
    def _left(method: Any, t: Tensor, mask: Tensor) -> Any:
        """The index of what is not pruned yet."""
        if method.PRUNING_TYPE == "unstructured":
            return mask == 1
        if method.PRUNING_TYPE == "global":
            return (slice(None),) * t.dim()
        if method.PRUNING_TYPE != "structured":
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        if not hasattr(method, "dim"):
            raise AttributeError('Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.')
        dim = method.dim + t.dim() if method.dim < 0 else method.dim
        if dim < 0:
            raise IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}")
        kept = mask.sum([d for d in range(t.dim()) if d != dim]) != 0
        return tuple(kept if d == dim else slice(None) for d in range(t.dim()))


# --------------------------------------------------------------------------------------------------------------- amounts and shapes
def _check_amount(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if float(amount) < 0 or not isinstance(amount, numbers.Integral) and float(amount) > 1:
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _count(amount: Any, size: int) -> int:
    """How many of ``size`` are pruned: ``amount`` of them, or that fraction."""
    count = int(amount) if isinstance(amount, numbers.Integral) else round(amount * size)
    if count > size:
        raise ValueError(f"amount={count} should be smaller than the number of parameters to prune={size}")
    return count


def _check_structure(t: Tensor, dim: int) -> None:
    if t.dim() <= 1:
        raise ValueError(
            f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape} with {t.dim()} dims"
        )
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _with_slices(t: Tensor, dim: int, chosen: Tensor, default_mask: Tensor) -> Tensor:
    """A mask that keeps the chosen slices, of what ``default_mask`` kept."""
    mask = zeros_like(t)
    mask[tuple(chosen if d == dim % t.dim() else slice(None) for d in range(t.dim()))] = 1
    return mask * default_mask.to(dtype=mask.dtype)


def _without(default_mask: Tensor, positions: Tensor) -> Tensor:
    mask = default_mask.clone()
    mask.view(-1)[positions] = 0
    return mask


# ------------------------------------------------------------------------------------------------------------------------- methods
class Identity(BasePruningMethod):
    """Prunes nothing, but prepares the module."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """What is pruned already."""
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> BasePruningMethod:  # type: ignore[override]
        """Prepare a parameter."""
        return super().apply(module, name)


class _Amount(BasePruningMethod):
    """Methods that prune a number, or a fraction, of elements or slices."""

    def __init__(self, amount: Any) -> None:
        _check_amount(amount)
        self.amount = amount


class RandomUnstructured(_Amount):
    """Prunes random elements."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask."""
        count = _count(self.amount, t.nelement())
        return _without(default_mask, rand_like(t).view(-1).topk(count).indices) if count else default_mask.clone()

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any) -> BasePruningMethod:  # type: ignore[override]
        """Prune a parameter."""
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Amount):
    """Prunes the elements of the smallest absolute values."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask."""
        count = _count(self.amount, t.nelement())
        return _without(default_mask, t.abs().view(-1).topk(count, largest=False).indices) if count else default_mask.clone()

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any, importance_scores: Tensor | None = None) -> BasePruningMethod:  # type: ignore[override]
        """Prune a parameter."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class RandomStructured(_Amount):
    """Prunes random slices along a dimension."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask."""
        _check_structure(t, self.dim)
        size = t.shape[self.dim]
        count = _count(self.amount, size)
        if not count:
            return default_mask
        lots = rand(size)
        return _with_slices(t, self.dim, lots > lots.kthvalue(count).values, default_mask)

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any, dim: int = -1) -> BasePruningMethod:  # type: ignore[override]
        """Prune a parameter."""
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Amount):
    """Prunes the slices of the smallest norms along a dimension.

    Args:
        n: which norm.
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n = n
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask."""
        _check_structure(t, self.dim)
        size = t.shape[self.dim]
        count = _count(self.amount, size)
        norms = t.norm(self.n, [d for d in range(t.dim()) if d != self.dim % t.dim()])
        kept = norms.topk(size - count).indices
        return _with_slices(t, self.dim, kept, default_mask) if count else default_mask

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: Any, n: Any, dim: int, importance_scores: Tensor | None = None
    ) -> BasePruningMethod:
        """Prune a parameter."""
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes what a given mask says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> BasePruningMethod:  # type: ignore[override]
        """Prune a parameter."""
        return super().apply(module, name, mask=mask)


# ----------------------------------------------------------------------------------------------------------------------- functions
def identity(module: Module, name: str) -> Module:
    """Prepare a parameter for pruning without pruning it."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Any) -> Module:
    """Prune random elements of a parameter: ``amount`` of them, or that fraction."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: Any, importance_scores: Tensor | None = None) -> Module:
    """Prune the elements of a parameter with the smallest absolute values."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Any, dim: int) -> Module:
    """Prune random slices of a parameter."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Module, name: str, amount: Any, n: Any, dim: int, importance_scores: Tensor | None = None) -> Module:
    """Prune the slices of a parameter with the smallest norms."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune what a mask says."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any) -> None:
    """Prune elements of several parameters, which are compared with each other.

    Args:
        parameters: pairs of module and name.
        pruning_method: a class of methods, made with ``kwargs``.
        importance_scores: (module, name) -> what is compared instead of the parameter.

    Raises:
        TypeError: arguments of another kind, or a method that prunes slices.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    importance_scores = {} if importance_scores is None else importance_scores
    if not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    parameters = list(parameters)
    current = [getattr(module, name) for module, name in parameters]
    scores = parameters_to_vector([importance_scores.get(pair, value) for pair, value in zip(parameters, current)])
    masks = parameters_to_vector([getattr(m, n + "_mask", ones_like(value)) for (m, n), value in zip(parameters, current)])
    container, method = PruningContainer(), pruning_method(**kwargs)
    container._tensor_name = method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of type {method.PRUNING_TYPE}'
        )
    container.add_pruning_method(method)
    mask = container.compute_mask(scores, masks)
    start = 0
    for (module, name), value in zip(parameters, current):
        custom_from_mask(module, name, mask=mask[start : start + value.numel()].view_as(value))
        start += value.numel()


def remove(module: Module, name: str) -> Module:
    """Make pruning of a parameter permanent.

    Raises:
        ValueError: it is not pruned.
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Whether a parameter of a module, or of one below it, is pruned."""
    return any(isinstance(hook, BasePruningMethod) for each in module.modules() for hook in each._forward_pre_hooks.values())
