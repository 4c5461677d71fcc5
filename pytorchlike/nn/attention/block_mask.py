"""`BlockMask`: a mask of attention by blocks, and the functions of indices it is made from."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ...aten.create import zeros
from ...aten.ranges import arange
from ...core import dtype as dtypes
from ...core.device import accelerator_type
from ...tensors.tensor import Tensor
from .. import functional as F

__all__ = ["BlockMask", "and_masks", "create_block_mask", "create_mask", "noop_mask", "or_masks"]

_DEFAULT_SPARSE_BLOCK_SIZE = 128
MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


# ------------------------------------------------------------------------------------------------------------- functions of indices
def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Every key is in sight."""
    return batch.new_ones(size=(), dtype=dtypes.bool_, device=batch.device)


def _sliced_mask_mod_error(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask. When you slice a BlockMask using [], the mask_mod attribute is reset. You must set it from the "
        "original BlockMask's mask_mod.\n\nIncorrect usage:\n  base_mask = create_block_mask(my_mask_fn, ...)\n"
        "  sliced_mask = base_mask[:, :, block_idx]\n  sliced_mask.mask_mod = apply_offset(sliced_mask.mask_mod, offset)  # WRONG!"
        "\n\nCorrect usage:\n  base_mask = create_block_mask(my_mask_fn, ...)\n  sliced_mask = base_mask[:, :, block_idx]\n"
        "  sliced_mask.mask_mod = apply_offset(base_mask.mask_mod, offset)  # Use base_mask!"
    )


