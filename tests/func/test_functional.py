"""``functionalize`` and ``debug_unwrap``."""

from __future__ import annotations

import pytorchlike as ours
from tests.autograd.outcomes import agree

from .data import rows


def test_functionalize_as_torch() -> None:
    def writes(torch):
        x = rows(torch)
        return torch.func.functionalize(lambda a: a.clone().add_(1).view(-1))(x), torch.func.functionalize(lambda a: a.mul_(2), remove="mutations_and_views")(x), x

    agree(writes)
    agree(lambda torch: torch.func.functionalize(lambda a: a, remove="x"))


def test_debug_unwrap_shows_the_batch() -> None:
    seen = []
    x = rows(ours)
    ours.vmap(ours.vmap(lambda a: (seen.append(ours.func.debug_unwrap(a)), seen.append(ours.func.debug_unwrap(a, recurse=False).shape), a)[2]))(x)
    assert seen[0] is x and seen[1] == (4,) and ours.func.debug_unwrap(x) is x
