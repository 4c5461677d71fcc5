"""The draws behind every random operator on the CPU: functions of a `Generator`, all returning numpy arrays (rejection: `rejection`).

The same seed and the same sequence of calls give torch's numbers, bit for bit, and the same state afterwards
(all algorithms were found by experiment against torch 2.13 and are checked against it in tests).  Known limits of that:

- Where torch's C++ evaluates ``log``, ``sin``, ``tan`` ... in double precision, Python's are used here for float64 results (numpy's where the
  result is rounded to fewer bits); the two agreed on every value tried, yet another C library may differ in the last bit.
- torch built with MKL fills ``bernoulli_(p)`` (so also dropout) and ``exponential_`` from a stream of MKL's own when the processor is
  Intel's; everywhere else, and always here, they come from the Mersenne Twister.
- Products that torch's compiler fuses with a sum are rounded once here too (x86 with AVX2; a build without FMA rounds them twice).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..core import dtype as D
from ..core.dtype import bfloat16, bool_, dtype, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64
from .generator import Generator
from .rounding import box_muller, fma32, fma64, one_by_one

__all__ = [
    "bernoulli_scalar", "bernoulli_tensor", "cauchy", "dropout_mask", "exponential", "geometric", "log_normal", "multinomial", "normal",
    "normal_tensor", "randint", "random", "randperm", "rrelu_noise", "uniform",
]  # fmt: skip

#: dtype -> (torch's scalar type, C++ type as error texts spell it, bits of the significand for floating dtypes).
_NAMES: dict[dtype, tuple[str, str, int]] = {
    bool_: ("Bool", "bool", 0), uint8: ("Byte", "unsigned char", 0), int8: ("Char", "signed char", 0), int16: ("Short", "short int", 0),
    int32: ("Int", "int", 0), int64: ("Long", "long int", 0), uint16: ("UInt16", "short unsigned int", 0),
    uint32: ("UInt32", "unsigned int", 0), uint64: ("UInt64", "long unsigned int", 0), float16: ("Half", "c10::Half", 11),
    bfloat16: ("BFloat16", "c10::BFloat16", 8), float32: ("Float", "float", 24), float64: ("Double", "double", 53),
    D.complex64: ("ComplexFloat", "c10::complex<float>", 0), D.complex128: ("ComplexDouble", "c10::complex<double>", 0),
}  # fmt: skip
_FLOATS = (float16, bfloat16, float32, float64)
_NARROW_UNSIGNED = (uint16, uint32, uint64)


def _cast(values: np.ndarray, dtype: dtype) -> np.ndarray:
    """``values`` in ``dtype``; half precisions are rounded to float32 first, as torch's conversions do."""
    if dtype.itemsize == 2 and dtype.is_floating_point:
        values = values.astype(np.float32, copy=False)
    return values.astype(dtype.numpy, copy=False)


def _refuse(what: str, dtype: dtype) -> None:
    name = _NAMES[dtype][0] if dtype in _NAMES else dtype.name.capitalize()
    raise NotImplementedError(f"\"{what}\" not implemented for '{name}'")


