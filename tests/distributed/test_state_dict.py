"""States by the names of the plain model, against torch's."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import pytorchlike

from ..nn.outcomes import same


def model_of(torch: Any, optimizer: str = "Adam", steps: int = 1, **kwargs: Any) -> tuple[Any, Any, Any]:
    """The module of states, a model with a frozen parameter, and its optimizer of two groups."""
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)))
    model[1][1].bias.requires_grad_(False)
    groups = [{"params": [model[1][1].weight, *model[0].parameters()], "lr": 0.1}, {"params": list(model[1][0].parameters())}]
    made = getattr(torch.optim, optimizer)(groups, **kwargs)
    model[1][1].eval()  # where it normalizes by the batch, biases before it have a gradient of rounding errors, whose size Adam does not see
    for _ in range(steps):
        made.zero_grad()
        model(torch.randn(4, 2)).sin().sum().backward()
        made.step()
    return importlib.import_module(f"{torch.__name__}.distributed.checkpoint.state_dict"), model, made


OPTIONS = [
    {}, {"ignore_frozen_params": True}, {"flatten_optimizer_state_dict": True}, {"full_state_dict": True, "cpu_offload": True}, {"broadcast_from_rank0": True},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_states(options: dict) -> None:
    def run(torch: Any) -> Any:
        s, model, optimizer = model_of(torch)
        state = s.get_state_dict(model, optimizer, options=s.StateDictOptions(**options))
        return [dict(part) for part in state]

    same(run)


@pytest.mark.parametrize("keep", [True, False])
def test_states_of_submodules(keep: bool) -> None:
    def run(torch: Any) -> Any:
        s, model, _ = model_of(torch)
        return dict(s.get_model_state_dict(model, submodules={model[1]}, options=s.StateDictOptions(keep_submodule_prefixes=keep)))

    same(run)


@pytest.mark.parametrize(("name", "kwargs", "flat"), [
    ("Adam", {}, False), ("Adam", {}, True), ("SGD", {"momentum": 0.9}, False), ("SGD", {"momentum": 0.9}, True),
    ("SGD", {}, True),  # torch takes a state without elements for one by numbers, unless it is flat
], ids=str)  # fmt: skip
def test_another_order_and_other_groups_take_a_state_over(name: str, kwargs: dict, flat: bool) -> None:
    def run(torch: Any) -> Any:
        s, model, optimizer = model_of(torch, name, **kwargs)
        options = s.StateDictOptions(flatten_optimizer_state_dict=flat, strict=bool(kwargs) or name == "Adam")
        state = s.get_state_dict(model, optimizer, options=options)
        other_model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)))
        other_model[1][1].bias.requires_grad_(False)
        groups = [{"params": list(other_model[1][0].parameters())}, {"params": [*other_model[0].parameters(), other_model[1][1].weight]}]
        other = getattr(torch.optim, name)(groups, **kwargs)
        result = s.set_state_dict(other_model, other, model_state_dict=state[0], optim_state_dict=state[1], options=options)
        found = other.state_dict()
        x = torch.ones(2, 2)
        return str(result), found["state"], [g["lr"] for g in found["param_groups"]], other_model.eval()(x), model.eval()(x)

    same(run)


def test_what_does_not_fit() -> None:
    for case in (
        lambda s, model, optimizer, torch: s.set_model_state_dict(model, {"x": torch.ones(1)}),
        lambda s, model, optimizer, torch: str(s.set_model_state_dict(model, {"x": torch.ones(1)}, options=s.StateDictOptions(strict=False))),
        lambda s, model, optimizer, torch: s.set_optimizer_state_dict(model, optimizer, {"state": {"x": {}}, "param_groups": []}),
    ):
        same(lambda torch, case=case: case(*model_of(torch), torch))


def test_wrappers_do_not_show() -> None:
    s, model, optimizer = model_of(pytorchlike)
    dist = pytorchlike.distributed
    dist.init_process_group(rank=0, world_size=1, store=object())
    try:
        wrapped = pytorchlike.nn.parallel.DistributedDataParallel(model)
    finally:
        dist.destroy_process_group()
    plain = s.get_state_dict(model, optimizer)
    for outer in (wrapped, pytorchlike.compile(model)):
        found = s.get_state_dict(outer, optimizer)
        assert [list(part) for part in found] == [list(part) for part in plain]
        assert list(found[1]["state"]) == list(plain[1]["state"])
        assert str(s.set_model_state_dict(outer, plain[0])) == "<All keys matched successfully>"


def test_first_states_are_made() -> None:
    def run(torch: Any) -> Any:
        s, model, optimizer = model_of(torch, steps=0)
        state = s.get_optimizer_state_dict(model, optimizer)
        return state, [p.grad is None for p in model.parameters()], [g["lr"] for g in optimizer.param_groups]

    same(run)
