"""Samples that meet a condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import StreamWrapper, _check_unpickable_fn, validate_input_col
from .callable import applied

__all__ = ["FilterIterDataPipe"]


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe):
    """The samples for which a function says True.

    Args:
        input_col: what the function is given: an index, a key or several of them; None for the whole sample.

    Raises:
        ValueError: the function says something else than True or False.
    """

    def __init__(self, datapipe: IterDataPipe, filter_fn: Callable, input_col: Any = None) -> None:
        super().__init__()
        self.datapipe = datapipe
        _check_unpickable_fn(filter_fn)
        self.filter_fn = filter_fn
        self.input_col = input_col
        validate_input_col(filter_fn, input_col)

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            condition = applied(self.filter_fn, data, self.input_col)
            if not isinstance(condition, bool):
                raise ValueError("Boolean output is required for `filter_fn` of FilterIterDataPipe, got", type(condition))
            if condition:
                yield data
            else:
                StreamWrapper.close_streams(data)
