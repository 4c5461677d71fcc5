"""Lists and dictionaries among the arguments: what a call writes into them, keeps of them or returns of them is the caller's."""

from __future__ import annotations

import pytest

import pytorchlike as torch

HELD: dict = {}


def _appends(x, items):
    items.append(x * 2)


def _adds_an_entry(batch):
    batch["y"] = batch["x"] * 2
    return batch["y"] + 1


def _returns_it(batch):
    batch["y"] = batch["x"] * 2
    return batch


def _returns_it_inside(x, items):
    return {"items": items, "x": x}


def _takes_out(batch):
    return batch.pop("x") * 2


def _writes_inside(batch):
    batch["a"]["b"].append(batch["x"] + 1)


def _sorts(items):
    items.sort(reverse=True)


def _exchanges(x, items):
    items[0], items[1] = items[1], x * 3


def _moves(batch):
    batch["x"] = batch.pop("x") + 1


def _clears(items):
    items.clear()


def _keeps(x, items):
    HELD["items"] = items
    return x * 2


def _adds_numbers(batch, step=3):
    batch.update(step=step, loss=batch["x"].sum(), nested=[1, {"x": batch["x"]}])


CASES = {
    _appends: lambda x: (x, []),
    _adds_an_entry: lambda x: ({"x": x, "z": 1},),
    _returns_it: lambda x: ({"x": x},),
    _returns_it_inside: lambda x: (x, [1, 2]),
    _takes_out: lambda x: ({"x": x, "z": 1},),
    _writes_inside: lambda x: ({"a": {"b": [1]}, "x": x},),
    _sorts: lambda x: ([1, 3, 2],),
    _exchanges: lambda x: (x, [x + 1, x + 2]),
    _moves: lambda x: ({"x": x, "z": 1},),
    _clears: lambda x: ([1, x],),
    _keeps: lambda x: (x, [1]),
    _adds_numbers: lambda x: ({"x": x},),
}


def _as_lists(value):
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return [(key, _as_lists(each)) for key, each in value.items()]
    return [_as_lists(each) for each in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("function", CASES)
def test_what_is_done_with_lists_and_dictionaries(function):
    compiled = torch.compile(function)
    for k in range(4):
        seen = []
        for each in (function, compiled):
            HELD.clear()
            arguments = CASES[function](torch.ones(2) * k)
            result = each(*arguments)
            inside = result.values() if isinstance(result, dict) else ()
            seen.append((_as_lists(result), _as_lists(arguments), [result is a or any(i is a for i in inside) or HELD.get("items") is a for a in arguments]))
        assert seen[0] == seen[1]
    assert compiled._compiled.replays[0].runs == 3, [str(b) for b in compiled._compiled.breaks]


def test_training_steps_that_write_into_a_batch():
    found = []
    for wrap in (lambda f: f, torch.compile):
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

        @wrap
        def step(batch, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            batch["prediction"] = model(batch["x"])
            loss = batch["prediction"].square().sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        for k in range(12):
            batch = {"x": torch.ones(2, 3) * k}
            found.append([step(batch), batch["prediction"].detach(), list(batch)[1] == "prediction"])
    torch.testing.assert_close(found[12:], found[:12], rtol=1e-4, atol=1e-5)


def test_the_same_list_in_two_places():
    """A list that is given twice, or made once and left twice, is one list."""

    def made(x):
        items = [x]
        return items, [items]

    def given(x, first, second):
        first.append(1)
        second.append(2)
        return len(first)

    compiled, compiled_given = torch.compile(made), torch.compile(given)
    for _ in range(3):
        items, (inside,) = compiled(torch.ones(1))
        assert items is inside
        first, second = [], []
        assert compiled_given(torch.ones(1), first, second) == 1 and (first, second) == ([1], [2])
        both: list = []
        assert compiled_given(torch.ones(1), both, both) == 2 and both == [1, 2]
    outside: list = [1]
    returned = torch.compile(lambda x: outside)
    assert all(returned(torch.ones(1)) is outside for _ in range(3))


def test_the_same_dictionary_as_an_argument_and_outside():
    outside = {"n": 0}

    def count(given):
        outside["n"] += 1
        given["n"] = outside["n"]
        return given

    compiled = torch.compile(count)
    for k in range(1, 9, 2):
        assert compiled({}) == {"n": k}
        assert compiled(outside) is outside and outside["n"] == k + 1


def test_slices_and_updates_of_arguments_from_each_other():
    def function(first, second, table, others):
        first[:], second[:] = second[:], first[:]
        table.update(others)
        return len(table)

    compiled = torch.compile(function)
    for k in range(4):
        first, second, table = [1, torch.ones(1) * k], [2], {"a": torch.ones(1)}
        assert compiled(first, second, table, {"a": torch.ones(1) * k, "b": 3}) == 2
        assert first == [2] and second[0] == 1 and second[1].item() == k and table["a"].item() == k and list(table) == ["a", "b"]
    table = {"a": 1}
    assert compiled([1], [2], table, table) == 1
