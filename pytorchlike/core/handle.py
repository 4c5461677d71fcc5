"""`RemovableHandle`: what registering a hook returns, for tensors, nodes of the tape, modules and optimizers alike."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["RemovableHandle", "register"]


class RemovableHandle:
    """Removes a hook with ``remove()``, or when a ``with`` block ends.

    Args:
        hooks_dict: the dictionary the hook was put in; held weakly.
        extra_dict: one or several dictionaries that may hold facts about the hook under the same key.
    """

    id: int
    next_id = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extra = () if extra_dict is None else (extra_dict,) if isinstance(extra_dict, dict) else tuple(extra_dict)
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extra)

    def remove(self) -> None:
        """Take the hook out; a second call does nothing."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple:
        return self.hooks_dict_ref(), self.id, tuple(reference() for reference in self.extra_dict_ref)

    def __setstate__(self, state: tuple) -> None:
        hooks, self.id = state[:2]
        extra = state[2] if len(state) > 2 else ()
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        self.extra_dict_ref = tuple(weakref.ref(OrderedDict() if d is None else d) for d in extra)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.remove()


def register(hooks: OrderedDict[int, Callable], hook: Callable, prepend: bool = False, marks: Iterable[dict[int, bool]] = (),
             extra: Iterable[dict] = ()) -> RemovableHandle:  # fmt: skip
    """Put a hook into a dictionary.

    Args:
        prepend: before the hooks that are there already.
        marks: dictionaries in which the hook's key is set to True.
        extra: dictionaries that the handle also takes the key out of.
    """
    handle = RemovableHandle(hooks, extra_dict=extra or None)
    hooks[handle.id] = hook
    for mark in marks:
        mark[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle
