"""``aten::X_backward``: the gradient of one operator as an operator, for code that calls what torch's tape records (``aten.threshold_backward``).

Most are rows of a table: torch's schema, the forward operator and the argument that it is differentiated with respect to.  What they compute
is that operator's own derivative, its rule or else JAX's of its body, so no formula stands here twice; gradients of these gradients are JAX's
of it.  Written out are those that get results of the forward which the derivative would compute anew: statistics, noise, indices of maxima.
Those with an ``output_mask`` give None in the place of what it leaves out.

Entry points: ``torch.ops.aten``; nothing here is public elsewhere, but the in-place activations (``aten.gelu_``) at the end.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.dtype import bfloat16, float16
from ..dispatch.bind import broadcast_shapes
from ..dispatch.call import general_inplace
from ..dispatch.derivative import sum_to_size
from ..dispatch.registry import FUNCTION, Operator, composite, lookup, op, parameters
from ..dispatch.schema import parse
from .dispatched import SCALES, UPSAMPLINGS
from .elementwise import beside, rounded_once
from .sparse_tensor import coo, host, index_tensor
from .windows import scatter_plane

Named = Mapping[str, Any]
_REDUCTIONS = ("none", "mean", "sum")
_inner = functools.partial(composite, forms=FUNCTION, namespaces=())


# ---------------------------------------------------------------------------------------------------------------- what a row comes down to
def _gradient(forward: Operator, argument: str, g: Any, known: Named) -> Any:
    """The gradient of an operator, of arrays: by its rule, else by ``jax.vjp`` of its body.

    Raises:
        RuntimeError: ``g`` has not the size of the operator's result.
    """
    names = [a.name for a in forward.schema.arguments]

    def run(changed: Named) -> Any:
        return forward.body(*[changed.get(name, known.get(name)) for name in names])

    rule = forward.rules.get(argument)
    if rule is not None:
        arrays = {name: value for name, value in known.items() if hasattr(value, "shape")}
        broadcast_shapes(g.shape, (known["result"] if "result" in known else jax.eval_shape(run, arrays)).shape)
        values = {"g": g, **known, **{f"{name}_meta": value for name, value in known.items()}}
        found = rule(**{name: values[name] for name in parameters(rule)})
    else:
        at = known[argument]
        at = jnp.zeros(at.shape, at.dtype) if isinstance(at, jax.ShapeDtypeStruct) else at
        result, pull = jax.vjp(lambda x: run({argument: x}), at)
        broadcast_shapes(g.shape, result.shape)
        found = jnp.conj(pull(jnp.broadcast_to(jnp.conj(g), result.shape))[0])
    own = known.get(argument, g)  # not there where the rule asks for the result alone
    return found if found.dtype == own.dtype else found.astype(own.dtype)


class _Body:
    """A body whose parameters are those of a schema; it is parsed when the operator is first called."""

    def __init__(self, schema: str) -> None:
        self.schema = schema

    @functools.cached_property
    def names(self) -> list[str]:
        """The schema's arguments."""
        return [a.name for a in parse(f"{self.schema} -> Tensor").arguments]

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in self.names])


class _Derived(_Body):
    """The gradient of an operator; the first argument is the gradient of that operator's result.

    Args:
        schema: torch's, without the result.
        forward: the operator's qualified name, or the choice of it by the arguments.
        argument: the forward operator's argument whose gradient it is.
        translate: the forward operator's arguments that have another name or value here, ``result`` included.
    """

    def __init__(self, schema: str, forward: str | Callable[[Named], str], argument: str, translate: Callable[[Named], Named]) -> None:
        super().__init__(schema)
        self.forward, self.argument, self.translate = forward, argument, translate
        self.__doc__ = f"The gradient of `{forward if isinstance(forward, str) else 'convolution'}` with respect to ``{argument}``."

    def known(self, named: Named) -> tuple[Operator, dict[str, Any]]:
        """The forward operator and its arguments by name: translated, of the same name, or the default."""
        operator = lookup(self.forward if isinstance(self.forward, str) else self.forward(named))
        known = {a.name: a.default for a in operator.schema.arguments if not a.required}
        known |= {a.name: named[a.name] for a in operator.schema.arguments if a.name in named}
        return operator, known | dict(self.translate(named))

    def __call__(self, *arguments: Any) -> Any:
        operator, known = self.known(dict(zip(self.names, arguments, strict=True)))
        return _gradient(operator, self.argument, arguments[0], known)

    def check(self, /, **named: Any) -> None:
        """The forward operator's checks of its arguments, where all of them are known."""
        operator, known = self.known(named)
        arguments = [a.name for a in operator.schema.arguments]
        for check in operator.checks if all(name in known for name in arguments) else ():
            check(**{name: known[name] for name in arguments})


