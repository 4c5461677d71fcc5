# ruff: noqa: UP006, UP007, UP035, UP045 - the annotations that libraries have
from __future__ import annotations

from typing import Any, List, Optional, Sequence, Union

import pytest
import torch as real_torch

import pytorchlike as ours


def functions(torch: Any) -> dict[str, Any]:
    """Functions with annotations of a module's classes."""
    T, D = torch.Tensor, torch.dtype

    def plain(x, y=3, *, z=1.5, s="q", d=torch.float32, dev=torch.device("cpu"), l=None, n=None): ...
    def lists(x, y, z, w, v, u, q, r): ...
    def bare(x): ...
    def of_tuple(x): ...
    def of_dict(x): ...
    def variadic(*x): ...
    def to_string(x): ...
    def unknown(x): ...
    def odd_default(x=3j): ...
    def no_return(x): ...
    def nothing(x): ...

    plain.__annotations__ = {"x": T, "y": int, "z": float, "s": str, "d": D, "dev": torch.device, "l": list[int], "n": Optional[T], "return": tuple[T, int]}
    lists.__annotations__ = {
        "x": T, "y": Optional[T], "z": Sequence[int], "w": Optional[List[float]], "v": Union[int, float, bool], "u": torch.types.Number,
        "q": List[Optional[T]], "r": T | None, "return": List[T],
    }  # fmt: skip
    of_tuple.__annotations__ = {"x": tuple[int, int], "return": T}
    of_dict.__annotations__ = {"x": dict, "return": T}
    variadic.__annotations__ = odd_default.__annotations__ = {"x": T, "return": T}
    to_string.__annotations__ = {"x": T, "return": str}
    unknown.__annotations__ = {"x": "Foo", "return": T}
    no_return.__annotations__ = {"x": T}
    nothing.__annotations__ = {"x": "Optional[float]", "return": None}
    return {f.__name__: f for f in (plain, lists, bare, of_tuple, of_dict, variadic, to_string, unknown, odd_default, no_return, nothing)}


CASES: list[tuple[str, dict[str, Any]]] = [
    *[(name, {"mutates_args": ()}) for name in functions(ours)],
    ("plain", {"mutates_args": ("x",), "op_name": "foo"}), ("plain", {"mutates_args": "unknown"}), ("plain", {"mutates_args": ("zz",)}),
    ("plain", {"mutates_args": ("y",)}), ("plain", {"mutates_args": "x"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given"), CASES)
def test_schemas_and_errors_are_torchs(name: str, given: dict[str, Any], answer: Any) -> None:
    group = "torch.distributed.distributed_c10d.GroupName"  # of processes, which there are none of
    theirs, own = [str(answer(lambda torch=torch: torch.library.infer_schema(functions(torch)[name], **given))) for torch in (real_torch, ours)]
    assert own == theirs.replace(f", {group}, typing.Optional[{group}]", "")


def test_tags_say_what_is_returned(torch: Any) -> None:
    def inplace(x, y): ...
    def out(x, *, out): ...

    inplace.__annotations__ = {"x": torch.Tensor, "y": int, "return": torch.Tensor}
    out.__annotations__ = {"x": torch.Tensor, "out": torch.Tensor, "return": torch.Tensor}
    infer = torch.library.infer_schema
    assert infer(inplace, mutates_args={"x"}, tags=torch.Tag.inplace) == "(Tensor(a0!) x, SymInt y) -> Tensor(a0!)"
    assert infer(out, mutates_args={"out"}, tags=[torch.Tag.out]) == "(Tensor x, *, Tensor(a1!) out) -> Tensor(a1!)"
    with pytest.raises(ValueError, match="requires mutates_args to contain exactly the first positional argument"):
        infer(inplace, mutates_args=(), tags=torch.Tag.inplace)
    with pytest.raises(ValueError, match="requires mutable arguments to be keyword-only"):
        infer(inplace, mutates_args={"x"}, tags=torch.Tag.out)
