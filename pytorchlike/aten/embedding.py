"""Look-ups in a table of vectors, single and in bags, and one-hot vectors."""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import numpy as np

from ..dispatch.batching import batch_of
from ..dispatch.registry import FUNCTION, composite, lookup, op
from .reduce import scalar_type, widened
from .search import searchsorted
from .shape import cat
from .sparse_embedding import is_recorded, looked_up

_PUBLIC = ("nn.functional",)


def _check_indices(function: str, name: str, indices) -> None:
    kind = scalar_type(indices.dtype)
    if kind not in ("Long", "Int"):
        raise RuntimeError(
            f"Expected tensor for argument #1 '{name}' to have one of the following scalar types: Long, Int; but got torch.{kind}Tensor "
            f"instead (while checking arguments for {function})"
        )


@op(
    "embedding.rows(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    forms=FUNCTION,
)
def rows(weight, indices, padding_idx, scale_grad_by_freq, sparse):
    """Rows of ``weight``; the gradient leaves out row ``padding_idx``.

    The gradient of this operator is dense; `looked_up` records the sparse one.
    """
    return jnp.take(weight, indices, axis=0, mode="clip")


@rows.grad("weight")
def _(g, indices, weight_meta, padding_idx, scale_grad_by_freq):
    count, width = weight_meta.shape
    at, flat = indices.reshape(-1), widened(g).reshape(-1, width)
    if scale_grad_by_freq:
        often = jnp.zeros(count, flat.dtype).at[at].add(1, mode="drop")
        flat = flat / jnp.take(often, at, mode="clip")[:, None]
    if padding_idx >= 0:
        at = jnp.where(at == padding_idx, count, at)  # out of range: dropped
    return jnp.zeros((count, width), flat.dtype).at[at].add(flat, mode="drop")


@rows.check
def _(weight, indices, padding_idx, scale_grad_by_freq, sparse):
    if len(weight.shape) != 2:
        raise RuntimeError("'weight' must be 2-D")
    _check_indices("embedding", "indices", indices)


@rows.data_check(IndexError, "index out of range in self")
def _(weight_meta, indices):
    return (indices < 0) | (indices >= weight_meta.shape[0])


@op(
    "_rows_within(Tensor weight, Tensor indices, float max_norm, float norm_type) -> Tensor",
    forms=FUNCTION,
    namespaces=(),
    differentiable=False,
)
def rows_within(weight, indices, max_norm, norm_type):
    """``weight`` with the looked-up rows whose norm is above ``max_norm`` shortened to it."""
    used = jnp.zeros(weight.shape[0], bool).at[indices.reshape(-1)].set(True, mode="drop")
    norms = jnp.linalg.norm(widened(weight), norm_type, 1)
    scale = jnp.where(used & (norms > max_norm), max_norm / (norms + 1e-7), 1)
    return (widened(weight) * scale[:, None]).astype(weight.dtype)


def _shorten(weight, indices, max_norm: float, norm_type: float) -> None:
    table = weight.detach()
    table.copy_(rows_within(table, indices, max_norm, norm_type))


def _wrapped(padding_idx: int | None, count: int, message: str) -> int:
    if padding_idx is None:
        return -1
    if not -count <= padding_idx < count:
        raise AssertionError(message)
    return padding_idx % count


@composite(
    "embedding(Tensor input, Tensor weight, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, "
    "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    forms=FUNCTION,
    namespaces=_PUBLIC,
)
def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """The rows of ``weight`` that ``input`` names; ``max_norm`` shortens longer ones in ``weight`` itself."""
    if padding_idx is not None:
        padding_idx = _wrapped(padding_idx, weight.shape[0], "Padding_idx must be within num_embeddings")
    if max_norm is not None:
        _shorten(weight, input, max_norm, norm_type)
    padding = -1 if padding_idx is None else padding_idx
    if sparse and is_recorded(weight):
        return looked_up(rows, weight, input, padding, scale_grad_by_freq)
    return rows(weight, input, padding, scale_grad_by_freq, sparse)


# --- bags ---------------------------------------------------------------------------------------------------------------------------


