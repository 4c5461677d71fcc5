"""Optimizers whose updates go over all tensors at once: here all do, so they are the others with another default."""

from __future__ import annotations

from functools import partialmethod
from typing import Any

from . import adadelta, adagrad, adam, adamax, adamw, asgd, nadam, radam, rmsprop, rprop, sgd

__all__ = ["ASGD", "SGD", "Adadelta", "Adagrad", "Adam", "Adamax", "AdamW", "NAdam", "RAdam", "RMSprop", "Rprop", "partialclass"]


def partialclass(cls: Any, *args: Any, **kwargs: Any) -> type:
    """A subclass, ``NewCls``, that is made with these arguments."""
    return type(
        "NewCls", (cls,), {"__init__": partialmethod(cls.__init__, *args, **kwargs), "__module__": "pytorchlike.optim._multi_tensor"}
    )  # type: ignore[misc]


Adadelta = partialclass(adadelta.Adadelta, foreach=True)
Adagrad = partialclass(adagrad.Adagrad, foreach=True)
Adam = partialclass(adam.Adam, foreach=True)
Adamax = partialclass(adamax.Adamax, foreach=True)
AdamW = partialclass(adamw.AdamW, foreach=True)
ASGD = partialclass(asgd.ASGD, foreach=True)
NAdam = partialclass(nadam.NAdam, foreach=True)
RAdam = partialclass(radam.RAdam, foreach=True)
RMSprop = partialclass(rmsprop.RMSprop, foreach=True)
Rprop = partialclass(rprop.Rprop, foreach=True)
SGD = partialclass(sgd.SGD, foreach=True)
