"""Masked tensors: what is shown, computed, refused and differentiated is what torch's do."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
import torch as real_torch
import torch.masked as real_masked

import pytorchlike as ours
import pytorchlike.masked as our_masked
from pytorchlike.dispatch.overrides import watch_methods

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # torch announces a prototype at each call, and so for sparse CSR

_REDUCTIONS = ("sum", "mean", "amin", "amax", "argmin", "argmax", "prod", "all", "var", "std")
_UNARY = ("abs", "cos", "sigmoid", "sqrt", "square", "isnan", "round", "exp2", "neg")


class _Case:
    """A module's names, data and masks."""

    def __init__(self, torch, masked) -> None:
        self.torch, self.make, self.as_masked = torch, masked.masked_tensor, masked.as_masked_tensor
        self.data = torch.tensor([[-1.5, -0.5, 0.5], [1.5, 2.5, 3.5]])
        self.mask = torch.tensor([[True, False, True], [False, False, True]])
        self.x = masked.masked_tensor(self.data, self.mask)

    def leaf(self):
        return self.make(self.data, self.mask, requires_grad=True)


PROGRAMS = {
    **{f"{name} of all": lambda c, name=name: getattr(c.torch, name)(c.x) for name in _REDUCTIONS},
    **{f"{name} of rows": lambda c, name=name: getattr(c.x, name)(1) for name in _REDUCTIONS},
    **{f"{name} of columns": lambda c, name=name: getattr(c.x, name)(dim=0, keepdim=True) for name in _REDUCTIONS},
    **{name: lambda c, name=name: getattr(c.torch, name)(c.x) for name in _UNARY},
    "a number": lambda c: c.make(c.torch.tensor(3.0), c.torch.tensor(False)),
    "integers": lambda c: c.make(c.torch.arange(3), c.mask[0]),
    "three dimensions": lambda c: c.make(c.data[None], c.mask[None]),
    "sum over two": lambda c: c.x.sum((0, 1)),
    "sum in double": lambda c: c.x.sum(1, dtype=c.torch.float64).get_data(),
    "arithmetic": lambda c: (c.x + c.x) * 2 - c.x / 3 + 1 / c.x,
    "with a plain tensor": lambda c: c.data + c.x * c.torch.ones(3),
    "comparison": lambda c: (c.x == c.x, c.x < 0, c.x >= c.x, c.torch.maximum(c.x, c.x)),
    "powers": lambda c: c.x**2,
    "in place": lambda c: c.make(c.data, c.mask).add_(1).abs_(),
    "indexing": lambda c: (c.x[0], c.x[:, 1:], c.x[c.mask], c.x[c.torch.tensor([1, 0])]),
    "shapes": lambda c: (c.x.view(3, 2), c.x.reshape(-1), c.x.t(), c.x.transpose(0, 1), c.x.unsqueeze(0), c.x.flatten(), c.x.unfold(1, 2, 1)),
    "expanded": lambda c: c.x.unsqueeze(0).expand(2, 2, 3),
    "parts": lambda c: (c.x.split(2, 1), c.x.chunk(2, 1)),
    "joined": lambda c: (c.torch.cat([c.x, c.x]), c.torch.stack([c.x, c.x])),
    "where": lambda c: c.torch.where(c.data > 0, c.x, c.make(c.data * 2, ~c.mask)),
    "where with a number": lambda c: c.torch.where(c.data > 0, c.x, 0.0),
    "softmax": lambda c: (c.x.softmax(1), c.torch.nn.functional.softmax(c.x, dim=0)),
    "casts": lambda c: (c.x.double().dtype == c.torch.float64, c.x.to(c.torch.float64), c.x.clone(), c.x.t().contiguous(), c.torch.ones_like(c.x)),
    "numbers": lambda c: (c.x[0, 0].item(), bool(c.x[1, 2]), len(c.x)),
    "plain again": lambda c: (c.x.to_tensor(7), c.x.get_data(), c.x.get_mask()),
    "sparse": lambda c: (c.x.to_sparse(), c.x.to_sparse().get_data().to_dense(), c.x.to_sparse().cos(), c.x.to_sparse() + c.x.to_sparse(), c.x.to_sparse().to_dense(),
                         c.x.to_sparse().sum(), c.x.to_sparse_csr(), c.x.to_sparse_csr().is_sparse_csr(), c.x.to_sparse().is_sparse),
    "metadata": lambda c: (tuple(c.x.shape), c.x.dim(), c.x.stride(), c.x.numel(), c.x.requires_grad, c.x.is_leaf, c.x.is_contiguous()),
    # refused
    "other masks": lambda c: c.x + c.make(c.data, ~c.mask),
    "other sizes": lambda c: c.x + c.make(c.torch.ones(3), c.torch.ones(3) > 0),
    "mask of numbers": lambda c: c.make(c.data, c.mask.float()),
    "mask of another size": lambda c: c.make(c.data, c.mask[:1]),
    "mask of fewer dimensions": lambda c: c.make(c.data, c.mask[0]),
    "a list": lambda c: c.make([1.0], c.mask),
    "masked twice": lambda c: c.make(c.x, c.mask),
    "complex": lambda c: c.make(c.data.to(c.torch.complex64), c.mask),
    "another layout": lambda c: c.make(c.data.to_sparse(), c.mask),
    "matrix product": lambda c: c.torch.mm(c.x, c.x.t()),
    "sorted": lambda c: c.x.sort(),
    "as a list": lambda c: c.x.tolist(),
    "as an array": lambda c: c.x.numpy(),
    "a masked number": lambda c: c.x[0, 1].item(),
}  # fmt: skip


