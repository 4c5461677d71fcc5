"""`IterDataPipe` and `MapDataPipe`: datasets whose steps are also their methods."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, TypeVar

from ..dataset import Dataset, IterableDataset
from . import _tracking

__all__ = ["DataChunk", "IterDataPipe", "MapDataPipe"]

T = TypeVar("T")


class DataChunk(list[T]):
    """A batch of samples: a list that says it is one."""

    def __init__(self, items: Iterable[T]) -> None:
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent: str = "") -> str:
        """The samples between brackets."""
        return f"{indent}[{', '.join(map(str, self))}]"

    def raw_iterator(self) -> Iterator[T]:
        """The samples as they were given."""
        yield from self.items


class _Pipe:
    """What both kinds of pipes share: steps that are methods by a registered name, and hooks of pickling that walks over pipes use."""

    functions: ClassVar[dict[str, Callable]]
    reduce_ex_hook: ClassVar[Callable | None] = None
    getstate_hook: ClassVar[Callable | None] = None
    str_hook: ClassVar[Callable | None] = None
    repr_hook: ClassVar[Callable | None] = None

    def __getattr__(self, attribute_name: str) -> Any:
        function = type(self).functions.get(attribute_name)
        if function is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute_name}")
        return functools.update_wrapper(functools.partial(function, self), function, assigned=("__doc__",))

    @classmethod
    def register_function(cls, function_name: str, function: Callable) -> None:
        """Make a function of a pipe a method of all pipes."""
        cls.functions[function_name] = function

    @classmethod
    def _register_class(cls, function_name: str, made: type) -> None:
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")

        @functools.wraps(made, assigned=("__doc__",), updated=())
        def function(source_dp: Any, *args: Any, **kwargs: Any) -> Any:
            return made(source_dp, *args, **kwargs)

        cls.functions[function_name] = function

    @staticmethod
    def _root() -> Any:
        raise NotImplementedError

    def __getstate__(self) -> Any:
        return self._hooked_state(self.__dict__)

    def _hooked_state(self, state: Any) -> Any:
        hook = self._root().getstate_hook
        return state if hook is None else hook(state)

    def __reduce_ex__(self, *args: Any, **kwargs: Any) -> Any:
        hook = self._root().reduce_ex_hook
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(*args, **kwargs)

    @classmethod
    def set_getstate_hook(cls, hook_fn: Callable | None) -> None:
        """Let a function see, and change, the states that are pickled; None ends that.

        Raises:
            RuntimeError: there is one already.
        """
        cls._set_hook("getstate_hook", hook_fn)

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Callable | None) -> None:
        """Let a function pickle pipes; one it raises `NotImplementedError` for is pickled as usual.  None ends that.

        Raises:
            RuntimeError: there is one already.
        """
        cls._set_hook("reduce_ex_hook", hook_fn)

    @classmethod
    def _set_hook(cls, name: str, hook: Callable | None) -> None:
        if getattr(cls._root(), name) is not None and hook is not None:
            raise RuntimeError(f"Attempt to override existing {name}")
        setattr(cls._root(), name, hook)

    def __repr__(self) -> str:
        hook = type(self).repr_hook
        return str(type(self).__qualname__) if hook is None else hook(self)

    def __str__(self) -> str:
        hook = type(self).str_hook
        return str(type(self).__qualname__) if hook is None else hook(self)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.functions]

    def _source_length(self, source: Any) -> int:
        """The length of a pipe.

        Raises:
            TypeError: it has none.
        """
        if not hasattr(type(source), "__len__"):
            raise self._without_length()
        return len(source)

    def _without_length(self) -> TypeError:
        return TypeError(f"{type(self).__name__} instance doesn't have valid length")


class IterDataPipe(_Pipe, IterableDataset[T]):
    """A stream of samples.  One iterator at a time is valid: a second one ends the first, and begins with ``reset()``.

    Steps are classes or methods: ``pipe.map(function)`` is ``Mapper(pipe, function)``.
    """

    functions: ClassVar[dict[str, Callable]] = {}
    _valid_iterator_id: int | None = None
    _number_of_samples_yielded: int = 0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__
        if "__iter__" in own:
            with_next = "__next__" in own
            if with_next and not inspect.isgeneratorfunction(own["__iter__"]):  # a generator counts itself
                cls.__next__ = _tracking.tracked_next(own["__next__"])  # type: ignore[attr-defined]
            cls.__iter__ = _tracking.tracked(own["__iter__"], with_next)  # type: ignore[method-assign]

    @staticmethod
    def _root() -> type:
        return IterDataPipe

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: type, enable_df_api_tracing: bool = False) -> None:
        """Make a class a method of all pipes.

        Raises:
            Exception: the name is taken.
            NotImplementedError: pipes of data frames are asked for.
        """
        if enable_df_api_tracing:
            raise NotImplementedError("enable_df_api_tracing: pipes of data frames are not in pytorchlike")
        cls._register_class(function_name, cls_to_register)

    def __iter__(self) -> Iterator[T]:
        return self  # type: ignore[return-value]

    def reset(self) -> None:
        """Go back to the start: called before each pass; subclasses with a state of their own define it."""

    def _begin_iteration(self) -> int:
        """Make the iterator that begins the valid one; returns its number."""
        self._valid_iterator_id = 0 if self._valid_iterator_id is None else self._valid_iterator_id + 1
        self._number_of_samples_yielded = 0
        self.reset()
        return self._valid_iterator_id

    def _is_valid(self, iterator_id: int) -> bool:
        return self._valid_iterator_id == iterator_id

    def _invalidated(self) -> str:
        return _tracking.invalidated(self)


IterDataPipe.__iter__ = _tracking.tracked(IterDataPipe.__iter__, False)  # type: ignore[method-assign]


class MapDataPipe(_Pipe, Dataset[T]):
    """Samples by key; steps are classes or methods: ``pipe.map(function)`` is ``Mapper(pipe, function)``."""

    functions: ClassVar[dict[str, Callable]] = {}

    @staticmethod
    def _root() -> type:
        return MapDataPipe

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: type) -> None:
        """Make a class a method of all pipes.

        Raises:
            Exception: the name is taken.
        """
        cls._register_class(function_name, cls_to_register)
