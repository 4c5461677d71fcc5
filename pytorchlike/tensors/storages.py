"""What ``x.untyped_storage()`` and ``x.storage()`` return: a tensor's memory as bytes and as elements.

They are handles on a `Storage`.  Sizes, identity and content are torch's; addresses stand for memory but do not point to it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..core.device import META, as_device
from ..core.dtype import BY_NAME, dtype, float32, uint8
from ..graph.recorder import record
from ..graph.value import aval_of, constant
from . import views
from .geometry import contiguous, geometry
from .pickling import memory_of, on_storage, placed
from .storage import Storage
from .tensor import Tensor, make_storage, tensor_method

__all__ = ["LEGACY_STORAGES", "STORAGE_NAMES", "TypedStorage", "UntypedStorage", "grow", "recast"]

_DEPRECATED = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. This should only matter to "
    "you if you are using storages directly.  To access UntypedStorage directly, use tensor.untyped_storage() instead of tensor.storage()"
)
#: Name of a dtype -> torch's name of its kind of storage; the dtypes that came later have none.
STORAGE_NAMES = {
    "float64": "DoubleStorage", "float32": "FloatStorage", "float16": "HalfStorage", "bfloat16": "BFloat16Storage", "int64": "LongStorage",
    "int32": "IntStorage", "int16": "ShortStorage", "int8": "CharStorage", "uint8": "ByteStorage", "bool": "BoolStorage",
    "complex128": "ComplexDoubleStorage", "complex64": "ComplexFloatStorage",
}  # fmt: skip


def _flat(storage: Storage) -> Tensor:
    """The whole memory as a 1-d tensor."""
    return on_storage(storage, contiguous((storage.base.numel,)))


def grow(storage: Storage, numel: int) -> None:
    """Make the memory hold ``numel`` elements; what is there stays, the rest is zero.

    Raises:
        RuntimeError: numpy has shared the memory.
    """
    storage.check_resizable()
    count = storage.base.numel
    flat = views.read(storage.value, storage.base, contiguous((count,)))
    base = contiguous((numel,))
    if storage.value.aval.is_meta:
        value = constant(None, aval_of((numel,), flat.aval.dtype, flat.aval.device))
    elif numel < count:
        value = views.read(flat, contiguous((count,)), base)
    else:
        (value,) = record(views.window("adjoint", base, geometry((count,), (1,))), (flat,))
    storage.base = base
    storage.replace(value)


def recast(handle: TypedStorage | UntypedStorage, wanted: dtype) -> Storage:
    """The memory behind a handle as a storage of a dtype: the very same where it has this dtype, else a copy, one for each handle and dtype.

    Raises:
        RuntimeError: the bytes are no whole number of elements.
    """
    storage = handle._storage
    aval = storage.value.aval
    if aval.dtype is wanted:
        return storage
    copies = handle.__dict__.setdefault("_copies", {})
    if wanted not in copies:
        if storage.nbytes % wanted.itemsize:
            raise RuntimeError(f"{storage.nbytes} bytes are no whole number of elements of {wanted}")
        array = None if aval.is_meta else placed(memory_of(storage, "storage").view(wanted.numpy), aval.device)
        copies[wanted] = Storage(constant(array, aval_of((storage.nbytes // wanted.itemsize,), wanted, aval.device)))
    return copies[wanted]


class _StorageBase:
    """What both handles share.

    Attributes:
        is_new: the memory is flat only because its bytes are all that is known of it: it was just read from a file, or moved.
    """

    _storage: Storage
    is_new = False

    @property
    def device(self) -> Any:
        """Where the memory is."""
        return self._storage.value.aval.device

    @property
    def is_cuda(self) -> bool:
        """On a GPU."""
        return self.device.type == "cuda"

    @property
    def _cdata(self) -> int:
        return id(self._storage)

    def nbytes(self) -> int:
        """Bytes of the memory."""
        return self._storage.nbytes

    def data_ptr(self) -> int:
        """A number that stands for the address of the first byte."""
        return self._storage.address if self._storage.nbytes else 0

    def resizable(self) -> bool:
        """Whether `resize_` may be called: not once numpy has shared the memory."""
        return self._storage.resizable

    def is_shared(self) -> bool:
        """Whether other processes see the memory: never."""
        return False

    def is_pinned(self, device: Any = None) -> bool:
        """Whether the memory is page-locked: never."""
        return False

    def share_memory_(self) -> Any:
        """Nothing to do: see `is_shared`."""
        return self

    def __len__(self) -> int:
        return self.size()

    def size(self) -> int:
        """The number of elements."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._storage is other._storage

    def __hash__(self) -> int:
        return hash(self._storage)

    def __copy__(self) -> Any:
        return self.clone()

    def clone(self) -> Any:
        """A copy with its own memory."""
        return type(self)._of(make_storage(_flat(self._storage).clone()))  # type: ignore[attr-defined]

    def _lines(self) -> str:
        return "\n".join(f" {v}" for v in self.tolist())


