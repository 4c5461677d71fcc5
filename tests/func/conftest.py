"""torch's forward mode without the five seconds for which it first compiles formulas that these tests do not use."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_script(monkeypatch: pytest.MonkeyPatch):
    """torch looks at this variable whenever a dual tensor is made."""
    monkeypatch.setenv("PYTORCH_JIT", "0")
