"""Random streams: `Generator` and the default generator.  What is drawn from them is in `draws`.

The stream is torch's CPU stream, a Mersenne Twister: the same seed gives the same words, and states travel to real torch and back.
"""

from __future__ import annotations

import math
import secrets

import numpy as np

from ..core.capturing import break_capture
from ..core.device import CPU, as_device, device
from ..core.dtype import uint8
from ..graph.recorder import synchronise
from ..graph.value import aval_of, constant
from .rounding import one_by_one
from .tensor import Tensor, make_tensor

__all__ = ["Generator", "default_generator"]

#: What torch seeds a generator with before the user does.
DEFAULT_SEED = 67280421310721

#: torch's CPU state: (field, numpy dtype), in order, 5056 bytes.
_STATE = np.dtype(
    [("seed", "<u8"), ("left", "<i4"), ("seeded", "<i4"), ("next", "<u8"), ("key", "<u8", 624), ("normal_x", "<f8"), ("normal_y", "<f8"),
     ("normal_rho", "<f8"), ("normal_is_valid", "<i4"), ("_0", "<i4"), ("float_normal", "<f4"), ("float_normal_is_valid", "<i4")]
)  # fmt: skip
_N = 624  # words in the Mersenne Twister's state
_PIECE = 16384  # numbers made at once, so that temporaries stay in the cache


