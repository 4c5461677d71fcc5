"""Products over any dimensions: einsum, tensordot, kron, chains of matrices, bilinear forms, the cross product."""

from __future__ import annotations

import jax.numpy as jnp

from ..core.dims import wrap_dim, wrap_dims
from ..dispatch.registry import FUNCTION, METHOD, OUT, composite, op
from .conv import c_name
from .elementwise import rounding_to
from .matmul import FULL, accumulator, check_broadcast, contract
from .reduce import scalar_type, widened
from .shape import common_dtype

_FORMS = FUNCTION | METHOD | OUT


@op("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor", namespaces=("", "nn.functional"), forms=FUNCTION)
def bilinear(input1, input2, weight, bias):
    """``input1 @ weight[o] @ input2`` for each output feature ``o``, plus ``bias``."""
    if input1.dtype.itemsize <= 2:  # torch multiplies with ``input1`` first, and rounds
        rounded = rounding_to(input1.dtype)
        left = rounded(jnp.einsum("...i,oij->...oj", widened(input1), widened(weight), precision=FULL))
        out = rounded(jnp.einsum("...oj,...j->...o", left, widened(input2), precision=FULL))
    else:
        out = jnp.einsum("...i,oij,...j->...o", input1, weight, input2, precision=FULL)
    return (out if bias is None else out + widened(bias)).astype(input1.dtype)


@bilinear.check
def _(input1, input2, weight, bias):
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for dim in range(input1.ndim - 1):
        if input1.shape[dim] != input2.shape[dim]:
            sizes = f"got {input1.shape[dim]} and {input2.shape[dim]}"
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {dim}: {sizes}")
    for number, x in ((1, input1), (2, input2)):
        size = weight.shape[wrap_dim(number, weight.ndim)]
        if x.shape[-1] != size:
            raise RuntimeError(f"bilinear(): input{number} size does not match weight size: got {x.shape[-1]} but expected {size}")
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}")
    given = {"input1": input1, "input2": input2, "weight": weight} | ({} if bias is None else {"bias": bias})
    if len({x.dtype for x in given.values()}) > 1:
        raise RuntimeError(f"All tensors must have the same dtype, got {', '.join(f'{name}: {c_name(x.dtype)}' for name, x in given.items())}")


@op("kron(Tensor self, Tensor other) -> Tensor", forms=_FORMS)
def kron(self, other):
    """The Kronecker product, over as many dimensions as the longer shape has."""
    ndim, kind = max(self.ndim, other.ndim), common_dtype([self, other])
    a, b = (x.astype(kind).reshape((1,) * (ndim - x.ndim) + x.shape) for x in (self, other))
    out = jnp.expand_dims(a, tuple(range(1, 2 * ndim, 2))) * jnp.expand_dims(b, tuple(range(0, 2 * ndim, 2)))
    return out.reshape(tuple(m * n for m, n in zip(a.shape, b.shape)))


@op("tensordot.dims(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor", forms=FUNCTION, namespaces=())
def tensordot_dims(self, other, dims_self, dims_other):
    """The product summed over pairs of dimensions; a pair of which one has size 1 is broadcast."""
    mine, theirs = [wrap_dim(d, self.ndim) for d in dims_self], [wrap_dim(d, other.ndim) for d in dims_other]
    for x, y in zip(mine, theirs):
        if self.shape[x] == 1 and other.shape[y] != 1:
            other = jnp.sum(other, axis=y, keepdims=True, dtype=other.dtype)
        elif other.shape[y] == 1 and self.shape[x] != 1:
            self = jnp.sum(self, axis=x, keepdims=True, dtype=self.dtype)
    return contract(self, other, mine, theirs)


@tensordot_dims.check
def _(self, other, dims_self, dims_other):
    if len(dims_self) != len(dims_other):
        raise RuntimeError("both dimension lists should have same length")
    if self.dtype != other.dtype:
        raise RuntimeError("both inputs should have same dtype")
    for dims, x in ((dims_self, self), (dims_other, other)):
        wrap_dims(dims, x.ndim)
    for mine, theirs in zip(dims_self, dims_other):
        a, b = self.shape[mine], other.shape[theirs]
        if a != b and 1 not in (a, b):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a} in dim {wrap_dim(mine, self.ndim)} and second has size {b} in dim "
                f"{wrap_dim(theirs, other.ndim)}"
            )


@composite("tensordot(Tensor a, Tensor b, Any dims=2) -> Tensor", forms=FUNCTION | OUT)
def tensordot(a, b, dims=2):
    """The product summed over the last ``dims`` dimensions of one and the first ones of the other, or over two lists of dimensions."""
    if not isinstance(dims, int | tuple | list):
        dims = dims.tolist() if dims.numel() > 1 else dims.item()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = (range(-dims, 0), range(dims))
    return tensordot_dims(a, b, tuple(dims[0]), tuple(dims[1]))


