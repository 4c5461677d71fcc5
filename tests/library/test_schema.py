from __future__ import annotations

from typing import Any

import pytest
import torch as real_torch

import pytorchlike as ours

SCHEMAS = [
    "foo(Tensor x, Tensor x) -> Tensor", "foo(*, Tensor x) -> Tensor", "foo(Tensor x) -> Tensor extra", "foo(float[2] x) -> ()",
    "foo(Tensor(a) x) -> Tensor(a)", "foo(Tensor x=None)->Tensor", "foo(Tensor x, ...) -> Tensor", "foo(Tensor x) -> (Tensor out, Tensor(b) y)",
    "ns::foo.bar(Tensor x)->Tensor", "foo(Tensor x) -> ...", "foo(Tensor x) -> None", "foo(Tensor(a -> *) x, Tensor(b!)? c)->(Tensor)",
    "foo()->(Tensor x, int)", "foo(Tensor x) -> (Tensor(a)[], Tensor(b!))", "foo(Tensor ? x) -> Tensor?",
    "foo(Tensor(a!)[] x, int[2]? y=None, str s='a', Device? d=None, ScalarType t=float32, *, float e=1e-3, SymInt n=3, Scalar z=2, bool b=True, "
    "int[] w=[1,2], MemoryFormat? m=None, Generator? g=None, Layout? l=None) -> (Tensor(a!), Tensor?, int[], Tensor[])",
    "foo(float y=-1.5, int z=-1, float q=0.1, float r=1e10, float f=1e-30, float g=123456.789, ScalarType k=long, int[2] w=3, Scalar zz=1.5)->()",
    "foo(int x=2.5) -> ()", "foo(Device d='cpu') -> ()",
]  # fmt: skip
WRONG = [
    "foo x", "foo(Tensor x", "foo(Tensor x) - Tensor", "foo(Tensr x) -> Tensor", "foo(Tensor x) -> Tensr", "foo(Tensor) -> Tensor", "foo(int x=a) -> Tensor",
    "(Tensor x) -> Tensor", "foo(Tensor x) -> (Tensor, Tensor", "foo(Tensor x)", "foo.a.b(Tensor x)->Tensor", "foo(Tensor x,) -> Tensor", "",
    "foo(float x=inf) -> ()", "foo(Tensor x) ->", "foo.(Tensor x) -> Tensor", "foo(Tensor?[] y=None)->()", "foo(Device d=cpu) -> ()", "foo(str x=abc) -> ()",
    "foo(Tensor x) -> Tensor)", "foo(Tensor x] -> Tensor", "foo(Tensor[] q=[]) -> ()",
]  # fmt: skip


def described(schema: Any) -> tuple:
    arguments = [
        (a.name, str(a.type), a.kwarg_only, a.has_default_value(), a.N, a.is_out, a.alias_info and a.alias_info.is_write)
        for a in schema.arguments
    ]
    returns = [(r.name, str(r.type), r.alias_info and r.alias_info.is_write) for r in schema.returns]
    return str(schema), schema.name, schema.overload_name, arguments, returns, schema.is_mutable


@pytest.mark.parametrize("text", SCHEMAS)
def test_schema_is_read_as_torch_reads_it(text: str) -> None:
    assert described(ours._C.parse_schema(text)) == described(real_torch._C.parse_schema(text))


@pytest.mark.parametrize("text", WRONG)
def test_error_has_torchs_text_and_mark(text: str) -> None:
    with pytest.raises(RuntimeError) as theirs:
        real_torch._C.parse_schema(text)
    with pytest.raises(RuntimeError) as own:
        ours._C.parse_schema(text)
    assert str(own.value) == str(theirs.value)


def test_defaults_come_last() -> None:
    with pytest.raises(RuntimeError, match="Non-default positional argument follows default argument. Parameter y in foo"):
        ours._C.parse_schema("foo(Tensor? x=None, Tensor y) -> Tensor")
