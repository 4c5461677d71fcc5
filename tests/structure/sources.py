"""The package's source files, parsed."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytorchlike

ROOT = Path(pytorchlike.__file__).parent


@functools.cache
def trees() -> dict[str, ast.Module]:
    """Path below the package -> syntax tree."""
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}