class UntypedStorage(_StorageBase):
    """A tensor's memory, as bytes.

    Args:
        size: a number of bytes, or a sequence of them.
    """

    __module__ = "torch.storage"

    def __init__(self, size: Any = 0, *, device: Any = None) -> None:
        array = np.zeros(size, np.uint8) if isinstance(size, int) else np.array(list(size), np.uint8)
        self._storage = Storage(constant(array, aval_of(array.shape, uint8)))

    @classmethod
    def _of(cls, storage: Storage) -> UntypedStorage:
        made = object.__new__(cls)
        made._storage = storage
        return made

    def __reduce__(self) -> tuple:
        return _untyped, (self._storage,)

    @staticmethod
    def from_file(filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The bytes of a file, read where they are looked at.

        Args:
            shared: must be False: what is written to tensors does not go into files.
            nbytes: how many; 0 means all.
        """
        if shared:
            raise NotImplementedError("UntypedStorage.from_file: shared=True is not supported, tensors do not write into files")
        memory = np.memmap(filename, np.uint8, "r", shape=(nbytes,) if nbytes else None).view(np.ndarray)
        return UntypedStorage._of(Storage(constant(memory, aval_of(memory.shape, uint8))))

    def to(self, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """The bytes on a device: this storage itself if they are there."""
        target = as_device(device)
        storage = self._storage
        if target == self.device:
            return self
        base = contiguous((storage.base.numel,))
        kind = storage.value.aval.dtype
        array = None if target is META else placed(memory_of(storage, "storage").view(kind.numpy), target)
        made = UntypedStorage._of(Storage(constant(array, aval_of(tuple(base.size), kind, target))))
        made.is_new = True
        return made

    def cpu(self) -> UntypedStorage:
        """The bytes in the host's memory."""
        return self.to("cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """The bytes on a GPU."""
        return self.to("cuda" if device is None else device)

    def untyped(self) -> UntypedStorage:
        """Itself."""
        return self

    def size(self) -> int:
        """Bytes of the memory."""
        return self._storage.nbytes

    def element_size(self) -> int:
        """1: the elements are bytes."""
        return 1

    def _bytes(self) -> np.ndarray:
        return memory_of(self._storage, "storage")

    def tolist(self) -> list[int]:
        """The bytes as ints."""
        return self._bytes().tolist()

    def __getitem__(self, index: Any) -> Any:
        found = self._bytes()[index]
        return UntypedStorage._of(Storage(constant(found, aval_of(found.shape, uint8)))) if isinstance(index, slice) else int(found)

    def resize_(self, size: int) -> UntypedStorage:
        """Change the number of bytes; what is there stays."""
        grow(self._storage, size // self._storage.value.aval.dtype.itemsize)
        return self

    def copy_(self, source: Any, non_blocking: bool = False) -> UntypedStorage:
        """Take over the bytes of another storage of the same dtype."""
        _flat(self._storage).copy_(_flat(source._storage))  # type: ignore[attr-defined]
        return self

    def fill_(self, value: int) -> UntypedStorage:
        """One value in every byte."""
        itemsize = self._storage.value.aval.dtype.itemsize
        pattern = np.full(itemsize, value, np.uint8).view(self._storage.value.aval.dtype.numpy)[0]
        _flat(self._storage).fill_(pattern.item())  # type: ignore[attr-defined]
        return self

    def __repr__(self) -> str:
        return f"{self._lines()}\n[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"


class TypedStorage(_StorageBase):
    """A tensor's memory, as elements of its dtype; torch calls it deprecated.

    Args:
        args: how many elements (zeros), or the elements.
        wrap_storage: share the memory of this one instead.
        dtype: of the elements; the default is float32.
        device: the CPU only.
    """

    __module__ = "torch.storage"

    def __init__(
        self, *args: Any, wrap_storage: UntypedStorage | None = None, dtype: dtype | None = None, device: Any = None, _internal: bool = False
    ) -> None:
        self.dtype = float32 if dtype is None else dtype
        if wrap_storage is not None:
            if args or device is not None:
                raise RuntimeError("TypedStorage: neither elements nor a device can be given beside 'wrap_storage'")
            self._storage = wrap_storage._storage
            return
        if device is not None and str(device) != "cpu":
            raise NotImplementedError(f"TypedStorage: new memory on {device}; take a tensor's storage() instead")
        content = args[0] if args else 0
        if len(args) > 1 or not isinstance(content, (int, Sequence)):
            raise TypeError("TypedStorage.__init__ received an invalid combination of arguments: expected a number of elements or a sequence of them")
        array = np.zeros(content, self.dtype.numpy) if isinstance(content, int) else np.array(list(content)).astype(self.dtype.numpy)
        self._storage = Storage(constant(array, aval_of(array.shape, self.dtype)))

    @classmethod
    def _of(cls, storage: Storage) -> TypedStorage:
        made = object.__new__(cls)
        made._storage = storage
        made.dtype = storage.value.aval.dtype
        return made

    def __reduce__(self) -> tuple:
        return _typed, (self._storage, self.dtype)

    def _pickle_storage_type(self) -> str:
        return STORAGE_NAMES[self.dtype.name]

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return UntypedStorage._of(self._storage)

    @property
    def _untyped_storage(self) -> UntypedStorage:
        return self.untyped()

    def size(self) -> int:
        """The number of elements."""
        return self._storage.nbytes // self.dtype.itemsize

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return _flat(self._storage).tolist()  # type: ignore[attr-defined]

    def __getitem__(self, index: int) -> Any:
        return self.tolist()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        _flat(self._storage)[index] = value  # type: ignore[index]

    def resize_(self, size: int) -> TypedStorage:
        """Change the number of elements; what is there stays."""
        grow(self._storage, size)
        return self

    def copy_(self, source: Any, non_blocking: bool = False) -> TypedStorage:
        """Take over the elements of another storage."""
        _flat(self._storage).copy_(_flat(source._storage))  # type: ignore[attr-defined]
        return self

    def fill_(self, value: Any) -> TypedStorage:
        """One value in every element."""
        _flat(self._storage).fill_(value)  # type: ignore[attr-defined]
        return self

    def __repr__(self) -> str:
        return f"{self._lines()}\n[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"


class _LegacyMeta(type):
    """The class of ``torch.FloatStorage``: its instances are the typed storages of one dtype on the CPU."""

    dtype: dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype and instance.device.type == "cpu"

    def __call__(cls, *args: Any, **named: Any) -> TypedStorage:
        head = f"{cls}.__new__ received an invalid combination of arguments. Expected one of:\n * no arguments\n * (int size)\n"
        head += " * (Sequence data)\n * (*, UntypedStorage wrap_storage)"
        if len(args) > 1:
            raise RuntimeError(f"{head}\nToo many positional arguments")
        for name in named:
            if name != "wrap_storage":
                raise RuntimeError(f"{head}\nKeyword argument '{name}' cannot be specified")
        return TypedStorage(*args, **named, dtype=cls.dtype)


#: ``FloatStorage`` and the like, by name.
LEGACY_STORAGES = {
    name: _LegacyMeta(name, (), {"dtype": kind, "__module__": "torch"})
    for kind in BY_NAME.values()
    if (name := STORAGE_NAMES.get(kind.name)) is not None
}


def _untyped(storage: Storage) -> UntypedStorage:
    return UntypedStorage._of(storage)


def _typed(storage: Storage, kind: dtype) -> TypedStorage:
    return TypedStorage(wrap_storage=_untyped(storage), dtype=kind)


@tensor_method
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The tensor's memory as bytes; equal for all aliases."""
    return UntypedStorage._of(make_storage(self))


@tensor_method
def storage(self: Tensor) -> TypedStorage:
    """The tensor's memory as elements; torch calls it deprecated in favour of `untyped_storage`."""
    warnings.warn(_DEPRECATED, UserWarning, stacklevel=2)
    return TypedStorage._of(make_storage(self))


@tensor_method
def _typed_storage(self: Tensor) -> TypedStorage:
    return TypedStorage._of(make_storage(self))