class Generator:
    """A stream of random numbers: ``Generator().manual_seed(0)``.

    ``get_state`` and ``set_state`` speak torch's CPU layout, so a state can travel to real torch and back.
    """

    __module__ = "torch"

    def __init__(self, device: str | int | device | None = "cpu") -> None:
        self._device = as_device(device)
        self._bits = np.random.MT19937()
        self._words = np.random.Generator(self._bits)
        self._restart(DEFAULT_SEED)

    @property
    def device(self) -> device:
        """The device this generator was made for."""
        return self._device

    def _restart(self, seed: int) -> None:
        break_capture("the state of a random generator is set")
        self._seed = seed
        self._bits._legacy_seeding(seed & 0xFFFFFFFF)  # torch uses the low 32 bits only
        self._untouched = True
        self._normal: float | None = None
        self._float_normal: float | None = None

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of ``seed``; a negative seed counts from ``2**64``.

        Raises:
            RuntimeError: ``seed`` is not an int.
            ValueError: it does not fit 64 bits.
        """
        if isinstance(seed, np.integer):
            raise TypeError("an integer is required")
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self._restart(seed % 2**64)
        return self

    def seed(self) -> int:
        """Seed from the operating system's randomness and return the seed."""
        self._restart(secrets.randbits(64))
        return self._seed

    def initial_seed(self) -> int:
        """The seed the stream was started with."""
        return self._seed

    def get_state(self) -> Tensor:
        """The state as a tensor of 5056 bytes in torch's layout."""
        packed = self.packed_state()
        return make_tensor(constant(packed, aval_of(packed.shape, uint8, CPU)))

    def set_state(self, new_state: Tensor) -> Generator:
        """Continue from a state of `get_state`, this class's or torch's.

        Raises:
            TypeError: ``new_state`` is not a tensor of bytes.
            RuntimeError: it has not torch's size or is not a state.
        """
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype is not uint8 or new_state.device != CPU:
            raise TypeError("RNG state must be a torch.ByteTensor")
        return self.unpack_state(np.asarray(synchronise(new_state._content(), "the state of a generator")))

    def packed_state(self) -> np.ndarray:
        """The state as a numpy array of 5056 bytes in torch's layout."""
        twister = self._bits.state["state"]
        state = np.zeros((), _STATE)
        state["seed"], state["seeded"], state["key"] = self._seed, 1, twister["key"]
        state["next"] = 0 if self._untouched else twister["pos"]
        state["left"] = 1 if self._untouched else _N + 1 - twister["pos"]
        if self._normal is not None:
            state["normal_y"], state["normal_is_valid"] = self._normal, 1
        if self._float_normal is not None:
            state["float_normal"], state["float_normal_is_valid"] = self._float_normal, 1
        return np.frombuffer(state.tobytes(), np.uint8).copy()

    def unpack_state(self, state: np.ndarray) -> Generator:
        """Continue from the bytes of a state.

        Raises:
            RuntimeError: they have not torch's size or are not a state.
        """
        break_capture("the state of a random generator is set")
        if state.size != _STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {_STATE.itemsize} but found the input RNG state size to be {state.size}"
            )
        fields = np.frombuffer(state.tobytes(), _STATE)[0]
        if not fields["seeded"] or not 0 < fields["left"] <= _N or fields["next"] > _N:
            raise RuntimeError("Invalid mt19937 state")
        self._seed = int(fields["seed"])
        self._untouched = bool(fields["left"] == 1 and fields["next"] == 0)
        position = _N if fields["left"] == 1 else int(fields["next"])
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": fields["key"].astype(np.uint32), "pos": position}}
        self._normal = float(fields["normal_y"]) if fields["normal_is_valid"] else None
        self._float_normal = float(fields["float_normal"]) if fields["float_normal_is_valid"] & 0xFF else None
        return self

    def clone_state(self) -> Generator:
        """A new generator that continues exactly as this one would."""
        return Generator(self._device).unpack_state(self.packed_state())

    def graphsafe_get_state(self) -> Generator:
        """Not available, as on torch's CPU generator."""
        raise NotImplementedError("graphsafe_get_state is not supported in this Generator")

    def graphsafe_set_state(self, state: Generator) -> Generator:
        """Not available, as on torch's CPU generator."""
        raise NotImplementedError("graphsafe_set_state is not supported in this Generator")

    def get_offset(self) -> int:
        """Not available, as on torch's CPU generator."""
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset: int) -> Generator:
        """Not available, as on torch's CPU generator."""
        raise RuntimeError("CPU Generator does not use offset")

    def __reduce__(self) -> tuple:
        return _generator, (self._device,), (self._seed, None, self.get_state())

    def __setstate__(self, state: tuple) -> None:
        self.set_state(state[2])  # the seed is part of it; torch's CPU generator has no offset

    # -- the words everything else is made of ------------------------------------------------------------------------------------------

    def words32(self, count: int) -> np.ndarray:
        """The next ``count`` 32-bit words of the stream."""
        break_capture("random numbers are drawn that are no tensor of their own")
        if count:
            self._untouched = False
        return self._words.integers(0, 1 << 32, count, dtype=np.uint32)

    def words64(self, count: int) -> np.ndarray:
        """The next ``count`` 64-bit words: two 32-bit ones each, the first in the high half."""
        break_capture("random numbers are drawn that are no tensor of their own")
        words = self.words32(2 * count)
        both = words[0::2].astype(np.uint64)
        both <<= np.uint64(32)
        both |= words[1::2]
        return both

    def uniform32(self, count: int) -> np.ndarray:
        """``count`` float32 in [0, 1): the low 24 bits of a word each."""
        break_capture("random numbers are drawn that are no tensor of their own")
        values = np.empty(count, np.float32)
        for start in range(0, count, _PIECE):
            piece = values[start : start + _PIECE]
            words = self.words32(len(piece))
            words &= np.uint32(0xFFFFFF)
            np.multiply(words.view(np.int32), np.float32(2.0**-24), out=piece, dtype=np.float32, casting="unsafe")  # both steps exact
        return values

    def uniform64(self, count: int) -> np.ndarray:
        """``count`` float64 in [0, 1): the low 53 bits of a 64-bit word each."""
        break_capture("random numbers are drawn that are no tensor of their own")
        values = np.empty(count, np.float64)
        for start in range(0, count, _PIECE):
            piece = values[start : start + _PIECE]
            words = self.words64(len(piece))
            words &= np.uint64((1 << 53) - 1)
            np.multiply(words.view(np.int64), 2.0**-53, out=piece)
        return values

    def normal64(self, count: int) -> np.ndarray:
        """``count`` standard normal float64, one after the other: each pair's second number waits for the next draw, also across calls."""
        break_capture("random numbers are drawn that are no tensor of their own")
        head = [] if self._normal is None or not count else [self._normal]
        if head:
            self._normal = None
        missing = count - len(head)
        pairs = (missing + 1) // 2
        first, second = self.uniform64(2 * pairs).reshape(pairs, 2).T
        radius, angle = np.sqrt(-2.0 * one_by_one(math.log1p, -second)), 2.0 * math.pi * first
        values = np.stack([radius * one_by_one(math.cos, angle), radius * one_by_one(math.sin, angle)], axis=1).ravel()
        if missing % 2:
            self._normal = float(values[-1])
        return np.concatenate([head, values[:missing]]) if head else values[:missing]


def _generator(device: device) -> Generator:
    """What a pickled generator becomes before it gets its state (a function, since the class goes by its name in torch)."""
    return Generator(device)


# -- the default generator -----------------------------------------------------------------------------------------------------------------

#: What every draw uses that names no generator.
default_generator = Generator()