def _same(named: Named) -> Named:
    return {}


def _declare(schema: str, forward: str | Callable[[Named], str], argument: str = "self", translate: Callable[[Named], Named] = _same,
             static: tuple[str, ...] = ()) -> Operator:  # fmt: skip
    """Declare an operator with the body `_Derived`; ``static`` as in `registry.Operator`."""
    body = _Derived(schema, forward, argument, translate)
    made = op(f"{schema} -> Tensor", forms=FUNCTION, namespaces=(), static=static)(body)
    made.check(body.check)
    return made


def _empty(shape: Any, like: Any) -> Any:
    """What stands for an argument that is not given, and of which the derivative asks for the shape and dtype alone."""
    return jax.ShapeDtypeStruct(tuple(shape), like.dtype)


# ---------------------------------------------------------------------------------------------------------------- activations
for _schema, _forward in (
    ("gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none')", "gelu"),
    ("infinitely_differentiable_gelu_backward(Tensor grad, Tensor self)", "gelu"),
    ("silu_backward(Tensor grad_output, Tensor self)", "silu"),
    ("mish_backward(Tensor grad_output, Tensor self)", "mish"),
    ("leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result)", "leaky_relu"),
    ("hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val)", "hardtanh"),
    ("hardsigmoid_backward(Tensor grad_output, Tensor self)", "hardsigmoid"),
    ("hardswish_backward(Tensor grad_output, Tensor self)", "hardswish"),
    ("hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd)", "hardshrink"),
    ("softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold)", "softplus"),
    ("log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer)", "logsigmoid"),
    ("logit_backward(Tensor grad_output, Tensor self, float? eps=None)", "logit"),
    ("glu_backward(Tensor grad_output, Tensor self, int dim)", "glu"),
):
    _declare(_schema, _forward)
_declare("softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd)", "softshrink", static=("lambd",))
_declare("threshold_backward(Tensor grad_output, Tensor self, Scalar threshold)", "threshold", "self", lambda a: {"value": 0})
_declare("sigmoid_backward(Tensor grad_output, Tensor output)", "sigmoid", "self", lambda a: {"result": a["output"]})
_declare("tanh_backward(Tensor grad_output, Tensor output)", "tanh", "self", lambda a: {"result": a["output"]})


@op(
    "elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor",
    forms=FUNCTION,
    namespaces=(),
)
@rounded_once
def elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result):
    """The gradient of `elu` from its input or its result."""
    known = {"self": self_or_result, "alpha": alpha, "scale": scale, "input_scale": input_scale}
    if not is_result:
        return _gradient(lookup("elu"), "self", grad_output, known)
    alpha, scale, input_scale = (beside(number, self_or_result) for number in (alpha, scale, input_scale))
    slope = jnp.where(self_or_result <= 0, input_scale * (self_or_result + alpha * scale), scale)
    return grad_output * slope


@_inner(
    "rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training, bool self_is_result) "
    "-> Tensor"
)
def rrelu_with_noise_backward(grad_output, self, noise, lower, upper, training, self_is_result):
    """The gradient of `rrelu_with_noise`: its noise, or outside of training the mean slope."""
    if training and upper - lower > 1e-6:
        return grad_output * noise
    return lookup("leaky_relu_backward")(grad_output, self, (lower + upper) / 2, self_is_result)


