"""The tensors of these tests in both libraries, and what an expression of them gives: the text of the result, or the error."""

from __future__ import annotations

import re
import warnings
from typing import Any

import torch as real_torch

import pytorchlike as ours

__all__ = ["agree", "named", "shown"]

#: Where torch's texts go on about itself.
_ENDS = re.compile(r" This could be because.*| \(Triggered internally.*", re.S)


def named(torch: Any) -> dict[str, Any]:
    """The names that expressions use: ``s`` is uncoalesced, ``k`` coalesced, ``r`` CSR, ``h`` hybrid, ``d`` dense."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        i, v = torch.tensor([[0, 1, 1], [2, 0, 0]]), torch.tensor([3.0, 4.0, 5.0])
        s = torch.sparse_coo_tensor(i, v, (2, 3))
        d = torch.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]])
        return {"torch": torch, "i": i, "v": v, "s": s, "k": s.coalesce(), "d": d, "o": d.to_sparse(), "r": d.to_sparse_csr(), "h": d.to_sparse(1)}


def shown(expression: str, names: dict[str, Any]) -> str:
    """What evaluating an expression gives, as text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = eval(expression, dict(names))
        except Exception as error:
            return f"{type(error).__name__}: {_ENDS.sub('', str(error))}"
    return repr(found)


def agree(expression: str) -> None:
    """The text is the same in both libraries."""
    assert shown(expression, named(ours)) == shown(expression, named(real_torch))