def uniform(generator: Generator, shape: Sequence[int], dtype: dtype = float32, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """What ``rand`` and ``uniform_(low, high)`` draw: numbers in [low, high).

    Raises:
        RuntimeError: the bounds are in the wrong order or do not fit the dtype.
        NotImplementedError: the dtype is not floating.
    """
    if dtype.is_complex:
        parts = uniform(generator, (*shape, 2), dtype.to_real(), low, high)
        return parts.view(dtype.numpy)[..., 0]
    if dtype not in _FLOATS:
        _refuse("check_uniform_bounds", dtype)
    kind = np.float64 if dtype is float64 else np.float32
    largest = float(_largest(dtype))
    for name, bound in (("from", low), ("to", high)):
        if not -largest <= bound <= largest:
            raise RuntimeError(f"{name} is out of bounds for {_NAMES[dtype][1]}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{_NAMES[dtype][0]}>::max(), but found to={high:g} and from={low:g} which "
            "result in to-from to exceed the limit"
        )
    values = generator.uniform64(math.prod(shape)) if kind is np.float64 else generator.uniform32(math.prod(shape))
    start, end = kind(low), kind(high)
    if start != 0.0:
        values = (fma64 if kind is np.float64 else fma32)(values, float(end - start), float(start))
    elif end != 1.0:
        values *= end - start
    if dtype.itemsize == 2:
        values = values.astype(dtype.numpy)
    if start != 0.0 or end != 1.0 or dtype.itemsize == 2:
        values[values == np.asarray(high).astype(dtype.numpy)] = np.asarray(low).astype(dtype.numpy)  # rounding may reach the open end
    return values.reshape(shape)


def _largest(dtype: dtype) -> float:
    return {float16: 65504.0, bfloat16: 3.3895313892515355e38, float32: 3.4028234663852886e38, float64: 1.7976931348623157e308}[dtype]


def normal(
    generator: Generator, shape: Sequence[int], dtype: dtype = float32, mean: float = 0.0, std: float = 1.0, one_by_one: bool = False
) -> np.ndarray:
    """What ``randn`` and ``normal_(mean, std)`` draw; complex numbers have half the variance, and the mean, in each part.

    Below 16 numbers they come one by one (see `Generator.normal64`), from 16 on in blocks of 16 whose ragged end is drawn anew.

    Args:
        one_by_one: as if there were fewer than 16, which is what torch does for tensors that are not contiguous.

    Raises:
        RuntimeError: ``std`` is negative.
        NotImplementedError: the dtype is neither floating nor complex.
    """
    if not std >= 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if dtype.is_complex:
        parts = normal(generator, (*shape, 2), dtype.to_real(), mean, std / math.sqrt(2), one_by_one)
        return parts.view(dtype.numpy)[..., 0]
    if dtype not in _FLOATS:
        _refuse("normal_kernel_cpu", dtype)
    count = math.prod(shape)
    if count < 16 or one_by_one:
        return _cast(fma64(generator.normal64(count), std, mean), dtype).reshape(shape)
    ragged = count % 16
    whole = count - ragged
    draw = generator.uniform64 if dtype is float64 else generator.uniform32
    drawn = draw(whole if dtype.itemsize == 2 else count)[:whole]
    values = box_muller(drawn.reshape(-1, 16), mean, std).ravel()
    if ragged:
        values = np.concatenate([values[: count - 16], box_muller(draw(16).reshape(1, 16), mean, std)[0]])
    return _cast(values, dtype).reshape(shape)


def normal_tensor(generator: Generator, mean: Any, std: Any) -> np.ndarray:
    """What ``normal(mean, std)`` draws where one of them, or both, is an array; the result has the dtype of ``mean``, else of ``std``.

    Raises:
        RuntimeError: an element of ``std`` is negative.
    """
    if not isinstance(std, np.ndarray):
        values = normal(generator, mean.shape, _dtype_of(mean), 0.0, std)
        return (values.astype(_wide(values)) + mean).astype(values.dtype)
    if std.size and not (std >= 0).all():
        raise RuntimeError("normal expects all elements of std >= 0.0")
    kind = mean.dtype if isinstance(mean, np.ndarray) else std.dtype
    values = normal(generator, np.broadcast_shapes(np.shape(mean), std.shape), _dtype_of(np.empty(0, kind)))
    wide = _wide(values)
    scaled = (values.astype(wide) * std).astype(kind)
    return (scaled.astype(wide) + np.asarray(mean).astype(kind)).astype(kind)


def _wide(values: np.ndarray) -> np.dtype:
    """The dtype torch computes in: float32 for the half precisions, else the array's."""
    return np.dtype(np.float32) if values.dtype.itemsize == 2 else values.dtype


def _dtype_of(values: np.ndarray) -> dtype:
    for known in _NAMES:
        if known.numpy == values.dtype:
            return known
    raise TypeError(f"no random numbers of dtype {values.dtype}")


def _integer_limits(dtype: dtype) -> tuple[int, int]:
    if dtype is bool_:
        return 0, 1
    if dtype in _FLOATS:
        return -int(_largest(dtype)), int(_largest(dtype))
    return int(np.iinfo(dtype.numpy).min), int(np.iinfo(dtype.numpy).max)


def _check_in_range(name: str, value: int, dtype: dtype) -> None:
    lowest, highest = _integer_limits(dtype)
    if not lowest <= value <= highest:
        raise RuntimeError(f"{name} is out of bounds for {_NAMES[dtype][1]}")
    bits = _NAMES[dtype][2]
    if bits and not -(1 << bits) <= value <= 1 << bits:
        warnings.warn(
            f"{name} is out of bounds [-(2^{bits}), 2^{bits}]. Due to precision limitations {_NAMES[dtype][1]} can support discrete uniform "
            "distribution only within this range. This warning will become an error in version 1.7 release, please fix the code in advance",
            UserWarning,
            stacklevel=3,
        )


def _inward(low: int, high: int, dtype: dtype) -> tuple[int, int]:
    """The range moved inward to where every number of it rounds to a number of it in a floating dtype."""
    bits = _NAMES[dtype][2]

    def rounded(value: int) -> int:
        return int(float(np.asarray(value).astype(dtype.numpy)))

    if abs(low + 1) < _largest(dtype) and rounded(low + 1) < low:
        low = rounded(low + 1) + (1 << (abs(low + 1).bit_length() - bits))
    if abs(high - 1) < _largest(dtype) and rounded(high - 1) >= high:
        high = rounded(high - 1) - (1 << (abs(high - 1).bit_length() - bits))
    return low, high


def randint(generator: Generator, low: int, high: int | None, shape: Sequence[int], dtype: dtype = int64) -> np.ndarray:
    """What ``randint`` and ``random_(low, high)`` draw: integers in [low, high); ``high=None`` means all the dtype holds from ``low`` on.

    Raises:
        RuntimeError: the range is empty or does not fit the dtype.
    """
    if dtype.is_complex:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if dtype not in _NAMES:
        _refuse("random_update_from_to", dtype)
    count = math.prod(shape)
    if high is None and low == -(2**63):
        if dtype in (float16, bool_, *_NARROW_UNSIGNED):
            _refuse("random_full_64_bits_range_kernel_cpu", dtype)
        if dtype not in (int64, float64, float32, bfloat16):
            raise RuntimeError("random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16")
        return _cast(generator.words64(count).view(np.int64), dtype).reshape(shape)
    if high is None:
        bits = _NAMES[dtype][2]
        last = 1 << bits if bits else -1 if dtype is uint64 else _integer_limits(dtype)[1]
        if bits:
            low = _inward(low, last, dtype)[0]
    else:
        if low >= high:
            raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
        if dtype in _FLOATS:
            low, high = _inward(low, high, dtype)
            if low >= high:
                raise RuntimeError(
                    f"random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got from={low} >= to={high}"
                )
        last = high - 1
    _check_in_range("from", low, dtype)
    _check_in_range("to - 1", last, dtype)
    span = last - low + 1
    if span >= 1 << 28:  # torch takes more bits long before they are needed, to keep the remainder's bias small
        values = generator.words64(count)
        if span < 1 << 64:
            values %= np.uint64(span)
    else:
        values = (generator.words32(count) % np.uint32(span)).astype(np.uint64)
    values += np.uint64(low % 2**64)
    return _cast(values.view(np.int64), dtype).reshape(shape)


def random(generator: Generator, shape: Sequence[int], dtype: dtype = int64) -> np.ndarray:
    """What ``random_()`` draws: integers from 0 to the largest the dtype holds (floating: to the last before gaps appear)."""
    if dtype not in _NAMES or dtype.is_complex or dtype in _NARROW_UNSIGNED:
        _refuse("random_kernel_cpu", dtype)
    count = math.prod(shape)
    bits = _NAMES[dtype][2]
    span = (1 << bits if bits else _integer_limits(dtype)[1]) + 1
    if dtype.itemsize == 8:
        return (generator.words64(count) % np.uint64(span)).astype(dtype.numpy).reshape(shape)
    return (generator.words32(count) % np.uint32(span)).astype(dtype.numpy).reshape(shape)


def randperm(generator: Generator, n: int, dtype: dtype = int64) -> np.ndarray:
    """What ``randperm(n)`` draws: position i swaps with ``i + word % (n - i)``, in order.

    Raises:
        RuntimeError: ``n`` is negative or more than the dtype can hold.
    """
    if dtype not in _NAMES or dtype.is_complex or dtype is bool_ or dtype in _NARROW_UNSIGNED:
        _refuse("randperm", dtype)
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    _check_countable(n, dtype)
    if n >= 0xFFFFFFFF // 20:
        raise NotImplementedError("randperm: n of 2**32 / 20 and more, where torch changes to another algorithm; use numpy's permutation")
    steps = max(n - 1, 0)
    places = np.arange(steps)
    targets = places + generator.words32(steps) % (n - places)
    values = np.arange(n)
    _swap(values, targets)
    return _cast(values, dtype)


def _check_countable(n: int, dtype: dtype) -> None:
    bits = _NAMES[dtype][2]
    if dtype in (float16, float32, float64) and n > (1 << bits) + 1:
        raise RuntimeError(f"n cannot be greater than {(1 << bits) + 1} for {_NAMES[dtype][0]} type.")
    if not bits and n > _integer_limits(dtype)[1]:
        c_name = "int" if dtype is int32 else f"{dtype.name}_t"
        raise RuntimeError(f"value cannot be converted to type {c_name} without overflow")


def _swap(values: np.ndarray, targets: np.ndarray) -> None:
    """Swap ``values[i]`` with ``values[targets[i]]`` (never to the left of i) for i = 0, 1, ... in place.

    A run of swaps whose targets are distinct and beyond the run is one exchange of arrays; the others go one by one.
    """
    start, steps = 0, len(targets)
    while steps - start > 8192:
        stop = start + math.isqrt(steps - start) // 3  # short enough for most runs to be free of conflicts
        far = targets[start:stop]
        ordered = np.sort(far)
        if ordered[0] >= stop and (ordered[1:] != ordered[:-1]).all():
            near = values[start:stop].copy()
            values[start:stop] = values[far]
            values[far] = near
        else:
            places, index = np.unique(np.concatenate([np.arange(start, stop), far]), return_inverse=True)
            values[places] = _swap_one_by_one(values[places].tolist(), zip(*index.reshape(2, -1).tolist()))
        start = stop
    values[start:] = _swap_one_by_one(values[start:].tolist(), enumerate((targets[start:] - start).tolist()))


def _swap_one_by_one(values: list[int], pairs: Iterable[tuple[int, int]]) -> list[int]:
    for i, j in pairs:
        values[i], values[j] = values[j], values[i]
    return values


def bernoulli_scalar(generator: Generator, p: float, shape: Sequence[int], dtype: dtype = float32) -> np.ndarray:
    """What ``bernoulli_(p)`` draws: 1 where a 53-bit uniform number is below ``p``.

    Raises:
        RuntimeError: ``p`` is not a probability.
    """
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    if dtype not in _NAMES or dtype.is_complex or dtype in _NARROW_UNSIGNED:
        _refuse("bernoulli_scalar_cpu_", dtype)
    return (generator.uniform64(math.prod(shape)) < p).astype(dtype.numpy).reshape(shape)


def dropout_mask(generator: Generator, p: float, shape: Sequence[int]) -> np.ndarray:
    """Where dropout keeps an element, as bools: what torch's CPU dropout draws when it trains with ``0 < p < 1`` (else it draws nothing).

    Its variants for whole features and for self-normalising networks draw the same with a shape of their own.
    """
    return bernoulli_scalar(generator, 1.0 - p, shape, bool_)


def bernoulli_tensor(generator: Generator, p: np.ndarray, dtype: dtype | None = None) -> np.ndarray:
    """What ``bernoulli(p)`` and ``bernoulli_(p)`` draw for an array of probabilities; the result has ``p``'s dtype unless one is given.

    Raises:
        RuntimeError: an element of ``p`` is not a probability.
        NotImplementedError: ``p`` is not floating.
    """
    kind = _dtype_of(p)
    if kind.is_complex or kind in _NARROW_UNSIGNED:
        _refuse("bernoulli_tensor_cpu_self_", kind)
    if kind not in _FLOATS:
        _refuse("bernoulli_tensor_cpu_p_", kind)
    if not ((p >= 0) & (p <= 1)).all():
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If so, please report an "
            "enhancement request to PyTorch.)"
        )
    drawn = generator.uniform64(p.size) if kind is float64 else generator.uniform32(p.size)
    return (drawn.reshape(p.shape) < p.astype(drawn.dtype)).astype((dtype or kind).numpy)