@_inner("_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)")
def _prelu_kernel_backward(grad_output, self, weight):
    """The gradients of `_prelu_kernel` with respect to input and weight, the latter of the input's size."""
    is_positive = self > 0
    return grad_output.where(is_positive, weight * grad_output), (self * grad_output).masked_fill(is_positive, 0)


# ---------------------------------------------------------------------------------------------------------------- losses
def _declare_loss(name: str, arguments: str, static: tuple[str, ...] = ()) -> None:
    schema = f"{name}_backward(Tensor grad_output, Tensor self, Tensor target, {arguments})"
    forward = "nll_loss.reduced" if name.startswith("nll_loss") else f"{name}.reduced"
    _declare(schema, forward, "self", lambda a: {"reduction": _REDUCTIONS[a["reduction"]]}, static)


for _schema in ("mse_loss", "soft_margin_loss"):
    _declare_loss(_schema, "int reduction")
_declare_loss("smooth_l1_loss", "int reduction, float beta")
_declare_loss("huber_loss", "int reduction, float delta")
_declare_loss("multilabel_margin_loss", "int reduction, Tensor is_target")
_declare_loss("multi_margin_loss", "Scalar p, Scalar margin, Tensor? weight=None, int reduction=1", ("p", "margin"))
_declare_loss("binary_cross_entropy", "Tensor? weight=None, int reduction=1")
for _schema in ("nll_loss", "nll_loss2d"):
    _declare_loss(_schema, "Tensor? weight, int reduction, int ignore_index, Tensor total_weight")


# ---------------------------------------------------------------------------------------------------------------- convolutions and products
def _convolution(named: Named) -> str:
    spatial = named["weight"].ndim - 2
    if not named["transposed"]:
        return f"conv{spatial}d"
    return "conv_transpose1d" if spatial == 1 else f"conv_transpose{spatial}d.input"


_WINDOW = "int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups"
for _argument in ("input", "weight"):
    _declare(f"_convolution_backward_{_argument}(Tensor grad_output, Tensor input, Tensor weight, {_WINDOW})", _convolution, _argument)


@_inner(
    f"convolution_backward(Tensor grad_output, Tensor input, Tensor weight, int[]? bias_sizes, {_WINDOW}, bool[3] output_mask) "
    "-> (Tensor, Tensor, Tensor)"
)
def convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask):
    """The gradients of `convolution` with respect to input, weight and bias."""
    spatial = weight.dim() - 2
    lists = [tuple(v) * spatial if len(v) == 1 else tuple(v) for v in (stride, padding, dilation, output_padding)]
    found = [
        lookup(f"_convolution_backward_{name}")(grad_output, input, weight, *lists[:3], transposed, lists[3], groups) if wanted else None
        for name, wanted in zip(("input", "weight"), output_mask)
    ]
    return *found, grad_output.sum((0, *range(2, grad_output.dim()))) if output_mask[2] else None


@_inner("linear_backward(Tensor self, Tensor grad_output, Tensor weight, bool[3] output_mask) -> (Tensor, Tensor, Tensor)")
def linear_backward(self, grad_output, weight, output_mask):
    """The gradients of `linear` with respect to input, weight and bias."""
    rows, columns = grad_output.reshape(-1, grad_output.shape[-1]), self.reshape(-1, self.shape[-1])
    return (
        grad_output.matmul(weight) if output_mask[0] else None,
        rows.t().mm(columns) if output_mask[1] else None,
        rows.sum(0) if output_mask[2] else None,
    )


def _declare_product(argument: str) -> None:
    @op(f"_matmul_backward_{argument}(Tensor grad, Tensor self, Tensor other) -> Tensor", forms=FUNCTION, namespaces=())
    def product(grad, self, other):
        known = {"self": self, "other": other}
        return sum_to_size(_gradient(lookup("matmul"), argument, grad, known), known[argument].shape)

    product.__doc__ = f"The gradient of `matmul` with respect to ``{argument}``."