@op(
    "embedding_bag.flat(Tensor weight, Tensor indices, Tensor offsets, Tensor? per_sample_weights, str mode, bool include_last_offset, "
    "int padding_idx) -> Tensor",
    forms=FUNCTION,
    namespaces=(),
)
def bags(weight, indices, offsets, per_sample_weights, mode, include_last_offset, padding_idx):
    """The sum, mean or maximum of the rows of every bag; bag ``i`` holds the indices from ``offsets[i]`` on; empty bags are 0.

    With ``include_last_offset`` the last offset ends the last bag.
    """
    count = offsets.shape[0] - bool(include_last_offset)
    bag = jnp.searchsorted(offsets[:count], jnp.arange(indices.shape[0]), side="right") - 1
    if include_last_offset and mode != "max" and padding_idx < 0:  # torch's other kernels take the last bag to the end
        bag = jnp.where(jnp.arange(indices.shape[0]) < offsets[-1], bag, count)
    taken = widened(jnp.take(weight, indices, axis=0, mode="clip"))
    if per_sample_weights is not None:
        taken = taken * widened(per_sample_weights)[:, None]
    if padding_idx >= 0:
        bag = jnp.where(indices == padding_idx, count, bag)  # out of range: dropped
    if mode == "max":
        peak = jax.ops.segment_max(taken, bag, count)
        result = jnp.where(jnp.isneginf(peak), 0, peak)
    else:
        result = jax.ops.segment_sum(taken, bag, count)
    if mode == "mean":
        sizes = jax.ops.segment_sum(jnp.ones(indices.shape, taken.dtype), bag, count)
        result = result / jnp.maximum(sizes, 1)[:, None]
    return result.astype(weight.dtype)


@bags.check
def _(weight, indices, offsets, per_sample_weights, mode, include_last_offset, padding_idx):
    _check_indices("embedding_bag", "indices", indices)
    if len(weight.shape) != 2:
        raise RuntimeError("'weight' must be 2-D")


@bags.data_check(
    RuntimeError, "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got {}"
)
def _(offsets):
    return offsets[:1] != 0, offsets[:1]


@bags.data_check(RuntimeError, "offsets[-1] can not be greater than input's length {} but got offsets[-1] of {}")
def _(indices_meta, offsets):
    return offsets[-1:] > indices_meta.shape[0], indices_meta.shape[0], offsets[-1:]


@bags.data_check(RuntimeError, "Index {} of input takes value {} which is not in the valid range [0, {})")
def _(weight_meta, indices):
    return (indices < 0) | (indices >= weight_meta.shape[0]), np.arange(indices.size).reshape(indices.shape), indices, weight_meta.shape[0]


@composite(
    "embedding_bag(Tensor input, Tensor weight, Tensor? offsets=None, float? max_norm=None, float norm_type=2, bool scale_grad_by_freq=False, "
    "str mode='mean', bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int? padding_idx=None) -> Tensor",
    forms=FUNCTION,
    namespaces=_PUBLIC,
)
def embedding_bag(
    input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False, per_sample_weights=None,
    include_last_offset=False, padding_idx=None,
):  # fmt: skip
    """The sum, mean or maximum of rows of ``weight``, one for each row of a 2-D ``input`` or each bag that ``offsets`` starts."""
    if not weight.is_floating_point() and input.is_floating_point():
        warnings.warn("Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is deprecated, "
                      "and should now be `embedding_bag(input, weight, ...)`.", stacklevel=3)  # fmt: skip
        weight, input = input, weight
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same shape as the "
            f"input ({input.shape})"
        )
    padding = _wrapped(padding_idx, weight.shape[0], "padding_idx must be within the number of embeddings")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. "
                f"However, found offsets of type {type(offsets)}"
            )
        bag_count, length = input.shape
        offsets = input.new_ones((bag_count,)).cumsum(0).sub(1).mul(length)
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    if max_norm is not None:
        _shorten(weight, input, max_norm, norm_type)
    # Bags of the rows that were looked up one by one.  torch on the CPU divides by the frequency of another index; here it is the index's own.
    if (sparse or scale_grad_by_freq) and is_recorded(weight):
        count = input.shape[0]
        taken = looked_up(rows, weight, input, padding, scale_grad_by_freq) if sparse else rows(weight, input, padding, scale_grad_by_freq, False)
        places = input.new_ones((count,)).cumsum(0).sub(1)
        if padding >= 0:
            places, padding = places.masked_fill(input == padding, count), count
        weight, input = cat([taken, taken.new_zeros((1, weight.shape[1]))]), places
    return bags(weight, input, offsets, per_sample_weights, mode, include_last_offset, padding)


