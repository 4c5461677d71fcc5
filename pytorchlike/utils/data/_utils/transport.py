"""What the loader and its worker processes send each other: pickles whose arrays lie in memory that both processes map.

A message is a pickle with the arrays' bytes beside it.  A large one is written to a block of anonymous memory, of which only the file
descriptor is sent; the receiver maps it, and its arrays and tensors are views of the mapping.  Nothing has a name, so nothing can be left behind
when a process is killed: the memory goes with the last mapping.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import mmap
import operator
import os
import pickle
import sys
from collections.abc import Iterator
from multiprocessing import reduction
from multiprocessing.connection import Connection
from types import FunctionType
from typing import Any

import numpy as np

from ....core.device import CPU
from ....core.dtype import BY_NAME
from ....graph.value import aval_of, constant
from ....tensors.geometry import Geometry, contiguous, geometry
from ....tensors.pickling import memory_of, on_storage
from ....tensors.storage import Storage
from ....tensors.tensor import Tensor, make_storage

__all__ = ["Message", "can_pickle_by_value", "pack", "receive", "send", "unpack"]

_PACKAGE = __name__.partition(".")[0]
#: Messages of fewer bytes are sent as they are: mapping a block costs more than copying them.
_SMALLEST_BLOCK = 1 << 15
#: Where arrays begin in a block: XLA reads aligned memory without copying it.
_ALIGNMENT = 64
_HAS_BLOCKS = hasattr(os, "memfd_create") and sys.platform == "linux"


# -- pickles -----------------------------------------------------------------------------------------------------------------------------


def can_pickle_by_value() -> bool:
    """Whether classes and functions of the main module, lambdas and the like can be sent: cloudpickle does that."""
    return importlib.util.find_spec("cloudpickle") is not None


def _home(value: Any) -> tuple[str, str] | None:
    """(module, name) at which a class or function that calls itself torch's is found in this package."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "<locals>")
    if not isinstance(module, str) or module.partition(".")[0] != "torch" or "<locals>" in name:
        return None
    ours = _PACKAGE + module.removeprefix("torch")
    try:
        found = operator.attrgetter(name)(importlib.import_module(ours))
    except (ImportError, AttributeError):
        return None
    return (ours, name) if found is value else None


def _look_up(module: str, name: str) -> Any:
    return operator.attrgetter(name)(importlib.import_module(module))


class _Reductions:
    """How tensors and the names of this package are pickled.

    Args:
        elements_only: of a tensor that shows a part of its memory, send the part alone.
    """

    elements_only = False

    def reduce(self, value: Any) -> Any:
        """What ``reducer_override`` returns.

        Raises:
            RuntimeError: a tensor of the tape, or on a device that worker processes do not use.
        """
        if isinstance(value, (type, FunctionType)):
            home = _home(value)
            return NotImplemented if home is None else (_look_up, home)
        if isinstance(value, Tensor):
            return self._reduce_tensor(value)
        if isinstance(value, Storage) and not value.value.aval.is_meta:
            aval, base = value.value.aval, value.base
            return _storage, (aval.dtype.name, tuple(base.size), tuple(base.stride), memory_of(value, "DataLoader"))
        return NotImplemented

    def _reduce_tensor(self, tensor: Any) -> Any:
        if tensor.requires_grad and not tensor.is_leaf:
            raise RuntimeError(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing process "
                "boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing (e.g., putting it on the queue)."
            )
        if tensor.device != CPU and not tensor.is_meta:
            raise RuntimeError(
                f"DataLoader: a tensor on {tensor.device} cannot be sent to or from a worker process, as these run on the CPU alone. "
                "Keep the dataset's tensors on the CPU and move batches to the device, or use num_workers=0."
            )
        if type(tensor) is not Tensor or tensor.__dict__ or tensor.is_meta or tensor.is_conj() or tensor.is_neg() or tensor.layout.name != "strided":
            return NotImplemented  # its own way, which keeps all that; the storage comes here again
        storage = make_storage(tensor)
        if self.elements_only and tensor.numel() < storage.value.aval.numel:
            storage = make_storage(tensor.detach().clone(memory_format=_look_up(_PACKAGE, "contiguous_format")))
            at: Geometry = contiguous(tuple(tensor.shape))
        else:
            at = tensor._geometry if tensor._storage is not None else storage.base
        return _tensor, (storage, tuple(at.size), tuple(at.stride), at.offset, tensor.requires_grad)