def _combined(mask_mods: Sequence[MaskMod], start: str, combine: Callable[[Tensor, Tensor], Tensor]) -> MaskMod:
    if not all(callable(mod) for mod in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = getattr(b, start)((), dtype=dtypes.bool_)
        for mod in mask_mods:
            result = combine(result, mod(b, h, q_idx, kv_idx))
        return result

    return mask


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask of what one of several masks shows."""
    return _combined(mask_mods, "new_zeros", lambda a, b: a | b)


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask of what all of several masks show."""
    return _combined(mask_mods, "new_ones", lambda a, b: a & b)


def _argument_count(function: Callable) -> int:
    """How many positional arguments without default a function takes: 4 for a mask, 5 for a change of scores."""
    code = getattr(function, "__code__", None)
    if code is not None:
        count = code.co_argcount - len(getattr(function, "__defaults__", None) or ())
    else:
        count = sum(p.default is inspect.Parameter.empty for p in inspect.signature(function).parameters.values())
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    return count


def indices(batches: int, heads: int, queries: int, keys: int, device: Any) -> tuple[Tensor, ...]:
    """The index of each of four dimensions, shaped so that a function of them computes for all at once."""
    return tuple(
        arange(size, device=device).view([-1 if d == place else 1 for d in range(4)]) for place, size in enumerate((batches, heads, queries, keys))
    )


def create_mask(mod_fn: Callable, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None) -> Tensor:
    """The mask of a function of indices as a tensor ``(B, H, Q_LEN, KV_LEN)``.

    Args:
        mod_fn: of batch, head, query and key; with scores before them, what it makes ``-inf`` is out of sight.
    """
    device = accelerator_type() if device is None else device
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    at = indices(*shape, device)
    if _argument_count(mod_fn) == 5:
        return ~mod_fn(zeros(shape, device=device), *at).isneginf().expand(shape)
    return mod_fn(*at).expand(shape).contiguous()


# ------------------------------------------------------------------------------------------------------------------ lists of blocks
def _ordered_to_dense(num_blocks_in_row: Tensor, col_indices: Tensor, num_cols: int) -> Tensor:
    """1 for each block in a list of them by rows, else 0."""
    in_list = arange(col_indices.shape[-1], device=col_indices.device) < num_blocks_in_row.unsqueeze(-1)
    columns = col_indices.where(in_list, num_cols).long()  # what is not in the list goes to a column that is cut off
    dense = col_indices.new_zeros((*col_indices.shape[:-1], num_cols + 1), dtype=dtypes.int32)
    return dense.scatter(-1, columns, 1)[..., :num_cols].contiguous()


def _dense_to_ordered(dense_mask: Tensor) -> tuple[Tensor, Tensor]:
    """For each row how many blocks there are, and the columns, those of blocks first."""
    dense_mask = dense_mask.to(dtypes.int32)
    return dense_mask.sum(-1).to(dtypes.int32), dense_mask.argsort(dim=-1, descending=True, stable=True).to(dtypes.int32)


def _transpose_ordered(num_blocks_in_row: Tensor, col_indices: Tensor) -> tuple[Tensor, Tensor]:
    return _dense_to_ordered(_ordered_to_dense(num_blocks_in_row, col_indices, col_indices.shape[-1]).transpose(-2, -1))


def _cropped(num_blocks: Tensor, col_indices: Tensor, rows: int, columns: int) -> tuple[Tensor, Tensor]:
    col_indices, num_blocks = col_indices[:, :, :rows, :columns], num_blocks[:, :, :rows].clamp(max=columns)
    return (col_indices < num_blocks[:, :, :, None]).sum(-1).to(dtypes.int32), col_indices


class BlockMask:
    """A mask of attention: which blocks of queries and keys are computed, and ``mask_mod`` for the elements of those that are not full.

    Args:
        seq_lengths: numbers of queries and keys.
        kv_num_blocks, kv_indices: for each row of blocks how many are computed in part, and their columns.
        full_kv_num_blocks, full_kv_indices: the same for blocks that are computed in full.
        q_num_blocks, ...: the same by columns.
        BLOCK_SIZE: queries and keys in a block.
        dq_write_order, ...: kept, and of no effect.
    """

    #: Set where ``mask_mod`` alone says what is in sight.
    _mod_says_all = False
    _TENSOR_ATTRS = (
        "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices",
        "dq_write_order", "dq_write_order_full", "dq_kv_order",
    )  # fmt: skip

    def __init__(
        self, seq_lengths: tuple[int, int], kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None, q_num_blocks: Tensor | None, q_indices: Tensor | None, full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None, BLOCK_SIZE: tuple[int, int] = (_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE),
        mask_mod: MaskMod = noop_mask, *, dq_write_order: Tensor | None = None, dq_write_order_full: Tensor | None = None,
        dq_kv_order: Tensor | None = None, dq_kv_order_spt: bool | None = None,
    ) -> None:  # fmt: skip
        _check_lists(kv_indices, full_kv_num_blocks, full_kv_indices)
        if (full_q_num_blocks is None) != (full_q_indices is None):
            raise AssertionError("full_q_num_blocks and full_q_indices must be both provided or omitted")
        if dq_write_order_full is not None and dq_write_order is None:
            raise ValueError("dq_write_order_full requires dq_write_order")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks = kv_num_blocks
        self.kv_indices = kv_indices
        self.full_kv_num_blocks = full_kv_num_blocks
        self.full_kv_indices = full_kv_indices
        self.q_num_blocks = q_num_blocks
        self.q_indices = q_indices
        self.full_q_num_blocks = full_q_num_blocks
        self.full_q_indices = full_q_indices
        self.dq_write_order = dq_write_order
        self.dq_write_order_full = dq_write_order_full
        self.dq_kv_order = dq_kv_order
        self.dq_kv_order_spt = dq_kv_order_spt
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls, kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None = None, full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE, mask_mod: MaskMod | None = None,
        seq_lengths: tuple[int, int] | None = None, compute_q_blocks: bool = True, *, dq_write_order: Tensor | None = None,
        dq_write_order_full: Tensor | None = None, dq_kv_order: Any = None,
    ) -> BlockMask:  # fmt: skip
        """A mask from its blocks by rows.

        Args:
            compute_q_blocks: also list them by columns.
        """
        _check_lists(kv_indices, full_kv_num_blocks, full_kv_indices)
        if dq_kv_order is not None and not isinstance(dq_kv_order, (bool, Tensor)):
            raise ValueError("dq_kv_order must be a bool, Tensor, or None")
        partial: tuple[Any, Any] = _transpose_ordered(kv_num_blocks, kv_indices) if compute_q_blocks else (None, None)
        full: tuple[Any, Any] = (None, None)
        if compute_q_blocks and full_kv_num_blocks is not None and full_kv_indices is not None:
            full = _transpose_ordered(full_kv_num_blocks, full_kv_indices)
        sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        return cls(
            (kv_indices.shape[-2] * sizes[0], kv_indices.shape[-1] * sizes[1]) if seq_lengths is None else seq_lengths,
            kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, partial[0], partial[1], full[0], full[1],
            sizes, noop_mask if mask_mod is None else mask_mod, dq_write_order=dq_write_order, dq_write_order_full=dq_write_order_full,
            dq_kv_order=dq_kv_order if isinstance(dq_kv_order, Tensor) else None,
            dq_kv_order_spt=dq_kv_order if isinstance(dq_kv_order, bool) else None,
        )  # fmt: skip

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """All parts; lengths and block sizes one by one if ``flatten``."""
        lengths, sizes = (tuple(self.seq_lengths), tuple(self.BLOCK_SIZE)) if flatten else ((self.seq_lengths,), (self.BLOCK_SIZE,))
        return (*lengths, *[getattr(self, name) for name in self._TENSOR_ATTRS], self.dq_kv_order_spt, *sizes, self.mask_mod)

    # ---------------------------------------------------------------------------------------------------------- parts of the mask
    @property
    def shape(self) -> tuple[int, ...]:
        """Batches, heads, queries, keys."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def __getitem__(self, index: Any) -> BlockMask:
        """Some batches, heads and rows of blocks; ``mask_mod`` is not kept, as it does not know of the choice."""
        if self.dq_kv_order is not None:
            raise NotImplementedError(
                "Slicing BlockMask with tensor dq_kv_order is not supported yet. Construct a new BlockMask with matching precomputed dq_write_order "
                "metadata."
            )
        given = index if isinstance(index, tuple) else (index,)
        padded = (*given, slice(None), slice(None), slice(None))[:3]
        chosen = tuple(
            (slice(i + n, i + n + 1) if -n <= i < 0 else slice(i, i + 1)) if isinstance(i, int) else i
            for i, n in zip(padded, self.kv_num_blocks.shape)
        )
        full = [None if t is None else t[chosen] for t in (self.full_kv_num_blocks, self.full_kv_indices)]
        return BlockMask.from_kv_blocks(
            self.kv_num_blocks[chosen], self.kv_indices[chosen], full[0], full[1], self.BLOCK_SIZE, _sliced_mask_mod_error, self.seq_lengths,
            self.q_indices is not None,
        )  # fmt: skip

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The upper left part of the mask, for fewer queries and keys."""
        rows, columns = (math.ceil(length / size) for length, size in zip((new_q_len, new_kv_len), self.BLOCK_SIZE))
        partial, full = _cropped(self.kv_num_blocks, self.kv_indices, rows, columns), (None, None)
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            full = _cropped(self.full_kv_num_blocks, self.full_kv_indices, rows, columns)  # type: ignore[assignment]
        adjusted = self.from_kv_blocks(
            partial[0], partial[1], full[0], full[1], self.BLOCK_SIZE, self.mask_mod, (new_q_len, new_kv_len), self.q_indices is not None
        )
        adjusted._mod_says_all = self._mod_says_all
        return adjusted

    def to(self, device: Any) -> BlockMask:
        """The mask on a device."""
        moved = {name: getattr(self, name) for name in self._TENSOR_ATTRS}
        moved = {name: t if t is None else t.to(device) for name, t in moved.items()}
        found = BlockMask(self.seq_lengths, **moved, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod, dq_kv_order_spt=self.dq_kv_order_spt)
        found._mod_says_all = self._mod_says_all
        return found

    # -------------------------------------------------------------------------------------------------------------- other forms
    def numel(self) -> int:
        """How many elements the mask has."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """How many percent are not computed."""
        computed = self.kv_num_blocks.sum()
        if self.full_kv_num_blocks is not None:
            computed = computed + self.full_kv_num_blocks.sum()
        return 100 * (1 - computed.item() * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Tensor:
        """1 for each block that is computed, else 0."""
        dense = _ordered_to_dense(self.kv_num_blocks, self.kv_indices, self.kv_indices.shape[-1])
        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return dense
        return dense | _ordered_to_dense(self.full_kv_num_blocks, self.full_kv_indices, self.full_kv_indices.shape[-1])

    def elements(self, batches: int, heads: int) -> Tensor | None:
        """The mask of the elements, to be broadcast to (batches, heads, queries, keys); None where all are in sight."""
        queries, keys = self.seq_lengths
        at = indices(batches, heads, queries, keys, self.kv_indices.device)
        in_sight = None if self.mask_mod is noop_mask else self.mask_mod(*at)
        if self._mod_says_all:
            return in_sight
        partial = _ordered_to_dense(self.kv_num_blocks, self.kv_indices, self.kv_indices.shape[-1])
        shown = self._spread(partial)
        in_sight = shown if in_sight is None else in_sight & shown
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            in_sight = in_sight | self._spread(_ordered_to_dense(self.full_kv_num_blocks, self.full_kv_indices, self.full_kv_indices.shape[-1]))
        return in_sight

    def _spread(self, blocks: Tensor) -> Tensor:
        """The elements of the blocks that are 1."""
        rows, columns = (arange(n, device=blocks.device) // size for n, size in zip(self.seq_lengths, self.BLOCK_SIZE))
        return blocks.index_select(-2, rows).index_select(-1, columns) != 0

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A drawing of the blocks.

        Args:
            grid_size: at most so many rows and columns of signs.
            limit: at most so many batches and heads.
        """
        dense = self.to_dense()
        *batch, rows, columns = dense.shape
        most_rows, most_columns = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        row_step, column_step = max(1, math.ceil(rows / most_rows)), max(1, math.ceil(columns / most_columns))
        drawings = []
        for number, at in enumerate(itertools.product(*map(range, batch))):
            if number == limit:
                drawings += [
                    "...", "To print out more, set BlockMask.to_string(limit=N)",
                    "You can also index (BlockMask[batch, head]) to choose a specific batch or head",
                ]  # fmt: skip
                break
            shares = F.avg_pool2d(dense[at].float()[None], (row_step, column_step), ceil_mode=True)[0].tolist()
            lines = ["".join(("█" if s == 1 else "░" if s else " ") * 2 for s in row) for row in shares]
            drawings.append("\n".join([str(at), *lines, ""]))
        return "\n".join(drawings)

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"

    def __repr__(self) -> str:
        lists = "".join(f"    {name}={getattr(getattr(self, name), 'shape', None)},\n" for name in self._TENSOR_ATTRS[:8])
        return (
            f"BlockMask(\n{lists}    BLOCK_SIZE={self.BLOCK_SIZE},\n    shape={self.shape},\n    sparsity={self.sparsity():.2f}%,\n"
            f"    mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}\n)"
        )