_declare_product("self")
_declare_product("other")


@_inner("matmul_backward(Tensor grad, Tensor self, Tensor other, bool[2] mask) -> (Tensor, Tensor)")
def matmul_backward(grad, self, other, mask):
    """The gradients of `matmul` with respect to both factors."""
    return tuple([lookup(f"_matmul_backward_{n}")(grad, self, other) if wanted else None for n, wanted in zip(("self", "other"), mask)])


_declare("_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist)", "cdist", "x1", lambda a: {"result": a["cdist"]})


_declare("_pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist)", "pdist", "input",
         lambda a: {"input": a["self"], "result": a["pdist"]})  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------- norms
def _normalization(g: Any, x: Any, mean: Any, scale: Any, weight: Any, reduced: tuple[int, ...], constant: bool = False) -> tuple[Any, Any]:
    """The gradient of ``(x - mean) * scale * weight`` with respect to ``x``, and the elements of that with respect to ``weight``.

    Args:
        scale: the reciprocal of the deviation; mean, scale and weight broadcast with ``x``.
        reduced: the dimensions that mean and scale were computed over.
        constant: mean and scale do not depend on ``x``.
    """
    normalized = (x - mean) * scale
    slope = g if weight is None else g * weight
    if constant:
        return slope * scale, g * normalized
    away = slope - slope.mean(reduced, True) - normalized * (slope * normalized).mean(reduced, True)
    return away * scale, g * normalized


def _wide(*tensors: Any) -> tuple[Any, ...]:
    """Tensors of half precision in float32."""
    return tuple([t.float() if t is not None and t.dtype in (float16, bfloat16) else t for t in tensors])


def _shaped(tensor: Any, shape: tuple[int, ...]) -> Any:
    return None if tensor is None else tensor.reshape(shape)


def _asked(output_mask: Any, input: Any, weight: Any, *gradients: Callable[[], Any]) -> tuple[Any, Any, Any]:
    """The gradients of input, weight and bias that a mask asks for, in the dtypes of input and weight."""
    kinds = (input.dtype, *[input.dtype if weight is None else weight.dtype] * 2)
    first, second, third = [make().to(kind) if wanted else None for make, kind, wanted in zip(gradients, kinds, output_mask)]
    return first, second, third


@_inner(
    "native_layer_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, "
    "bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
)
def native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask):
    """The gradients of `native_layer_norm` with respect to input, weight and bias, from its statistics."""
    count = len(normalized_shape)
    leading = tuple(range(input.dim() - count))
    g, x, mean, scale, parameter = _wide(grad_out, input, mean, rstd, weight)
    of_input, of_weight = _normalization(g, x, mean, scale, parameter, tuple(range(-count, 0)))
    sums = [of_weight.sum(leading), g.sum(leading)] if leading else [of_weight, g]
    there = [wanted and t is not None for wanted, t in zip(output_mask, (input, weight, bias))]
    return _asked(there, input, weight, lambda: of_input, lambda: sums[0], lambda: sums[1])