def _outcome(case: _Case, program):
    """The text of what comes out, or the type of the error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return repr(program(case))
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("name", PROGRAMS)
def test_masked_tensors_are_torchs(name: str) -> None:
    """Shown values, masks and types of errors."""
    mine, theirs = (_outcome(_Case(*modules), PROGRAMS[name]) for modules in ((ours, our_masked), (real_torch, real_masked)))
    assert mine == theirs


def _backward(leaf, result):
    result.backward()
    return leaf.grad


def _of_leaf(c, program):
    x = c.leaf()
    return _backward(x, program(c, x))


GRADIENTS = {
    "product": lambda c, x: (x * x).sum(),
    "mean of rows": lambda c, x: x.exp().sum(1).mean(),
    "data": lambda c, x: (x.get_data() * 3).sum(),
    "filled": lambda c, x: x.to_tensor(0.0).pow(2).sum(),
    "softmax": lambda c, x: x.softmax(1).amax(1).sum(),
    "indexed": lambda c, x: (x[:, 2] * x[:, 2]).sum(),
    "variance": lambda c, x: x.var(),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_torchs(name: str) -> None:
    """Where the mask is true; the gradient's mask is the tensor's."""
    mine, theirs = (_of_leaf(_Case(*modules), GRADIENTS[name]) for modules in ((ours, our_masked), (real_torch, real_masked)))
    assert our_masked.is_masked_tensor(mine)
    np.testing.assert_allclose(mine.to_tensor(0).numpy(), theirs.to_tensor(0).detach().numpy(), rtol=1e-6, atol=1e-6)


def test_plain_input_gets_a_plain_gradient() -> None:
    """Of `as_masked_tensor`: 0 where it was masked out."""
    found = []
    for torch, masked in ((ours, our_masked), (real_torch, real_masked)):
        case = _Case(torch, masked)
        x = case.data.clone().requires_grad_()
        case.as_masked(x, case.mask).exp().sum().backward()
        found.append(x.grad)
    assert type(found[0]) is ours.Tensor
    np.testing.assert_allclose(found[0].numpy(), found[1].to_tensor(0).numpy(), rtol=1e-6)


def test_gradients_of_autograd_and_given_ones() -> None:
    """`autograd.grad`, ``backward(masked)``, hooks."""
    case = _Case(ours, our_masked)
    x, seen = case.leaf(), []
    x.register_hook(seen.append)
    (gradient,) = ours.autograd.grad((x * 2).sum(), x)
    (x * 3).backward(case.make(ours.ones(2, 3), case.mask))
    assert repr(gradient) == repr(case.make(ours.full((2, 3), 2.0), case.mask))
    assert repr(x.grad) == repr(case.make(ours.full((2, 3), 3.0), case.mask)) == repr(seen[-1])


def test_writing_through_views_and_indices() -> None:
    """A view's data are the base's; an assignment needs the mask of its place."""
    case = _Case(ours, our_masked)
    x = case.make(case.data, case.mask)
    x[0].mul_(2)
    x[1] = x[1] + 1
    assert repr(x) == repr(case.make(ours.tensor([[-3.0, -1.0, 1.0], [2.5, 3.5, 4.5]]), case.mask))
    assert repr(x.where(case.data > 0, x * 2)) == repr(case.make(ours.tensor([[-6.0, 0, 1], [0, 0, 4.5]]), case.mask))
    with pytest.raises(ValueError, match="masks must match"):
        x[0] = x[1]


def test_methods_that_modes_watch() -> None:
    """Once a mode was entered, Tensor's methods in Python hand over as well."""
    watch_methods()
    case = _Case(ours, our_masked)
    x = case.leaf()
    (x * 2).sum().backward()
    assert repr(x.grad) == repr(case.make(ours.full((2, 3), 2.0), case.mask))


def test_copies() -> None:
    """deepcopy and pickle keep data, mask and whether a gradient is asked for."""
    x = _Case(ours, our_masked).leaf()
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert repr(other) == repr(x) and other.requires_grad and other.get_data().data_ptr() != x.get_data().data_ptr()
