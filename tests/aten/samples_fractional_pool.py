"""Samples of fractional max pooling with given random samples; drawn ones are in tests/nn/test_layers.py."""

from __future__ import annotations

from .sample import FLOATS, Sample, T

F = "nn.functional."
NAN, INF = float("nan"), float("inf")
IMAGE, VOLUME = T(2, 3, 7, 6), T(2, 3, 7, 6, 5)
PLACES = T(2, 3, 2, low=0.0, high=1.0, grad=False)
PLACES3 = T(2, 3, 3, low=0.0, high=1.0, grad=False)
ONE = T(1, 1, 2, low=0.0, high=1.0, grad=False)

SAMPLES = [
    Sample(F + "fractional_max_pool2d", IMAGE, (2, 3), (3, 2), None, True, PLACES, dtypes=FLOATS),
    Sample(F + "fractional_max_pool2d", IMAGE, 2, output_ratio=(0.5, 0.7), _random_samples=PLACES),
    Sample(F + "fractional_max_pool2d", T(3, 7, 6), 3, 1, _random_samples=PLACES),
    Sample(F + "fractional_max_pool2d_with_indices", T(values=[[[NAN, 1.0, NAN, -INF]] * 4]), 2, 2, _random_samples=ONE),
    Sample(F + "fractional_max_pool2d", T(values=[[[1.0] * 4] * 4]), 2, 3, return_indices=True, _random_samples=ONE),
    Sample(F + "fractional_max_pool3d", VOLUME, (2, 3, 2), (3, 2, 3), return_indices=True, _random_samples=PLACES3),
    Sample(F + "fractional_max_pool3d", VOLUME, 2, output_ratio=(0.5, 0.5, 0.4), _random_samples=PLACES3),
    Sample(F + "fractional_max_pool2d", T(0, 1, 4, 5), 2, output_ratio=0.5, return_indices=True, grad=False),
]

SAMPLES += [  # calls that torch refuses
    Sample(F + "fractional_max_pool2d", IMAGE, 2, grad=False),
    Sample(F + "fractional_max_pool2d", IMAGE, 8, 3, grad=False),
    Sample(F + "fractional_max_pool2d", IMAGE, 2, 6, grad=False),
    Sample(F + "fractional_max_pool2d", IMAGE, 2, 2, _random_samples=T(1, 3, 2, grad=False), grad=False),
    Sample(F + "fractional_max_pool2d", IMAGE, 2, 2, _random_samples=T(3, 2, grad=False), grad=False),
    Sample(F + "fractional_max_pool2d", IMAGE, 2, 2, _random_samples=T(2, 3, 2, dtype="float64", grad=False), grad=False),
    Sample(F + "fractional_max_pool2d", IMAGE, 2, 2, _random_samples=T(2, 3, 1, grad=False), grad=False),
    Sample(F + "fractional_max_pool2d", IMAGE, (2, 2, 2), 2, _random_samples=PLACES, grad=False),
    Sample(F + "fractional_max_pool2d", T(2, 0, 7, 6), 2, 2, grad=False),
    Sample(F + "fractional_max_pool2d", T(2, 3, 7, 6, dtype="int64"), 2, 2, _random_samples=T(2, 3, 2, dtype="int64"), grad=False),
    Sample(F + "fractional_max_pool3d", VOLUME, 3, (2, 6, 2), grad=False),
    Sample(F + "fractional_max_pool3d", VOLUME, 2, 2, _random_samples=T(2, 2, 3, grad=False), grad=False),
]