# ----------------------------------------------------------------------------------------------------------------- einsum


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _from_sublists(arguments) -> tuple[str, list]:
    """The equation and the operands of ``einsum(a, [0, 1], b, [1, 2], [0, 2])``."""

    def text(labels) -> str:
        for label in labels:
            if label is not Ellipsis and not 0 <= label < 52:
                raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        return "".join("..." if label is Ellipsis else _LETTERS[label] for label in labels)

    equation = ",".join(text(labels) for labels in arguments[1::2])
    operands = list(arguments[0 : len(arguments) - len(arguments) % 2 : 2])
    return (f"{equation}->{text(arguments[-1])}" if len(arguments) % 2 else equation), operands


def _check_letters(text: str, offset: int) -> None:
    position = 0
    while position < len(text):
        if text.startswith("...", position):
            position += 3
            continue
        if not (text[position].isascii() and text[position].isalpha()) and text[position] != " ":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {offset + position} in the equation string, subscripts must be in [a-zA-Z]"
            )
        position += 1


def _complete(equation: str, ndims: list[int]) -> str:
    """The equation without spaces, with its output spelled out.

    Raises:
        RuntimeError: it does not fit the operands, torch's text.
    """
    left, arrow, right = equation.partition("->")
    inputs, offset = left.split(","), 0
    for text in inputs:
        _check_letters(text, offset)
        offset += len(text) + 1
    if len(inputs) != len(ndims):
        which = "fewer" if len(ndims) < len(inputs) else "more"
        raise RuntimeError(f"einsum(): {which} operands were provided than specified in the equation")
    inputs = [text.replace(" ", "") for text in inputs]
    for number, (text, ndim) in enumerate(zip(inputs, ndims)):
        letters = text.replace("...", "")
        if len(letters) > ndim or (len(letters) < ndim and "..." not in text):
            rule = "more than" if "..." in text else "the number of subscripts in the equation"
            if rule == "more than":
                raise RuntimeError(
                    f"einsum(): the number of subscripts in the equation ({len(letters)}) is more than the number of dimensions ({ndim}) for operand "
                    f"{number}"
                )
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(letters)}) does not match the number of dimensions ({ndim}) for operand "
                f"{number} and no ellipsis was given"
            )
    used = "".join(inputs).replace(".", "")
    if arrow:
        _check_letters(right, offset + 1)
        right = right.replace(" ", "")
        for letter in right.replace(".", ""):
            if letter not in used:
                raise RuntimeError(f"einsum(): output subscript {letter} does not appear in the equation for any input operand")
            if right.count(letter) > 1:
                raise RuntimeError(f"einsum(): output subscript {letter} appears more than once in the output")
    else:
        right = "".join(sorted(letter for letter in set(used) if used.count(letter) == 1))
        right = "..." + right if any("..." in text for text in inputs) else right
    if not any("..." in text for text in inputs):
        right = right.replace("...", "")
    return ",".join(inputs) + "->" + right


def _label_sizes(texts: list[str], shapes) -> dict[str, int]:
    """The size of each subscript.

    Raises:
        RuntimeError: two operands disagree, torch's text.
    """
    sizes: dict[str, int] = {}
    for number, (text, shape) in enumerate(zip(texts, shapes)):
        before, _, after = text.partition("...")
        own: dict[str, int] = {}
        for letter, size in [*zip(before, shape), *zip(reversed(after), reversed(shape))]:
            if own.setdefault(letter, size) != size:
                raise RuntimeError(
                    f"einsum(): subscript {letter} is repeated for operand {number} but the sizes don't match, {size} != {own[letter]}"
                )
        for letter, size in own.items():
            seen = sizes.get(letter, 1)
            if 1 not in (seen, size) and seen != size:
                raise RuntimeError(
                    f"einsum(): subscript {letter} has size {size} for operand {number} which does not broadcast with previously seen size {seen}"
                )
            sizes[letter] = size if seen == 1 else seen
    return sizes


@op("_einsum(str equation, Tensor[] operands) -> Tensor", forms=FUNCTION, namespaces=())
def evaluate_einsum(equation, operands):
    """The sum of products an equation with an explicit output describes; subscripts of size 1 are broadcast."""
    left, _, right = equation.partition("->")
    texts = left.split(",")
    sizes = _label_sizes(texts, [x.shape for x in operands])
    operands = list(operands)
    for k, text in enumerate(texts):  # a dimension of size 1 that others have larger is dropped: the others broadcast it
        before, dots, after = text.partition("...")
        places = [*enumerate(before), *((letter_at - len(after), letter) for letter_at, letter in enumerate(after))]
        single = [(at, letter) for at, letter in places if operands[k].shape[at] == 1 and sizes[letter] != 1]
        if single:
            operands[k] = jnp.squeeze(operands[k], tuple(at for at, _ in single))
            gone = {letter for _, letter in single}
            texts[k] = "".join(c for c in before if c not in gone) + dots + "".join(c for c in after if c not in gone)
    kind = operands[0].dtype
    return jnp.einsum(",".join(texts) + "->" + right, *operands, precision=FULL, preferred_element_type=accumulator(kind)).astype(kind)


