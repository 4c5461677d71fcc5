"""Operators by the names and arguments under which torch's dispatcher knows them: what the public functions come down to (``aten._softmax``).

``torch.ops.aten`` finds them, and code that matches or calls what ``__torch_dispatch__`` sees in torch; public functions have their own names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.dtype import dtype as dtype_type
from ..core.dtype import float32
from ..dispatch.registry import FUNCTION, composite, lookup
from ..tensors.tensor import Tensor
from . import loss, loss_margin, sparse_matmul
from .copy import to
from .resize import interpolate, pad

_REDUCTIONS = ("none", "mean", "sum")


#: Names with an underscore that ``torch`` itself has not.
_BELOW_ATEN_ONLY = ("_cdist_forward", "_local_scalar_dense", "_pdist_forward", "_to_copy", "_upsample_")


def _inner(schema: str) -> Callable[[Callable], Any]:
    """A composite below ``torch.ops.aten``; torch has a function of this name only where it begins with an underscore."""
    private = schema.startswith("_") and not schema.startswith(_BELOW_ATEN_ONLY)
    return composite(schema, forms=FUNCTION, namespaces=("",) if private else ())


# ---------------------------------------------------------------------------------------------------------------- softmax
def _softmax_of(name: str) -> None:
    @_inner(f"_{name}(Tensor self, int dim, bool half_to_float) -> Tensor")
    def softmax(self, dim, half_to_float):
        return lookup(f"{name}.int")(self, dim, dtype=float32 if half_to_float else None)

    softmax.__doc__ = f"`{name}`, of half precision in float32 if asked for."


_softmax_of("softmax")
_softmax_of("log_softmax")


@_inner("_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor")
def _softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of softmax from its result."""
    product = grad_output * output
    return (product - output * product.sum(dim, True)).to(input_dtype)


