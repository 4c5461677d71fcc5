"""Calls of Bessel functions and of orthogonal polynomials, compared with torch's."""

from .sample import FLOATS, Sample, T

_OSCILLATING = ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1")
_ROUGH = {"tolerance": (2e-5, 1e-7), "reason": "torch's own are right to six digits only; test_special.py compares with SciPy"}
_BESSEL = (
    "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1", "spherical_bessel_j0",
)  # fmt: skip
_POLYNOMIALS = (
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "hermite_polynomial_h",
    "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
)  # fmt: skip
_POINTS = T(values=[0.0, 0.01, 0.7, 1.9, 2.5, 4.5, -1.5])
_DEGREES = T(values=[[-1.0], [0.0], [1.0], [2.7], [9.0], [10.0]])
_HALF = {"dtypes": ("float16",)}

SAMPLES = [
    Sample("erfinv", T(values=[0.999, -0.998, 0.997, 0.9])),
    *[Sample(f"special.{name}", _POINTS, dtypes=FLOATS, **_ROUGH) for name in _OSCILLATING],
    *[Sample(f"special.{name}", _POINTS, dtypes=FLOATS) for name in _BESSEL],
    Sample("special.bessel_j1", T(3), **_HALF),
    Sample("special.airy_ai", T(values=[0.0, 0.01, -1.7, 1.9, 4.5, -1.5, -2.0, 30.0]), dtypes=FLOATS),
    *[Sample(f"special.{name}", T(values=[0.0, 0.3, -0.8, 1.0, -1.0, 1.2, -1.1]), _DEGREES, dtypes=FLOATS) for name in _POLYNOMIALS],
    Sample("special.legendre_polynomial_p", T(3), 2, dtypes=("int64",)),
    Sample("special.legendre_polynomial_p", T(3), 2, **_HALF),
    Sample("special.hermite_polynomial_h", T(values=[0.5, 2.0]), 600, dtypes=FLOATS),
    Sample("special.ndtr", T(values=[-2.5, -1.0, 0.3, 2.0]), dtypes=("bfloat16", "float64")),
    Sample("special.zeta", T(values=[2.0, 0.5, 1.0, 3.0]), T(values=[-1.5, 2.0, 1.0, 0.0]), dtypes=("int64", "float64"), grad=False),
    Sample("special.zeta", T(values=[2.0, 3.5], grad=False), T(values=[1.5, 2.0])),
    Sample("special.i1", T(values=[0.0, 1.0])),
    Sample("polygamma", 2, T(values=[-20.5, -3.2, 0.7])),
    Sample("Tensor.polygamma", T(values=[-20.5, -3.2, 0.7]), 1),
]
