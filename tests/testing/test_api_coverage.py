"""The coverage report: what resolves, which signatures agree, what it says."""

import pytest
import torch

import pytorchlike as ours
from pytorchlike.testing import api_coverage


def test_names_resolve_through_modules_and_attributes():
    assert api_coverage.resolve("torch.nn.functional.relu", "pytorchlike") is ours.nn.functional.relu
    assert api_coverage.resolve("torch.Tensor.sum", "pytorchlike") is ours.Tensor.sum
    assert api_coverage.resolve("torch.utils.data", "pytorchlike") is ours.utils.data
    with pytest.raises(AttributeError, match="no nothing"):
        api_coverage.resolve("torch.nn.nothing", "pytorchlike")


def _wanted(a, b=1, *, c=2):
    """A signature."""


@pytest.mark.parametrize(
    "function, problem",
    [
        (_wanted, ""),
        (lambda a, b=1, c=2, d=3: 0, ""),
        (lambda *args, **kwargs: 0, ""),
        (lambda a, b=1: 0, "no parameter c"),
        (lambda b, a=1, *, c=2: 0, "parameter a at another place"),
        (3, "not callable"),
    ],
)
def test_signatures(function, problem):
    assert api_coverage.incompatibility(function, _wanted) == problem


def test_a_table_is_weighed(tmp_path, capsys):
    table = tmp_path / "names.tsv"
    table.write_text("torch.nn.Linear\t3\tnote\ntorch.nn.Embedding\t1\ntorch.utils.data.argument_validation\t4\ntorch.not_torchs\t9\n")
    api_coverage.main([str(table)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["all", "8.000", "50.00%", "2/3"]
    assert ["torch.nn", "4.000", "100.00%", "2/2"] in [line.split() for line in lines]
    assert lines[-1].split()[:2] == ["4.0000", "torch.utils.data.argument_validation:"]
    api_coverage.main([str(table), "--skip", "torch.utils"])
    assert "missing, heaviest first (0 in all)" in capsys.readouterr().out


def test_public_names_are_torchs_own():
    names = [name for name, _ in api_coverage.public_names()]
    assert {"torch.nn.Linear", "torch.Tensor.sum", "torch.optim.Adam"} <= set(names) and len(set(names)) == len(names)
    assert all(callable(getattr(torch.nn.init, name.rpartition(".")[2])) for name in names if name.startswith("torch.nn.init."))


def test_most_of_torch_is_here():
    findings = api_coverage.check(api_coverage.public_names())
    assert sum(not finding.problem for finding in findings) > 0.93 * len(findings)
