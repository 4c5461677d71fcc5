"""`Storage`: the memory that a tensor and its views share, as one logical base value with a version counter."""

from __future__ import annotations

import itertools
import sys

import numpy as np

from ..graph import recorder
from ..graph.value import Value, constant
from .geometry import Geometry, geometry
from .layout import is_non_overlapping_and_dense

__all__ = ["Changes", "HostMemory", "Storage"]

_ALIGNMENT = 64
_next_address = itertools.count(1)


class Changes:
    """Counts the changes of a storage that the tape must know of (not those through ``Tensor.data``).

    Values that were the storage's content refer to it, and not to the storage, which refers to its value: there is no cycle, so that what
    nobody can see any more is freed, and is no result of the program.

    Attributes:
        tracked: how many there were.
        written_by: (name of a node, number of its result, size of what it wrote into): the last one on the tape, for messages.
    """

    __slots__ = ("tracked", "written_by")

    def __init__(self) -> None:
        self.tracked = 0
        self.written_by: tuple[str, int, tuple[int, ...]] | None = None


class Storage:
    """One base value, seen by one or more tensors through their geometries.

    A tensor that was never viewed nor written to has none; it is made when it is needed.

    Attributes:
        value: the content, of the base tensor's shape.
        base: how that shape lies in memory (dense, offset 0).
        version: counts every change; a view's value read earlier is void when it moves on.
        changes: counts those that the tape must know of; see `Changes`.
        host: the numpy memory that is the truth while somebody outside looks at it; see `HostMemory`.
        resizable: False for good once numpy or a file has shared the memory.
    """

    __slots__ = ("value", "base", "version", "changes", "host", "resizable", "_address", "__weakref__")

    def __init__(self, value: Value) -> None:
        aval = value.aval
        self.value = value
        self.base = geometry(aval.size, aval.stride)
        assert is_non_overlapping_and_dense(aval.size, aval.stride) or aval.numel == 0, "a storage's base is dense"
        self.version = 0
        self.changes = changes = Changes()
        self.host: HostMemory | None = None
        self.resizable = True
        self._address = 0
        value.origin = (changes, 0)

    @property
    def address(self) -> int:
        """A number that stands for the memory's address: the same for every alias, apart from every other storage's."""
        if not self._address:
            self._address = next(_next_address) << 40
        return self._address

    @property
    def nbytes(self) -> int:
        """Bytes that the elements take."""
        return self.value.aval.numel * self.value.aval.dtype.itemsize

    def replace(self, value: Value, *, tracked: bool = True) -> None:
        """Give the storage new content."""
        self.version += 1
        changes = self.changes
        if tracked:
            changes.tracked += 1
        self.value = value
        value.origin = (changes, changes.tracked)
        host = self.host
        if host is not None:
            if host.is_shared() and host.memory.flags.writeable:
                host.write(np.asarray(recorder.materialise(value, "numpy shares the memory")))
            else:
                self.host = None

    def share(self, host: HostMemory) -> None:
        """Let memory that somebody outside sees be the truth."""
        self.host = host
        self.resizable = False

    def check_resizable(self) -> None:
        """Refuse to change the size of memory that others have seen.

        Raises:
            RuntimeError: torch's text.
        """
        if not self.resizable:
            raise RuntimeError("Trying to resize storage that is not resizable")

    def refresh(self) -> None:
        """Pick up what numpy code may have written, while it still can; called before each read."""
        host = self.host
        assert host is not None
        if not host.is_shared():
            self.host = None
        if host.is_changed():
            array = host.read()
            self.version += 1
            self.value = constant(array.reshape(self.base.size) if self.base.is_contiguous else _logical(array, self.base), self.value.aval)
            self.value.origin = (self.changes, self.changes.tracked)


def _logical(memory: np.ndarray, base: Geometry) -> np.ndarray:
    stride = [s * memory.itemsize for s in base.stride]
    return np.ascontiguousarray(np.lib.stride_tricks.as_strided(memory, base.size, stride))


class HostMemory:
    """Numpy memory that tensors and numpy arrays share.

    Whether somebody outside still sees it is told by the reference count of the array that owns the memory: every numpy view holds
    its owner.

    Args:
        owner: the array that owns the memory.
        memory: a flat view of the part that is the storage.
        base: how the storage's base value lies in it.
    """

    __slots__ = ("owner", "memory", "base", "_always_shared", "_known")

    def __init__(self, owner: np.ndarray, memory: np.ndarray, base: Geometry) -> None:
        self.owner = owner
        self.memory = memory
        self.base = base
        self._always_shared = owner.base is not None or memory.base is not owner
        self._known: np.ndarray | None = None  # what the storage's value was made of

    def is_shared(self) -> bool:
        """Whether somebody outside can still change the memory."""
        # ours are the attribute, the base of the flat view, and the argument of getrefcount
        return self._always_shared or sys.getrefcount(self.owner) > _OWN_REFERENCES

    def is_changed(self) -> bool:
        """Whether the memory holds something else than what was last read or written."""
        return self._known is None or not _same_bytes(self.memory, self._known)

    def read(self) -> np.ndarray:
        """A copy of the memory."""
        self._known = np.array(self.memory)
        return self._known

    def write(self, array: np.ndarray) -> None:
        """Put an array of the base's shape into the memory."""
        stride = [s * self.memory.itemsize for s in self.base.stride]
        np.ndarray(self.base.size, self.memory.dtype, self.memory, 0, stride)[...] = array
        self._known = np.array(self.memory)

    def window(self, at: Geometry) -> np.ndarray:
        """The memory as a numpy array of this geometry; shares it, and shows what is in memory without conjugate and negative bits."""
        memory = self.memory
        if at.elements is not None and at.elements.is_recast:
            whole = len(memory) * memory.itemsize // at.elements.dtype.itemsize * at.elements.dtype.itemsize
            memory = memory.view(np.uint8)[:whole].view(at.elements.dtype.numpy)
        if 0 in at.size:  # it may lie beyond the end
            return np.ndarray(at.size, memory.dtype, memory)
        stride = [s * memory.itemsize for s in at.stride]
        return np.ndarray(at.size, memory.dtype, memory, at.offset * memory.itemsize, stride)

    def read_window(self, at: Geometry) -> np.ndarray:
        """A copy of the elements at this geometry."""
        found = np.array(self.window(at))
        if at.elements is not None and at.elements.conjugate:
            found = np.conj(found)
        return -found if at.elements is not None and at.elements.negative else found


def _same_bytes(left: np.ndarray, right: np.ndarray) -> bool:
    word = np.int64 if left.nbytes % 8 == 0 else np.uint8
    return bool((left.view(word) == right.view(word)).all())


def _calibrate() -> int:
    """The reference count of the owner in `HostMemory.is_shared` when only the `HostMemory` holds it."""
    owner = np.empty(1)
    host = HostMemory(owner, owner[:], geometry((1,), (1,)))
    del owner
    return sys.getrefcount(host.owner)


_OWN_REFERENCES = _calibrate()