@_inner(
    "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, int N, int C, int HxW, int group, "
    "bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
)
def native_group_norm_backward(grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask):
    """The gradients of `native_group_norm` with respect to input, weight and bias, from its statistics."""
    wide = _wide(grad_out, input, mean, rstd, weight)
    shapes = [(N, group, C // group, HxW)] * 2 + [(N, group, 1, 1)] * 2 + [(1, group, C // group, 1)]
    g, x, mean, scale, parameter = [_shaped(t, shape) for t, shape in zip(wide, shapes)]
    of_input, of_weight = _normalization(g, x, mean, scale, parameter, (2, 3))
    return _asked(
        output_mask, input, weight,
        lambda: of_input.reshape(input.shape), lambda: of_weight.sum((0, 3)).reshape(C), lambda: g.sum((0, 3)).reshape(C),
    )  # fmt: skip


@_inner(
    "native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, "
    "Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
)
def native_batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask):
    """The gradients of `native_batch_norm` with respect to input, weight and bias, from the batch's or the running statistics."""
    rest = (0, *range(2, input.dim()))
    mean, scale = (save_mean, save_invstd) if train else (running_mean, (running_var + eps).rsqrt())
    g, x, *wide = _wide(grad_out, input, mean, scale, weight)
    mean, scale, parameter = [_shaped(t, (-1, *[1] * (input.dim() - 2))) for t in wide]
    of_input, of_weight = _normalization(g, x, mean, scale, parameter, rest, constant=not train)
    return _asked(output_mask, input, weight, lambda: of_input, lambda: of_weight.sum(rest), lambda: g.sum(rest))


@_inner("native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor")
def native_dropout_backward(grad_output, mask, scale):
    """The gradient of `native_dropout`: that of the elements that were kept, scaled."""
    return grad_output * (mask.to(grad_output.dtype) * scale)


# ---------------------------------------------------------------------------------------------------------------- pools
class _Maximum(_Body):
    """The gradient of a pool of maxima over so many dimensions: what arrives goes to the elements that were the maxima."""

    def __init__(self, schema: str, spatial: int) -> None:
        super().__init__(schema)
        self.spatial = spatial

    def __call__(self, *arguments: Any) -> Any:
        named = dict(zip(self.names, arguments, strict=True))
        return scatter_plane(named["grad_output"], named["indices"], named["self"].shape[named["self"].ndim - self.spatial :])


def _declare_pools(spatial: int) -> None:
    window = f"int[{spatial}] kernel_size, int[{spatial}] stride, int[{spatial}] padding"
    _declare(
        f"avg_pool{spatial}d_backward(Tensor grad_output, Tensor self, {window}, bool ceil_mode, bool count_include_pad, int? divisor_override)",
        f"avg_pool{spatial}d", "input", lambda a: {"input": a["self"], "stride": a["stride"] or None},
    )  # fmt: skip
    for schema in (
        f"max_pool{spatial}d_with_indices_backward(Tensor grad_output, Tensor self, {window}, int[{spatial}] dilation, bool ceil_mode, Tensor indices)",
        f"adaptive_max_pool{spatial}d_backward(Tensor grad_output, Tensor self, Tensor indices)",
        f"fractional_max_pool{spatial}d_backward(Tensor grad_output, Tensor self, int[{spatial}] kernel_size, int[{spatial}] output_size, Tensor indices)",
    ):
        op(f"{schema} -> Tensor", forms=FUNCTION, namespaces=())(_Maximum(schema, spatial))

    @op(f"_adaptive_avg_pool{spatial}d_backward(Tensor grad_output, Tensor self) -> Tensor", forms=FUNCTION, namespaces=())
    def average(grad_output, self):
        known = {"self": self, "output_size": grad_output.shape[grad_output.ndim - spatial :]}
        return _gradient(lookup(f"_adaptive_avg_pool{spatial}d"), "self", grad_output, known)

    average.__doc__ = f"The gradient of `adaptive_avg_pool{spatial}d`."


_declare_pools(2)
_declare_pools(3)


@_inner("adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor")
def adaptive_avg_pool3d_backward(grad_output, self):
    """The gradient of `adaptive_avg_pool3d`."""
    return lookup("_adaptive_avg_pool3d_backward")(grad_output, self)


# ---------------------------------------------------------------------------------------------------------------- images
def _declare_upsampling(kind: str, mode: str, spatial: int) -> None:
    corners = "" if "nearest" in mode else ", bool align_corners"
    scales = SCALES[spatial]
    arguments = ", ".join([f"float? {name}=None" for name in scales])
    schema = f"{kind}{spatial}d_backward(Tensor grad_output, int[{spatial}] output_size, int[{spatial + 2}] input_size{corners}, {arguments})"

    def translate(named: Named) -> Named:
        factors = {f"factor{k}": named[name] for k, name in enumerate(scales)}
        image = _empty(named["input_size"], named["grad_output"])
        fixed = {"mode": mode, "antialias": False, "align_corners": named.get("align_corners", False)}
        return {"factor1": None, "factor2": None, **factors, **fixed, "input": image, "size": named["output_size"]}

    _declare(schema, "_interpolate", "input", translate)


for _kind, _mode, _counts in UPSAMPLINGS:
    for _count in _counts:
        _declare_upsampling(_kind, _mode, _count)


def _declare_padding(kind: str, mode: str, spatial: int) -> None:
    schema = f"{kind}_pad{spatial}d_backward(Tensor grad_output, Tensor self, int[{2 * spatial}] padding)"
    _declare(schema, "_pad_edges", "self", lambda a: {"pad": a["padding"], "mode": mode})


for _count in (1, 2, 3):
    _declare_padding("reflection", "reflect", _count)
    _declare_padding("replication", "replicate", _count)


_declare(
    "affine_grid_generator_backward(Tensor grad, int[] size, bool align_corners)", "affine_grid_generator", "theta",
    lambda a: {"theta": _empty((a["size"][0], len(a["size"]) - 2, len(a["size"]) - 1), a["grad"])},
)  # fmt: skip


_SAMPLING = "Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners"
for _argument in ("input", "grid"):
    _declare(f"_grid_sampler_backward_{_argument}({_SAMPLING})", "grid_sampler", _argument)


def _declare_sampling(spatial: int) -> None:
    @_inner(f"grid_sampler_{spatial}d_backward({_SAMPLING}, bool[2] output_mask) -> (Tensor, Tensor)")
    def sampling(grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask):
        arguments = (grad_output, input, grid, interpolation_mode, padding_mode, align_corners)
        return tuple([lookup(f"_grid_sampler_backward_{n}")(*arguments) if wanted else None for n, wanted in zip(("input", "grid"), output_mask)])

    sampling.__doc__ = f"The gradients of `grid_sampler_{spatial}d` with respect to input and grid."


_declare_sampling(2)
_declare_sampling(3)


# ---------------------------------------------------------------------------------------------------------------- rows and elements
_declare(
    "embedding_dense_backward(Tensor grad_output, Tensor indices, int num_weights, int padding_idx, bool scale_grad_by_freq)",
    "embedding.rows", "weight", lambda a: {"weight": _empty((a["num_weights"], a["grad_output"].shape[-1]), a["grad_output"])},
)  # fmt: skip


@_inner("embedding_sparse_backward(Tensor grad, Tensor indices, int num_weights, int padding_idx, bool scale_grad_by_freq) -> Tensor")
def embedding_sparse_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq):
    """The gradient of `embedding` as a sparse tensor of the rows that were looked up.

    Raises:
        RuntimeError: ``scale_grad_by_freq``, as in torch.
    """
    if scale_grad_by_freq:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    at, values = indices.reshape(-1).long(), grad.reshape(-1, grad.shape[-1])
    if padding_idx >= 0:
        kept = index_tensor(np.flatnonzero(host(at) != padding_idx), at.device)
        at, values = at.index_select(0, kept), values.index_select(0, kept)
    return coo(at.unsqueeze(0), values, (num_weights, grad.shape[-1]))


