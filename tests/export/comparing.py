"""What torch and pytorchlike say of the same, as text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_TORCH_ONLY = (
    r' For more information, run with TORCH_LOGS="\+dynamic"\.',
    r"\s*For more information about this error, see: \S+",
    r"\s*The error above occurred when calling torch\.export\.export.*",
)


def outcome(function: Callable[[], Any]) -> tuple[str, str]:
    """The class and the text of the error that is raised, or what is returned as text; what torch says of its other tools is left out."""
    try:
        return "", str(function())
    except Exception as error:
        text = str(error)
        for each in _TORCH_ONLY:
            text = re.sub(each, "", text, flags=re.DOTALL)
        return type(error).__name__, text.strip().replace("  but got", " but got")


def ranges(program: Any) -> dict[str, str]:
    """The bounds of sizes that may differ."""
    return {str(name): f"VR[{bounds.lower}, {bounds.upper}]" for name, bounds in program.range_constraints.items()}
