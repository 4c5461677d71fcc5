"""`unpickle`: reads a pickle of a file, with Python's unpickler or with the pickle machine of ``weights_only=True``, `WeightsUnpickler`.

The machine runs nothing that is not on a list.  It knows the instructions that pickles of protocol 2 with weights consist of, and no others.
What a file may name and call is listed in `names.safe`, and what users add in `safe_globals`; containers are only filled if they are exactly the
built-in ones.
"""

from __future__ import annotations

import pickle
import struct
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

from .names import find, is_torch, safe
from .safe_globals import BLOCKED_MODULES, user_globals

__all__ = ["WeightsUnpickler", "globals_in", "unpickle"]

_PARAMETER = "torch.nn.parameter.Parameter"
_TRUNCATED = "pickle data was truncated"
#: How many parts a key of a dictionary may have: hashing walks through all of them, in C.
_MOST_KEY_PARTS = 4096
_MOST_LINE = 4096
_PIECE = 1 << 20


def unpickle(file: Any, find_storage: Callable[[Any], Any] | None, module: Any, keywords: dict[str, Any]) -> Any:
    """Read one pickle.

    Args:
        find_storage: what references in the pickle mean; None where there must be none.
        module: ``pickle`` or a module like it; None for the machine of ``weights_only=True``.
        keywords: for the unpickler.
    """
    if module is None:
        restricted = WeightsUnpickler(file, encoding=keywords["encoding"])
        if find_storage is not None:
            restricted.persistent_load = find_storage
        return restricted.load()

    class Unpickler(module.Unpickler):  # type: ignore[name-defined, misc]
        def find_class(self, module_name: str, name: str) -> Any:
            return find(module_name, name) if is_torch(module_name) else super().find_class(module_name, name)

        def persistent_load(self, reference: Any) -> Any:
            return _no_references(reference) if find_storage is None else find_storage(reference)

    return Unpickler(file, **keywords).load()