@_inner("_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor")
def _log_softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of log_softmax from its result."""
    return (grad_output - output.exp() * grad_output.sum(dim, True)).to(input_dtype)


@_inner("_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")
def _safe_softmax(self, dim, dtype=None):
    """`softmax`, 0 where a whole line is minus infinity."""
    masked = (self == -float("inf")).all(dim, True)
    return lookup("softmax.int")(self, dim, dtype=dtype).masked_fill(masked, 0.0)


# ---------------------------------------------------------------------------------------------------------------- sizes of images
#: Dimensions -> aten's names of their scales.
SCALES = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}


def _upsampling(kind: str, mode: str, spatial: int) -> None:
    name = f"{kind}{spatial}d"
    corners = "" if "nearest" in mode else ", bool align_corners"
    scales = SCALES[spatial]
    antialias = name.endswith("_aa")

    def resize(x: Tensor, size: Any, align_corners: bool | None, factors: Any) -> Tensor:
        given = None if factors is None or None in factors else tuple(factors)
        if size is None:
            return interpolate(x, None, given, mode, align_corners, None, antialias)
        filled = tuple(factors) if given is not None else (None,) * spatial
        filled += (None,) * (3 - spatial)
        return lookup("_interpolate")(x, mode, tuple(size), bool(align_corners), antialias, *filled)

    @_inner(f"{name}(Tensor self, int[{spatial}] output_size{corners}, {', '.join(f'float? {s}=None' for s in scales)}) -> Tensor")
    def sized(self, output_size, *rest, **named):
        align_corners, factors = (rest[0], rest[1:]) if corners else (None, rest)
        return resize(self, output_size, align_corners, factors)

    @_inner(f"{name}.vec(Tensor input, int[]? output_size{corners}, float[]? scale_factors) -> Tensor")
    def vector(input, output_size, *rest):
        return resize(input, output_size, rest[0] if corners else None, rest[-1])

    sized.__doc__ = vector.__doc__ = f"`nn.functional.interpolate` with mode ``{mode}``."


#: aten's name -> the mode of `nn.functional.interpolate`, and for how many dimensions there is one.
UPSAMPLINGS = (
    ("upsample_nearest", "nearest", (1, 2, 3)), ("_upsample_nearest_exact", "nearest-exact", (1, 2, 3)), ("upsample_linear", "linear", (1,)),
    ("upsample_bilinear", "bilinear", (2,)), ("upsample_trilinear", "trilinear", (3,)), ("upsample_bicubic", "bicubic", (2,)),
)  # fmt: skip
for _kind, _mode, _counts in UPSAMPLINGS:
    for _count in _counts:
        _upsampling(_kind, _mode, _count)


def _padding(kind: str, mode: str, spatial: int) -> None:
    @_inner(f"{kind}_pad{spatial}d(Tensor self, int[{2 * spatial}] padding) -> Tensor")
    def padded(self, padding):
        return pad(self, padding, mode)

    padded.__doc__ = f"`nn.functional.pad` with mode ``{mode}``."


for _count in (1, 2, 3):
    _padding("reflection", "reflect", _count)
    _padding("replication", "replicate", _count)


# ---------------------------------------------------------------------------------------------------------------- losses
def _loss(schema: str, call: Callable[..., Any]) -> None:
    """A loss whose reduction is 0, 1 or 2: none, the mean or the sum."""
    name = schema.partition("(")[0].partition(".")[0]

    @_inner(f"{schema} -> Tensor")
    def with_number(*arguments):
        return call(lookup(name), *arguments)

    with_number.__doc__ = f"`nn.functional.{name}` with 0, 1 or 2 for no reduction, the mean or the sum."


for _name in ("mse_loss", "l1_loss", "soft_margin_loss", "multilabel_margin_loss"):
    _loss(f"{_name}.native(Tensor self, Tensor target, int reduction=1)", lambda f, x, t, r: f(x, t, reduction=_REDUCTIONS[r]))
_loss("smooth_l1_loss.native(Tensor self, Tensor target, int reduction=1, float beta=1.)",
      lambda f, x, t, r, beta: f(x, t, reduction=_REDUCTIONS[r], beta=beta))  # fmt: skip
_loss("huber_loss.native(Tensor self, Tensor target, int reduction=1, float delta=1.)",
      lambda f, x, t, r, delta: f(x, t, reduction=_REDUCTIONS[r], delta=delta))  # fmt: skip
_loss("binary_cross_entropy.native(Tensor self, Tensor target, Tensor? weight=None, int reduction=1)",
      lambda f, x, t, w, r: f(x, t, w, reduction=_REDUCTIONS[r]))  # fmt: skip
_loss("multi_margin_loss.native(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1)",
      lambda f, x, t, p, margin, w, r: f(x, t, p, margin, w, reduction=_REDUCTIONS[r]))  # fmt: skip
_loss("nll_loss.native(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100)",
      lambda f, x, t, w, r, ignored: f(x, t, w, ignore_index=ignored, reduction=_REDUCTIONS[r]))  # fmt: skip


def _likelihood(name: str) -> None:
    @_inner(f"{name}(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100) -> Tensor")
    def with_number(self, target, weight=None, reduction=1, ignore_index=-100):
        """`nn.functional.nll_loss` with 0, 1 or 2 for no reduction, the mean or the sum."""
        return loss.nll_loss(self, target, weight, ignore_index=ignore_index, reduction=_REDUCTIONS[reduction])


_likelihood("nll_loss2d")
_likelihood("nll_loss_nd")


def _forward_of_likelihood(name: str) -> None:
    @_inner(f"{name}(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) -> (Tensor, Tensor)")
    def with_weight(self, target, weight, reduction, ignore_index):
        """The loss, and the sum of the weights that its mean is divided by (0 without reduction)."""
        result = loss.nll_loss(self, target, weight, ignore_index=ignore_index, reduction=_REDUCTIONS[reduction])
        if reduction == 0:
            return result, self.new_zeros(())
        counted = target != ignore_index
        weights = counted.to(self.dtype) if weight is None else weight.detach()[target.where(counted, 0)] * counted
        return result, weights.sum()


_forward_of_likelihood("nll_loss_forward")
_forward_of_likelihood("nll_loss2d_forward")


@_inner("multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor, Tensor)")
def multilabel_margin_loss_forward(self, target, reduction):
    """The loss, and which classes are targets: those that stand in front of the first -1."""
    result = loss_margin.multilabel_margin_loss(self, target, reduction=_REDUCTIONS[reduction])
    named = (target < 0).cumsum(-1) == 0
    marks = self.new_zeros((*target.shape[:-1], target.shape[-1] + 1)).scatter(-1, target.where(named, target.shape[-1]), 1.0)
    return result, marks[..., :-1]


@_inner("cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100, float label_smoothing=0.) -> Tensor")
def cross_entropy_loss(self, target, weight=None, reduction=1, ignore_index=-100, label_smoothing=0.0):
    """`nn.functional.cross_entropy` with 0, 1 or 2 for no reduction, the mean or the sum."""
    return lookup("cross_entropy")(
        self, target, weight, ignore_index=ignore_index, reduction=_REDUCTIONS[reduction], label_smoothing=label_smoothing
    )


@_inner("log_sigmoid_forward(Tensor self) -> (Tensor, Tensor)")
def log_sigmoid_forward(self):
    """`nn.functional.logsigmoid`, and ``exp(-abs(self))``, which torch keeps for the gradient."""
    return lookup("logsigmoid")(self), (-self.abs()).exp()


# ---------------------------------------------------------------------------------------------------------------- tensors
@_inner("_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
        "bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor")  # fmt: skip
def _to_copy(self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    """A copy with another dtype or on another device."""
    return to(self, device, dtype, True, memory_format)


@_inner("_local_scalar_dense(Tensor self) -> Scalar")
def _local_scalar_dense(self):
    """The number of a tensor with one element."""
    return self.item()


@_inner("item(Tensor self) -> Scalar")
def item(self):
    """The number of a tensor with one element."""
    return self.item()


def _moved(overload: str, arguments: str, find: Callable[..., tuple[Any, dtype_type | None]]) -> None:
    @_inner(f"to.{overload}(Tensor self, {arguments}, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor")
    def moved(self, *rest):
        """The tensor with another dtype or on another device; itself if nothing changes."""
        device, kind = find(*rest[:-3])
        return to(self, device, kind, rest[-2], rest[-1])


_moved("dtype", "ScalarType dtype", lambda kind: (None, kind))
_moved("device", "Device device, ScalarType dtype", lambda device, kind: (device, kind))
_moved("other", "Tensor other", lambda other: (other.device, other.dtype))


@_inner("lift_fresh(Tensor self) -> Tensor")
def lift_fresh(self):
    """The tensor itself: torch marks constants by it."""
    return self


@_inner("resize_(Tensor(a!) self, int[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)")
def resize_(self, size, *, memory_format=None):
    """`Tensor.resize_`."""
    return self.resize_(*size) if memory_format is None else self.resize_(*size, memory_format=memory_format)


@_inner("_prelu_kernel(Tensor self, Tensor weight) -> Tensor")
def _prelu_kernel(self, weight):
    """`prelu` with a weight that broadcasts."""
    return self.where(self > 0, weight * self)


@_inner("_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)")
def _unique2(self, sorted=True, return_inverse=False, return_counts=False):
    """`unique`: what was not asked for is empty."""
    found = lookup("unique")(self, sorted, True, True)
    empty = self.new_empty((0,), dtype=found[1].dtype)
    return found[0], found[1] if return_inverse else empty, found[2] if return_counts else empty


@_inner("_pdist_forward(Tensor self, float p=2.) -> Tensor")
def _pdist_forward(self, p=2.0):
    """`nn.functional.pdist`."""
    return lookup("pdist")(self, p)


@_inner("_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor")
def _cdist_forward(x1, x2, p, compute_mode):
    """`cdist`."""
    return lookup("cdist")(x1, x2, p)


@_inner("_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
        "Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)")  # fmt: skip
def _embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx):
    """`embedding_bag` with -1 for no padding."""
    return lookup("embedding_bag.native")(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, None if padding_idx < 0 else padding_idx
    )


@_inner("sparse_sampled_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
def sparse_sampled_addmm(self, mat1, mat2, *, beta=1, alpha=1):
    """`sparse.sampled_addmm`."""
    return sparse_matmul.sampled_addmm(self, mat1, mat2, beta=beta, alpha=alpha)


# ---------------------------------------------------------------------------------------------------------------- decompositions
@_inner("_linalg_eigh(Tensor A, str UPLO='L', bool compute_v=True) -> (Tensor, Tensor)")
def _linalg_eigh(A, UPLO="L", compute_v=True):
    """`linalg.eigh`; without vectors the second result is empty."""
    return tuple(lookup("eigh")(A, UPLO)) if compute_v else (lookup("eigvalsh")(A, UPLO), A.new_empty((0,)))


@_inner("_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor, Tensor, Tensor)")
def _linalg_svd(A, full_matrices=False, compute_uv=True, *, driver=None):
    """`linalg.svd`; without vectors the first and the last result are empty."""
    if compute_uv:
        return tuple(lookup("svd")(A, full_matrices))
    return A.new_empty((0,)), lookup("svdvals")(A), A.new_empty((0,))


# ---------------------------------------------------------------------------------------------------------------- Fourier transforms
#: torch's numbers for the factor: none, the square root of the count, the count.
_NORMALIZATIONS = {"forward": ("backward", "ortho", "forward"), "inverse": ("forward", "ortho", "backward")}


@_inner("_fft_c2c(Tensor self, int[] dim, int normalization, bool forward) -> Tensor")
def _fft_c2c(self, dim, normalization, forward):
    """The transform of complex numbers over dimensions, or its inverse; 0, 1 or 2 for the factor 1, 1 over the count's root or over the count."""
    how = "forward" if forward else "inverse"
    return lookup("fftn" if forward else "ifftn")(self, None, tuple(dim), norm=_NORMALIZATIONS[how][normalization])


@_inner("_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor")
def _fft_r2c(self, dim, normalization, onesided):
    """The transform of real numbers; one-sided, the last of the dimensions keeps its first half."""
    return lookup("rfftn" if onesided else "fftn")(self, None, tuple(dim), norm=_NORMALIZATIONS["forward"][normalization])


@_inner("_fft_c2r(Tensor self, int[] dim, int normalization, int last_dim_size) -> Tensor")
def _fft_c2r(self, dim, normalization, last_dim_size):
    """The inverse of the one-sided transform, with this many numbers along the last of the dimensions."""
    sizes = (*[self.shape[d] for d in dim[:-1]], last_dim_size)
    return lookup("irfftn")(self, sizes, tuple(dim), norm=_NORMALIZATIONS["inverse"][normalization])


@_inner("log_sigmoid(Tensor self) -> Tensor")
def log_sigmoid(self):
    """`nn.functional.logsigmoid`."""
    return lookup("logsigmoid")(self)
