"""Public forms: one function object for each name, overloads by argument, operators that leave the other side its turn."""

from __future__ import annotations

import pytest

import pytorchlike as torch
from pytorchlike.dispatch.forms import names_of


def test_functions_are_made_once_and_named() -> None:
    assert torch.add is torch.add and torch.Tensor.add is torch.Tensor.add and torch.add is not torch.Tensor.add
    assert (torch.add.__name__, torch.max.__name__, torch.Tensor.max.__name__, torch.Tensor.add_.__name__) == ("add", "max", "max", "add_")
    assert torch.nn.functional.relu is not torch.relu and torch.nn.functional.relu.__module__ == "torch.nn.functional"


def test_overloads_by_argument() -> None:
    x = torch.tensor([[1.0, 4.0], [3.0, 2.0]])
    assert torch.max(x).item() == 4.0 and torch.max(x, 0).values.tolist() == [3.0, 4.0] and torch.max(x, x + 1)[0, 0].item() == 2.0
    with pytest.raises(TypeError, match=r"max\(\) received an invalid combination of arguments - got \(Tensor, str\), but expected one of"):
        torch.max(x, "a")


def test_overload_depends_on_more_than_types_for_tensors_without_dimensions() -> None:
    x = torch.zeros(0, 1, 3)
    assert torch.ones(2).clamp_max(torch.tensor(0.5)).tolist() == [0.5, 0.5] and torch.ones(2).pow(torch.tensor(2)).tolist() == [1.0, 1.0]
    assert x.clamp_max(torch.zeros(0, 10, 3)).shape == (0, 10, 3) == x.pow(torch.zeros(0, 10, 3)).shape
    assert torch.div(1.0, torch.tensor([4.0])).tolist() == [0.25] and torch.ones(2, 3).sum(torch.tensor(0)).tolist() == [2.0, 2.0, 2.0]
    assert torch.ones(6).view(torch.tensor(2), 3).shape == (2, 3)


def test_argument_names_do_not_meet_those_of_the_generated_code() -> None:
    x, index = torch.tensor([[1, 2], [3, 4]]), torch.tensor([0])
    for number in (7, 8):  # the second call takes the short way
        assert x.index_fill(-1, index, torch.tensor(number)).tolist() == [[number, 2], [number, 4]]
        assert x.masked_fill(x > 3, torch.tensor(number)).tolist() == [[1, 2], [3, number]]


def test_unknown_operand_gets_its_turn() -> None:
    class Other:
        def __radd__(self, other):
            return "mine"

        __rmul__ = __rmatmul__ = __radd__

    x = torch.ones(2)
    assert x + Other() == x * Other() == x @ Other() == "mine"
    with pytest.raises(TypeError, match="unsupported operand"):
        x - Other()


def test_namespaces_list_their_functions() -> None:
    assert {"add", "cat", "zeros"} <= set(dir(torch)) and "relu" in names_of("nn.functional")
    with pytest.raises(AttributeError, match="has no attribute 'no_such_function'"):
        torch.no_such_function  # noqa: B018


def test_inplace_and_out_forms() -> None:
    x, out = torch.ones(2), torch.empty(0)
    assert x.add_(1) is x and torch.add(x, 1, out=out) is out and out.tolist() == [3.0, 3.0]
