"""`SummaryWriter`: puts summaries into event files, which TensorBoard reads."""

from __future__ import annotations

import math
import os
import socket
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import text_format
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo, ProjectorConfig
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from . import images, summary

__all__ = ["FileWriter", "SummaryWriter"]


class FileWriter:
    """One event file; written in a thread of its own.

    Args:
        max_queue: how many events may wait.
        flush_secs: write at least so often.
    """

    def __init__(self, log_dir: Any, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "") -> None:
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """The file's directory."""
        return self.event_writer.get_logdir()

    def add_event(self, event: Event, step: Any = None, walltime: float | None = None) -> None:
        """Add an event; ``walltime`` is now if left out."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Add an event with a summary."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        """Write what waits."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write what waits and close the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Go on after ``close``, in a new file."""
        self.event_writer.reopen()


class SummaryWriter:
    """Writes numbers, histograms, pictures and more under tags, step by step.

    Args:
        log_dir: directory of the event files; ``runs/DATE_HOST`` and ``comment`` if left out.
        purge_step: events from this step on, written before a crash, are hidden.
        max_queue, flush_secs, filename_suffix: see `FileWriter`.
    """

    def __init__(
        self, log_dir: Any = None, comment: str = "", purge_step: int | None = None, max_queue: int = 10, flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:  # fmt: skip
        if not log_dir:
            log_dir = os.path.join("runs", f"{datetime.now():%b%d_%H-%M-%S}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._get_file_writer()
        limits, limit = [], 1e-12
        while limit < 1e20:
            limits.append(limit)
            limit *= 1.1
        self.default_bins = [-v for v in reversed(limits)] + [0] + limits

    def _get_file_writer(self) -> FileWriter:
        """The file of this run, opened again after ``close``."""
        if self.file_writer is None or self.all_writers is None:
            self.file_writer = FileWriter(self.log_dir, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                self.file_writer.add_event(Event(step=self.purge_step, file_version="brain.Event:2"))
                self.file_writer.add_event(Event(step=self.purge_step, session_log=SessionLog(status=SessionLog.START)))
                self.purge_step = None
        return self.file_writer

    def _add(self, entry: Any, global_step: Any = None, walltime: float | None = None) -> None:
        self._get_file_writer().add_summary(entry, global_step, walltime)

    def get_logdir(self) -> Any:
        """The directory of the event files."""
        return self.log_dir

    # ------------------------------------------------------------------------------------------------------------- numbers
    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: Any = None, walltime: float | None = None, new_style: bool = False,
        double_precision: bool = False,
    ) -> None:  # fmt: skip
        """Add a number.

        Args:
            new_style, double_precision: write it as a tensor (of float64).
        """
        self._add(summary.scalar(tag, scalar_value, new_style, double_precision), global_step, walltime)

    def add_scalars(self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: Any = None, walltime: float | None = None) -> None:
        """Add several numbers that share a chart; each has an event file of its own."""
        walltime = time.time() if walltime is None else walltime
        folder = self._get_file_writer().get_logdir()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            name = f"{folder}/{main_tag.replace('/', '_')}_{tag}"
            if name not in self.all_writers:
                self.all_writers[name] = FileWriter(name, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers[name].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_tensor(self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Add a whole tensor."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self, tag: str, values: Any, global_step: Any = None, bins: Any = "tensorflow", walltime: float | None = None, max_bins: int | None = None
    ) -> None:
        """Add the histogram of a tensor's elements.

        Args:
            bins: limits, or a method of ``numpy.histogram``.
        """
        limits = self.default_bins if isinstance(bins, str) and bins == "tensorflow" else bins
        self._add(summary.histogram(tag, values, limits, max_bins), global_step, walltime)

    def add_histogram_raw(
        self, tag: str, min: float, max: float, num: float, sum: float, sum_squares: float, bucket_limits: Any, bucket_counts: Any,
        global_step: Any = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Add a histogram that is computed already; limits are those on the right."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        limits, counts = ([float(x) for x in values] for values in (bucket_limits, bucket_counts))
        self._add(summary.histogram_raw(tag, min, max, num, sum, sum_squares, limits, counts), global_step, walltime)

    def add_hparams(
        self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any], hparam_domain_discrete: Any = None, run_name: str | None = None,
        global_step: Any = None,
    ) -> None:  # fmt: skip
        """Add the hyper-parameters of a run with its results, for comparison with other runs.

        Args:
            run_name: the run's directory; the present time if left out.
        """
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        entries = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        with SummaryWriter(os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))) as run:
            for entry in entries:
                run._add(entry, global_step)
            for tag, value in metric_dict.items():
                run.add_scalar(tag, value, global_step)

    # ------------------------------------------------------------------------------------------------- pictures, sound, text
    def add_image(self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None, dataformats: str = "CHW") -> None:
        """Add a picture: floats in [0, 1] or bytes."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None, dataformats: str = "NCHW") -> None:
        """Add a batch of pictures as a grid."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_image_with_boxes(
        self, tag: str, img_tensor: Any, box_tensor: Any, global_step: Any = None, walltime: float | None = None, rescale: float = 1,
        dataformats: str = "CHW", labels: Any = None,
    ) -> None:  # fmt: skip
        """Add a picture with boxes (left, top, right, bottom) and their names on it."""
        names = [labels] if isinstance(labels, str) else labels
        names = None if names is None or len(names) != box_tensor.shape[0] else names
        self._add(summary.image_boxes(tag, img_tensor, box_tensor, rescale, dataformats, names), global_step, walltime)

    def add_figure(self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None) -> None:
        """Add a figure of matplotlib, or several as a grid."""
        layout = "NCHW" if isinstance(figure, list) else "CHW"
        self.add_image(tag, images.figure_pixels(figure, close), global_step, walltime, dataformats=layout)

    def add_video(self, tag: str, vid_tensor: Any, global_step: Any = None, fps: float = 4, walltime: float | None = None) -> None:
        """Not there: torch writes it with the package ``moviepy``.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("SummaryWriter.add_video: videos are not written; add single pictures with add_image")

    def add_audio(self, tag: str, snd_tensor: Any, global_step: Any = None, sample_rate: int = 44100, walltime: float | None = None) -> None:
        """Add a sound."""
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """Add a text."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    # --------------------------------------------------------------------------------------------------------------- plugins
    def add_graph(self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True) -> None:
        """Not there: torch writes the graph of TorchScript.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("SummaryWriter.add_graph: there is no TorchScript graph to write; graph.explain() shows what was compiled")

    def add_onnx_graph(self, prototxt: Any) -> None:
        """Not there: there is no ONNX.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("SummaryWriter.add_onnx_graph: ONNX graphs are not written")

    def add_pr_curve(
        self, tag: str, labels: Any, predictions: Any, global_step: Any = None, num_thresholds: int = 127, weights: Any = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Add precision and recall by threshold.

        Args:
            labels: whether each example is positive.
            predictions: how probable that is.
        """
        self._add(summary.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_pr_curve_raw(
        self, tag: str, true_positive_counts: Any, false_positive_counts: Any, true_negative_counts: Any, false_negative_counts: Any,
        precision: Any, recall: Any, global_step: Any = None, num_thresholds: int = 127, weights: Any = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Add precision and recall that are computed already."""
        parts = (true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision, recall)
        self._add(summary.pr_curve_raw(tag, *parts, num_thresholds, weights), global_step, walltime)

    def add_custom_scalars(self, layout: dict[str, dict[str, Any]]) -> None:
        """Say which numbers share a chart."""
        self._add(summary.custom_scalars(layout))

    def add_custom_scalars_multilinechart(self, tags: list[str], category: str = "default", title: str = "untitled") -> None:
        """One chart with several lines."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags: list[str], category: str = "default", title: str = "untitled") -> None:
        """One chart with a line between two others."""
        if len(tags) != 3:
            raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_mesh(
        self, tag: str, vertices: Any, colors: Any = None, faces: Any = None, config_dict: Any = None, global_step: Any = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Add points in space, with colors and triangles."""
        self._add(summary.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    def add_embedding(
        self, mat: Any, metadata: Any = None, label_img: Any = None, global_step: Any = None, tag: str = "default", metadata_header: Any = None
    ) -> None:
        """Add points of many dimensions, for the projector.

        Args:
            metadata: a name for each point; a row of them with ``metadata_header``.
            label_img: a picture (C, H, W) for each point.
        """
        points = summary.make_np(mat)
        for what, given in (("labels", metadata), ("images", label_img)):
            if given is not None and len(given) != len(points):
                raise AssertionError(f"#{what} should equal with #data points")
        if points.ndim != 2:
            raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
        step = str(0 if global_step is None else global_step).zfill(5)
        encoded = "".join(f"%{ord(c):02x}" if c in "%/\\" else c for c in tag)
        folder, run = f"{step}/{encoded}", Path(self._get_file_writer().get_logdir())
        (run / folder).mkdir(parents=True, exist_ok=True)
        info = EmbeddingInfo(tensor_name=f"{tag}:{step}", tensor_path=f"{folder}/tensors.tsv")
        (run / folder / "tensors.tsv").write_text("".join("\t".join(str(x.item()) for x in row) + "\n" for row in points))
        if metadata is not None:
            info.metadata_path = f"{folder}/metadata.tsv"
            rows = ["\t".join(map(str, row)) for row in [metadata_header, *metadata]] if metadata_header else list(map(str, metadata))
            (run / folder / "metadata.tsv").write_text("\n".join(rows) + "\n")
        if label_img is not None:
            pictures = summary.make_np(label_img)
            info.sprite.image_path = f"{folder}/sprite.png"
            info.sprite.single_image_dim.extend([pictures.shape[3], pictures.shape[2]])
            drawn = images.grid(pictures, math.ceil(len(pictures) ** 0.5)).transpose(1, 2, 0)
            square = np.zeros((drawn.shape[1], drawn.shape[1], 3))
            square[: drawn.shape[0]] = drawn
            (run / folder / "sprite.png").write_bytes(images.png((square * 255).clip(0, 255).astype(np.uint8)))
        if not hasattr(self, "_projector_config"):
            self._projector_config = ProjectorConfig()
        self._projector_config.embeddings.append(info)
        (run / "projector_config.pbtxt").write_text(text_format.MessageToString(self._projector_config))

    # ------------------------------------------------------------------------------------------------------------------ end
    def flush(self) -> None:
        """Write what waits."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write what waits and close the files."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