def _check_lists(kv_indices: Tensor, full_kv_num_blocks: Any, full_kv_indices: Any) -> None:
    if kv_indices.dim() < 2:
        raise RuntimeError("BlockMask must have at least 2 dimensions")
    if (full_kv_num_blocks is None) != (full_kv_indices is None):
        raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")


def create_block_mask(
    mask_mod: MaskMod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE, _compile: bool = False, separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False, dq_kv_order: bool = True,
) -> BlockMask:  # fmt: skip
    """The `BlockMask` of a function of batch, head, query and key.

    Args:
        B, H: None where the mask is the same for all.
        separate_full_blocks: list the blocks without a masked element apart.

    Raises:
        NotImplementedError: ``compute_dq_write_order`` is asked for; it orders the writes of a CUDA kernel.
    """
    if _argument_count(mask_mod) != 4:
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    if not isinstance(dq_kv_order, bool):
        raise ValueError("dq_kv_order must be a bool when using create_block_mask")
    if compute_dq_write_order:
        raise NotImplementedError("create_block_mask(compute_dq_write_order=True): the order belongs to a CUDA kernel that is not used here")
    q_size, kv_size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    mask = F.pad(mask, (0, -KV_LEN % kv_size, 0, -Q_LEN % q_size))
    batches, heads, queries, keys = mask.shape
    counts = mask.view(batches, heads, queries // q_size, q_size, keys // kv_size, kv_size).sum((3, 5))
    full: tuple[Any, Any] = _dense_to_ordered(counts == q_size * kv_size) if separate_full_blocks else (None, None)
    partial = _dense_to_ordered((counts > 0) & (counts < q_size * kv_size) if separate_full_blocks else counts > 0)
    made = BlockMask.from_kv_blocks(partial[0], partial[1], full[0], full[1], (q_size, kv_size), mask_mod, (Q_LEN, KV_LEN))
    made._mod_says_all = True
    return made
