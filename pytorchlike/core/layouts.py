"""torch's layouts and memory formats; tensors here are strided."""

from __future__ import annotations

__all__ = ["MEMORY_FORMATS", "layout", "memory_format", "sparse_bsc", "sparse_bsr", "sparse_coo", "sparse_csc", "sparse_csr", "strided"]

_BY_NAME: dict[str, _Constant] = {}


class _Constant:
    """An object that is known by its name in torch, under which it is also pickled."""

    __slots__ = ("name",)
    __module__ = "torch"

    def __init__(self, name: str) -> None:
        self.name = name
        _BY_NAME[name] = self

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str | tuple:
        return _by_name, (self.name,)


def _by_name(name: str) -> _Constant:
    return _BY_NAME[name]


class layout(_Constant):  # noqa: N801 - torch's name
    """How a tensor's elements are stored."""

    __slots__ = ()
    __module__ = "torch"


class memory_format(_Constant):  # noqa: N801 - torch's name
    """How the dimensions of a tensor are ordered in memory."""

    __slots__ = ()
    __module__ = "torch"


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")

#: torch's memory formats by name.
MEMORY_FORMATS = {n: memory_format(n) for n in ("contiguous_format", "channels_last", "channels_last_3d", "preserve_format")}
