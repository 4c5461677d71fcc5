"""The roster lists every operator, and the page is current."""

from __future__ import annotations

from pathlib import Path

import pytorchlike as ours
from pytorchlike.aten import roster
from pytorchlike.dispatch.roster import OWN_RULE, page

ROOT = Path(__file__).parent.parent.parent
ENTRIES = {entry.name: entry for entry in roster()}


def test_page_is_current() -> None:
    assert (ROOT / "docs" / "roster.md").read_text() == page(roster()), "run python docs/write_roster.py"


def test_facts_of_some_operators() -> None:
    add, mul_rule = ENTRIES["add.Tensor"], ENTRIES["mul.Tensor"].derivative
    assert (add.family, add.mutates, add.is_view, add.calls_host) == ("arithmetic", ("in-place", "out="), False, False)
    assert mul_rule.startswith(OWN_RULE) and "torch.add" in add.public and "Tensor.add" in add.public
    assert ENTRIES["permute"].is_view and ENTRIES["permute"].derivative == "of the view"
    assert ENTRIES["ldl_factor"].calls_host and ENTRIES["argmax"].derivative == "none"
    assert ENTRIES["erf"].public == ("torch.erf", "Tensor.erf", "torch.special.erf")


def test_public_names_exist() -> None:
    for entry in ENTRIES.values():
        for path in entry.public:
            found = ours
            for part in path.removeprefix("torch.").split("."):
                found = getattr(found, part)
