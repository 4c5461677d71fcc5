"""``Tensor.grad`` and ``Tensor.grad_dtype``."""

from __future__ import annotations

import warnings

from ..core.dtype import dtype
from ..core.promotion import scalar_type_name
from ..tensors.tensor import Tensor

__all__: list[str] = []

_OF_NO_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated during autograd.backward(). "
    "If you indeed want the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf "
    "Tensor by mistake, make sure you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information."
)


def _get_grad(self: Tensor) -> Tensor | None:
    """The gradient that ``backward`` accumulated.

    Raises:
        TypeError, RuntimeError: set to something else than a tensor of the leaf's shape, device and `grad_dtype`; torch's texts.
    """
    try:
        return self._grad
    except AttributeError:
        if self._edge is not None and not self.is_leaf and not self.retains_grad:
            warnings.warn(_OF_NO_LEAF, UserWarning, stacklevel=2)
        return None


def _set_grad(self: Tensor, value: Tensor | None) -> None:
    if value is None:
        self._grad = None
        return
    if not isinstance(value, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is self:
        raise RuntimeError("can't assign Variable as its own grad")
    wanted = self.__dict__.get("_grad_dtype", self.dtype)
    if wanted is not None and value.dtype is not wanted:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{_c_name(value.dtype)}' to a tensor with grad_dtype '{scalar_type_name(wanted)}'. The "
            "gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You can set the tensor's grad_dtype attribute with a "
            "specific dtype, or None to allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break "
            "downstream systems that assume they match."
        )
    if value.device != self.device:
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{value.device.type}' to a tensor with device type '{self.device.type}'. Please "
            "ensure that the gradient and the tensor are on the same device"
        )
    if value.shape != self.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size '{list(self.shape)}'. Please ensure that the gradient "
            "and the tensor are the same size"
        )
    self._grad = value


def _delete_grad(self: Tensor) -> None:
    self._grad = None


def _get_grad_dtype(self: Tensor) -> dtype | None:
    """The dtype that a leaf's gradient is cast to: the leaf's own unless something else was set; None leaves it as it comes.

    Raises:
        RuntimeError: not a leaf; set while there is a gradient of another dtype.
    """
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    return self.__dict__.get("_grad_dtype", self.dtype)


def _set_grad_dtype(self: Tensor, value: dtype | None) -> None:
    if value is not None and not isinstance(value, dtype):
        raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(value).__name__}")
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    present = getattr(self, "_grad", None)
    if value is not None and present is not None and present.dtype is not value:
        raise RuntimeError(
            f"Cannot set grad_dtype to '{scalar_type_name(value)}' because there is already a gradient with dtype '{_c_name(present.dtype)}'. Please "
            "clear the gradient (.grad = None) before changing grad_dtype, or ensure the new grad_dtype matches the existing gradient's dtype."
        )
    self.__dict__["_grad_dtype"] = value
    if self._edge is not None:
        self._edge[0].grad_dtype = value  # type: ignore[attr-defined]


def _c_name(found: dtype) -> str:
    return {"float32": "float", "float64": "double", "int64": "long", "bool": "bool"}.get(found.name, scalar_type_name(found))


Tensor.grad = property(_get_grad, _set_grad, _delete_grad, _get_grad.__doc__)  # type: ignore[assignment]
Tensor.grad_dtype = property(_get_grad_dtype, _set_grad_dtype, doc=_get_grad_dtype.__doc__)  # type: ignore[assignment]
