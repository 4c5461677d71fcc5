"""``torch.func.rearrange`` beside torch's."""

from __future__ import annotations

import pytest

from tests.autograd.outcomes import agree

#: pattern, sizes of parts
FITTING = [
    ("a b c -> c a b", {}), ("a b c -> (a b) c", {}), ("a b c -> a (c b)", {}), ("a (b d) c -> d a (b c)", {"d": 3}), ("... c -> c ...", {}), ("a ... -> (a ...)", {}),
    ("a b c -> a 1 b (c 1)", {}), ("(a 1) b c -> b a c", {}), ("a b (c e) -> e (a b c)", {"c": 2, "e": 2}),
]  # fmt: skip
REFUSED = [
    ("a b c", {}), ("a b -> a b", {}), ("a b c d ... -> ...", {}), ("a b c -> a b", {}), ("a b c -> a b c d", {}), ("a a c -> a c", {}), ("a ... -> a .. b", {}),
    ("a b c -> ...", {}), ("(a ...) c -> a ... c", {}), ("a (b c) d -> a b c d", {"c": 1.5}), ("a b 4 -> a b 4", {}), ("a b c -> a b c", {"z": 2}),
    ("a ((b) c) d -> a b c d", {}), ("a b) c -> a b c", {}), ("(a b c -> a b c", {}), ("a b c- -> a b c", {}), ("a b _c -> a b _c", {}), ("a b 4c -> a b 4c", {}),
    ("a ... ... -> a", {}),
]  # fmt: skip


def program(pattern, lengths):
    return lambda torch: torch.func.rearrange(torch.arange(24).view(2, 3, 4), pattern, **lengths)


@pytest.mark.parametrize(("pattern", "lengths"), FITTING + REFUSED)
def test_as_torch(pattern: str, lengths: dict) -> None:
    agree(program(pattern, lengths))


def test_sequences_and_other_uses_as_torch() -> None:
    agree(lambda torch: torch.func.rearrange([torch.ones(2, 3), torch.zeros(2, 3)], "s a b -> a (s b)"))
    agree(lambda torch: torch.vmap(lambda x: torch.func.rearrange(x * 1.0, "a b -> (b a)"))(torch.arange(24).view(2, 3, 4)))


def test_sizes_that_do_not_fit_are_refused() -> None:
    import pytorchlike as torch

    for pattern, lengths in (("a (b c) d -> a b c d", {}), ("a (b c) d -> a b c d", {"c": 2})):
        with pytest.raises(RuntimeError):
            torch.func.rearrange(torch.ones(2, 3, 4), pattern, **lengths)