@_inner("embedding_backward(Tensor grad, Tensor indices, int num_weights, int padding_idx, bool scale_grad_by_freq, bool sparse) -> Tensor")
def embedding_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq, sparse):
    """The gradient of `embedding`, dense or sparse."""
    name = "embedding_sparse_backward" if sparse else "embedding_dense_backward"
    return lookup(name)(grad, indices, num_weights, padding_idx, scale_grad_by_freq)


@_inner("select_backward(Tensor grad_output, int[] input_sizes, int dim, int index) -> Tensor")
def select_backward(grad_output, input_sizes, dim, index):
    """The gradient of `select`: zeros around what arrives."""
    return lookup("select_scatter")(grad_output.new_zeros(input_sizes), grad_output, dim, index)


@_inner("slice_backward(Tensor grad_output, int[] input_sizes, int dim, int start, int end, int step) -> Tensor")
def slice_backward(grad_output, input_sizes, dim, start, end, step):
    """The gradient of `slice`: zeros around what arrives."""
    return lookup("slice_scatter")(grad_output.new_zeros(input_sizes), grad_output, dim, start, end, step)


@_inner("diagonal_backward(Tensor grad_output, int[] input_sizes, int offset, int dim1, int dim2) -> Tensor")
def diagonal_backward(grad_output, input_sizes, offset, dim1, dim2):
    """The gradient of `diagonal`: zeros around what arrives."""
    return lookup("diagonal_scatter")(grad_output.new_zeros(input_sizes), grad_output, offset, dim1, dim2)


