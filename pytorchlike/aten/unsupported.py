"""Functions that torch removed, or that have no meaning on this stack: they say so, and what to call instead."""

from __future__ import annotations

from typing import Any

from ..dispatch.registry import FUNCTION, METHOD, composite
from ..tensors.tensor import Tensor, tensor_method
from .view_copies import _contiguous

#: Schema -> what torch's message says.
_REMOVED = {
    "eig.removed(Tensor self, bool eigenvectors=False) -> (Tensor, Tensor)":
        "since version 1.9 and is now removed. `torch.linalg.eigvals` and `torch.linalg.eig` return complex tensors rather than real tensors "
        "mimicking complex tensors",
    "lstsq.removed(Tensor self, Tensor A) -> (Tensor, Tensor)":
        "since version 1.9 and is now removed. `torch.linalg.lstsq(A, B).solution` has its arguments reversed and returns no QR decomposition: see "
        "`torch.linalg.qr`",
    "solve.removed(Tensor self, Tensor A) -> (Tensor, Tensor)":
        "since version 1.9 and is now removed. `torch.linalg.solve(A, B)` has its arguments reversed and returns no LU factorization: see `torch.lu`",
    "symeig.removed(Tensor self, bool eigenvectors=False, bool upper=True) -> (Tensor, Tensor)":
        "since version 1.9 and is now removed. `torch.linalg.eigvalsh` and `torch.linalg.eigh` use the lower triangle unless UPLO='U' is passed",
    "matrix_rank.removed(Tensor self, float? tol=None, bool symmetric=False) -> Tensor":
        "since version 1.9 and is now removed. The parameter 'symmetric' is 'hermitian' in `torch.linalg.matrix_rank`",
}  # fmt: skip

#: Schema, forms -> why there is none.
_WITHOUT_MEANING = {
    ("native_norm(Tensor self, Scalar p=2) -> Tensor", FUNCTION | METHOD): "it is for sparse tensors; use torch.linalg.vector_norm",
    ("to_padded_tensor(Tensor self, float padding, int[]? output_size=None) -> Tensor", METHOD): "it is for nested tensors",
    ("to_mkldnn(Tensor self, ScalarType? dtype=None) -> Tensor", METHOD): "XLA chooses the layouts of tensors itself",
    ("int_repr(Tensor self) -> Tensor", FUNCTION | METHOD): "it is for quantized tensors",
    ("q_scale(Tensor self) -> float", FUNCTION | METHOD): "it is for quantized tensors",
    ("q_zero_point(Tensor self) -> int", FUNCTION | METHOD): "it is for quantized tensors",
    ("q_per_channel_axis(Tensor self) -> int", FUNCTION | METHOD): "it is for quantized tensors",
    ("q_per_channel_scales(Tensor self) -> Tensor", FUNCTION | METHOD): "it is for quantized tensors",
    ("q_per_channel_zero_points(Tensor self) -> Tensor", FUNCTION | METHOD): "it is for quantized tensors",
    ("qscheme(Tensor self) -> str", METHOD): "it is for quantized tensors",
    ("quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, ScalarType dtype) -> Tensor", FUNCTION):
        "quantized tensors have one scale here; torch.fake_quantize_per_channel_affine is supported",
    ("quantize_per_tensor_dynamic(Tensor self, ScalarType dtype, bool reduce_range) -> Tensor", FUNCTION):
        "use torch.quantize_per_tensor with a scale",
}  # fmt: skip


def _removed(schema: str, message: str) -> None:
    def refuse(*arguments):
        raise RuntimeError(f"This function was deprecated {message}.")

    refuse.__doc__ = f"Raises RuntimeError: {message.partition('. ')[2]}."
    composite(schema)(refuse)


def _without_meaning(schema: str, forms: Any, reason: str) -> None:
    name = schema.partition("(")[0]

    def refuse(*arguments):
        raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'CPU' backend: {reason}.")

    refuse.__doc__ = f"Raises NotImplementedError: {reason}."
    composite(schema, forms=forms)(refuse)


for _schema, _message in _REMOVED.items():
    _removed(_schema, _message)
for (_schema, _forms), _message in _WITHOUT_MEANING.items():
    _without_meaning(_schema, _forms, _message)


def _without_device(name: str) -> None:
    def move(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
        raise AssertionError(f"Torch not compiled with {name.upper()} enabled: JAX has no {name} devices")

    move.__name__, move.__doc__ = name, f"Raises AssertionError: there are no {name} devices."
    tensor_method(move)


for _name in ("ipu", "mtia", "xpu"):
    _without_device(_name)


@tensor_method
def reinforce(self: Tensor, reward: Any) -> None:
    """Raises RuntimeError: removed, as in torch; see ``torch.distributions``."""
    raise RuntimeError(
        "reinforce() was removed.\nUse torch.distributions instead: sample an action, and minimise -distribution.log_prob(action) * reward."
    )


# ---------------------------------------------------------------------------------------------------------------- parts of sparse tensors
def _copied_part(name: str) -> None:
    @composite(f"{name}_copy(Tensor self) -> Tensor", forms=FUNCTION)
    def copied(self):
        return _contiguous(getattr(self, name)())

    copied.__doc__ = f"What `Tensor.{name}` of a sparse tensor gives, as a copy."


for _name in ("values", "indices", "crow_indices", "col_indices", "ccol_indices", "row_indices"):
    _copied_part(_name)
