"""The dtype of a result: torch's lattice (`core/data/promotion.tsv`) and how dimension tensors, 0-d tensors and numbers share in it."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .dtype import BOOL, BY_NAME, FLOATING, INTEGRAL, bool_, complex32, complex64, dtype, float16, int64

__all__ = ["DIM", "NUMBER", "ZERO_DIM", "can_cast", "cpp_name", "number_dtype", "promote_types", "result_dtype", "scalar_type_name"]

#: Kinds of operands, strongest first: a kind decides the dtype unless a weaker one brings a higher category.
DIM, ZERO_DIM, NUMBER = "dim", "zero_dim", "number"

#: What torch calls a dtype in most of its error texts; a name not listed is the dtype's own with a capital (``BFloat16`` aside).
_SCALAR_TYPE_NAMES = {
    "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long", "float16": "Half", "float32": "Float",
    "float64": "Double", "complex32": "ComplexHalf", "complex64": "ComplexFloat", "complex128": "ComplexDouble", "bfloat16": "BFloat16",
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
}  # fmt: skip


def scalar_type_name(of: dtype) -> str:
    """The name torch's error texts use: ``Float`` for ``float32``, ``Long`` for ``int64``."""
    return _SCALAR_TYPE_NAMES.get(of.name, of.name.capitalize())


#: The names C++ has for dtypes, which some of torch's texts use.
_CPP_NAMES = {
    "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int", "int64": "long int", "float16": "c10::Half",
    "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip


def cpp_name(of: dtype) -> str:
    """The element type as C++ spells it: ``float`` for float32, ``long int`` for int64."""
    return _CPP_NAMES.get(of.name, of.name)


@functools.cache
def _lattice() -> dict[tuple[dtype, dtype], dtype]:
    """Pairs that have a common dtype; torch refuses the pairs that are missing."""
    head, *rows = (Path(__file__).parent / "data" / "promotion.tsv").read_text().splitlines()
    columns = [BY_NAME[name] for name in head.split("\t")[1:]]
    table = {}
    for row in rows:
        name, *cells = row.split("\t")
        table.update({(BY_NAME[name], column): BY_NAME[cell] for column, cell in zip(columns, cells) if cell != "-"})
    return table


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that holds the values of both.

    Raises:
        RuntimeError: torch has no common dtype for them (float8 and the wide unsigned integers), torch's text.
    """
    if complex32 in (type1, type2):  # only tensors of a class of their own have it
        other = type2 if type1 is complex32 else type1
        narrow = other in (complex32, float16) or other.category < FLOATING and other.name not in ("uint16", "uint32", "uint64")
        return complex32 if narrow else promote_types(complex64, other)
    found = _lattice().get((type1, type2))
    if found is not None:
        return found
    family = "Float8 Types" if any(t.name.startswith("float8") for t in (type1, type2)) else "uint16, uint32, uint64 types"
    raise RuntimeError(
        f"Promotion for {family} is not supported, attempted to promote {scalar_type_name(type1)} and {scalar_type_name(type2)}"
    )


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether a result of dtype ``from_`` may be written into a tensor of dtype ``to``: the category must not shrink."""
    return from_.category <= to.category


def number_dtype(value: Any, default_float: dtype) -> dtype:
    """The dtype a Python or numpy number has in promotion: bool, int64, the default float or its complex dtype.

    As in torch, ``numpy.bool_`` counts as a float; other than in torch, ``numpy.complex64`` keeps its imaginary part.
    """
    if isinstance(value, bool):
        return bool_
    if isinstance(value, (int, np.integer)):
        return int64
    if isinstance(value, (complex, np.complexfloating)):
        return _complex_of(default_float)
    return default_float


def _complex_of(default_float: dtype) -> dtype:
    found = default_float.to_complex()
    return found if found.is_complex else complex64


def _over(stronger: dtype | None, weaker: dtype | None) -> dtype | None:
    """The dtype of two kinds together: the stronger one's, unless the weaker one has a higher category."""
    if stronger is None or weaker is None:
        return stronger or weaker
    if stronger.category == FLOATING and weaker.is_complex:
        result = stronger.to_complex()
        if not result.is_complex:
            raise RuntimeError(f"Unknown Complex ScalarType for {scalar_type_name(stronger)}")
        return result
    if stronger.category == BOOL or (stronger.category == INTEGRAL and weaker.is_floating_point):
        return promote_types(stronger, weaker)  # refuses what has no common dtype
    return weaker if weaker.category > stronger.category else stronger


def result_dtype(operands: Iterable[tuple[dtype, str]], default_float: dtype) -> dtype:
    """The common dtype of operands given as (dtype, kind); see `DIM`, `ZERO_DIM` and `NUMBER`.

    Floating and complex numbers count with the default dtype, whatever their own.

    Raises:
        RuntimeError: two operands have no common dtype, torch's text.
        ValueError: there are no operands.
    """
    found: dict[str, dtype | None] = {DIM: None, ZERO_DIM: None, NUMBER: None}
    for operand, kind in operands:
        if kind == NUMBER and operand.category >= FLOATING:
            operand = default_float if operand.is_floating_point else _complex_of(default_float)
        earlier = found[kind]
        found[kind] = operand if earlier is None else promote_types(earlier, operand)
    result = _over(found[DIM], _over(found[ZERO_DIM], found[NUMBER]))
    if result is None:
        raise ValueError("result_dtype needs at least one operand")
    return result
