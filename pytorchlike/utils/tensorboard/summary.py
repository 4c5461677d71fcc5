"""What TensorBoard's plugins read, as protocol buffers of the package ``tensorboard``."""

from __future__ import annotations

import io
import json
import struct
import wave
from typing import Any

import numpy as np
from google.protobuf import struct_pb2
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

from ...core import dtype as dtypes
from ...tensors.tensor import Tensor
from . import images

__all__ = [
    "audio", "custom_scalars", "histogram", "histogram_raw", "hparams", "image", "image_boxes", "make_np", "mesh", "pr_curve", "pr_curve_raw", "scalar",
    "tensor_proto", "text",
]  # fmt: skip


def make_np(x: Any) -> np.ndarray:
    """Numbers, arrays and tensors as numpy arrays.

    Raises:
        NotImplementedError: something else.
    """
    if isinstance(x, np.ndarray):
        return x
    if np.isscalar(x):
        return np.array([x])
    if isinstance(x, Tensor):
        x = x.detach().to("cpu")
        return (x.to(dtypes.float16) if x.dtype is dtypes.bfloat16 else x).numpy()
    raise NotImplementedError(f"Got {type(x)}, but numpy array or torch tensor are expected.")


def _one(tag: str, metadata: SummaryMetadata | None = None, **content: Any) -> Summary:
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, **content)])


def _plugin(name: str, content: Any = None) -> SummaryMetadata:
    data = b"" if content is None else content.SerializeToString()
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=name, content=data))


def _shape(*sizes: int) -> TensorShapeProto:
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in sizes])


# ----------------------------------------------------------------------------------------------------------------------- numbers
def scalar(name: str, tensor: Any, new_style: bool = False, double_precision: bool = False) -> Summary:
    """One number.

    Raises:
        AssertionError: there are several.
    """
    array = make_np(tensor).squeeze()
    if array.ndim != 0:
        raise AssertionError(f"Tensor should contain one element (0 dimensions). Was given size: {array.size} and {array.ndim} dimensions.")
    if not new_style:
        return _one(name, simple_value=float(array))
    value = {"double_val": [float(array)], "dtype": "DT_DOUBLE"} if double_precision else {"float_val": [float(array)], "dtype": "DT_FLOAT"}
    return _one(name, _plugin("scalars"), tensor=TensorProto(**value))


def _half_bits(t: Tensor) -> list[int]:
    return [struct.unpack("i", struct.pack("f", x))[0] for x in t.flatten().tolist()]


def _pairs(t: Tensor) -> list[float]:
    return [part for z in t.flatten().tolist() for part in (z.real, z.imag)]


#: dtype -> name and field in the protocol buffer, and how numbers are written there.
_FIELDS: dict[Any, tuple[str, str, Any]] = {
    dtypes.float16: ("DT_HALF", "half_val", _half_bits), dtypes.bfloat16: ("DT_BFLOAT16", "half_val", _half_bits),
    dtypes.float32: ("DT_FLOAT", "float_val", None), dtypes.float64: ("DT_DOUBLE", "double_val", None),
    dtypes.int8: ("DT_INT8", "int_val", None), dtypes.int16: ("DT_INT16", "int_val", None), dtypes.int32: ("DT_INT32", "int_val", None),
    dtypes.int64: ("DT_INT64", "int64_val", None), dtypes.uint8: ("DT_UINT8", "uint32_val", None), dtypes.bool_: ("DT_BOOL", "bool_val", None),
    dtypes.complex64: ("DT_COMPLEX64", "scomplex_val", _pairs), dtypes.complex128: ("DT_COMPLEX128", "dcomplex_val", _pairs),
}  # fmt: skip


def tensor_proto(tag: str, tensor: Tensor) -> Summary:
    """A whole tensor.

    Raises:
        ValueError: it has 2 GB or more, or another dtype.
    """
    if tensor.numel() * tensor.itemsize >= 1 << 31:
        raise ValueError("tensor is bigger than protocol buffer's hard limit of 2GB in size")
    if tensor.dtype not in _FIELDS:
        raise ValueError(f"{tag} has unsupported tensor dtype {tensor.dtype}")
    name, field, convert = _FIELDS[tensor.dtype]
    numbers = tensor.flatten().tolist() if convert is None else convert(tensor)
    content: dict[str, Any] = {"dtype": name, "tensor_shape": _shape(*tensor.shape), field: numbers}
    return _one(tag, _plugin("tensor"), tensor=TensorProto(**content))


