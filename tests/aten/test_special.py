"""Bessel and Airy functions against SciPy's, which are right to the last digits where torch's are not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import pytorchlike as ours

FUNCTIONS = {
    "airy_ai": lambda x: scipy.special.airy(x)[0], "bessel_j0": scipy.special.j0, "bessel_j1": scipy.special.j1, "bessel_y0": scipy.special.y0,
    "bessel_y1": scipy.special.y1, "modified_bessel_k0": scipy.special.k0, "modified_bessel_k1": scipy.special.k1,
    "scaled_modified_bessel_k0": scipy.special.k0e, "scaled_modified_bessel_k1": scipy.special.k1e,
}  # fmt: skip


@pytest.fixture(scope="module")
def values() -> dict[str, np.ndarray]:
    """The functions' values at the points, from one program."""
    points = ours.from_numpy(POINTS)
    found = {name: getattr(ours.special, name)(points) for name in FUNCTIONS}
    return {name: tensor.numpy() for name, tensor in found.items()}


POINTS = np.random.default_rng(0).uniform(-9, 60, 500)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_is_right_in_double_precision(name: str, values: dict[str, np.ndarray]) -> None:
    expected = FUNCTIONS[name](POINTS)
    defined = np.isfinite(expected)
    np.testing.assert_array_equal(np.isfinite(values[name]), defined)
    np.testing.assert_allclose(values[name][defined], expected[defined], rtol=1e-12, atol=1e-14)