@evaluate_einsum.check
def _(equation, operands):
    _label_sizes(equation.partition("->")[0].split(","), [x.shape for x in operands])
    for x in operands[1:]:
        if x.dtype != operands[0].dtype:
            raise RuntimeError(f"expected scalar type {scalar_type(operands[0].dtype)} but found {scalar_type(x.dtype)}")


@composite("einsum(Any equation, Tensor[] operands) -> Tensor", forms=FUNCTION)
def einsum(equation, operands):
    """The sum of products an equation describes: ``einsum("ij,jk->ik", a, b)`` or ``einsum(a, [0, 1], b, [1, 2], [0, 2])``."""
    if not isinstance(equation, str):
        equation, operands = _from_sublists((equation, *operands))
    elif not isinstance(operands, list | tuple):
        operands = [operands]
    elif len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = operands[0]
    if not operands:
        raise RuntimeError("einsum(): must provide at least one operand")
    return evaluate_einsum(_complete(equation, [x.dim() for x in operands]), list(operands))


# ----------------------------------------------------------------------------------------------------- chains, cross product


@op("multi_dot(Tensor[] tensors) -> Tensor", forms=FUNCTION | OUT, namespaces=("linalg",))
def multi_dot(tensors):
    """The product of two or more matrices in the cheapest order; the first and the last may be vectors."""
    if len(tensors) == 1:
        return tensors[0]
    wide = [widened(x) for x in tensors]
    return jnp.linalg.multi_dot(wide, precision=FULL).astype(tensors[0].dtype)


@multi_dot.check
def _(tensors):
    count = len(tensors)
    if count < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {count}")
    for number, x in enumerate(tensors):
        allowed = (1, 2) if number in (0, count - 1) else (2,)
        if x.ndim not in allowed:
            what = "2D" if allowed == (2,) else "1D or 2D"
            raise RuntimeError(f"multi_dot(): {_ordinal(number, count)} must be {what} but got {x.ndim}D")
    for number in range(count - 1):
        a, b = tensors[number], tensors[number + 1]
        if a.shape[-1] != b.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {number} and {number + 1} with shapes {list(a.shape)} and {list(b.shape)} cannot be multiplied"
            )


def _ordinal(number: int, count: int) -> str:
    return "the first tensor" if number == 0 else "the last tensor" if number == count - 1 else f"tensor {number}"


@composite("chain_matmul(Tensor[] matrices) -> Tensor", forms=FUNCTION | OUT)
def chain_matmul(matrices):
    """The product of matrices in the cheapest order."""
    return matrices[0].clone() if len(matrices) == 1 else multi_dot(list(matrices))


def _crossed(self, other, axis):
    a, b = jnp.moveaxis(self, axis, 0), jnp.moveaxis(other, axis, 0)
    parts = [a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3] for k in range(3)]
    return jnp.stack(parts, axis)


def _check_cross(self, other, dim) -> None:
    if self.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = wrap_dim(dim, self.ndim)
    if self.shape[axis] != 3 or other.shape[axis] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.shape[axis]} and {other.shape[axis]}")
    check_broadcast(self.shape, other.shape)
    if self.dtype != other.dtype:
        raise RuntimeError(f"expected scalar type {scalar_type(self.dtype)} but found {scalar_type(other.dtype)}")


def _first_of_three(self) -> int:
    for dim, size in enumerate(self.shape):
        if size == 3:
            return dim
    raise RuntimeError("no dimension of size 3 in input")


@op("cross(Tensor self, Tensor other, int? dim=None) -> Tensor", forms=_FORMS)
def cross(self, other, dim):
    """The vector product along a dimension of size 3, the first such one unless told."""
    return _crossed(self, other, wrap_dim(_first_of_three(self) if dim is None else dim, self.ndim))


@cross.check
def _(self, other, dim):
    if dim is None and self.ndim == other.ndim:
        check_broadcast(self.shape, other.shape)
    _check_cross(self, other, _first_of_three(self) if dim is None and self.ndim == other.ndim else dim or 0)


@op("cross.linalg(Tensor self, Tensor other, *, int dim=-1) -> Tensor", forms=FUNCTION | OUT, namespaces=("linalg",))
def linalg_cross(self, other, dim):
    """The vector product along a dimension of size 3."""
    return _crossed(self, other, wrap_dim(dim, self.ndim))


@linalg_cross.check
def _(self, other, dim):
    _check_cross(self, other, dim)
