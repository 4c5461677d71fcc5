"""Training that begins in one library goes on in the other from a file of weights, optimizer and scheduler."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
import pytest
import torch as theirs

import pytorchlike as ours

from .optimizers import OPTIMIZERS, SHAPES, SHAPES_OF, TOLERANCES
from .test_lr_scheduler import SCHEDULERS

CASES = [*OPTIMIZERS, ("LBFGS", {"lr": 0.1, "max_iter": 3, "history_size": 2, "line_search_fn": "strong_wolfe"}), ("SparseAdam", {"lr": 0.05})]


class Training:
    """A model of a few tensors with an optimizer and a scheduler, and a number of steps behind it."""

    def __init__(self, torch: Any, name: str, kwargs: dict) -> None:
        self.torch, self.name = torch, name
        random = np.random.default_rng(3)
        shapes = {"table": (5, 2)} if name == "SparseAdam" else SHAPES_OF.get(name, SHAPES)
        self.params = {key: torch.nn.Parameter(torch.tensor(random.normal(size=shape).tolist())) for key, shape in shapes.items()}
        self.optimizer = getattr(torch.optim, name)(list(self.params.values()), **kwargs)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 2, gamma=0.5)
        self.count = 0

    def loss(self) -> Any:
        if self.name == "SparseAdam":
            rows = self.torch.tensor([self.count % 5, 1, 1])
            return self.torch.nn.functional.embedding(rows, self.params["table"], sparse=True).sin().sum()
        return sum([(p * (1 + self.count)).sin().sum() for p in self.params.values()])

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.count += 1

            def closure() -> Any:
                self.optimizer.zero_grad()
                loss = self.loss()
                loss.backward()
                return loss

            self.optimizer.step(closure)
            self.scheduler.step()

    def saved(self) -> bytes:
        file = io.BytesIO()
        self.torch.save(
            {"params": self.params, "optimizer": self.optimizer.state_dict(), "scheduler": self.scheduler.state_dict(), "count": self.count}, file
        )
        return file.getvalue()

    def resume(self, file: bytes) -> None:
        found = self.torch.load(io.BytesIO(file))
        with self.torch.no_grad():
            for key, p in self.params.items():
                p.copy_(found["params"][key])
        self.optimizer.load_state_dict(found["optimizer"])
        self.scheduler.load_state_dict(found["scheduler"])
        self.count = found["count"]


@pytest.mark.parametrize(("first", "second"), [(ours, theirs), (theirs, ours)], ids=["from ours", "from torch"])
@pytest.mark.parametrize(("name", "kwargs"), CASES, ids=str)
def test_training_goes_on_in_the_other_library(name: str, kwargs: dict, first: Any, second: Any) -> None:
    begun, resumed = Training(first, name, kwargs), Training(second, name, kwargs)
    begun.run(3)
    resumed.resume(begun.saved())
    begun.run(2)
    resumed.run(2)
    tolerance = TOLERANCES.get(name, 1e-4 if name == "LBFGS" else 1e-5)
    for a, b in zip(begun.params.values(), resumed.params.values(), strict=True):
        np.testing.assert_allclose(a.tolist(), b.tolist(), rtol=tolerance, atol=tolerance)
    assert [g["lr"] for g in begun.optimizer.param_groups] == [g["lr"] for g in resumed.optimizer.param_groups]
    mine, wanted = begun.optimizer.state_dict(), resumed.optimizer.state_dict()
    assert mine["param_groups"] == wanted["param_groups"]
    for key, state in mine["state"].items():
        assert list(state) == list(wanted["state"][key])
        for field, value in state.items():
            if hasattr(value, "dtype"):
                other = wanted["state"][key][field]
                assert (str(value.dtype), tuple(value.shape)) == (str(other.dtype), tuple(other.shape)), field


@pytest.mark.parametrize(("first", "second"), [(ours, theirs), (theirs, ours)], ids=["from ours", "from torch"])
@pytest.mark.parametrize("name", [name for name in SCHEDULERS if "own" not in name])
def test_schedules_go_on_in_the_other_library(name: str, first: Any, second: Any) -> None:
    def begin(torch: Any) -> tuple[Any, Any]:
        groups = [{"params": [torch.nn.Parameter(torch.ones(1))], "lr": 0.1 * (i + 1)} for i in range(2)]
        optimizer = torch.optim.SGD(groups, momentum=0.9)
        return optimizer, SCHEDULERS[name](torch.optim.lr_scheduler, optimizer)

    def run(optimizer: Any, scheduler: Any) -> list:
        rates = []
        for _ in range(4):
            optimizer.step()
            scheduler.step()
            rates.append([(g["lr"], g["momentum"]) for g in optimizer.param_groups])
        return rates

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (optimizer, scheduler), (other, resumed) = begin(first), begin(second)
        run(optimizer, scheduler)
        file = io.BytesIO()
        first.save((optimizer.state_dict(), scheduler.state_dict()), file)
        file.seek(0)
        states = second.load(file, weights_only=False)
        other.load_state_dict(states[0])
        resumed.load_state_dict(states[1])
        assert run(optimizer, scheduler) == run(other, resumed)
