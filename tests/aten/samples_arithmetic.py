"""Samples of arithmetic: sums, products, quotients, remainders, powers, interpolation, functions of two floats."""

from __future__ import annotations

from .sample import FLOATS, NUMBERS, Sample, T

INF, NAN = float("inf"), float("nan")
HALVES = ("float16", "bfloat16")
COMPLEX = ("complex64",)
BOOLS = T(values=[True, False, True], dtype="bool")
OTHER_BOOLS = T(values=[True, True, False], dtype="bool")
DIVIDENDS = T(values=[7, -7, 7, -7, 0, 6])
DIVISORS = T(values=[3, 3, -3, -3, 5, 2])
FLOAT_DIVIDENDS = T(values=[5.0, -5.0, INF, 5.0, 5.0, 0.0, -5.0, 1.0, 4.0])
FLOAT_DIVISORS = T(values=[3.0, 3.0, 1.0, 0.0, INF, 0.0, INF, 0.1, -2.0])
_DIVISIONS = ("floor_divide", "remainder", "fmod")
_WITH_GRADIENT = ("remainder", "fmod")  # torch has none for floor_divide

SAMPLES = [
    # sums, products, quotients
    *[
        Sample(name, T(3, 4), T(4, low=1.0, high=3.0), dtypes=(*FLOATS, *HALVES, "int64", *COMPLEX))
        for name in ("add", "sub", "mul", "div")
    ],
    *[Sample(name, T(3, 4), 2.5, dtypes=(*NUMBERS, *COMPLEX)) for name in ("add", "sub", "mul", "div", "rsub")],
    *[Sample(name, T(3, low=1, high=9), 2, dtypes=(*NUMBERS, "bool")) for name in ("add", "mul", "div")],
    *[Sample(name, 2.5, T(3, low=1, high=9), dtypes=("float32", "int64"), grad=name != "remainder") for name in ("add", "sub", "mul", "div", "remainder", "pow")],
    *[
        Sample(name, T(200), number, dtypes=HALVES, grad=False, tolerance=(0, 0), reason="the numbers are not rounded: the same bits as torch")
        for name in ("add", "mul", "floor_divide", "pow")
        for number in (0.3,)
    ],
    *[
        Sample(name, T(200), T(200), T(200, low=1.0), value=0.3, dtypes=HALVES, grad=False, tolerance=(0, 0), reason="the same bits as torch")
        for name in ("addcmul", "addcdiv")
    ],
    *[Sample(name, T(3), T(3, dtype="int64", low=1, high=5)) for name in ("add", "sub", "mul", "div", "rsub")],
    *[Sample(name, BOOLS, OTHER_BOOLS) for name in ("add", "mul", "div", "sub", "rsub")],
    *[Sample(name, BOOLS, T(3, dtype="int64")) for name in ("add", "mul", "sub")],
    *[Sample(name, T(3), True) for name in ("add", "mul", "sub")],
    *[Sample(name, T(3), 1 + 2j, gradgrad=False) for name in ("add", "mul")],
    Sample("add", T(3, 4), T(4), alpha=2, dtypes=NUMBERS),
    Sample("add", T(3, 4), T(3, 1), alpha=0.5, dtypes=(*FLOATS, *HALVES)),
    Sample("add", T(3), 2, alpha=3, dtypes=NUMBERS),
    Sample("sub", T(3), T(3), alpha=3, dtypes=NUMBERS),
    Sample("rsub", T(3), T(3), alpha=3, dtypes=NUMBERS),
    Sample("add", T(3), T(3), alpha=0.5, dtypes=("int64",)),
    Sample("add", T(3), T(3), alpha=True, dtypes=("float32", "int64", "bool")),
    Sample("add", T(3), T(), dtypes=FLOATS),
    Sample("add", T(0, 3), T(3)),
    Sample("add", T(3), T(2)),
    Sample("mul", T(3, 4, transposed=True), T(3, 4)),
    Sample("mul", T(3, dtype="float16"), T(3, dtype="float32")),
    Sample("mul", T(3, dtype="float32"), T(dtype="float64")),
    Sample("mul", T(3, dtype="float32"), T(3, dtype="complex64")),
    Sample("true_divide", T(3), T(3, low=1.0)),
    Sample("subtract", T(3), T(3)),
    Sample("multiply", T(3), T(3)),
    Sample("divide", T(3), T(3, low=1.0), rounding_mode="floor"),
    # rounded division
    *[Sample("div", DIVIDENDS, DIVISORS, rounding_mode=mode, dtypes=("int64", "int32", "float32")) for mode in ("floor", "trunc", None)],
    *[Sample("div", FLOAT_DIVIDENDS, FLOAT_DIVISORS, rounding_mode=mode, gradgrad=False, dtypes=FLOATS) for mode in ("floor", "trunc")],
    Sample("div", T(3), 2, rounding_mode="floor", dtypes=NUMBERS),
    Sample("div", T(3), T(3), rounding_mode="round"),
    *[Sample(name, DIVIDENDS, DIVISORS, dtypes=("int64", "int32")) for name in _DIVISIONS],
    *[Sample(name, FLOAT_DIVIDENDS, FLOAT_DIVISORS, dtypes=FLOATS, grad=name in _WITH_GRADIENT, gradgrad=False) for name in _DIVISIONS],
    *[Sample(name, T(4, low=-9.0, high=9.0), 2.5, dtypes=(*FLOATS, "int64"), grad=name in _WITH_GRADIENT) for name in _DIVISIONS],
    *[Sample(name, T(4, low=-9, high=9), 4, dtypes=("int64", "float32", "float16"), grad=name in _WITH_GRADIENT) for name in _DIVISIONS],
    *[Sample(name, T(3, dtype="int64"), T(values=[1, 0, 2], dtype="int64")) for name in _DIVISIONS],
    *[Sample(name, BOOLS, OTHER_BOOLS) for name in _DIVISIONS],
    *[Sample(name, T(2, dtype="complex64"), T(2, dtype="complex64")) for name in _DIVISIONS],
    *[Sample(name, T(values=[12, -18, 0, 7]), T(values=[8, 12, 5, 0]), dtypes=("int64", "int32")) for name in ("gcd", "lcm")],
    Sample("gcd", T(2), T(2)),
    # powers
    *[Sample("pow", T(5, low=0.3, high=3.0), p, dtypes=FLOATS) for p in (0, 1, 2, 3, 4, 7, -1, -2, 0.5, -0.5, 1.5, 2.0, 0.37)],
    *[
        Sample("pow", T(values=[0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, -2.5]), p, gradgrad=False)
        for p in (0, 1, 2, 3, 0.5, -1, -0.5, 2.5, 5)
    ],
    *[Sample("pow", T(values=[0, 1, -1, 2, -3]), p, dtypes=("int64", "int32")) for p in (0, 1, 2, 3, 5, 0.5, 2.5, True)],
    Sample("pow", T(3, dtype="int64"), -1),
    Sample("pow", BOOLS, 2),
    Sample("pow", BOOLS, OTHER_BOOLS),
    Sample("pow", T(3), 2, dtypes=(*HALVES, *COMPLEX)),
    Sample("pow", T(3, low=0.5), 2.5, dtypes=HALVES),
    Sample("pow", T(3), 1.5 + 0.5j, gradgrad=False),
    Sample("pow", T(3, low=0.5), T(3), dtypes=(*FLOATS, *COMPLEX)),
    Sample("pow", T(3, 1, low=0.5), T(4)),
    Sample("pow", T(values=[0.0, 0.0, 0.0, -1.0, 2.0, -8.0]), T(values=[0.0, 1.0, -1.0, 2.0, NAN, 1.5]), gradgrad=False),
    Sample("pow", T(values=[0, 1, -1, 2, -1, 0]), T(values=[-1, -2, -3, -1, -4, 0]), dtypes=("int64",)),
    Sample("pow", 2, T(4), dtypes=(*FLOATS, "int64")),
    Sample("pow", 2.5, T(4), dtypes=(*FLOATS, "int64")),
    Sample("pow", 0, T(values=[0.0, 1.0, -1.0]), gradgrad=False),
    Sample("float_power", T(3, low=0.5), T(3)),
    Sample("float_power", T(3, low=1, high=5), 2, dtypes=("int64", "float16")),
    Sample("ldexp", T(values=[1.0, -0.5, 3.0]), T(values=[3, 2, 0], dtype="int64")),
    Sample("ldexp", T(values=[1.0, -0.5, 3.0]), T(values=[3, -2, 0], dtype="int64"), grad=False),
    # sums of products, interpolation
    *[Sample(name, T(3, 4), T(4), T(3, 1, low=1.0, high=2.0), dtypes=(*FLOATS, *COMPLEX)) for name in ("addcmul", "addcdiv")],
    *[Sample(name, T(3), T(3), T(3, low=1.0, high=2.0), value=-0.5, dtypes=(*FLOATS, "float16")) for name in ("addcmul", "addcdiv")],
    Sample("addcmul", T(3), T(3), T(3), value=2, dtypes=("int64",)),
    Sample("addcdiv", T(3), T(3), T(3), dtypes=("int64",)),
    Sample("addcmul", BOOLS, BOOLS, BOOLS),
    *[Sample("lerp", T(3, 4), T(4), w, dtypes=FLOATS) for w in (0.3, 0.7, 1, 0.0)],
    Sample("lerp", T(3, 4), T(4), 0.7, dtypes=HALVES, grad=False, tolerance=(0, 0), reason="the same bits as torch"),
    Sample("lerp", T(3), T(3), T(3), dtypes=(*FLOATS, *COMPLEX)),
    Sample("lerp", T(3), T(3), T()),
    Sample("lerp", T(3), T(3, dtype="float64"), 0.5),
    Sample("lerp", T(3, dtype="int64"), T(3, dtype="int64"), 0.5),
    # functions of two floats
    Sample("atan2", T(values=[0.0, 0.0, 1.0, -0.0, -2.0]), T(values=[0.0, -1.0, 0.0, -0.0, 3.0]), dtypes=FLOATS, gradgrad=False),
    Sample("arctan2", T(3, 4), T(4)),
    Sample("atan2", T(3, low=1, high=5), T(3, low=1, high=5), dtypes=("int64",)),
    Sample("hypot", T(3, 4), T(4), dtypes=FLOATS),
    Sample("hypot", T(values=[0.0, 3.0]), T(values=[0.0, 4.0]), gradgrad=False),
    Sample("copysign", T(values=[0.0, 3.0, -2.0, 0.0]), T(values=[-1.0, -4.0, 0.0, 1.0]), gradgrad=False),
    Sample("copysign", T(3), -2.0, dtypes=(*FLOATS, "int64")),
    Sample("nextafter", T(values=[1.0, 0.0, -1.0, NAN]), T(values=[2.0, 1.0, -2.0, 1.0]), dtypes=FLOATS),
    Sample("logaddexp", T(3, 4), T(4), dtypes=FLOATS),
    Sample("logaddexp", T(values=[0.0, -INF, INF]), T(values=[0.0, -INF, 1.0]), gradgrad=False),
    Sample("logaddexp2", T(3), T(3), dtypes=FLOATS),
    *[Sample(name, T(3), T(3, low=0.5), dtypes=FLOATS) for name in ("xlogy", "special.xlogy", "special.xlog1py")],
    *[
        Sample(name, T(values=[0.0, 0.0, 0.0, 1.0, 2.0]), T(values=[0.0, NAN, -1.0, 0.0, 3.0]), gradgrad=False)
        for name in ("xlogy", "special.xlog1py")
    ],
    Sample("xlogy", T(3), 2.5, dtypes=(*FLOATS, "int64")),
    Sample("xlogy", 2.5, T(3, low=0.5)),
    Sample("logaddexp", T(6), T(6, low=-4.0, high=4.0), dtypes=("complex64",), grad=False),
]
