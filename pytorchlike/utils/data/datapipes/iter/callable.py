"""Functions of samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..._utils.collate import default_collate
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import _check_unpickable_fn, validate_input_col

__all__ = ["CollatorIterDataPipe", "MapperIterDataPipe", "applied"]


def applied(fn: Callable, data: Any, columns: Any) -> Any:
    """A function of a sample, or of some of its columns."""
    if columns is None:
        return fn(data)
    return fn(*(data[column] for column in columns)) if isinstance(columns, (list, tuple)) else fn(data[columns])


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe):
    """A function of each sample.

    Args:
        input_col: what the function is given: an index, a key or several of them; None for the whole sample.
        output_col: where its result goes, -1 for the end; None for the first of ``input_col``, whose others are removed.

    Raises:
        ValueError: ``output_col`` without ``input_col`` or of several, or a function of another number of arguments.
    """

    def __init__(self, datapipe: IterDataPipe, fn: Callable, input_col: Any = None, output_col: Any = None) -> None:
        super().__init__()
        self.datapipe = datapipe
        _check_unpickable_fn(fn)
        self.fn = fn
        self.input_col = input_col
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.output_col = output_col
        validate_input_col(fn, input_col)

    def _apply_fn(self, data: Any) -> Any:
        result = applied(self.fn, data, self.input_col)
        if self.input_col is None:
            return result
        changed = list(data) if isinstance(data, tuple) else data
        if self.output_col == -1:
            changed.append(result)
        elif self.output_col is not None:
            changed[self.output_col] = result
        elif isinstance(self.input_col, (list, tuple)):
            changed[self.input_col[0]] = result
            for column in sorted(self.input_col[1:], reverse=True):
                del changed[column]
        else:
            changed[self.input_col] = result
        return tuple(changed) if isinstance(data, tuple) else changed

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            yield self._apply_fn(data)

    def __len__(self) -> int:
        return self._source_length(self.datapipe)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Batches as tensors.

    Args:
        conversion, collate_fn: the function of a batch; the second one counts.

    Raises:
        NotImplementedError: conversions by column, which are for data frames.
    """

    def __init__(self, datapipe: IterDataPipe, conversion: Any = default_collate, collate_fn: Callable | None = None) -> None:
        function = conversion if collate_fn is None else collate_fn
        if not callable(function):
            raise NotImplementedError("Collator(conversion=dict): pipes of data frames are not in pytorchlike; give a function of a batch")
        super().__init__(datapipe, fn=function)
