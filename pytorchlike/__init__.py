"""PyTorch's programming model on the JAX stack, in pure Python: ``import pytorchlike as torch``.

Only names stand here; what they mean is in the layers below (see docs/architecture.md).
"""

from __future__ import annotations

from .core import collecting as _collecting  # isort: skip  # imports JAX

import gc as _gc
from math import e, inf, nan, pi

from . import aten as _aten
from . import graph
from ._ops import ops
from .alias import install_as_torch
from .amp.autocast_mode import autocast
from .amp.grad_scaler import GradScaler
from .amp.settings import *
from .aten.constructors import (
    as_tensor,
    asarray,
    broadcast_shapes,
    can_cast,
    from_dlpack,
    from_file,
    from_numpy,
    frombuffer,
    get_default_device,
    get_default_dtype,
    get_device,
    is_complex,
    is_conj,
    is_distributed,
    is_floating_point,
    is_neg,
    is_nonzero,
    is_signed,
    is_storage,
    is_tensor,
    numel,
    promote_types,
    result_type,
    scalar_tensor,
    set_default_device,
    set_default_dtype,
    tensor,
    typename,
)
from .aten.legacy import LEGACY_TYPES as _legacy_types
from .aten.legacy import set_default_tensor_type
from .aten.sparse_create import (
    sparse_bsc_tensor,
    sparse_bsr_tensor,
    sparse_compressed_tensor,
    sparse_coo_tensor,
    sparse_csc_tensor,
    sparse_csr_tensor,
)
from .backends.cpu import get_num_interop_threads, get_num_threads, set_num_interop_threads, set_num_threads
from .backends.numerics import (
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    is_deterministic_algorithms_warn_only_enabled,
    is_warn_always_enabled,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    set_flush_denormal,
    set_warn_always,
    use_deterministic_algorithms,
)
from .core.device import device
from .core.dtype import (
    bfloat16,
    complex32,
    complex64,
    complex128,
    dtype,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    qint8,
    qint32,
    quint8,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .core.dtype import bool_ as bool
from .core.dtype import complex32 as chalf
from .core.dtype import complex64 as cfloat
from .core.dtype import complex128 as cdouble
from .core.dtype import float16 as half
from .core.dtype import float32 as float
from .core.dtype import float64 as double
from .core.dtype import int16 as short
from .core.dtype import int32 as int
from .core.dtype import int64 as long
from .core.layouts import MEMORY_FORMATS as _memory_formats
from .core.layouts import layout, memory_format, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from .core.size import Size
from .core.symbolic import *
from .core.typeinfo import finfo, iinfo
from .dispatch import modes as _modes
from .dispatch.namespaces import operator_namespace as _operator_namespace
from .tensors import rebuild as _rebuild
from .tensors import representation as _representation
from .tensors.generator import Generator
from .tensors.printing import set_printoptions
from .tensors.storages import LEGACY_STORAGES as _legacy_storages
from .tensors.storages import TypedStorage, UntypedStorage
from .tensors.tensor import Tensor
from .version import __version__

from . import autograd  # isort: skip
from .autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from .autograd.grad_mode import is_grad_enabled, is_inference, is_inference_mode_enabled
from .autograd.vmap import vmap
from .random import default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state

globals().update({name: found for name, found in _legacy_types.items() if "." not in name})  # FloatTensor and the like
globals().update(_legacy_storages)  # FloatStorage and the like
Storage = _legacy_storages["FloatStorage"]

newaxis = None
has_lapack = has_openmp = has_spectral = True  # what torch was built with; the functions that need it are all there
has_mkl = False

contiguous_format, channels_last, channels_last_3d, preserve_format = _memory_formats.values()
legacy_contiguous_format = contiguous_format

__getattr__, __dir__ = _operator_namespace(
    __name__,
    "",
    (
        "_C", "_dynamo", "_higher_order_ops", "_inductor", "_jit_internal", "_library", "_tensor", "_utils", "accelerator", "amp", "ao", "backends",
        "compiler", "cpu", "cuda", "distributed", "distributions", "export", "fft", "func", "functional", "futures", "fx", "hub", "jit", "library",
        "linalg", "masked", "mps", "multiprocessing", "nn", "onnx", "optim", "overrides", "profiler", "return_types", "serialization", "signal",
        "sparse", "special", "storage", "testing", "types", "utils", "version", "xpu",
    ),
    {"DispatchKey": "_C", "Tag": "library",
     **dict.fromkeys(("_assert", "_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_tensor_all", "_check_type", "_check_value"), "_checks"),
     "compile": "compiler", "cond": "_higher_order_ops", "while_loop": "_higher_order_ops", "load": "serialization", "save": "serialization",
     "DisableTorchFunction": "_C", **dict.fromkeys(("_fused_adagrad_", "_fused_adam_", "_fused_adamw_", "_fused_sgd_"), "optim._fused"),
     "AcceleratorError": "cuda.memory", "OutOfMemoryError": "cuda.memory", "Stream": "_streams", "Event": "_streams",
     "DisableTorchFunctionSubclass": "_C", "Future": "futures", "get_device_module": "utils._device", "to_dlpack": "utils.dlpack"},
)  # fmt: skip

_gc.freeze()  # see core/collecting.py