def _storage(dtype: str, size: tuple, stride: tuple, data: np.ndarray) -> Storage:
    """A storage over the bytes that were sent, where XLA can take them as they are."""
    found = BY_NAME[dtype]
    array = data.view(found.numpy)
    shaped = np.lib.stride_tricks.as_strided(array, size, [s * array.itemsize for s in stride])
    return Storage(constant(np.ascontiguousarray(shaped) if size else shaped, aval_of(size, found, CPU, stride)))


def _tensor(storage: Storage, size: tuple, stride: tuple, offset: int, requires_grad: bool) -> Tensor:
    tensor = on_storage(storage, geometry(size, stride, offset))
    return tensor.requires_grad_() if requires_grad else tensor


class _Pickler(_Reductions, pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        return self.reduce(value)


def _by_value_pickler() -> type:
    import cloudpickle

    class ByValuePickler(_Reductions, cloudpickle.Pickler):
        def reducer_override(self, value: Any) -> Any:
            found = self.reduce(value)
            return super().reducer_override(value) if found is NotImplemented else found

    return ByValuePickler


class Message:
    """A packed object: the pickle and the buffers beside it."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    @property
    def nbytes(self) -> int:
        """Bytes of all parts."""
        return sum(part.nbytes for part in self.parts)


def pack(value: Any, *, by_value: bool = False, elements_only: bool = False) -> Message:
    """Pickle an object, arrays and tensors apart.

    Args:
        by_value: send classes and functions that another process would not find themselves; needs cloudpickle.
        elements_only: send no more of a tensor's memory than it shows.
    """
    stream, buffers = io.BytesIO(), []  # type: ignore[var-annotated]
    kind: Any = _by_value_pickler() if by_value else _Pickler
    pickler = kind(stream, protocol=5, buffer_callback=buffers.append)
    pickler.elements_only = elements_only
    pickler.dump(value)
    return Message([memoryview(stream.getbuffer()), *(buffer.raw() for buffer in buffers)])


def unpack(message: Message) -> Any:
    """The object of a message; its arrays are views of the message's memory."""
    return pickle.loads(message.parts[0], buffers=message.parts[1:])


# -- the way between processes -----------------------------------------------------------------------------------------------------------


def _offsets(sizes: list[int]) -> Iterator[int]:
    at = 0
    for size in sizes:
        yield at
        at += -(-size // _ALIGNMENT) * _ALIGNMENT


class Block:
    """Anonymous memory that holds a message, for as many receivers as there are."""

    def __init__(self, message: Message) -> None:
        self.sizes = [part.nbytes for part in message.parts]
        self.descriptor = os.memfd_create("pytorchlike-batch", os.MFD_CLOEXEC)
        try:
            os.ftruncate(self.descriptor, max(1, sum(-(-size // _ALIGNMENT) * _ALIGNMENT for size in self.sizes)))
            with mmap.mmap(self.descriptor, 0) as memory, memoryview(memory) as view:
                for at, part in zip(_offsets(self.sizes), message.parts):
                    view[at : at + part.nbytes] = part
        except BaseException:
            self.close()
            raise

    def send(self, connection: Connection) -> None:
        """Let the other side of a connection map it."""
        connection.send_bytes(pickle.dumps((True, self.sizes)))
        reduction.send_handle(connection, self.descriptor, None)  # type: ignore[attr-defined]

    def close(self) -> None:
        """Give up this process's hold on it."""
        os.close(self.descriptor)


def send(connection: Connection, message: Message) -> None:
    """Send a message, in a block if it is large."""
    if _HAS_BLOCKS and message.nbytes >= _SMALLEST_BLOCK:
        block = Block(message)
        try:
            block.send(connection)
        finally:
            block.close()
        return
    connection.send_bytes(pickle.dumps((False, [bytes(part) for part in message.parts])))


def has_blocks() -> bool:
    """Whether this system has anonymous memory that processes share."""
    return _HAS_BLOCKS


def receive(connection: Connection, *, private: bool = False) -> Message:
    """The next message.

    Args:
        private: what is written into its arrays stays in this process.

    Raises:
        EOFError: the other side has closed the connection.
    """
    in_block, parts = pickle.loads(connection.recv_bytes())
    if not in_block:
        return Message([memoryview(bytearray(part)) for part in parts])
    descriptor = reduction.recv_handle(connection)  # type: ignore[attr-defined]
    try:
        memory = memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_COPY if private else mmap.ACCESS_WRITE))
    finally:
        os.close(descriptor)
    return Message([memory[at : at + size] for at, size in zip(_offsets(parts), parts)])

