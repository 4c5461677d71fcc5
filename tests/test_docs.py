"""The documents tell the truth: blocks with an output print it, excerpts stand in the code, names that are mentioned exist."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "pytorchlike"
DOCUMENTS = [
    "README.md", "docs/architecture.md", "docs/compile.md", "docs/execution.md", "docs/gradients.md", "docs/operators.md", "docs/transforms.md",
    "pytorchlike/graph/README.md",
]  # fmt: skip

_OUTPUT_BLOCK = re.compile(r"^```python\n((?:(?!```)[^\n]*\n)*)```\n+```text\n(.*?)^```", re.M | re.S)
_EXCERPT = re.compile(r"^ *```python\n *# (\S+\.py)\n(.*?)^ *```", re.M | re.S)
_REFERENCE = re.compile(r"`([\w/]+\.py): ([\w.]+)`")
_LINK = re.compile(r"\]\(([^)#:]+)\)")
_NUMBER = re.compile(r"-?\d+\.?\d*(e[-+]?\d+)?")
_TOKEN = re.compile(r"\d+\.\d+ s\b|-?\d+\.?\d*(?:e[-+]?\d+)?|[^\s\d]+")

#: Runs the blocks given on standard input as ``python -m pytorchlike`` would, and prints their outputs.
_RUNNER = """
import contextlib, io, json, sys
from pytorchlike import install_as_torch
install_as_torch()
outputs = []
for block in json.load(sys.stdin):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "<document>", "exec"), {"__name__": "__main__"})
    outputs.append(printed.getvalue())
print(json.dumps(outputs))
"""


def _text(document: str) -> str:
    return (ROOT / document).read_text()


def _blocks() -> list[tuple[str, str, str]]:
    """(document, code, output) of each Python block that is followed by its output."""
    return [(document, code, output) for document in DOCUMENTS for code, output in _OUTPUT_BLOCK.findall(_text(document))]


def _tokens(text: str) -> list[object]:
    """Words, and numbers as floats; seconds are left out, and the order of the lines that `explain` sorts by them."""
    if "first run" in text:
        text = "\n".join(sorted(text.splitlines()))
    found: list[object] = []
    for token in _TOKEN.findall(text):
        if not token.endswith(" s"):
            found.append(float(token) if _NUMBER.fullmatch(token) else token)
    return found


def _is_near(printed: str, expected: str) -> bool:
    left, right = _tokens(printed), _tokens(expected)
    return len(left) == len(right) and all(
        a == pytest.approx(b, rel=1e-2, abs=1e-3) if isinstance(a, float) and isinstance(b, float) else a == b for a, b in zip(left, right)
    )


def test_blocks_print_their_outputs() -> None:
    blocks = _blocks()
    assert len(blocks) >= 9
    codes = json.dumps([code for _, code, _ in blocks])
    environment = {name: value for name, value in os.environ.items() if name != "PYTORCHLIKE_TIERS"}  # `explain` tells the tier
    done = subprocess.run([sys.executable, "-c", _RUNNER], input=codes, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    outputs = json.loads(done.stdout.splitlines()[-1])
    wrong = [
        f"{document}:\n{code}\nprints\n{printed}"
        for (document, code, expected), printed in zip(blocks, outputs, strict=True)
        if not _is_near(printed, expected)
    ]
    assert not wrong, "\n".join(wrong)


def _source(path: str, document: str) -> Path:
    beside = (ROOT / document).parent / path
    return beside if beside.exists() else PACKAGE / path


@pytest.mark.parametrize("document", DOCUMENTS)
def test_names_exist(document: str) -> None:
    missing = []
    for path, name in _REFERENCE.findall(_text(document)):
        file = _source(path, document)
        body: list[ast.stmt] = ast.parse(file.read_text()).body if file.exists() else []
        for part in name.split("."):
            found = [node for node in body if part in _defined(node)]
            body = getattr(found[0], "body", []) if found else []
            if not found:
                missing.append(f"{path}: {name}")
                break
    assert missing == []


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)]
    return [node.target.id] if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_excerpts_stand_in_the_code(document: str) -> None:
    for path, excerpt in _EXCERPT.findall(_text(document)):
        code = [line.strip() for line in (PACKAGE / path).read_text().splitlines()]
        wanted = [line.split("  # ")[0].strip() for line in excerpt.splitlines()]
        start = next((k for k in range(len(code)) if code[k : k + len(wanted)] == wanted), None)
        assert start is not None, f"{document}: {path} no longer has\n{excerpt}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    folder = (ROOT / document).parent
    assert [target for target in _LINK.findall(_text(document)) if not (folder / target).exists()] == []
