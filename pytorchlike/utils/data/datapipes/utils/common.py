"""Functions given to pipes, files, and streams that close when nobody uses them."""

from __future__ import annotations

import fnmatch
import functools
import importlib.util
import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from io import IOBase
from typing import Any, ClassVar

__all__ = [
    "StreamWrapper", "get_file_binaries_from_pathnames", "get_file_pathnames_from_root", "match_masks", "validate_input_col",
    "validate_pathname_binary_tuple",
]  # fmt: skip


def validate_input_col(fn: Callable, input_col: Any) -> None:
    """Check that a function takes as many positional arguments as there are columns.

    Raises:
        ValueError: it takes fewer or more, or needs keywords.
    """
    try:
        signature = inspect.signature(fn)
    except ValueError:  # written in C
        return
    count = len(input_col) if isinstance(input_col, (list, tuple)) else 1
    parameters = list(signature.parameters.values())
    kinds = inspect.Parameter
    positional = [p for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    keywords = [p for p in parameters if p.kind is kinds.KEYWORD_ONLY and p.default is p.empty]
    open_ended = any(p.kind is kinds.VAR_POSITIONAL for p in parameters)
    inner = fn.func if isinstance(fn, functools.partial) else fn
    name = getattr(inner, "__name__", repr(inner))
    if keywords:
        raise ValueError(f"The function {name} takes {len(keywords)} non-default keyword-only parameters, which is not allowed.")
    if len(parameters) < count and not open_ended:
        raise ValueError(f"The function {name} takes {len(parameters)} parameters, but {count} are required.")
    too_many = any(p.default is p.empty for p in positional[count:])
    too_few = len(parameters) >= count > len(positional) and not open_ended
    if too_many or too_few:
        raise ValueError(f"The function {name} takes {len(positional)} positional parameters, but {count} are required.")


def _check_unpickable_fn(fn: Callable) -> None:
    """Warn of functions that cannot be pickled.

    Raises:
        TypeError: not a function.
    """
    if not callable(fn):
        raise TypeError(f"A callable function is expected, but {type(fn)} is provided.")
    inner = fn.func if isinstance(fn, functools.partial) else fn
    if importlib.util.find_spec("dill") is not None:
        return
    code = getattr(inner, "__code__", None)
    local = (
        code.co_flags & inspect.CO_NESTED if code is not None else "<locals>" in getattr(inner, "__qualname__", type(inner).__qualname__)
    )
    kind = "Local" if local else "Lambda" if getattr(inner, "__name__", "") == "<lambda>" else None
    if kind is not None:
        warnings.warn(
            f"{kind} function is not supported by pickle, please use regular python function or functools.partial instead.", stacklevel=3
        )


def match_masks(name: str, masks: str | list[str]) -> bool:
    """Whether a file's name is like one of the masks; no mask is like all."""
    return not masks or any(fnmatch.fnmatch(name, mask) for mask in ([masks] if isinstance(masks, str) else masks))


def get_file_pathnames_from_root(
    root: str, masks: str | list[str], recursive: bool = False, abspath: bool = False, non_deterministic: bool = False
) -> Iterator[str]:
    """The files of a folder, sorted unless ``non_deterministic``.

    Raises:
        OSError: it cannot be read; with a warning.
    """

    def failed(error: OSError) -> None:
        warnings.warn(f"{error.filename} : {error.strerror}", stacklevel=2)
        raise error

    if os.path.isfile(root):
        path = os.path.abspath(root) if abspath else root
        if match_masks(os.path.basename(path), masks):
            yield path
        return
    for folder, folders, files in os.walk(root, onerror=failed):
        place = os.path.abspath(folder) if abspath else folder
        yield from (os.path.join(place, name) for name in (files if non_deterministic else sorted(files)) if match_masks(name, masks))
        if not recursive:
            break
        if not non_deterministic:
            folders.sort()


def get_file_binaries_from_pathnames(pathnames: Any, mode: str, encoding: str | None = None) -> Iterator[tuple[str, StreamWrapper]]:
    """Each path with its opened file.

    Raises:
        TypeError: a path that is no string.
    """
    mode = f"r{mode}" if mode in ("b", "t") else mode
    for pathname in pathnames if isinstance(pathnames, Iterable) else [pathnames]:
        if not isinstance(pathname, str):
            raise TypeError(f"Expected string type for pathname, but got {type(pathname)}")
        yield pathname, StreamWrapper(open(pathname, mode, encoding=encoding))


def validate_pathname_binary_tuple(data: tuple[str, IOBase]) -> None:
    """Check that a sample is a path and an open file.

    Raises:
        TypeError: it is not.
    """
    if not isinstance(data, tuple):
        raise TypeError(f"pathname binary data should be tuple type, but it is type {type(data)}")
    if len(data) != 2:
        raise TypeError(f"pathname binary stream tuple length should be 2, but got {len(data)}")
    if not isinstance(data[0], str):
        raise TypeError(f"pathname within the tuple should have string type pathname, but it is type {type(data[0])}")
    if not isinstance(data[1], (IOBase, StreamWrapper)):
        raise TypeError(f"binary stream within the tuple should have IOBase orits subclasses as type, but it is type {type(data[1])}")


class StreamWrapper:
    """A file that closes when it is forgotten; one that others were opened from can close with the last of them.

    Args:
        parent_stream: the file this one was opened from.
    """

    session_streams: ClassVar[dict[Any, int]] = {}
    debug_unclosed_streams: ClassVar[bool] = False

    def __init__(self, file_obj: Any, parent_stream: Any = None, name: str | None = None) -> None:
        self.file_obj = file_obj
        self.child_counter = 0
        self.parent_stream = parent_stream
        self.close_on_last_child = False
        self.name = name
        self.closed = False
        if parent_stream is not None:
            if not isinstance(parent_stream, StreamWrapper):
                raise RuntimeError(f"Parent stream should be StreamWrapper, {type(parent_stream)} was given")
            parent_stream.child_counter += 1
        if StreamWrapper.debug_unclosed_streams:
            StreamWrapper.session_streams[self] = 1

    @classmethod
    def close_streams(cls, v: Any, depth: int = 0) -> None:
        """Close the streams in a sample, up to ten levels deep."""
        if isinstance(v, StreamWrapper):
            v.close()
        elif depth < 10 and isinstance(v, (dict, list, tuple)):
            for item in v.values() if isinstance(v, dict) else v:
                cls.close_streams(item, depth + 1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["file_obj"], name)

    def close(self, *args: Any, **kwargs: Any) -> None:
        """Close the file, and the one it was opened from if that waits for this."""
        if self.closed:
            return
        StreamWrapper.session_streams.pop(self, None)
        parent = self.parent_stream
        if parent is not None:
            parent.child_counter -= 1
            if not parent.child_counter and parent.close_on_last_child:
                parent.close()
        if hasattr(self.file_obj, "close"):
            self.file_obj.close(*args, **kwargs)
        self.closed = True

    def autoclose(self) -> None:
        """Close with the last of those that were opened from this, now if there is none."""
        self.close_on_last_child = True
        if not self.child_counter:
            self.close()

    def __dir__(self) -> list[str]:
        return list({*self.__dict__, *StreamWrapper.__dict__, *dir(self.file_obj)})

    def __del__(self) -> None:
        if not self.__dict__.get("closed", True):
            self.close()

    def __iter__(self) -> Iterator[Any]:
        yield from self.file_obj

    def __next__(self) -> Any:
        return next(self.file_obj)

    def __repr__(self) -> str:
        return f"StreamWrapper<{'' if self.name is None else f'{self.name},'}{self.file_obj!r}>"

    def __getstate__(self) -> Any:
        return self.file_obj

    def __setstate__(self, obj: Any) -> None:
        self.__init__(obj)  # type: ignore[misc]
