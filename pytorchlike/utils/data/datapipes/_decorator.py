"""Decorators of data pipes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .datapipe import IterDataPipe, MapDataPipe

__all__ = ["functional_datapipe", "guaranteed_datapipes_determinism", "non_deterministic"]


class functional_datapipe:  # noqa: N801 - torch's name
    """Make a class of pipes a method of all pipes of its kind.

    Args:
        name: of the method.
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name
        self.enable_df_api_tracing = enable_df_api_tracing

    def __call__(self, cls: Any) -> Any:
        if not isinstance(cls, type):
            given = getattr(cls, "__self__", cls)
            if not isinstance(given, non_deterministic):
                raise TypeError("`functional_datapipe` can only decorate IterDataPipe")
            IterDataPipe.register_datapipe_as_function(self.name, cls, enable_df_api_tracing=self.enable_df_api_tracing)
        elif issubclass(cls, IterDataPipe):
            IterDataPipe.register_datapipe_as_function(self.name, cls, enable_df_api_tracing=self.enable_df_api_tracing)
        elif issubclass(cls, MapDataPipe):
            MapDataPipe.register_datapipe_as_function(self.name, cls)
        return cls


_determinism = False


class guaranteed_datapipes_determinism:  # noqa: N801 - torch's name
    """Refuse pipes that are `non_deterministic`, from here to the end of the block."""

    def __init__(self) -> None:
        global _determinism
        self.prev, _determinism = _determinism, True

    def __enter__(self) -> None:
        pass

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        global _determinism
        _determinism = self.prev


class non_deterministic:  # noqa: N801 - torch's name
    """Say of a class of pipes that its order varies.

    Args:
        arg: the class, or a function of its arguments that says whether the order varies with them.
    """

    cls: type[IterDataPipe] | None = None

    def __init__(self, arg: type[IterDataPipe] | Callable[..., bool]) -> None:
        if isinstance(arg, type):
            if not issubclass(arg, IterDataPipe):
                raise TypeError(f"Only `IterDataPipe` can be decorated with `non_deterministic`, but {arg.__name__} is found")
            self.cls = arg
        elif callable(arg):
            self.deterministic_fn = arg
        else:
            raise TypeError(f"{arg} can not be decorated by non_deterministic")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.cls is not None:
            if _determinism:
                raise TypeError(
                    f"{self.cls.__name__} is non-deterministic, but you set 'guaranteed_datapipes_determinism'. "
                    "You can turn off determinism for this DataPipe if that is acceptable for your application"
                )
            return self.cls(*args, **kwargs)
        if not (isinstance(args[0], type) and issubclass(args[0], IterDataPipe)):
            raise TypeError(f"Only `IterDataPipe` can be decorated, but {args[0].__name__} is found")
        self.cls = args[0]
        return self.deterministic_wrapper_fn

    def deterministic_wrapper_fn(self, *args: Any, **kwargs: Any) -> IterDataPipe:
        """A pipe, made if its order may vary."""
        assert self.cls is not None
        varies = self.deterministic_fn(*args, **kwargs)
        if not isinstance(varies, bool):
            raise TypeError(
                f"deterministic_fn of `non_deterministic` decorator is required to return a boolean value, but {type(varies)} is found"
            )
        if _determinism and varies:
            raise TypeError(
                f"{self.cls.__name__} is non-deterministic with the inputs, but you set 'guaranteed_datapipes_determinism'. "
                "You can turn off determinism for this DataPipe if that is acceptable for your application"
            )
        return self.cls(*args, **kwargs)
