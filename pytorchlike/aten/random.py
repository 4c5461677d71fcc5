"""Random tensors and the methods that fill a tensor with random numbers.

Numbers are drawn on the host by `tensors.draws`, bit for bit those of torch's CPU stream, and enter the trace as inputs; for a tensor
on another device they are drawn from that device's generator and sent there.  Where a parameter of the distribution is a tensor, what
is drawn is combined with it in the trace (``bernoulli``, ``normal``); only ``multinomial``, ``poisson`` and ``rrelu`` must look at
numbers first, which runs what is pending.

Tensors that do not lie in memory row by row are filled in the order of their memory, as in torch.
"""

from __future__ import annotations

import functools
import math
import operator as python
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core.capturing import drawn as drawn_anew
from ..core.device import device
from ..core.dtype import float32, float64, int64
from ..core.promotion import scalar_type_name
from ..core.state import thread
from ..dispatch.batching import batch_of, drawing_levels, is_inside_batch
from ..dispatch.bind import broadcast_shapes
from ..dispatch.call import host_tensor
from ..dispatch.out import put_out
from ..dispatch.registry import FUNCTION, METHOD, Operator, composite, op
from ..graph.recorder import synchronise
from ..tensors import draws, rejection
from ..tensors.generator import Generator, default_generator
from ..tensors.layout import format_strides, is_contiguous_in
from ..tensors.mutation import check_writable, write_into
from ..tensors.tensor import Tensor, make_tensor, relayout
from .create import PLACED, Target, as_size

#: Device type -> function that gives the default generators of its devices, by index (the devices' own packages fill it in).
device_generators: dict[str, Callable[[], Any]] = {}

_GENERATOR = "Generator? generator=None"
OPTIONS = f"*, {_GENERATOR}, {PLACED}, Tensor? out=None"
_LIKE = f"*, {_GENERATOR}, MemoryFormat? memory_format=None, {PLACED}"

#: ``draw(generator, shape, dtype, one_by_one)``: numbers in row-major order of ``shape``.
Draw = Callable[..., np.ndarray]


# --- drawing ---------------------------------------------------------------------------------------------------------------------------


def generator_for(function: str, given: Any, target: device) -> Generator:
    """The generator to draw from: the given one, or the device's default one.

    Raises:
        TypeError: not a generator.
        RuntimeError: one of another device, torch's text.
    """
    if given is None:
        found = device_generators.get(target.type)
        return default_generator if found is None else found()[target.index or 0]
    if not isinstance(given, Generator):
        raise TypeError(f"{function}(): argument 'generator' must be torch.Generator, not {type(given).__name__}")
    if given.device.type != target.type:
        raise RuntimeError(f"Expected a '{target.type}' device type for generator but found '{given.device.type}'")
    return given


def _plain(draw: Callable[..., np.ndarray], *args: Any) -> Draw:
    """A draw that gives the same numbers for tensors of any strides."""
    return lambda generator, shape, dtype, one_by_one: draw(generator, shape, dtype, *args)


def _normal(mean: float = 0.0, std: float = 1.0) -> Draw:
    return lambda generator, shape, dtype, one_by_one: draws.normal(generator, shape, dtype, mean, std, one_by_one)


_uniform = _plain(draws.uniform)


