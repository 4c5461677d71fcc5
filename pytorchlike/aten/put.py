"""``out=`` of composites: the result put into the tensor that the caller passed."""

from __future__ import annotations

from typing import Any

from ..dispatch.call import put_out

__all__ = ["into"]


def into(out: Any, result: Any) -> Any:
    """The result itself where ``out`` is None, else ``out`` (a tensor or several) with the result in it, which is not on the tape.

    Raises:
        RuntimeError: ``out`` cannot hold it, torch's texts.
    """
    if out is None:
        return result
    if isinstance(out, (tuple, list)):
        return tuple([into(o, r) for o, r in zip(out, result, strict=True)])
    put_out(out, result._content())
    return out
