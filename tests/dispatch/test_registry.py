"""Declaring operators: what a declaration checks."""

from __future__ import annotations

import pytest

import pytorchlike
from pytorchlike.dispatch.registry import OPERATORS, Operator, lookup, op


def test_names_are_unique() -> None:
    with pytest.raises(ValueError, match=r"operator add\.Tensor is declared twice"):
        op("add.Tensor(Tensor self, Tensor other) -> Tensor")(lambda self, other: self)


def test_body_has_the_schemas_arguments() -> None:
    declared = op("_no_such_operator(Tensor self, int dim) -> Tensor")(lambda self: self)
    OPERATORS.pop("_no_such_operator")
    with pytest.raises(ValueError, match=r"the schema's arguments are \['self', 'dim'\], the body's \['self'\]"):
        declared.schema  # noqa: B018 - parsed on first use


def test_rules_name_arguments() -> None:
    with pytest.raises(ValueError, match="has no argument 'nothing'"):
        lookup("add.Tensor").grad("nothing")(lambda g: g)
    with pytest.raises(ValueError, match="asks for 'nothing', which is no argument"):
        lookup("add.Tensor").grad("self")(lambda g, nothing: g)


def test_every_operator_has_a_docstring_and_rules_for_its_own_arguments() -> None:
    assert len(OPERATORS) > 500 and pytorchlike.add.declared is lookup("add.Tensor")
    assert [name for name, o in OPERATORS.items() if not o.__doc__] == []
    assert [name for name, o in OPERATORS.items() if isinstance(o, Operator) and set(o.rules) - {a.name for a in o.schema.arguments}] == []