class WeightsUnpickler:
    """Reads one pickle.

    Args:
        file: has ``read`` and ``readline``.
        encoding: of strings written by Python 2; ``bytes`` leaves them as bytes.

    Raises:
        pickle.UnpicklingError: the pickle is damaged, or asks for something that is not allowed.
        EOFError: there is none.
    """

    def __init__(self, file: Any, *, encoding: str = "bytes") -> None:
        self._file = file
        self._encoding = encoding
        self._user = user_globals()
        self.persistent_load: Callable[[Any], Any] = _no_references

    def load(self) -> Any:
        """The object."""
        self._memo: dict[int, Any] = {}
        self._stack: list[Any] = []
        self._marks: list[list[Any]] = []
        code = self._file.read(1)
        if not code:
            raise EOFError("Ran out of input")
        while code != pickle.STOP:
            instruction = _INSTRUCTIONS.get(code)
            if instruction is None:
                raise pickle.UnpicklingError(f"Unsupported operand {code[0]}" if code else _TRUNCATED)
            instruction[0](self, *instruction[1:])
            code = self._file.read(1)
        return self._pop()

    # -- the file
    def _take(self, count: int) -> bytes:
        pieces, left = [], count
        while left:  # piece by piece: the count may be a lie
            piece = self._file.read(min(left, _PIECE))
            if not piece:
                raise pickle.UnpicklingError(_TRUNCATED)
            pieces.append(piece)
            left -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _line(self) -> str:
        line = self._file.readline(_MOST_LINE)
        if not line.endswith(b"\n"):
            raise pickle.UnpicklingError(_TRUNCATED)
        return _decode(line[:-1], "utf-8")

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    # -- the stack
    def _pop(self) -> Any:
        if not self._stack:
            raise pickle.UnpicklingError("unexpected MARK found")
        return self._stack.pop()

    def _top(self) -> Any:
        if not self._stack:
            raise pickle.UnpicklingError("unexpected MARK found")
        return self._stack[-1]

    def _push(self, found: Any) -> None:
        self._stack.append(found)

    def _push_new(self, cls: Callable[[], Any]) -> None:
        self._stack.append(cls())

    def _push_number(self, form: str) -> None:
        self._stack.append(self._number(form))

    def _pop_mark(self) -> list[Any]:
        if not self._marks:
            raise pickle.UnpicklingError("could not find MARK")
        items, self._stack = self._stack, self._marks.pop()
        return items

    def _mark(self) -> None:
        self._marks.append(self._stack)
        self._stack = []

    # -- containers
    def _append(self) -> None:
        item = self._pop()
        self._own_list().append(item)

    def _appends(self) -> None:
        items = self._pop_mark()
        self._own_list().extend(items)

    def _own_list(self) -> list[Any]:
        found = self._top()
        if type(found) is not list:
            raise pickle.UnpicklingError(f"Can only append to lists, but got {type(found)}")
        return found

    def _set_items(self, items: list[Any]) -> None:
        found = self._top()
        if type(found) not in (dict, OrderedDict, Counter):
            raise pickle.UnpicklingError(
                f"Can only set items of dict, collections.OrderedDict, collections.Counter, but got {type(found)}"
            )
        if len(items) % 2:
            raise pickle.UnpicklingError("odd number of items for SETITEMS")
        for key, value in zip(items[::2], items[1::2], strict=True):
            found[_hashable(key)] = value

    def _set_item(self) -> None:
        value, key = self._pop(), self._pop()
        self._set_items([key, value])

    def _set_marked(self) -> None:
        self._set_items(self._pop_mark())

    def _tuple(self, count: int) -> None:
        if len(self._stack) < count:
            raise pickle.UnpicklingError("unexpected MARK found")
        self._stack[-count:] = [tuple(self._stack[-count:])]

    def _marked_tuple(self) -> None:
        items = self._pop_mark()
        self._push(tuple(items))

    # -- the memo
    def _put(self, form: str) -> None:
        self._memo[self._number(form)] = self._top()

    def _get(self, form: str) -> None:
        number = self._number(form)
        if number not in self._memo:
            raise pickle.UnpicklingError(f"Memo value not found at index {number}")
        self._push(self._memo[number])

    # -- text and numbers
    def _long(self) -> None:
        self._push(pickle.decode_long(self._take(self._number("<B"))))

    def _text(self) -> None:
        self._push(_decode(self._take(self._number("<I")), "utf-8", "surrogatepass"))

    def _old_text(self) -> None:
        data = self._take(self._number("<B"))
        self._push(data if self._encoding == "bytes" else _decode(data, self._encoding))

    def _protocol(self) -> None:
        protocol = self._number("<B")
        if protocol != 2:
            warnings.warn(
                f"Detected pickle protocol {protocol} in the checkpoint, which was not the default pickle protocol used by `torch.load` (2). The "
                "weights_only Unpickler might not support all instructions implemented by this protocol, please file an issue for adding support "
                "if you encounter this.",
                stacklevel=2,
            )

    # -- what a file may name and call
    def _global(self) -> None:
        self._push(self._find(*_renamed(self._line(), self._line())))

    def _find(self, module: str, name: str) -> Any:
        path = f"{module}.{name}"
        if module in BLOCKED_MODULES:
            raise pickle.UnpicklingError(f"Trying to load unsupported GLOBAL {path} whose module {module} is blocked.")
        found = safe().values.get(path, self)
        if found is self:
            found = self._user.get(path, self)
        if found is not self:
            return found
        if path in safe().missing:
            raise pickle.UnpicklingError(f"{path} is not supported by pytorchlike")
        shown = path.removeprefix("builtins.")
        raise pickle.UnpicklingError(
            f"Unsupported global: GLOBAL {shown} was not an allowed global by default. Please use `torch.serialization.add_safe_globals([{shown}])` "
            f"or the `torch.serialization.safe_globals([{shown}])` context manager to allowlist this global if you trust this class/function."
        )

    def _is_users(self, found: Any) -> bool:
        return any(found is allowed for allowed in self._user.values())

    def _reduce(self) -> None:
        args, function = self._pop(), self._top()
        if type(args) is not tuple:
            raise pickle.UnpicklingError(f"arguments must be a tuple, but got {type(args)}")
        if self._is_users(function):
            self._stack[-1] = function(*args)
        elif any(function is allowed for allowed in safe().callables.values()):
            self._stack[-1] = _call(function, args)
        else:
            raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {_shown(function)}")

    def _new(self) -> None:
        args, cls = self._pop(), self._pop()
        if type(args) is not tuple:
            raise pickle.UnpicklingError(f"arguments must be a tuple, but got {type(args)}")
        if self._is_users(cls):
            self._push(cls.__new__(cls, *args))
        elif isinstance(cls, type) and any(cls is allowed for allowed in safe().callables.values()):
            self._push(_call(cls, args))
        else:
            raise pickle.UnpicklingError(
                f"Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got {_shown(cls)}"
            )

    def _build(self) -> None:
        state, found = self._pop(), self._top()
        if any(type(found) is allowed for allowed in self._user.values()):
            _set_state(found, state)
        elif type(found) is OrderedDict and type(state) is dict and all(type(name) is str for name in state):
            found.__dict__.update(state)
        elif type(found) is safe().callables[_PARAMETER]:
            _call(found.__setstate__, (state,))
        else:
            raise pickle.UnpicklingError(
                f"Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got {type(found)}"
            )

    def _reference(self) -> None:
        found = self._pop()
        if type(found) is not tuple and type(found) is not int:
            raise pickle.UnpicklingError(f"persistent_load id must be tuple or int, but got {type(found)}")
        if type(found) is tuple and found and found[0] not in ("storage", b"storage"):
            raise pickle.UnpicklingError(f"Only persistent_load of storage is allowed, but got {type(found[0])}")
        self._push(self.persistent_load(found))


