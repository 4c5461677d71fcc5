"""torch.utils.benchmark: measurements and their tables read as torch's; a timer times the work, not its recording."""

import itertools

import pytest

import pytorchlike as P
import pytorchlike.utils.benchmark as bench

torch = pytest.importorskip("torch")
import torch.utils.benchmark as torch_bench  # noqa: E402

_RESULTS = [
    ("L", "s1", "d1", [1e-4, 1.1e-4, 1.5e-4, 1.05e-4], None, 1),
    ("L", "s1", "d2", [3e-4], None, 1),
    ("L", "s2", "d1", [9e-4, 8e-4], None, 1),
    ("L", "s2", "d1", [9e-3], None, 4),
    ("L", "s2", "d2", [1.234e-2], None, 4),
    ("K", None, "other", [0.001, 0.002, 0.003, 0.009], "here", 1),
    ("K", None, "other", [0.101], "there", 1),
]


def _measurements(module):
    made = []
    for label, sub, description, times, env, threads in _RESULTS:
        timer = module.Timer("\n  x + 1\n", "x = 1", label=label, sub_label=sub, description=description, env=env, num_threads=threads)
        made.append(module.Measurement(10, times, timer._task_spec))
    return made


def test_measurements_read_as_torch_s():
    for mine, theirs in zip(_measurements(bench), _measurements(torch_bench), strict=True):
        assert repr(mine).splitlines()[1:] == repr(theirs).splitlines()[1:]
        for name in ("median", "mean", "iqr"):
            assert getattr(mine, name) == pytest.approx(getattr(theirs, name), rel=1e-6)
        assert (mine.significant_figures, mine.has_warnings, mine.title) == (theirs.significant_figures, theirs.has_warnings, theirs.title)
        assert (mine.stmt, mine.label, mine.as_row_name) == (theirs.stmt, theirs.label, theirs.as_row_name)


@pytest.mark.parametrize("options", list(itertools.chain.from_iterable(itertools.combinations(("trim", "warn", "columns", "rows"), n) for n in range(4))))
def test_tables_read_as_torch_s(options):
    texts = []
    for module in (bench, torch_bench):
        table = module.Compare(_measurements(module))
        if "trim" in options:
            table.trim_significant_figures()
        if "warn" in options:
            table.highlight_warnings()
        if "columns" in options or "rows" in options:
            table.colorize(rowwise="rows" in options)
        texts.append(str(table))
    assert texts[0] == texts[1]


def test_every_run_is_computed():
    counted = []

    def work(x):
        counted.append(1)
        return (x @ x).sum()

    x = P.eye(8)
    result = bench.Timer("work(x)", globals={"work": work, "x": x}).timeit(100)
    assert result.number_per_run == 100 and result.mean > 0 and len(counted) >= 104
    small, large = (bench.Timer("y = x @ x", "x = torch.eye(n)", globals={"n": n}).blocked_autorange(min_run_time=0.02).median for n in (8, 512))
    assert large > 2 * small  # recording alone costs the same
    assert bench.Timer("x", "x = 1").adaptive_autorange(min_run_time=0.001, max_run_time=0.1).raw_times


def test_refused():
    with pytest.raises(NotImplementedError, match="C\\+\\+"):
        bench.Timer("x", language="c++")
    with pytest.raises(NotImplementedError, match="callgrind"):
        bench.Timer().collect_callgrind()
    for module in (bench, torch_bench):
        for wrong in ({"language": "basic"}, {"stmt": 3}, {"global_setup": "x"}):
            with pytest.raises(ValueError):
                module.Timer(**wrong)
