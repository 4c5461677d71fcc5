"""`prefetch_to_device`: what is copied when, and that batches stay what they are."""

from __future__ import annotations

import collections

import pytest

import pytorchlike as torch
from pytorchlike.utils.data import DataLoader, TensorDataset, prefetch_to_device

Point = collections.namedtuple("Point", "x y")


class Copied:
    """Notes where it is copied to."""

    def __init__(self, name: int, log: list) -> None:
        self.name, self.log = name, log

    def to(self, device: str, non_blocking: bool) -> Copied:
        assert non_blocking
        self.log.append(("copy", self.name, device))
        return self


@pytest.mark.parametrize("size, before_first", [(0, 1), (1, 2), (3, 4), (9, 5)])
def test_batches_are_copied_ahead_in_order(size: int, before_first: int) -> None:
    log: list = []
    loader = prefetch_to_device([Copied(i, log) for i in range(5)], "cuda", size)
    assert len(loader) == 5
    for _ in range(2):  # each pass begins anew
        log.clear()
        seen = []
        for batch in loader:
            if not seen:
                assert [entry[0] for entry in log] == ["copy"] * before_first
            seen.append(batch.name)
            log.append(("step", batch.name, ""))
        assert seen == [0, 1, 2, 3, 4]
        assert [name for kind, name, _ in log if kind == "copy"] == seen


def test_batches_keep_their_structure_and_numbers() -> None:
    samples = [{"a": torch.tensor([float(i)]), "b": Point(torch.tensor(i), "text"), "c": [i, None]} for i in range(4)]
    plain = list(DataLoader(samples, batch_size=2, collate_fn=lambda batch: batch))
    moved = list(prefetch_to_device(DataLoader(samples, batch_size=2, collate_fn=lambda batch: batch), torch.device("cpu")))
    for a, b in zip(plain, moved, strict=True):
        assert [repr(x) for x in a] == [repr(y) for y in b]
    x = torch.randn(8, 3)
    loader = DataLoader(TensorDataset(x), batch_size=4, shuffle=True)
    results = []
    for wrap in (lambda it: it, lambda it: prefetch_to_device(it, "cpu", 2)):
        torch.manual_seed(0)
        results.append(torch.cat([batch for (batch,) in wrap(loader)]).tolist())
    assert results[0] == results[1]


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="size must not be negative"):
        prefetch_to_device([], "cpu", -1)
