"""torch.utils.cpp_extension: extensions are written against torch's C++ library, which does not exist here."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = [
    "BuildExtension", "CUDAExtension", "CppExtension", "SyclExtension", "check_compiler_is_gcc", "get_default_build_root", "include_paths",
    "is_ninja_available", "library_paths", "load", "load_inline", "verify_ninja_availability",
]  # fmt: skip

CUDA_HOME = ROCM_HOME = CUDNN_HOME = None
IS_HIP_EXTENSION = False


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"torch.utils.cpp_extension.{name}: C++ and CUDA extensions use torch's own library, which pytorchlike does not have; "
        "write the operator in jax.numpy, or with jax.ffi"
    )


def load(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Not possible.

    Raises:
        NotImplementedError: always.
    """
    _refuse("load")


def load_inline(name: str, cpp_sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Not possible.

    Raises:
        NotImplementedError: always.
    """
    _refuse("load_inline")


def CppExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Not possible.

    Raises:
        NotImplementedError: always.
    """
    _refuse("CppExtension")


def CUDAExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Not possible.

    Raises:
        NotImplementedError: always.
    """
    _refuse("CUDAExtension")


def SyclExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Not possible.

    Raises:
        NotImplementedError: always.
    """
    _refuse("SyclExtension")


class BuildExtension:
    """Not possible: using it raises NotImplementedError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("BuildExtension")

    @classmethod
    def with_options(cls, **options: Any) -> NoReturn:
        """Not possible.

        Raises:
            NotImplementedError: always.
        """
        _refuse("BuildExtension")


def include_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]:
    """There are no headers."""
    return []


def library_paths(device_type: str = "cpu", torch_include_dirs: bool = True, cross_target_platform: Any = None) -> list[str]:
    """There are no libraries."""
    return []


def is_ninja_available() -> bool:
    """False: nothing is built."""
    return False


def verify_ninja_availability() -> NoReturn:
    """Ninja is not used.

    Raises:
        RuntimeError: always, torch's text.
    """
    raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")


def check_compiler_is_gcc(compiler: str) -> bool:
    """False: no compiler is used."""
    return False


def get_default_build_root() -> NoReturn:
    """Nothing is built.

    Raises:
        NotImplementedError: always.
    """
    _refuse("get_default_build_root")