def _require_continuous(name: str, dtype: dtype, spelling: int) -> None:
    if dtype in _NAMES and dtype not in _FLOATS:
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. dtype must be a floating point but you specified "
            f"{_NAMES[dtype][spelling]}"
        )
    if dtype not in _FLOATS:
        _refuse(f"{name.lower()}_cpu", dtype)


def exponential(generator: Generator, shape: Sequence[int], dtype: dtype = float32, lambd: float = 1.0) -> np.ndarray:
    """What ``exponential_(lambd)`` draws.

    Raises:
        RuntimeError: ``lambd`` is not positive, or the dtype is not floating.
    """
    _require_continuous("Exponential", dtype, 0)
    if not lambd > 0.0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    uniforms = generator.uniform64(math.prod(shape))
    logarithms = one_by_one(math.log1p, -uniforms) if dtype is float64 else np.log1p(-uniforms)
    return _cast(-1.0 / lambd * logarithms, dtype).reshape(shape)


def geometric(generator: Generator, shape: Sequence[int], dtype: dtype, p: float) -> np.ndarray:
    """What ``geometric_(p)`` draws: how many trials it takes until the first success.

    Raises:
        RuntimeError: ``p`` is not strictly between 0 and 1.
    """
    if not 0.0 < p < 1.0:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if dtype not in _NAMES or dtype.is_complex or dtype is bool_ or dtype in _NARROW_UNSIGNED:
        _refuse("geometric_cpu", dtype)
    with np.errstate(divide="ignore"):
        values = np.ceil(np.log(generator.uniform64(math.prod(shape))) / math.log(1.0 - p))
    return _cast(values, dtype).reshape(shape)


