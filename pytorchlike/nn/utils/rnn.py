"""Sequences of different lengths: padded, and packed without the padding."""

from __future__ import annotations

import itertools
from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from ...aten.constructors import tensor
from ...aten.create import full
from ...core import dtype as dtypes
from ...tensors.tensor import Tensor

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence", "unpack_sequence",
    "unpad_sequence",
]  # fmt: skip

PackedSequence_ = namedtuple("PackedSequence_", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"], defaults=(None, None))


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another."""
    return None if permutation is None else permutation.argsort()


def _longs(values: Sequence[int], device: Any = None) -> Tensor:
    return tensor(list(values), dtype=dtypes.int64, device=device)


class PackedSequence(PackedSequence_):
    """A batch of sequences, longest first, stored time step by time step.

    Attributes:
        data: all elements, those of one time step together.
        batch_sizes: how many sequences reach each time step; on the CPU.
        sorted_indices: which sequence of the original batch stands where; None if they came sorted.
        unsorted_indices: its inverse.
    """

    def __new__(
        cls, data: Tensor, batch_sizes: Tensor | None = None, sorted_indices: Tensor | None = None, unsorted_indices: Tensor | None = None
    ) -> PackedSequence:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("data must be a (list, tuple) of length 2 when batch_sizes is None")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. They should be instantiated by "
                "functions like pack_sequence and pack_padded_sequences in nn.utils.rnn. "
                "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Move or cast the elements; the order follows them to their device."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        moved = [None if order is None else order.to(data.device) for order in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *moved)

    def pin_memory(self) -> PackedSequence:
        """Pin the memory of the elements."""
        orders = [None if order is None else order.pin_memory() for order in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(self.data.pin_memory(), self.batch_sizes, *orders)

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Move to the accelerator; arguments as those of ``to``."""
        return self.to(*args, **(kwargs if args or "device" in kwargs else {"device": "cuda", **kwargs}))

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Move to the CPU; arguments as those of ``to``."""
        return self.to(*args, **(kwargs if args or "device" in kwargs else {"device": "cpu", **kwargs}))

    def double(self) -> PackedSequence:
        """Cast to float64."""
        return self.to(dtype=dtypes.float64)

    def float(self) -> PackedSequence:
        """Cast to float32."""
        return self.to(dtype=dtypes.float32)

    def half(self) -> PackedSequence:
        """Cast to float16."""
        return self.to(dtype=dtypes.float16)

    def long(self) -> PackedSequence:
        """Cast to int64."""
        return self.to(dtype=dtypes.int64)

    def int(self) -> PackedSequence:
        """Cast to int32."""
        return self.to(dtype=dtypes.int32)

    def short(self) -> PackedSequence:
        """Cast to int16."""
        return self.to(dtype=dtypes.int16)

    def char(self) -> PackedSequence:
        """Cast to int8."""
        return self.to(dtype=dtypes.int8)

    def byte(self) -> PackedSequence:
        """Cast to uint8."""
        return self.to(dtype=dtypes.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether the elements are on an accelerator."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the memory of the elements is pinned."""
        return self.data.is_pinned()


def pack_padded_sequence(input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    """Pack a padded batch.

    Args:
        lengths: of each sequence; on the CPU when it is a tensor.
        enforce_sorted: the sequences come longest first; otherwise they are sorted here.

    Raises:
        RuntimeError: lengths that are not sorted, not positive, or not as many as sequences.
    """
    if not isinstance(lengths, Tensor):
        lengths = _longs(lengths)
    if lengths.device.type != "cpu":
        raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got 1D {lengths.device} Long tensor")
    values = [int(n) for n in lengths.tolist()]
    sorted_indices = None
    if not enforce_sorted:
        order = sorted(range(len(values)), key=lambda i: -values[i])
        sorted_indices = _longs(order, input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
        values = [values[i] for i in order]
    if batch_first:
        input = input.transpose(0, 1)
    batch = input.size(1)
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if len(values) != batch:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(values)} (batch_size={batch})")
    if values and values[-1] <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if any(later > earlier for earlier, later in itertools.pairwise(values)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` to "
            "pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX exportability."
        )
    batch_sizes = [sum(length > t for length in values) for t in range(values[0])]
    flat = input.reshape(input.size(0) * batch, *input.shape[2:])
    positions = _longs([t * batch + b for t, size in enumerate(batch_sizes) for b in range(size)], input.device)
    return PackedSequence(flat.index_select(0, positions), _longs(batch_sizes), sorted_indices, None)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded batch of a packed one, in its original order, and the lengths.

    Raises:
        ValueError: ``total_length`` is below the longest sequence.
    """
    sizes = [int(n) for n in sequence.batch_sizes.tolist()]
    steps, batch = len(sizes), sizes[0]
    if total_length is not None and total_length < steps:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got total_length="
            f"{total_length} and max sequence length being {steps}"
        )
    data = sequence.data
    total = steps if total_length is None else total_length
    lengths = [sum(size > b for size in sizes) for b in range(batch)]
    order = range(batch) if sequence.unsorted_indices is None else [int(i) for i in sequence.unsorted_indices.tolist()]
    starts = list(itertools.accumulate(sizes, initial=0))
    blank = data.size(0)  # one more row, of padding
    rows = [[starts[t] + b if t < steps and b < sizes[t] else blank for b in order] for t in range(total)]
    if batch_first:
        rows = [list(column) for column in zip(*rows)]
    positions = _longs([row for line in rows for row in line], data.device)
    padding = full((1, *data.shape[1:]), padding_value, dtype=data.dtype, device=data.device)
    padded = data.new_empty((blank + 1, *data.shape[1:]))
    padded[:blank] = data
    padded[blank:] = padding
    result = padded.index_select(0, positions).view(len(rows), len(rows[0]), *data.shape[1:])
    return result, _longs([lengths[b] for b in order])


def pad_sequence(sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right") -> Tensor:
    """Sequences as one tensor, padded to the longest.

    Raises:
        RuntimeError: not a list of tensors.
    """
    if not isinstance(sequences, (list, tuple, Tensor)):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    sequences = tuple(sequences.unbind(0)) if isinstance(sequences, Tensor) else tuple(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    first = sequences[0]
    longest = max(s.size(0) for s in sequences)
    shape = (len(sequences), longest) if batch_first else (longest, len(sequences))
    result = full((*shape, *first.shape[1:]), padding_value, dtype=first.dtype, device=first.device)
    for i, sequence in enumerate(sequences):
        length = sequence.size(0)
        span = slice(0, length) if padding_side == "right" else slice(longest - length, longest)
        result[(i, span) if batch_first else (span, i)] = sequence
    return result


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded tensor, each at its own length."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [sequence[: int(length)] for sequence, length in zip(padded_sequences, lengths)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences."""
    lengths = [sequence.size(0) for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed batch, in their original order."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
