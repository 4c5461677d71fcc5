"""torch's process-wide switches for determinism, matrix products, denormals and warnings; they are kept and returned, and no program changes by them.

float32 is always multiplied at full precision, which every setting allows.  XLA's CPU programs are deterministic; on a GPU, sums whose
places collide (``index_add_``, ``scatter_add_``) may be added in any order unless ``XLA_FLAGS`` has ``--xla_gpu_deterministic_ops=true``.
"""

from __future__ import annotations

import warnings

__all__ = [
    "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode", "get_float32_matmul_precision",
    "is_deterministic_algorithms_warn_only_enabled", "is_warn_always_enabled", "set_deterministic_debug_mode", "set_float32_matmul_precision",
    "set_flush_denormal", "set_warn_always", "use_deterministic_algorithms",
]  # fmt: skip

_PRECISIONS = ("highest", "high", "medium")
_DEBUG_MODES = ("default", "warn", "error")

_precision = "highest"
_deterministic = _warn_only = _warn_always = False


def get_float32_matmul_precision() -> str:
    """What was set: ``highest``, ``high`` or ``medium``."""
    return _precision


def set_float32_matmul_precision(precision: str) -> None:
    """Allow less than full precision in float32 matrix products; they keep it all the same.

    Raises:
        RuntimeError: not a text.
    """
    global _precision
    if not isinstance(precision, str):
        raise RuntimeError(f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}")
    if precision in _PRECISIONS:
        _precision = precision
    else:
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the currentsetFloat32MatmulPrecision call has no effect.", stacklevel=2
        )


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for results that do not change from run to run.

    Raises:
        TypeError: ``mode`` is not a bool.
    """
    global _deterministic, _warn_only
    if not isinstance(mode, bool):
        raise TypeError(f"_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not {type(mode).__name__}")
    _deterministic, _warn_only = mode, bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms` asked for them."""
    return _deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether a warning is all that was asked for."""
    return _warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` by one number or name: 0 ``default``, 1 ``warn``, 2 ``error``.

    Raises:
        TypeError: neither a number nor a text.
        RuntimeError: none of these.
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError(f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}")
        debug_mode = _DEBUG_MODES.index(debug_mode)
    if debug_mode not in range(3):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2: see `set_deterministic_debug_mode`."""
    return 0 if not _deterministic else 1 if _warn_only else 2


def set_flush_denormal(mode: bool) -> bool:
    """Ask for denormal numbers to be taken for zero.

    Returns:
        Whether that could be done: False, XLA decides it itself.

    Raises:
        TypeError: ``mode`` is not a bool.
    """
    if not isinstance(mode, bool):
        raise TypeError(f"flush_denormal expects a bool, but got {type(mode).__name__}")
    return False


def set_warn_always(b: bool, /) -> None:
    """Ask for warnings at every occasion; Python's own filters decide here.

    Raises:
        RuntimeError: not a bool.
    """
    global _warn_always
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _warn_always = b


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was given."""
    return _warn_always
