"""Schemas in torch's notation."""

from __future__ import annotations

import pytest
import torch

from pytorchlike.dispatch.schema import parse


def test_arguments_defaults_and_results() -> None:
    schema = parse('pad.mode(Tensor(a!) self, SymInt[2]? size=None, *, float[] by=[0.5, 1], str mode="a, b", Scalar alpha=1) -> (Tensor values, Tensor i)')
    assert (schema.name, schema.overload, schema.returns, schema.result_names) == ("pad", "mode", ("Tensor", "Tensor"), ("values", "i"))
    assert [(a.name, a.type) for a in schema.arguments] == [
        ("self", "Tensor"), ("size", "int[]?"), ("by", "float[]"), ("mode", "str"), ("alpha", "Scalar")
    ]  # fmt: skip
    assert [a.default for a in schema.arguments[1:]] == [None, [0.5, 1], "a, b", 1]
    assert [a.required for a in schema.arguments] == [True, False, False, False, False]
    assert [a.keyword_only for a in schema.arguments] == [False, False, True, True, True] and schema.arguments[0].written


@pytest.mark.parametrize("text", ["add", "add(Tensor self)", "add(Tensor) -> Tensor"])
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        parse(text)


def test_torchs_own_schemas_parse() -> None:
    for overload in ("add.Tensor", "sum.dim_IntList", "split.Tensor", "max.dim", "index_put", "var.correction", "topk", "embedding"):
        name, _, which = overload.partition(".")
        text = str(getattr(getattr(torch.ops.aten, name), which or "default")._schema).removeprefix("aten::")
        assert parse(text).name == name
