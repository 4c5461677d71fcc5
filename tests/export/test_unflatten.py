"""Programs as modules with parts, dataclasses as containers, and what is not there."""

from __future__ import annotations

import copy
import dataclasses
import io
from typing import Any

import pytest
import torch as real

import pytorchlike as torch

from .comparing import outcome, ranges

pytestmark = pytest.mark.filterwarnings("ignore")


def _module(t):
    class Part(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = t.nn.Linear(3, 3)
            self.register_buffer("count", t.zeros(3))

        def forward(self, x):
            self.count.add_(1)
            return self.layer(x) + self.count

    class Whole(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.part, self.act, self.rest = Part(), t.nn.ReLU(), t.nn.Sequential(t.nn.Linear(3, 2))

        def forward(self, x, y=None):
            return self.rest(self.act(self.part(x))) + y

    module = Whole()
    for parameter in module.parameters():
        parameter.data.fill_(0.5)
    return module


def _programs():
    return [t.export.export(_module(t), (t.ones(4, 3),), {"y": t.ones(2)}) for t in (real, torch)]


def test_unflattened_modules_are_those_of_torch():
    found = []
    for t, program in zip((real, torch), _programs()):
        whole = t.export.unflatten(program)
        result = whole(t.ones(4, 3), y=t.ones(2))
        found.append([
            type(whole).__name__, [name for name, _ in whole.named_modules()], sorted(whole.state_dict()), [name for name, _ in whole.named_parameters()],
            result.tolist(), whole.part.count.tolist(), whole.train().training, isinstance(whole, t.export.UnflattenedModule),
        ])  # fmt: skip
    assert found[1] == found[0]


def _adapter(t, values):
    class Adapter(t.export.FlatArgsAdapter):
        def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
            return [*input_args, *values]

    return Adapter()


@pytest.mark.parametrize(
    "call",
    [
        lambda t, p: t.export.unflatten(p)(t.ones(4, 3)), lambda t, p: t.export.unflatten(p)(t.ones(4, 3), t.ones(2)),
        lambda t, p: t.export.unflatten(p, _adapter(t, [t.ones(2)]))(t.ones(4, 3)).shape, lambda t, p: t.export.unflatten(p, _adapter(t, []))(t.ones(4, 3)),
    ],
    ids=["missing", "position", "adapted", "adapted_wrongly"],
)  # fmt: skip
def test_other_arguments_are_adapted_as_in_torch(call):
    theirs, ours = _programs()
    assert outcome(lambda: call(torch, ours)) == outcome(lambda: call(real, theirs))


def test_parts_cannot_be_called():
    whole = torch.export.unflatten(_programs()[1])
    with pytest.raises(NotImplementedError, match="parts of a program cannot be called"):
        whole.part(torch.ones(4, 3))
    with pytest.raises(NotImplementedError, match="draft_export"):
        torch.export.draft_export(whole, (torch.ones(4, 3),))


def test_copies_have_their_own_state():
    program = _programs()[1]
    other = copy.deepcopy(program)
    other.module().part.layer.weight.data.zero_()
    assert program.state_dict["part.layer.weight"].sum() > 0 and other.state_dict["part.layer.weight"].sum() == 0
    assert not torch.equal(other.module()(torch.ones(4, 3), y=torch.ones(2)), program.module()(torch.ones(4, 3), y=torch.ones(2)))


@dataclasses.dataclass
class Given:
    a: Any
    b: Any


@dataclasses.dataclass
class Made:
    total: Any
    number: int = 3


def test_dataclasses_are_those_of_torch():
    descriptions = []
    for t in (real, torch):
        t.export.register_dataclass(Given, serialized_type_name=f"{t.__name__}.tests.Given")
        t.export.register_dataclass(Made, serialized_type_name=f"{t.__name__}.tests.Made")

        class Module(t.nn.Module):
            def forward(self, given):
                return Made(given.a + given.b, 5)

        batch = t.export.Dim("batch")
        program = t.export.export(Module(), (Given(t.ones(4, 3), t.ones(4, 3)),), dynamic_shapes={"given": [{0: batch}, {0: batch}]})
        result = program.module()(Given(t.ones(6, 3), t.ones(6, 3)))
        names = [s.arg.name for s in program.graph_signature.input_specs]
        error = outcome(lambda program=program, t=t: program.module()(Given(t.ones(6, 3), t.ones(5, 3))))
        descriptions.append((names, str(program.call_spec), type(result), result.number, tuple(result.total.shape), len(ranges(program)), error))
    assert descriptions[1] == descriptions[0]
    assert outcome(lambda: torch.export.register_dataclass(int)) == outcome(lambda: real.export.register_dataclass(int))
    file = io.BytesIO()
    torch.export.save(program, file)
    loaded = torch.export.load(io.BytesIO(file.getvalue())).module()
    made = loaded(Given(torch.ones(2, 3), torch.ones(2, 3)))
    assert type(made) is Made and made.number == 5 and torch.equal(made.total, torch.full((2, 3), 2.0))


class Plain:
    """No container, and no leaf."""


@pytest.mark.parametrize(
    "call",
    [
        lambda t, identity: t.export.export(identity, (Plain(),)), lambda t, identity: t.export.export(identity, ({1, 2},)),
        lambda t, identity: t.export.export(identity, (t.float64,)), lambda t, identity: t.export.export(identity, (1j,)),
        lambda t, identity: t.export.export(lambda x: x, (t.ones(2),)), lambda t, identity: t.export.export(identity, [t.ones(2)]),
        lambda t, identity: t.export.export(identity, (t.ones(2), t.ones(2))), lambda t, identity: t.export.export(identity, (t.ones(2),), {"y": t.ones(2)}),
        lambda t, identity: t.export.export(identity, ("text",)).graph_signature.user_inputs, lambda t, identity: t.export.save(3, "file.pt2"),
        lambda t, identity: t.export.export(identity, (t.ones(2),))(t.ones(2)),
    ],
    ids=["object", "set", "dtype", "complex", "function", "list", "many", "keyword", "text", "save", "call"],
)  # fmt: skip
def test_what_cannot_be_exported_is_what_torch_cannot(call):
    assert outcome(lambda: call(torch, torch.nn.Identity())) == outcome(lambda: call(real, real.nn.Identity()))


def test_results_are_leaves():
    class Module(torch.nn.Module):
        def forward(self, x):
            return Plain()

    with pytest.raises(RuntimeError, match="Found .*Plain.* in output, which is not a known type"):
        torch.export.export(Module(), (torch.ones(2),))