def _bag_sizes(indices, offsets, bag_count: int, padding: int):
    """For each index the number of its bag, and for each bag how many indices count."""
    places = indices.new_ones(indices.shape).cumsum(0).sub(1)
    numbers = searchsorted(offsets, places, right=True).sub(1).to(indices.dtype)
    counted = (indices != padding).to(indices.dtype)
    return numbers, indices.new_zeros((bag_count,)).index_add(0, numbers, counted)


@composite(
    "embedding_bag.native(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
    "Tensor? per_sample_weights=None, bool include_last_offset=False, int? padding_idx=None) -> (Tensor, Tensor, Tensor, Tensor)",
    forms=FUNCTION,
)
def embedding_bag_native(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx):
    """That of ``nn.functional`` with 0, 1 or 2 for the sum, mean or maximum, and what torch keeps of its bags.

    Returns:
        The bags; the bag of each index, the size of each bag and, for maxima, the index of each maximum.  Of sums torch keeps no sizes, and the
        bags only beside padding.
    """
    if not 0 <= mode <= 2:
        raise RuntimeError(f"embedding_bag: mode has to be 0 (sum), 1 (mean) or 2 (max), got {mode}")
    how = ("sum", "mean", "max")[mode]
    result = lookup("embedding_bag")(
        indices, weight, offsets, scale_grad_by_freq=scale_grad_by_freq, mode=how, sparse=sparse, per_sample_weights=per_sample_weights,
        include_last_offset=include_last_offset, padding_idx=padding_idx,
    )  # fmt: skip
    padding = _wrapped(padding_idx, weight.shape[0], "padding_idx must be within the number of embeddings")
    count = result.shape[0]
    if how == "sum":
        kept = count if weight.requires_grad else offsets.shape[0]
        numbers = indices.new_empty((0,)) if padding < 0 else _bag_sizes(indices, offsets[:count], count, padding)[0]
        return result, numbers, indices.new_zeros((kept,)), indices.new_zeros((kept,))
    numbers, sizes = _bag_sizes(indices, offsets[:count], count, padding)
    return result, numbers, sizes, _maxima(weight.detach(), indices, numbers, count, padding) if how == "max" else sizes.clone()


@op(
    "_embedding_bag_maxima(Tensor weight, Tensor indices, Tensor numbers, int count, int padding) -> Tensor",
    forms=FUNCTION, namespaces=(), differentiable=False,
)  # fmt: skip
def _maxima(weight, indices, numbers, count, padding):
    """For each bag and column the index whose row has the maximum, the first of equals; 0 in empty bags."""
    taken = jnp.take(weight, indices, axis=0, mode="clip")
    bag = jnp.where(indices == padding, count, numbers)
    peak = jax.ops.segment_max(taken, bag, count)
    is_peak = taken == jnp.take(peak, bag, axis=0, mode="clip")
    place = jnp.where(is_peak, jnp.arange(indices.shape[0])[:, None], indices.shape[0])
    first = jax.ops.segment_min(place, bag, count)
    return jnp.where(first < indices.shape[0], jnp.take(indices, first, mode="clip"), 0)


# --- one hot ------------------------------------------------------------------------------------------------------------------------


@op("one_hot.sized(Tensor self, int num_classes) -> Tensor", forms=FUNCTION, namespaces=(), differentiable=False)
def one_hot_of(self, num_classes):
    """A last dimension of ``num_classes`` that is 1 at the element's value and 0 elsewhere."""
    return (self[..., None] == jnp.arange(num_classes, dtype=self.dtype)).astype(jnp.int64)


@one_hot_of.data_check(RuntimeError, "Class values must be non-negative.")
def _(self):
    return self < 0


@one_hot_of.data_check(RuntimeError, "Class values must be smaller than num_classes.")
def _(self, num_classes):
    return self >= num_classes


@composite("one_hot(Tensor self, int num_classes=-1) -> Tensor", forms=FUNCTION, namespaces=_PUBLIC)
def one_hot(self, num_classes=-1):
    """One-hot vectors of class numbers; without ``num_classes`` there are as many classes as the largest number needs."""
    if scalar_type(self.dtype.numpy) != "Long":
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if num_classes == -1:
        if batch_of(self) is not None:
            raise RuntimeError("When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument.")
        if self.numel() == 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        if self.min().item() < 0:
            raise RuntimeError("Class values must be non-negative.")
        num_classes = int(self.max().item()) + 1
    elif num_classes <= 0 and self.numel() == 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    return one_hot_of(self, num_classes)
