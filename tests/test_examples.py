"""The examples as a user runs them, once on torch and once on pytorchlike: they print the same losses."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
STEP = re.compile(r"step +(\d+)  loss ([\d.]+)")
SMALL_GPT = ("--width", "32", "--layers", "1", "--heads", "2", "--context", "16", "--batch-size", "4")

pytestmark = pytest.mark.slow


def needs(*modules: str) -> pytest.MarkDecorator:
    """Skip where what an example needs beside torch is not installed."""
    missing = [m for m in modules if importlib.util.find_spec(m) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def outputs(example: str, *arguments: str, cwd: Path) -> tuple[str, str]:
    """What an example prints on pytorchlike and on torch."""
    texts = []
    for launcher in (("-m", "pytorchlike"), ()):
        command = [sys.executable, *launcher, str(EXAMPLES / example), *arguments]
        found = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stderr
        texts.append(found.stdout)
    return texts[0], texts[1]


def losses_of(text: str) -> list[float]:
    """The losses of the first 20 steps."""
    found = [float(loss) for _, loss in STEP.findall(text)]
    assert len(found) == 20
    return found


def assert_same_losses(ours: str, theirs: str) -> None:
    assert losses_of(ours) == pytest.approx(losses_of(theirs), rel=1e-3)


@pytest.mark.parametrize("arguments", [pytest.param(SMALL_GPT, marks=pytest.mark.ci, id="small"), pytest.param((), id="as it is")])
def test_char_gpt(arguments: tuple[str, ...], tmp_path: Path) -> None:
    ours, theirs = outputs("char_gpt.py", "--steps", "20", "--print-steps", "--generate", "6", *arguments, cwd=tmp_path)
    assert_same_losses(ours, theirs)
    assert ours.rpartition("-" * 80)[2] == theirs.rpartition("-" * 80)[2], "the same text is sampled"


@needs("sklearn", "matplotlib", "tqdm")
@pytest.mark.parametrize(
    ("epochs", "least"), [pytest.param(1, 0.5, marks=pytest.mark.ci, id="one epoch"), pytest.param(15, 0.98, id="as it is")]
)
def test_digits(epochs: int, least: float, tmp_path: Path) -> None:
    ours, theirs = outputs("digits.py", "--epochs", str(epochs), "--print-steps", cwd=tmp_path)
    assert_same_losses(ours, theirs)
    accuracy, their_accuracy = (float(re.search(r"test accuracy ([\d.]+)%", text)[1]) / 100 for text in (ours, theirs))
    assert accuracy >= least
    assert accuracy == pytest.approx(their_accuracy, abs=0.01)
    assert (tmp_path / "digits.png").stat().st_size > 0