def histogram_raw(
    name: str, min: float, max: float, num: float, sum: float, sum_squares: float, bucket_limits: list, bucket_counts: list
) -> Summary:
    """A histogram that is computed already."""
    parts = {"min": min, "max": max, "num": num, "sum": sum, "sum_squares": sum_squares}
    return _one(name, histo=HistogramProto(**parts, bucket_limit=bucket_limits, bucket=bucket_counts))


def _merged(counts: np.ndarray, limits: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Neighbouring bins as one, so that there are about ``most``."""
    step = len(counts) // most
    padded = np.pad(counts, (0, step - len(counts) % step)) if len(counts) % step else counts
    return padded.reshape(-1, step).sum(-1), np.append(limits[:-1:step], limits[-1])


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Summary:
    """The histogram of values, from the first to the last bin that has some.

    Raises:
        ValueError: there are no values.
    """
    array = make_np(values).astype(float).reshape(-1)
    if array.size == 0:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(array, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        counts, limits = _merged(counts, limits, max_bins)
    filled = np.flatnonzero(counts)
    if filled.size == 0:
        raise ValueError("The histogram is empty, please file a bug report.")
    start, end = int(filled[0]), int(filled[-1]) + 1
    # TensorBoard knows right limits only; an empty bin on the left states the first left one.
    kept = counts[start - 1 : end] if start > 0 else np.concatenate([[0], counts[:end]])
    return histogram_raw(
        name, array.min(), array.max(), len(array), array.sum(), array.dot(array), limits[start : end + 1].tolist(), kept.tolist()
    )


# ------------------------------------------------------------------------------------------------------------ pictures, sound, text
def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Summary:
    """A picture, or a batch as a grid."""
    pixels = images.as_bytes(images.height_width_channels(make_np(tensor), dataformats))
    return _one(tag, image=images.encoded(pixels, rescale))


def image_boxes(tag: str, tensor: Any, boxes: Any, rescale: float = 1, dataformats: str = "CHW", labels: Any = None) -> Summary:
    """A picture with boxes on it."""
    pixels = images.as_bytes(images.height_width_channels(make_np(tensor), dataformats))
    return _one(tag, image=images.encoded(pixels, rescale, make_np(boxes), labels))


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Summary:
    """A sound with values in [-1, 1]; what is beyond is clipped."""
    array = make_np(tensor).squeeze()
    if array.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    samples = (array.clip(-1, 1) * np.iinfo(np.int16).max).astype("<i2")
    with io.BytesIO() as file:
        with wave.open(file, "wb") as out:
            out.setnchannels(1)
            out.setsampwidth(2)
            out.setframerate(sample_rate)
            out.writeframes(samples.tobytes())
        content = file.getvalue()
    return _one(
        tag, audio=Summary.Audio(sample_rate=sample_rate, num_channels=1, length_frames=len(samples), encoded_audio_string=content, content_type="audio/wav")
    )


def text(tag: str, text: str) -> Summary:
    """A text in Markdown."""
    from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

    content = TensorProto(dtype="DT_STRING", string_val=[text.encode()], tensor_shape=_shape(1))
    return _one(f"{tag}/text_summary", _plugin("text", TextPluginData(version=0)), tensor=content)


# ------------------------------------------------------------------------------------------------------------------------ plugins
def custom_scalars(layout: dict[str, dict[str, Any]]) -> Summary:
    """Which numbers share a chart: category -> title -> (``Multiline`` or ``Margin``, tags)."""
    from tensorboard.plugins.custom_scalar import layout_pb2

    def chart(title: str, kind: str, tags: Any) -> Any:
        if kind != "Margin":
            return layout_pb2.Chart(title=title, multiline=layout_pb2.MultilineChartContent(tag=tags))
        if len(tags) != 3:
            raise AssertionError("len(tags) != 3")
        series = layout_pb2.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
        return layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=[series]))

    categories = [
        layout_pb2.Category(title=name, chart=[chart(title, kind, tags) for title, (kind, tags) in charts.items()])
        for name, charts in layout.items()
    ]
    content = TensorProto(dtype="DT_STRING", string_val=[layout_pb2.Layout(category=categories).SerializeToString()], tensor_shape=_shape())
    return _one("custom_scalars__config__", _plugin("custom_scalars"), tensor=content)


def pr_curve_raw(
    tag: str, tp: Any, fp: Any, tn: Any, fn: Any, precision: Any, recall: Any, num_thresholds: int = 127, weights: Any = None
) -> Summary:
    """Precision and recall by threshold, computed already."""
    from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData

    data = np.stack([make_np(x) for x in (tp, fp, tn, fn, precision, recall)])
    content = TensorProto(dtype="DT_FLOAT", float_val=data.reshape(-1).tolist(), tensor_shape=_shape(*data.shape))
    return _one(tag, _plugin("pr_curves", PrCurvePluginData(version=0, num_thresholds=min(num_thresholds, 127))), tensor=content)


def pr_curve(tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None) -> Summary:
    """Precision and recall by threshold of predictions in [0, 1]."""
    count = min(num_thresholds, 127)
    at = np.floor(make_np(predictions) * (count - 1)).astype(np.int32)
    positive = make_np(labels).astype(np.float64)
    weight = 1.0 if weights is None else weights
    true, false = (np.histogram(at, count, (0, count - 1), weights=share * weight)[0] for share in (positive, 1 - positive))
    tp, fp = np.cumsum(true[::-1])[::-1], np.cumsum(false[::-1])[::-1]
    tn, fn = fp[0] - fp, tp[0] - tp
    precision, recall = tp / np.maximum(1e-7, tp + fp), tp / np.maximum(1e-7, tp + fn)
    return pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, count)


def mesh(tag: str, vertices: Any, colors: Any, faces: Any, config_dict: Any) -> Summary:
    """Points in space, with colors and triangles; each (batch, number, 3)."""
    from tensorboard.plugins.mesh import metadata
    from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData

    kinds = [(vertices, MeshPluginData.VERTEX), (faces, MeshPluginData.FACE), (colors, MeshPluginData.COLOR)]
    given = [(make_np(tensor), kind) for tensor, kind in kinds if tensor is not None]
    components = metadata.get_components_bitmask([kind for _, kind in given])
    config = "{}" if config_dict is None else json.dumps(config_dict, sort_keys=True)
    values = []
    for array, kind in given:
        about = metadata.create_summary_metadata(tag, None, kind, components, array.shape, None, json_config=config)
        content = TensorProto(dtype="DT_FLOAT", float_val=array.reshape(-1).tolist(), tensor_shape=_shape(*array.shape[:3]))
        values.append(Summary.Value(tag=metadata.get_instance_name(tag, kind), tensor=content, metadata=about))
    return Summary(value=values)


def hparams(hparam_dict: Any = None, metric_dict: Any = None, hparam_domain_discrete: Any = None) -> tuple[Summary, Summary, Summary]:
    """Hyper-parameters and metrics of a run: what there is, the values, and that the run is over.

    Raises:
        TypeError: not dictionaries, or a domain of another type than the value.
        ValueError: a value that is neither number, text nor tensor.
    """
    from tensorboard.plugins.hparams import api_pb2, metadata
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionEndInfo, SessionStartInfo

    domains = hparam_domain_discrete or {}
    for name, value in (("hparam_dict", hparam_dict), ("metric_dict", metric_dict), ("hparam_domain_discrete", domains)):
        if not isinstance(value, dict):
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    for name, domain in domains.items():
        if name not in hparam_dict or not isinstance(domain, list) or not all(isinstance(d, type(hparam_dict[name])) for d in domain):
            raise TypeError(f"parameter: hparam_domain_discrete[{name}] should be a list of same type as hparam_dict[{name}].")
    start, infos = SessionStartInfo(), []
    for name, value in hparam_dict.items():
        if value is None:
            continue
        if isinstance(value, Tensor):
            value = make_np(value)[0]
        kind = "string" if isinstance(value, str) else "number"
        if kind == "number" and not isinstance(value, (int, float, np.number)):
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        setattr(start.hparams[name], f"{kind}_value", value)
        values = [struct_pb2.Value(**{f"{kind}_value": d}) for d in domains.get(name, ())]
        infos.append(
            api_pb2.HParamInfo(
                name=name, type=api_pb2.DataType.Value("DATA_TYPE_STRING" if kind == "string" else "DATA_TYPE_FLOAT64"),
                domain_discrete=struct_pb2.ListValue(values=values) if name in domains else None,
            )
        )  # fmt: skip
    metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=tag)) for tag in metric_dict]
    parts = [
        (metadata.EXPERIMENT_TAG, {"experiment": api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)}),
        (metadata.SESSION_START_INFO_TAG, {"session_start_info": start}),
        (metadata.SESSION_END_INFO_TAG, {"session_end_info": SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))}),
    ]
    found = [
        _one(tag, _plugin(metadata.PLUGIN_NAME, HParamsPluginData(version=metadata.PLUGIN_DATA_VERSION, **content)))  # type: ignore[arg-type]
        for tag, content in parts
    ]
    return found[0], found[1], found[2]