def _drawn(draw: Draw, generator: Generator, size: tuple[int, ...], stride: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Numbers for a tensor of these strides, drawn in the order of its memory."""
    if is_contiguous_in("contiguous_format", size, stride):
        return draw(generator, size, dtype, False)
    order = sorted(range(len(size)), key=lambda d: -stride[d])
    return draw(generator, tuple(size[d] for d in order), dtype, True).transpose(np.argsort(order))


def _made(generator: Generator, draw: Draw, size: tuple[int, ...], stride: tuple[int, ...] | None, dtype: Any, place: device) -> Tensor:
    """A tensor of what is drawn, in row-major order without strides; inside of ``vmap`` other numbers for each element, if it says so."""
    levels = drawing_levels() if thread.state.levels else []
    counts = tuple([level.size for level in levels])

    def make() -> Tensor:  # may be kept: holds no tensor
        if counts or stride is None:
            return host_tensor(draw(generator, (*counts, *size), dtype, False), dtype, place)
        return host_tensor(_drawn(draw, generator, size, stride, dtype), dtype, place)

    made = drawn_anew(make)
    for level in levels:
        made = level.wrap(made, True)
    return made


def _create(target: Target, size: tuple[int, ...], generator: Any, draw: Draw, stride: tuple[int, ...] | None = None) -> Tensor:
    """A new tensor of random numbers, or ``out`` filled with them."""
    out = target.out
    if out is not None:
        _resize(out, size)
        return _fill(target.function, out, draw, generator)
    if target.device.type == "meta":
        made = host_tensor(np.broadcast_to(np.zeros((), target.dtype.numpy), size), target.dtype, target.device)
    else:
        source = generator_for(target.function, generator, target.device)
        made = _made(source, draw, size, stride, target.dtype, target.device)
    if stride is not None and stride != made.stride():
        made = make_tensor(relayout(made._value, stride))
    return made.requires_grad_() if target.requires_grad else made


def _resize(out: Tensor, size: tuple[int, ...]) -> None:
    """Give ``out`` a size; its numbers are about to be overwritten."""
    if tuple(out.shape) != size:
        out.data = host_tensor(np.zeros(size, out.dtype.numpy), out.dtype, out.device)


def _like(function: str, self: Tensor, draw: Draw, generator: Any, memory_format: Any, options: dict[str, Any]) -> Tensor:
    kept = "preserve_format" if memory_format is None else str(memory_format).removeprefix("torch.")
    size = tuple(self.shape)
    return _create(Target(function, **options, like=self), size, generator, draw, format_strides(kept, size, tuple(self.stride())))


def _fill(function: str, self: Tensor, draw: Draw, generator: Any) -> Tensor:
    """Write random numbers into a tensor; on the tape they are a result whose gradient is zero."""
    check_writable(self)
    if self.is_meta:
        return self
    source = generator_for(function, generator, self.device)
    made = _made(source, draw, tuple(self.shape), tuple(self.stride()), self.dtype, self.device)
    if batch_of(made) is not None and not is_inside_batch(self):
        raise RuntimeError(_NOT_INPLACE)
    if self.requires_grad and thread.state.grad_enabled:
        made = _REPLACED[function](made, self)
    write_into(self, made._value, made._edge)
    return self


_NOT_INPLACE = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. If this is necessary for your "
    "usage, please file an issue with functorch."
)


def _numbers(tensor: Tensor) -> np.ndarray:
    if batch_of(tensor) is not None:
        raise NotImplementedError("vmap over a random operator that must look at the numbers of its arguments (multinomial, poisson, rrelu)")
    return np.asarray(synchronise(tensor._content(), "the parameters of a random draw"))


# --- what becomes of the numbers in the trace --------------------------------------------------------------------------------------------

_inside = functools.partial(op, namespaces=(), forms=FUNCTION)


def _nothing(g):
    return None


def _replacing(name: str) -> Operator:
    """The operator that puts drawn numbers in a tensor's place on the tape."""

    @_inside(f"{name}.drawn(Tensor drawn, Tensor self) -> Tensor")
    def replaced(drawn, self):
        """The drawn numbers; ``self`` gets no gradient but zeros."""
        return drawn

    replaced.grad("self")(_nothing)
    return replaced


_FILLED = ("uniform", "normal", "random", "bernoulli", "exponential", "geometric", "cauchy", "log_normal")
_REPLACED = {f"{name}_": _replacing(name) for name in _FILLED}
_poisson_drawn = _replacing("poisson")


@_inside("bernoulli.compared(Tensor self, Tensor drawn, Tensor p) -> Tensor")
def compared(self, drawn, p):
    """1 where the drawn number is below ``p``, in the dtype of ``self``; ``self`` itself if ``p`` holds no probabilities."""
    return jnp.where(_are_probabilities(p).all(), (drawn < p.astype(drawn.dtype)).astype(self.dtype), self)


def _are_probabilities(p):
    return (p >= 0) & (p <= 1)


compared.grad("self", "p")(_nothing)


@compared.data_check(
    RuntimeError,
    "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If so, please report an "
    "enhancement request to PyTorch.)",
)
def _(p):
    return ~_are_probabilities(p)


def _wide(array):
    return array.astype(jnp.float32) if array.dtype.itemsize == 2 else array


@_inside("normal.shifted(Tensor drawn, Tensor mean) -> Tensor", numbers=("mean",))
def shifted(drawn, mean):
    """Normal numbers around each mean."""
    return (_wide(drawn) + mean).astype(drawn.dtype)


@_inside("normal.scaled(Tensor drawn, Tensor mean, Tensor std) -> Tensor", numbers=("mean",))
def scaled(drawn, mean, std):
    """Standard normal numbers made those of each mean and deviation, with torch's roundings but for the product's (XLA may fuse it)."""
    spread = (_wide(drawn) * std).astype(drawn.dtype)
    return (_wide(spread) + mean.astype(drawn.dtype)).astype(drawn.dtype)


@scaled.data_check(RuntimeError, "normal expects all elements of std >= 0.0")
def _(std):
    return ~(std >= 0)


shifted.grad("mean")(_nothing)
scaled.grad("mean", "std")(_nothing)


# --- new tensors -----------------------------------------------------------------------------------------------------------------------


@composite(f"rand(int[] size, {OPTIONS}) -> Tensor", forms=FUNCTION)
def rand(size, *, generator, **options):
    """Uniform numbers in [0, 1)."""
    return _create(Target("rand", **options), as_size(size, "rand"), generator, _uniform)


@composite(f"randn(int[] size, {OPTIONS}) -> Tensor", forms=FUNCTION)
def randn(size, *, generator, **options):
    """Standard normal numbers."""
    return _create(Target("randn", **options), as_size(size, "randn"), generator, _normal())


def _integers(low: Any, high: Any) -> Draw:
    low, high = int(low), None if high is None else int(high)
    return lambda generator, shape, dtype, one_by_one: draws.randint(generator, low, high, shape, dtype)


@composite(f"randint(int high, int[] size, {OPTIONS}) -> Tensor", forms=FUNCTION)
def randint(high, size, *, generator, **options):
    """Integers from 0 to ``high - 1``, int64 unless told otherwise."""
    return _create(Target("randint", **options, inferred=int64), as_size(size, "randint"), generator, _integers(0, high))


@composite(f"randint.low(int low, int high, int[] size, {OPTIONS}) -> Tensor", forms=FUNCTION)
def randint_low(low, high, size, *, generator, **options):
    """Integers from ``low`` to ``high - 1``, int64 unless told otherwise."""
    return _create(Target("randint", **options, inferred=int64), as_size(size, "randint"), generator, _integers(low, high))


def _permutations(generator: Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """A permutation in each row of an array."""
    *counts, n = shape
    if not counts:
        return draws.randperm(generator, n, dtype)
    return np.stack([draws.randperm(generator, n, dtype) for _ in range(math.prod(counts))]).reshape(shape)


@composite(f"randperm(int n, {OPTIONS}) -> Tensor", forms=FUNCTION)
def randperm(n, *, generator, **options):
    """The integers from 0 to ``n - 1`` in random order, int64 unless told otherwise."""
    n = python.index(n)
    return _create(
        Target("randperm", **options, inferred=int64), as_size(n, "randperm"), generator,
        lambda generator, shape, dtype, one_by_one: _permutations(generator, shape, dtype),
    )  # fmt: skip


@composite(f"rand_like(Tensor self, {_LIKE}) -> Tensor", forms=FUNCTION)
def rand_like(self, *, generator, memory_format, **options):
    """Uniform numbers in [0, 1), in the size of a tensor."""
    return _like("rand_like", self, _uniform, generator, memory_format, options)


@composite(f"randn_like(Tensor self, {_LIKE}) -> Tensor", forms=FUNCTION)
def randn_like(self, *, generator, memory_format, **options):
    """Standard normal numbers, in the size of a tensor."""
    return _like("randn_like", self, _normal(), generator, memory_format, options)


@composite(f"randint_like(Tensor self, int high, {_LIKE}) -> Tensor", forms=FUNCTION)
def randint_like(self, high, *, generator, memory_format, **options):
    """Integers from 0 to ``high - 1``, in the size and dtype of a tensor."""
    return _like("randint_like", self, _integers(0, high), generator, memory_format, options)


@composite(f"randint_like.low(Tensor self, int low, int high, {_LIKE}) -> Tensor", forms=FUNCTION)
def randint_like_low(self, low, high, *, generator, memory_format, **options):
    """Integers from ``low`` to ``high - 1``, in the size and dtype of a tensor."""
    return _like("randint_like", self, _integers(low, high), generator, memory_format, options)


# --- draws whose parameters are tensors --------------------------------------------------------------------------------------------------


def _sample(function: str, like: Tensor, size: tuple[int, ...], generator: Any, draw: Draw) -> Tensor:
    """Numbers of the dtype and on the device of a tensor, row by row."""
    return _create(Target(function, None, None, None, False, False, like=like), size, generator, draw)


def _into(out: Tensor | None, result: Tensor) -> Tensor:
    if out is None:
        return result
    put_out(out, result._content())
    return out


@composite(f"normal.Tensor_Tensor(Tensor mean, Tensor std, *, {_GENERATOR}, Tensor? out=None) -> Tensor", forms=FUNCTION)
def normal_tensors(mean, std, *, generator, out):
    """Normal numbers, each with its mean and standard deviation, in the dtype of ``mean``."""
    drawn = _sample("normal", mean, broadcast_shapes(mean.shape, std.shape), generator, _normal())
    return _into(out, scaled(drawn, mean, std))


@composite(f"normal.Tensor_float(Tensor mean, float std=1.0, *, {_GENERATOR}, Tensor? out=None) -> Tensor", forms=FUNCTION)
def normal_means(mean, std, *, generator, out):
    """Normal numbers of one standard deviation, each with its mean."""
    return _into(out, shifted(_sample("normal", mean, tuple(mean.shape), generator, _normal(0.0, float(std))), mean))


@composite(f"normal.float_Tensor(float mean, Tensor std, *, {_GENERATOR}, Tensor? out=None) -> Tensor", forms=FUNCTION)
def normal_deviations(mean, std, *, generator, out):
    """Normal numbers of one mean, each with its standard deviation."""
    return _into(out, scaled(_sample("normal", std, tuple(std.shape), generator, _normal()), float(mean), std))


@composite(f"normal.float_float(float mean, float std, int[] size, {OPTIONS}) -> Tensor", forms=FUNCTION)
def normal_numbers(mean, std, size, *, generator, **options):
    """Normal numbers of one mean and standard deviation."""
    return _create(Target("normal", **options), as_size(size, "normal"), generator, _normal(float(mean), float(std)))


@composite(f"bernoulli(Tensor self, *, {_GENERATOR}, Tensor? out=None) -> Tensor")
def bernoulli(self, *, generator, out):
    """1 with the probability that each element gives, else 0."""
    if out is not None:
        _resize(out, tuple(self.shape))
        return _compare_into(out, self, generator)
    if self.is_meta:
        return host_tensor(np.zeros(tuple(self.shape), self.dtype.numpy), self.dtype, self.device)
    return compared(self, _uniform_for(tuple(self.shape), None, self, generator), self)


@composite(f"bernoulli.p(Tensor self, float p, *, {_GENERATOR}) -> Tensor")
def bernoulli_number(self, p, *, generator):
    """1 with probability ``p``, else 0, in the size and dtype of a tensor."""
    return _sample("bernoulli", self, tuple(self.shape), generator, _plain_bernoulli(p))


def _plain_bernoulli(p: Any) -> Draw:
    return lambda generator, shape, dtype, one_by_one: draws.bernoulli_scalar(generator, float(p), shape, dtype)


def _uniform_for(size: tuple[int, ...], stride: tuple[int, ...] | None, p: Tensor, generator: Any) -> Tensor:
    """The uniform numbers that torch compares with the probabilities: float64 ones for float64, else float32 ones."""
    source = generator_for("bernoulli", generator, p.device)
    draws.bernoulli_tensor(source, np.empty(0, p.dtype.numpy))  # refuses dtypes
    kind = p.dtype if p.dtype is float64 else float32
    return _made(source, _uniform, size, stride, kind, p.device)


def _compare_into(self: Tensor, p: Tensor, generator: Any) -> Tensor:
    check_writable(self, other_requires_grad=p.requires_grad)
    if self.is_meta:
        return self
    made = compared(self, _uniform_for(tuple(self.shape), tuple(self.stride()), p, generator), p.expand(self.shape))
    write_into(self, made._content(), made._edge)
    return self


@composite(f"multinomial(Tensor self, int num_samples, bool replacement=False, *, {_GENERATOR}, Tensor? out=None) -> Tensor")
def multinomial(self, num_samples, replacement, *, generator, out):
    """Indices drawn from each row of weights, which need not sum to one."""
    if out is not None and out.dtype is not int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {scalar_type_name(out.dtype)}")
    source = generator_for("multinomial", generator, self.device)
    weights = _numbers(self)
    if self.ndim == 2 and self.stride(0) < self.stride(1):
        weights = np.asfortranarray(weights)  # draws go by the order in memory
    return _into(out, host_tensor(draws.multinomial(source, weights, int(num_samples), bool(replacement)), int64, self.device))


@composite(f"poisson(Tensor self, {_GENERATOR}) -> Tensor", forms=FUNCTION)
def poisson(self, generator):
    """A count for each rate."""
    made = host_tensor(rejection.poisson(generator_for("poisson", generator, self.device), _numbers(self)), self.dtype, self.device)
    return _poisson_drawn(made, self) if self.requires_grad else made


# --- methods that fill a tensor ----------------------------------------------------------------------------------------------------------


def _filling(arguments: str) -> Callable:
    name, _, arguments = arguments.partition("(")
    return composite(f"{name}(Tensor(a!) self{arguments}, *, {_GENERATOR}) -> Tensor(a!)", forms=METHOD)


@_filling("uniform_(, float from=0.0, float to=1.0")
def uniform_(self, low, high, *, generator):
    """Fill with uniform numbers in [from, to)."""
    return _fill("uniform_", self, _plain(draws.uniform, float(low), float(high)), generator)


@_filling("normal_(, float mean=0.0, float std=1.0")
def normal_(self, mean, std, *, generator):
    """Fill with normal numbers."""
    return _fill("normal_", self, _normal(float(mean), float(std)), generator)


@_filling("random_(")
def random_(self, *, generator):
    """Fill with integers from 0 to the largest the dtype holds exactly."""
    return _fill("random_", self, _plain(draws.random), generator)


@_filling("random_.to(, int to")
def random_to(self, to, *, generator):
    """Fill with integers from 0 to ``to - 1``."""
    return _fill("random_", self, _integers(0, to), generator)


@_filling("random_.from(, int from=0, int? to=None")
def random_from(self, low, to, *, generator):
    """Fill with integers from ``from`` to ``to - 1``, or to the largest the dtype holds."""
    return _fill("random_", self, _integers(low, to), generator)


@_filling("bernoulli_.Tensor(, Tensor p")
def bernoulli_tensor(self, p, *, generator):
    """Fill with 1 with the probability that each element of ``p`` gives, else with 0."""
    return _compare_into(self, p, generator)


@_filling("bernoulli_.float(, float p=0.5")
def bernoulli_(self, p, *, generator):
    """Fill with 1 with probability ``p``, else with 0."""
    return _fill("bernoulli_", self, _plain_bernoulli(p), generator)


@_filling("exponential_(, float lambd=1.0")
def exponential_(self, lambd, *, generator):
    """Fill with exponentially distributed numbers of rate ``lambd``."""
    return _fill("exponential_", self, _plain(draws.exponential, float(lambd)), generator)


@_filling("geometric_(, float p")
def geometric_(self, p, *, generator):
    """Fill with how many trials it takes until the first success."""
    return _fill("geometric_", self, _plain(draws.geometric, float(p)), generator)


@_filling("cauchy_(, float median=0.0, float sigma=1.0")
def cauchy_(self, median, sigma, *, generator):
    """Fill with Cauchy distributed numbers."""
    return _fill("cauchy_", self, _plain(draws.cauchy, float(median), float(sigma)), generator)


@_filling("log_normal_(, float mean=1.0, float std=2.0")
def log_normal_(self, mean, std, *, generator):
    """Fill with numbers whose logarithms are normal with this mean and standard deviation."""
    return _fill("log_normal_", self, _plain(draws.log_normal, float(mean), float(std)), generator)


# --- what dropout and rrelu multiply with ------------------------------------------------------------------------------------------------


def keep_mask(self: Tensor, p: float, *, features: bool = False) -> Tensor:
    """1 where dropout keeps an element, else 0, in the dtype of ``self``; torch's ``alpha_dropout`` computes with it.

    Nothing is drawn where torch draws nothing: for ``p`` 0 and 1, and on the meta device.

    Args:
        features: one number for each feature map: the result has size 1 in all dimensions but the first two.

    Raises:
        RuntimeError: ``p`` is no probability, or there are no feature maps.
    """
    return _noise(self, p, features, 1.0)


def dropout_noise(self: Tensor, p: float) -> Tensor:
    """What dropout multiplies with: 0, or ``1 / (1 - p)`` where an element is kept."""
    return _noise(self, p, False, None)


def feature_noise(self: Tensor, p: float) -> Tensor:
    """What dropout of whole feature maps multiplies with, of size 1 in all dimensions but the first two."""
    return _noise(self, p, True, None)


def _noise(self: Tensor, p: float, features: bool, kept: float | None) -> Tensor:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    if features and self.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    size, stride = tuple(self.shape), tuple(self.stride())
    if features:
        size = (*size[:2], *[1] * (len(size) - 2))
    stride = format_strides("contiguous_format" if features else "preserve_format", size, stride)
    kind = self.dtype.numpy
    compute = np.dtype(np.float32) if kind.itemsize < 4 else kind
    value = compute.type(1.0 if kept is not None or p == 1 else compute.type(1) / compute.type(1.0 - p)).astype(kind)
    if p in (0, 1) or self.is_meta:
        made = host_tensor(np.full(size, value if p == 0 else 0, kind), self.dtype, self.device)
    else:
        made = _made(generator_for("dropout", None, self.device), _kept(p, value), size, stride, self.dtype, self.device)
    return make_tensor(relayout(made._value, stride)) if stride != made.stride() else made


def _kept(p: float, value: Any) -> Draw:
    return lambda generator, shape, dtype, one_by_one: np.where(draws.dropout_mask(generator, p, shape), value, value.dtype.type(0))


def rrelu_noise(self: Tensor, lower: float, upper: float, generator: Any = None) -> Tensor:
    """The slopes that ``rrelu`` in training multiplies with: drawn where ``self <= 0``, in order, and 1 elsewhere."""
    source = generator_for("rrelu_with_noise", generator, self.device)
    return host_tensor(draws.rrelu_noise(source, _numbers(self), float(lower), float(upper)), self.dtype, self.device)
