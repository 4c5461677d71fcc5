"""Samples of comparisons, logic, bits, choices and clamping."""

from __future__ import annotations

from .sample import FLOATS, NUMBERS, Sample, T

INF, NAN = float("inf"), float("nan")
HALVES = ("float16", "bfloat16")
BOOLS = T(values=[True, False, True], dtype="bool")
OTHER_BOOLS = T(values=[True, True, False], dtype="bool")
LEFT = T(values=[0.0, 1.0, -1.0, NAN, INF, NAN])
RIGHT = T(values=[0.0, 2.0, -2.0, 1.0, INF, NAN])
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor")
_EXTREMA = ("maximum", "minimum", "fmax", "fmin")

SAMPLES = [
    # comparisons
    *[Sample(name, T(3, 4, low=0, high=3), T(4, low=0, high=3), dtypes=(*NUMBERS, "bool")) for name in _COMPARISONS],
    *[Sample(name, LEFT, RIGHT, dtypes=(*FLOATS, *HALVES)) for name in _COMPARISONS],
    *[Sample(name, T(values=[1, 2, 3]), 2.5, dtypes=("int64", "float32")) for name in _COMPARISONS],
    *[Sample(name, T(values=[1, 2, 3]), 2, dtypes=(*NUMBERS,)) for name in _COMPARISONS],
    *[Sample(name, T(2, dtype="complex64"), T(2, dtype="complex64")) for name in _COMPARISONS],
    Sample("greater", T(3), T(3)),
    Sample("not_equal", T(3), 1),
    Sample("eq", BOOLS, True),
    Sample("isclose", LEFT, RIGHT, dtypes=FLOATS),
    Sample("isclose", LEFT, RIGHT, equal_nan=True),
    Sample("isclose", T(values=[1.0, 2.0]), T(values=[1.00001, 2.1]), 1e-3, 1e-3),
    Sample("isclose", T(values=[1, 2]), T(values=[1, 3]), 0.4, dtypes=("int64",)),
    Sample("isclose", T(2), T(2, dtype="float64")),
    Sample("isclose", T(2), T(2), -1.0),
    Sample("allclose", T(values=[1.0, 2.0]), T(values=[1.0, 2.0]), grad=False),
    Sample("equal", T(3), T(3), grad=False),
    Sample("equal", T(values=[1, 2], dtype="int64"), T(values=[1.0, 2.0]), grad=False),
    Sample("equal", T(3), T(2), grad=False),
    # properties of numbers, logic, bits
    *[Sample(name, LEFT, dtypes=(*FLOATS, *HALVES)) for name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "isreal")],
    *[Sample(name, T(3, dtype="int64")) for name in ("isnan", "isinf", "isfinite", "isposinf", "isreal")],
    *[Sample(name, T(values=[complex(NAN, 1), 1j, 2 + 0j], dtype="complex64")) for name in ("isnan", "isinf", "isfinite", "isreal", "isposinf")],
    *[Sample(f"logical_{name}", T(values=[0, 1, 2, 0]), T(values=[0, 3, 0, 1]), dtypes=("float32", "int64", "bool")) for name in ("and", "or", "xor")],
    Sample("logical_and", BOOLS, T(values=[0.0, 2.0, 1.0])),
    Sample("logical_not", T(values=[0, 1, 2]), dtypes=("float32", "int64", "bool")),
    *[Sample(name, T(values=[5, 12, 7]), T(values=[3, 10, 0]), dtypes=("int64", "uint8", "bool")) for name in _BITWISE],
    *[Sample(name, T(values=[5, 12, -7]), 3, dtypes=("int64",)) for name in _BITWISE],
    *[Sample(name, BOOLS, True) for name in _BITWISE],
    *[Sample(name, T(2), T(2)) for name in _BITWISE],
    Sample("bitwise_not", T(values=[5, 0, 1]), dtypes=("int64", "uint8", "bool")),
    Sample("bitwise_not", T(2)),
    *[
        Sample(f"bitwise_{side}_shift", T(values=[1, 8, -8, -8, 5, 1]), T(values=[1, 2, 1, 70, -1, 63], dtype="int64"), dtypes=("int64", "int32"))
        for side in ("left", "right")
    ],
    *[Sample(f"bitwise_{side}_shift", T(values=[200, 3], dtype="uint8"), T(values=[1, 9], dtype="uint8")) for side in ("left", "right")],
    Sample("bitwise_left_shift", T(values=[1, 2]), 2, dtypes=("int64",)),
    Sample("bitwise_left_shift", T(2), 1),
    # choices
    Sample("where", BOOLS, T(3), T(3), dtypes=(*NUMBERS, "float16")),
    Sample("where", T(values=[[True], [False]], dtype="bool"), T(3), T(1)),
    Sample("where", BOOLS, T(3), 0.0, dtypes=(*FLOATS, "int64", "float16")),
    Sample("where", BOOLS, 1, T(3), dtypes=(*FLOATS, "int64")),
    Sample("where", BOOLS, 1, 2),
    Sample("where", BOOLS, 1.0, 2),
    Sample("where", BOOLS, True, False),
    Sample("where", BOOLS, T(3), T(3, dtype="float64")),
    Sample("where", T(3, dtype="int64"), T(3), T(3)),
    *[Sample("masked_fill", T(2, 3), BOOLS, value, dtypes=(*FLOATS, "float16")) for value in (0, -INF, 2.5, True)],
    Sample("masked_fill", T(3, low=0, high=5), BOOLS, 1.9, dtypes=("int64", "uint8", "bool")),
    Sample("masked_fill", T(3, dtype="uint8"), BOOLS, -1),
    Sample("masked_fill", T(3, dtype="float16"), BOOLS, 1e9),
    Sample("masked_fill", T(3, dtype="int64"), BOOLS, INF),
    Sample("masked_fill", T(3), BOOLS, 1e39),
    Sample("masked_fill", T(3), T(2, 3, dtype="int64"), 1),
    Sample("masked_fill", T(1, 3), T(values=[[True], [False]], dtype="bool"), 1),
    Sample("masked_fill", T(3), BOOLS, T()),
    Sample("masked_fill", T(3), BOOLS, T(3)),
    Sample("heaviside", T(values=[NAN, 0.0, 1.0, -1.0]), T(values=[0.5]), dtypes=FLOATS, grad=False),
    Sample("heaviside", T(2), T(2, dtype="int64")),
    # extrema and clamping
    *[Sample(name, LEFT, RIGHT, dtypes=FLOATS, gradgrad=False) for name in _EXTREMA],
    *[Sample(name, T(3, 4), T(4), dtypes=(*NUMBERS, *HALVES, "bool")) for name in _EXTREMA],
    *[Sample(name, T(2, dtype="complex64"), T(2, dtype="complex64")) for name in _EXTREMA],
    *[
        Sample("clamp", T(values=[-2.0, -1.0, 0.0, 1.0, 3.0, NAN]), low, high, dtypes=FLOATS, gradgrad=False)
        for low, high in ((-1.0, 1.0), (0, None), (None, 1), (2, 1), (0.0, NAN))
    ],
    Sample("clamp", T(values=[1, 5, 9]), 2, 6, dtypes=("int64", "uint8")),
    Sample("clamp", T(values=[1, 5, 9]), 2.5, dtypes=("int64",)),
    Sample("clamp", T(2)),
    Sample("clamp", BOOLS, False),
    Sample("clamp", BOOLS, 0),
    Sample("clamp", T(2, dtype="complex64"), 0),
    Sample("clip", T(3), -0.5, 0.5),
    Sample(
        "clamp", T(values=[1.0, 2.0, 3.0, 4.0, 4.0, 4.0, 2.0, 5.0, 2.0, 0.0]), T(values=[1.0, 1.0, 3.0, 1.0, 5.0, 3.0, 2.0, 6.0, 4.0, 1.0]),
        T(values=[2.0, 2.0, 3.0, 4.0, 3.0, 3.0, 2.0, 4.0, 1.0, 1.0]), gradgrad=False,
    ),
    Sample("clamp", T(values=[1.0, 2.0, NAN]), T(values=[NAN, 1.0, 1.0]), T(values=[2.0, NAN, 2.0]), grad=False),
    Sample("clamp", T(2, 3), max=T(3)),
    Sample("clamp", T(3), T(3, dtype="float64")),
    *[Sample(name, T(values=[-1.0, 0.5, 2.0, NAN]), 0.5, dtypes=FLOATS, gradgrad=False) for name in ("clamp_min", "clamp_max")],
    *[Sample(name, T(values=[-1.0, 0.5, 2.0]), T(values=[0.0, 0.5, 3.0]), gradgrad=False) for name in ("clamp_min", "clamp_max")],
    *[Sample(name, T(3, dtype="int64"), 0.5) for name in ("clamp_min", "clamp_max")],
]  # fmt: skip
