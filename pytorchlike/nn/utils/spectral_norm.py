"""Spectral normalization, arXiv:1802.05957, by a hook before the forward (the older of two ways, see `parametrizations`)."""

from __future__ import annotations

from typing import Any, TypeVar

from ...autograd.grad_mode import no_grad
from ...tensors.tensor import Tensor
from .. import functional as F
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from ..parameter import Parameter, UninitializedParameter

__all__ = ["SpectralNorm", "SpectralNormLoadStateDictPreHook", "SpectralNormStateDictHook", "remove_spectral_norm", "spectral_norm"]

_M = TypeVar("_M", bound=Module)


class SpectralNorm:
    """The hook that divides ``NAME_orig`` by its largest singular value, estimated with the vectors ``NAME_u`` and ``NAME_v``."""

    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        self.name = name
        self.dim = dim
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight as a matrix, one row for each output."""
        return weight.movedim(self.dim, 0).reshape(weight.size(self.dim), -1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The weight divided by its largest singular value.

        Args:
            do_power_iteration: improve the vectors, in place.
        """
        weight, u, v = (getattr(module, self.name + suffix) for suffix in ("_orig", "_u", "_v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix.mv(v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()  # the next forward writes to them, perhaps before this one's backward
        return weight / u.dot(matrix.mv(v))

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def _solve_v_and_rescale(self, weight_mat: Tensor, u: Tensor, target_sigma: Tensor) -> Tensor:
        """The ``v`` for which the estimate of the singular value is ``target_sigma``."""
        v = weight_mat.t().mm(weight_mat).pinverse().mm(weight_mat.t()).mv(u)
        return v * (target_sigma / u.dot(weight_mat.mv(v)))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Replace a parameter by ``NAME_orig`` and the vectors, and register the hook."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        norm = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy forward before applying "
                "spectral normalization"
            )
        with no_grad():
            start = [weight.new_empty(size).normal_(0, 1) for size in norm.reshape_weight_to_matrix(weight).shape]
            u, v = (F.normalize(x, dim=0, eps=eps) for x in start)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)  # a plain attribute, since code may look for it
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(norm)
        module._register_state_dict_hook(SpectralNormStateDictHook(norm))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(norm))
        return norm


class SpectralNormLoadStateDictPreHook:
    """Loads states of older versions, which held the normalized weight and no ``NAME_v``."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict, strict: bool, missing_keys: list, unexpected_keys: list, error_msgs: list
    ) -> None:
        version = local_metadata.get("spectral_norm", {}).get(self.fn.name + ".version", None)
        if version is not None and version >= 1:
            return
        key = prefix + self.fn.name
        if version is None and all(key + suffix in state_dict for suffix in ("_orig", "_u", "_v")) and key not in state_dict:
            return  # a new state that lost its metadata
        missing = [key + suffix for suffix in ("_orig", "", "_u") if key + suffix not in state_dict]
        if missing:
            missing_keys += missing if strict else []
            return
        with no_grad():
            original, weight = state_dict[key + "_orig"], state_dict.pop(key)
            sigma = (original / weight).mean()
            state_dict[key + "_v"] = self.fn._solve_v_and_rescale(self.fn.reshape_weight_to_matrix(original), state_dict[key + "_u"], sigma)


class SpectralNormStateDictHook:
    """Notes the version in a state's metadata."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Module, state_dict: dict[str, Any], prefix: str, local_metadata: dict) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(module: _M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> _M:
    """Divide a parameter by its largest singular value before each forward.

    Args:
        n_power_iterations: how many steps of the power method each forward makes in training.
        dim: the dimension of the outputs; that of the layer if left out.
    """
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def _take_out(hooks: Any, kind: type, name: str) -> Any:
    """Remove the hook of this kind for a parameter from a dictionary, and return it."""
    for key, hook in hooks.items():
        found = getattr(hook, "fn", hook)
        if isinstance(hook, kind) and found.name == name:
            return hooks.pop(key)
    return None


def remove_spectral_norm(module: _M, name: str = "weight") -> _M:
    """Undo `spectral_norm`; the parameter keeps its normalized value.

    Raises:
        ValueError: it is not normalized.
    """
    hook = _take_out(module._forward_pre_hooks, SpectralNorm, name)
    if hook is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    hook.remove(module)
    _take_out(module._state_dict_hooks, SpectralNormStateDictHook, name)
    _take_out(module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook, name)
    return module
