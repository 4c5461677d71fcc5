"""Event files of SummaryWriter against those torch writes."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch as theirs

import pytorchlike as ours

pytest.importorskip("tensorboard")


def events(folder):
    """Everything in the event files below a folder, by file, without times."""
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    found = {}
    for path in sorted(Path(folder).rglob("events.out*")):
        entries = found.setdefault(str(path.parent.relative_to(folder)), [])
        for event in EventFileLoader(str(path)).Load():
            event.wall_time = 0
            event.source_metadata.Clear()
            entries.append(str(event))
    others = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(Path(folder).rglob("*")) if p.is_file() and "events.out" not in p.name}
    return found, others


def same(tmp_path, run):
    written = []
    for library in (ours, theirs):
        folder = tmp_path / library.__name__
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = __import__(f"{library.__name__}.utils.tensorboard", fromlist=["SummaryWriter"])
            with module.SummaryWriter(folder) as writer:
                run(library, writer)
        written.append(events(folder))
    assert written[0] == written[1] and written[0][0]


def test_numbers(tmp_path):
    def run(t, w):
        w.add_scalar("a", 1.5, 3, walltime=7.0)
        w.add_scalar("a", t.tensor([2.0]), t.tensor(4))
        w.add_scalar("b", np.float64(0.1), 1, new_style=True)
        w.add_scalar("b", 0.1, 1, new_style=True, double_precision=True)
        w.add_scalars("group/x", {"one": 1, "two": t.tensor(2.0)}, 5)
        w.add_hparams({"lr": 0.1, "name": "x", "deep": True, "none": None, "t": t.tensor([2.0])}, {"loss": 1.0}, {"lr": [0.1, 0.2]}, "run", 3)
        w.flush()
        w.close()
        w.add_scalar("after", 1)

    same(tmp_path, run)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int64", "uint8", "bool", "complex64"])
def test_tensors(tmp_path, dtype):
    same(tmp_path, lambda t, w: w.add_tensor("t", t.tensor([[0.0, 1.0], [3.0, 2.0]]).to(getattr(t, dtype)), 1))


def test_histograms(tmp_path):
    def run(t, w):
        values = t.arange(50.0).sin() * 3
        w.add_histogram("h", values, 1)
        w.add_histogram("h", values, 2, bins="auto")
        w.add_histogram("h", values, 3, bins="fd", max_bins=3)
        w.add_histogram("h", values.numpy(), 4, max_bins=7)
        w.add_histogram("h", t.zeros(3), 5)
        w.add_histogram_raw("raw", 0, 2, 3, 4, 5, [1, 2], [3, 4], 6)

    same(tmp_path, run)


def test_pictures_sounds_and_texts(tmp_path):
    def run(t, w):
        picture = t.arange(48.0).view(3, 4, 4) / 48
        w.add_image("i", picture, 1)
        w.add_image("i", (picture * 255).to(t.uint8), 2)
        w.add_image("i", picture[0], 3, dataformats="HW")
        w.add_image("i", picture.permute(1, 2, 0), 4, dataformats="HWC")
        w.add_image("i", picture[:1], 5)
        w.add_images("many", t.stack([picture, 1 - picture, picture / 2]), 6)
        w.add_image_with_boxes("boxes", t.zeros(3, 20, 20), t.tensor([[1.0, 2.0, 10.0, 12.0], [5.0, 5.0, 15.0, 18.0]]), 7, labels=["a", "b"], rescale=2)
        w.add_audio("s", t.arange(100.0).sin(), 8, sample_rate=8000)
        w.add_text("words", "some *text*", 9)

    same(tmp_path, run)


def test_plugins(tmp_path):
    def run(t, w):
        labels, predictions = t.tensor([1, 0, 1, 1, 0]), t.tensor([0.9, 0.2, 0.6, 0.3, 0.7])
        w.add_pr_curve("pr", labels, predictions, 1, num_thresholds=10)
        w.add_pr_curve("pr", labels, predictions, 2, weights=2.0)
        w.add_pr_curve_raw("raw", *[np.arange(3.0)] * 6, 3, num_thresholds=3)
        w.add_custom_scalars({"c": {"one": ["Multiline", ["a", "b"]], "two": ["Margin", ["a", "b", "c"]]}})
        w.add_custom_scalars_multilinechart(["a", "b"], "cat", "title")
        w.add_custom_scalars_marginchart(["a", "b", "c"])
        w.add_mesh("mesh", t.arange(12.0).view(1, 4, 3), t.zeros(1, 4, 3, dtype=t.int32), t.ones(1, 2, 3, dtype=t.int32), {"k": 1}, 2)
        w.add_embedding(t.arange(8.0).view(4, 2), ["a", "b", "c", "d"], t.ones(4, 3, 2, 2) / 2, 1, "x/y")
        w.add_embedding(t.arange(4.0).view(2, 2), [["a", 1], ["b", 2]], metadata_header=["n", "m"])

    same(tmp_path, run)


def test_figures(tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")

    def run(t, w):
        figures = []
        for _ in range(2):
            figures.append(plt.figure(figsize=(1, 1)))
            plt.plot([1, 2])
        w.add_figure("one", figures[0], 1, close=False)
        w.add_figure("two", figures, 2)

    same(tmp_path, run)


ERRORS = [
    lambda t, w: w.add_scalar("a", t.ones(2)),
    lambda t, w: w.add_scalar("a", [1]),
    lambda t, w: w.add_histogram("a", t.ones(0)),
    lambda t, w: w.add_histogram_raw("a", 0, 1, 2, 3, 4, [1], [1, 2]),
    lambda t, w: w.add_hparams(3, {}),
    lambda t, w: w.add_hparams({"a": [1]}, {}),
    lambda t, w: w.add_hparams({"a": 1}, {}, {"a": ["x"]}),
    lambda t, w: w.add_hparams({"a": 1}, {}, 3),
    lambda t, w: w.add_audio("a", t.ones(2, 2)),
    lambda t, w: w.add_custom_scalars_marginchart(["a"]),
    lambda t, w: w.add_custom_scalars({"c": {"t": ["Margin", ["a"]]}}),
    lambda t, w: w.add_embedding(t.ones(2, 2), ["a"]),
    lambda t, w: w.add_embedding(t.ones(2)),
    lambda t, w: w.add_embedding(t.ones(2, 2), label_img=t.ones(3, 1, 2, 2)),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case, tmp_path):
    found = []
    for library in (ours, theirs):
        module = __import__(f"{library.__name__}.utils.tensorboard", fromlist=["SummaryWriter"])
        with module.SummaryWriter(tmp_path / library.__name__) as writer:
            try:
                found.append(ERRORS[case](library, writer))
            except Exception as error:
                found.append((type(error), " ".join(str(error).split())))
    assert found[0] == found[1] != None  # noqa: E711


def test_defaults_and_purging(tmp_path, monkeypatch):
    from pytorchlike.utils.tensorboard import SummaryWriter

    monkeypatch.chdir(tmp_path)
    with SummaryWriter(comment="-x", purge_step=5) as writer:
        assert writer.get_logdir().startswith("runs/") and writer.get_logdir().endswith("-x")
    assert "status: START" in str(events(tmp_path)[0])
    for method in ("add_graph", "add_onnx_graph", "add_video"):
        with pytest.raises(NotImplementedError, match=method):
            getattr(writer, method)(*[None] * (2 if method == "add_video" else 1))