M = WeightsUnpickler
#: Code -> the method that runs it, with its arguments.
_INSTRUCTIONS: dict[bytes, tuple[Any, ...]] = {
    pickle.PROTO: (M._protocol,),
    pickle.GLOBAL: (M._global,), pickle.REDUCE: (M._reduce,), pickle.NEWOBJ: (M._new,), pickle.BUILD: (M._build,),
    pickle.BINPERSID: (M._reference,),
    pickle.NONE: (M._push, None), pickle.NEWTRUE: (M._push, True), pickle.NEWFALSE: (M._push, False), pickle.EMPTY_TUPLE: (M._push, ()),
    pickle.EMPTY_LIST: (M._push_new, list), pickle.EMPTY_DICT: (M._push_new, dict), pickle.EMPTY_SET: (M._push_new, set),
    pickle.BININT: (M._push_number, "<i"), pickle.BININT1: (M._push_number, "<B"), pickle.BININT2: (M._push_number, "<H"),
    pickle.BINFLOAT: (M._push_number, ">d"), pickle.LONG1: (M._long,), pickle.BINUNICODE: (M._text,), pickle.SHORT_BINSTRING: (M._old_text,),
    pickle.MARK: (M._mark,), pickle.TUPLE: (M._marked_tuple,), pickle.TUPLE1: (M._tuple, 1), pickle.TUPLE2: (M._tuple, 2),
    pickle.TUPLE3: (M._tuple, 3),
    pickle.APPEND: (M._append,), pickle.APPENDS: (M._appends,), pickle.SETITEM: (M._set_item,), pickle.SETITEMS: (M._set_marked,),
    pickle.BINPUT: (M._put, "<B"), pickle.LONG_BINPUT: (M._put, "<I"), pickle.BINGET: (M._get, "<B"), pickle.LONG_BINGET: (M._get, "<I"),
}  # fmt: skip
del M


def _no_references(found: Any) -> Any:
    raise pickle.UnpicklingError("unsupported persistent id encountered")


def _decode(data: bytes, encoding: str, errors: str = "strict") -> str:
    try:
        return data.decode(encoding, errors)
    except (UnicodeError, LookupError) as error:
        raise pickle.UnpicklingError(str(error)) from error


def _renamed(module: str, name: str) -> tuple[str, str]:
    """Names as Python 3 has them; pickles of protocol 2 have those of Python 2."""
    from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING

    return NAME_MAPPING.get((module, name)) or (IMPORT_MAPPING.get(module, module), name)


def _shown(found: Any) -> str:
    """A function or class, as it prints; nothing else is printed, it could be endless."""
    return str(found) if isinstance(found, type) or hasattr(found, "__qualname__") else f"an object of {type(found)}"


def _hashable(key: Any) -> Any:
    """A key, unless hashing it would take for ever or overflow the stack: a tuple may refer to one part many times.

    Raises:
        pickle.UnpicklingError: it would, or the key cannot be hashed.
    """
    parts, left = [key] if isinstance(key, tuple) else [], _MOST_KEY_PARTS
    while parts:
        part = parts.pop()
        left -= len(part)
        if left < 0:
            raise pickle.UnpicklingError(f"a key with more than {_MOST_KEY_PARTS} parts")
        parts += [inner for inner in part if isinstance(inner, tuple)]
    try:
        hash(key)
    except TypeError as error:
        raise pickle.UnpicklingError(str(error)) from error
    return key


def _call(function: Any, args: tuple) -> Any:
    """The result of a function of the list; whatever it thinks of its arguments becomes an error of the file."""
    if function in (set, OrderedDict, Counter):
        for found in args:
            for item in found if isinstance(found, (list, tuple, dict, set)) else ():
                _hashable(item[0] if function is not set and isinstance(item, (list, tuple)) and item else item)
    try:
        return function(*args)
    except (RuntimeError, MemoryError, pickle.UnpicklingError):
        raise
    except Exception as error:
        raise pickle.UnpicklingError(f"{function.__name__}: {type(error).__name__}: {error}") from error


def _set_state(found: Any, state: Any) -> None:
    """Give an object of a class that the user allowed its state, as pickle does."""
    if hasattr(found, "__setstate__"):
        found.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if attributes:
        found.__dict__.update(attributes)
    for name, value in (slots or {}).items():
        setattr(found, name, value)


def globals_in(data: bytes) -> set[str]:
    """The paths of all that a pickle names, found without running it.

    Raises:
        pickle.UnpicklingError: it has instructions that `WeightsUnpickler` does not know, or is damaged.
    """
    import pickletools

    found = set()
    try:
        for instruction, argument, _ in pickletools.genops(data):
            code = instruction.code.encode("latin1")
            if code not in _INSTRUCTIONS and code != pickle.STOP:
                raise pickle.UnpicklingError(f"Unsupported operand {code[0]}")
            if code == pickle.GLOBAL:
                found.add(".".join(_renamed(*str(argument).split(" ", 1))))
    except (ValueError, IndexError) as error:
        raise pickle.UnpicklingError(str(error)) from error
    return found