@_inner("unfold_backward(Tensor grad_in, int[] input_sizes, int dim, int size, int step) -> Tensor")
def unfold_backward(grad_in, input_sizes, dim, size, step):
    """The gradient of `Tensor.unfold`: the windows added up."""
    if not input_sizes:
        return grad_in.reshape(()).clone()
    dim = dim % len(input_sizes)
    at = np.arange(grad_in.shape[dim])[:, None] * step + np.arange(size)
    windows = grad_in.movedim(-1, dim + 1).flatten(dim, dim + 1)
    return grad_in.new_zeros(input_sizes).index_add(dim, index_tensor(at.reshape(-1), grad_in.device), windows)


_declare("trace_backward(Tensor grad, int[] sizes)", "trace", "self", lambda a: {"self": _empty(a["sizes"], a["grad"])})
_declare("cumprod_backward(Tensor grad, Tensor input, int dim, Tensor output)", "cumprod", "self", lambda a: {"self": a["input"]})
_declare(
    "index_select_backward(Tensor grad, int[] self_sizes, int dim, Tensor index)", "index_select", "self",
    lambda a: {"self": _empty(a["self_sizes"], a["grad"])},
)  # fmt: skip
_declare("gather_backward(Tensor grad, Tensor self, int dim, Tensor index, bool sparse_grad)", "gather")
_declare(
    "masked_scatter_backward(Tensor grad_output, Tensor mask, int[] sizes)", "masked_scatter", "source",
    lambda a: {"self": a["grad_output"], "source": _empty(a["sizes"], a["grad_output"])},
)  # fmt: skip


@_inner("value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, int[] sizes, bool keepdim) -> Tensor")
def value_selecting_reduction_backward(grad, dim, indices, sizes, keepdim):
    """The gradient of reductions that select one element of a line, as `max` does: zeros around what arrives."""
    if not sizes:
        return grad.clone()
    if not keepdim:
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return grad.new_zeros(sizes).scatter(dim, indices, grad)


@_inner("masked_select_backward(Tensor grad, Tensor input, Tensor mask) -> Tensor")
def masked_select_backward(grad, input, mask):
    """The gradient of `masked_select`: what arrives, where the mask is."""
    shape = np.broadcast_shapes(tuple(input.shape), tuple(mask.shape))
    return grad.new_zeros(shape).masked_scatter(mask, grad).sum_to_size(input.shape)


# ---------------------------------------------------------------------------------------------------------------- in place
def _declare_inplace(schema: str, name: str, *fixed: float) -> None:
    @_inner(f"{schema} -> Tensor(a!)")
    def inplace(self, *rest, **named):
        return general_inplace(lookup(name), (self, *fixed, *rest, *named.values()))

    inplace.__doc__ = f"`{name}`, written into the input."


_declare_inplace("gelu_(Tensor(a!) self, *, str approximate='none')", "gelu")
for _name in ("silu", "mish", "hardswish", "hardsigmoid"):
    _declare_inplace(f"{_name}_(Tensor(a!) self)", _name)
_declare_inplace("relu6_(Tensor(a!) self)", "hardtanh", 0.0, 6.0)
