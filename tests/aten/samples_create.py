"""Calls of the factory functions of aten/create.py (values of ``empty`` and its relatives are not compared)."""

import torch

from tests.aten.sample import INTS, Sample, T


def factory(path, *args, **kwargs):
    """A sample without gradients."""
    return Sample(path, *args, grad=False, gradgrad=False, **kwargs)


SAMPLES = [
    factory("zeros", 2, 3),
    factory("zeros", [2, 3], dtype=torch.int64),
    factory("ones", 0, 3, dtype=torch.bfloat16),
    factory("ones", [], dtype=torch.bool),
    factory("full", [2, 3], 7),
    factory("full", [2], 1.5),
    factory("full", [2], True),
    factory("full", [2], 2j),
    factory("full", [2], 2.7, dtype=torch.int32),
    factory("full", [2], -1, dtype=torch.uint8),
    factory("scalar_tensor", 3),
    factory("zeros_like", T(3, 2, transposed=True), dtypes=("float32", "int64")),
    factory("ones_like", T(2, 3), dtype=torch.float64),
    factory("full_like", T(2, 3), 2.5, dtypes=("float32", *INTS)),
    factory("Tensor.new_zeros", T(2), 2, 3, dtypes=("float32", "int64")),
    factory("Tensor.new_ones", T(2), [2, 3], dtype=torch.int32),
    factory("Tensor.new_full", T(2), [2, 3], 3.0, dtypes=("float32", "int64")),
    factory("arange", 5),
    factory("arange", 5.0),
    factory("arange", 1, 2.5, 0.5),
    factory("arange", 5, 1, -2),
    factory("arange", 3, 6, 0.7),
    factory("arange", 0, 1, 0.1, dtype=torch.int32),
    factory("arange", 0.5, 3.7, 1.2, dtype=torch.int64),
    factory("arange", -1.5, 3, dtype=torch.int32),
    factory("arange", 0, 1, 0.1, dtype=torch.float16),
    factory("arange", start=2, end=7, step=2),
    factory("arange", 0),
    factory("range", 0, 1, 0.1),
    factory("range", 1, 4, dtype=torch.int64),
    factory("linspace", 0, 1, 7),
    factory("linspace", -5, 5, 7, dtype=torch.int32),
    factory("linspace", 0, 10, 4, dtype=torch.int64),
    factory("linspace", 3, 10, 1),
    factory("linspace", 3, 10, steps=0),
    factory("linspace", 0, 1j, 3),
    factory("linspace", 0, 1, 5, dtype=torch.float16),
    factory("logspace", 0, 2, 5),
    factory("logspace", 0, 2, 4, 2, dtype=torch.int64),
    factory("logspace", -1, 1, 4, base=2.0, dtype=torch.float64),
    factory("eye", 3),
    factory("eye", 2, 4, dtype=torch.bool),
    factory("eye", 3, m=0),
    factory("tril_indices", 3, 4, 1),
    factory("tril_indices", 4, 2, -2, dtype=torch.int32),
    factory("triu_indices", 3, 4, -1),
    factory("triu_indices", 3, 3, 5),
    factory("hann_window", 6),
    factory("hann_window", 5, False, dtype=torch.float64),
    factory("hamming_window", 5, True, 0.5, 0.4),
    factory("hamming_window", 1),
    factory("blackman_window", 7),
    factory("bartlett_window", 6),
    factory("bartlett_window", 5, periodic=False),
    factory("kaiser_window", 6),
    factory("kaiser_window", 5, periodic=False, beta=3.0),
    factory("kaiser_window", 0),
    # torch cannot take the gradient of vander: it overwrites what its own backward needs
    factory("vander", T(3), dtypes=("float32", *INTS)),
    factory("vander", T(3), N=2, increasing=True),
    factory("vander", T(values=[0.0, 2.0]), N=4),
    factory("vander", T(3), 0),
]
