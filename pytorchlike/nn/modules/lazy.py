"""`LazyModuleMixin`: modules whose parameters get their shapes from the first input."""

from __future__ import annotations

import itertools
from typing import Any

from ...autograd.grad_mode import no_grad
from ..parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Makes a module wait for its first call: parameters are uninitialized until ``initialize_parameters`` saw the input.

    A subclass names the class it becomes in ``cls_to_become`` and defines ``initialize_parameters(*args)``.
    """

    cls_to_become: Any = None
    _parameters: dict
    _buffers: dict

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)  # type: ignore[attr-defined]
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)  # type: ignore[attr-defined]

    def _save_to_state_dict(self, destination: dict, prefix: str, keep_vars: bool) -> None:
        # An uninitialized tensor is saved as it is: it cannot be detached.
        for name, tensor in self._persistent():  # type: ignore[attr-defined]
            destination[prefix + name] = tensor if is_lazy(tensor) or keep_vars else tensor.detach()

    def _lazy_load_hook(self, state_dict: dict, prefix: str, local_metadata: Any, strict: bool, missing_keys: list, unexpected_keys: list,
                        error_msgs: list) -> None:  # fmt: skip
        """Give the module's tensors the shapes of those about to be loaded."""
        for name, tensor in itertools.chain(self._parameters.items(), self._buffers.items()):
            loaded = state_dict.get(prefix + name)
            if loaded is not None and tensor is not None and is_lazy(tensor) and not is_lazy(loaded):
                with no_grad():
                    tensor.materialize(loaded.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materialize the parameters for this input; every lazy module defines it."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {self.__class__.__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(is_lazy(tensor) for tensor in itertools.chain(self._parameters.values(), self._buffers.values()))

    @property
    def _is_lazy(self) -> bool:
        return self.has_uninitialized_params()

    def _infer_parameters(self, module: Any, args: tuple, kwargs: dict | None = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")  # type: ignore[attr-defined]
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook
        del module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become