def cauchy(generator: Generator, shape: Sequence[int], dtype: dtype = float32, median: float = 0.0, sigma: float = 1.0) -> np.ndarray:
    """What ``cauchy_(median, sigma)`` draws.

    Raises:
        RuntimeError: ``sigma`` is not positive, or the dtype is not floating.
    """
    _require_continuous("Cauchy", dtype, 1)
    if not sigma > 0.0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    angles = math.pi * (generator.uniform64(math.prod(shape)) - 0.5)
    return _cast(fma64(one_by_one(math.tan, angles) if dtype is float64 else np.tan(angles), sigma, median), dtype).reshape(shape)


def log_normal(generator: Generator, shape: Sequence[int], dtype: dtype = float32, mean: float = 1.0, std: float = 2.0) -> np.ndarray:
    """What ``log_normal_(mean, std)`` draws, numbers coming one by one whatever the size (see `Generator.normal64`).

    Raises:
        RuntimeError: ``std`` is not positive.
    """
    if not std > 0.0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    if dtype not in _FLOATS:
        _refuse("log_normal_cpu", dtype)
    exponents = fma64(generator.normal64(math.prod(shape)), std, mean)
    return _cast(one_by_one(_exp, exponents) if dtype is float64 else np.exp(exponents), dtype).reshape(shape)


def _exp(exponent: float) -> float:
    return math.exp(exponent) if exponent < 709.0 else float(np.exp(exponent))  # Python's raises where it overflows


def rrelu_noise(generator: Generator, values: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """The slopes that ``rrelu`` in training multiplies with: drawn where ``values <= 0``, in order, and 1 elsewhere."""
    negative = values <= 0
    noise = np.ones(values.shape, values.dtype)
    lower, upper = float(values.dtype.type(lower)), float(values.dtype.type(upper))
    noise[negative] = generator.uniform64(int(negative.sum())) * (upper - lower) + lower
    return noise


def multinomial(generator: Generator, probabilities: np.ndarray, num_samples: int, replacement: bool = False) -> np.ndarray:
    """What ``multinomial`` draws: indices (int64) into each row of weights, which need not sum to one.

    Without replacement a number is drawn for each weight, in the order of the weights' memory.

    Raises:
        RuntimeError: the weights or the number of samples make no distribution.
    """
    kind = _dtype_of(probabilities)
    if probabilities.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if kind not in _FLOATS:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {_NAMES[kind][0]}")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > probabilities.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    weights = probabilities.astype(_wide(probabilities))
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not (weights.sum(axis=-1) > 0).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if replacement and num_samples > 1:
        return _with_replacement(generator, weights, num_samples)
    if probabilities.flags.c_contiguous:
        waiting = exponential(generator, probabilities.shape, kind)
    else:
        waiting = exponential(generator, probabilities.shape[::-1], kind).T
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        score = (weights / waiting.astype(weights.dtype)).astype(kind.numpy).astype(weights.dtype)
    if num_samples == 1:
        return np.argmax(score, axis=-1, keepdims=True)
    return np.argsort(-score, axis=-1, kind="stable")[..., :num_samples]


def _with_replacement(generator: Generator, weights: np.ndarray, num_samples: int) -> np.ndarray:
    rows = weights.reshape(-1, weights.shape[-1])
    cumulative = np.cumsum(rows, axis=-1, dtype=rows.dtype)
    cumulative /= cumulative[:, -1:].copy()
    cumulative[:, -1] = 1
    drawn = generator.uniform64(len(rows) * num_samples).reshape(len(rows), num_samples)
    found = np.stack([np.searchsorted(steps.astype(np.float64), points) for steps, points in zip(cumulative, drawn)])
    return found.reshape(*weights.shape[:-1], num_samples).astype(np.int64)
