"""Gradients of and through sparse tensors; sparse gradients of embeddings, and the optimizers that take them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours

from .both import named

PROGRAMS = {
    "mm": ("torch.sparse.mm(a, b)", "k, d.t().contiguous()"),
    "mm_dense_first": ("torch.mm(b, a.to_dense())", "k, torch.ones(2, 2)"),
    "mm_sparse": ("torch.sparse.mm(a, b)", "k, o.t().coalesce()"),
    "mm_csr": ("torch.sparse.mm(a, b)", "r, d.t().contiguous()"),
    "mm_mean": ("torch.sparse.mm(a, b, 'mean')", "r, d.t().contiguous()"),
    "mm_amax": ("torch.sparse.mm(a, b, 'amax')", "r, d.t().contiguous()"),
    "addmm": ("torch.sparse.addmm(c, a, b, beta=2, alpha=3)", "k, d.t().contiguous(), torch.ones(2, 2)"),
    "sampled_addmm": ("torch.sparse.sampled_addmm(a, b, d)", "r, torch.ones(2, 2)"),
    "add_sparse": ("a + b", "k, k.sin()"),
    "mul_sparse": ("a * b", "k, k.sin()"),
    "mul_number": ("a * 3", "k"),
    "div_number": ("a / 3", "k"),
    "power": ("a ** 2", "k"),
    "abs": ("a.abs()", "k"),
    "sum": ("torch.sparse.sum(a)", "k"),
    "sum_dim": ("torch.sparse.sum(a, 0)", "k"),
    "softmax": ("torch.sparse.softmax(a, 1)", "o"),
    "log_softmax": ("torch.sparse.log_softmax(a, 0)", "o"),
    "t": ("a.t()", "k"),
    "values": ("a.values()", "k"),
    "coalesce": ("a.coalesce()", "s"),
    "to_dense": ("a.to_dense()", "s"),
    "to_sparse": ("a.to_sparse()", "d"),
    "sparse_mask": ("a.sparse_mask(k)", "d"),
}


def gradients(torch, name):
    """The gradients of a program's inputs, with their layouts."""
    names = named(torch)
    expression, inputs = PROGRAMS[name]
    given = [x.detach().clone().requires_grad_() for x in eval(f"[{inputs}]", dict(names))]
    out = eval(expression, names | dict(zip("abc", given)))
    out = out if out.layout is torch.strided else out.to_dense()
    (out * out).sum().backward()
    return [(str(x.grad.layout), x.grad.to_dense().tolist()) for x in given]


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name):
    for (layout, mine), (wanted_layout, wanted) in zip(gradients(ours, name), gradients(real_torch, name), strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)
        assert layout == wanted_layout


def test_a_gradient_can_be_asked_for_given_and_hooked():
    leaf = named(ours)["s"].requires_grad_()
    seen = []
    leaf.register_hook(lambda g: seen.append(g.layout))
    (found,) = ours.autograd.grad((leaf * 2).coalesce(), leaf, named(ours)["k"])
    assert (found.is_sparse, found.to_dense().tolist()) == (True, [[0, 0, 6], [18, 0, 0]])
    assert seen == [ours.sparse_coo]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        leaf.mul_(2)


# ---------------------------------------------------------------------------------------------------------------- embeddings
def embedded(torch, **keywords):
    """The gradients after one look-up, several, a dense one; what was added up is coalesced, as torch merges in an order of its own."""
    weight = torch.arange(8.0).reshape(4, 2).requires_grad_()
    look = torch.nn.functional.embedding
    out = look(torch.tensor([[2, 0], [2, 1]]), weight, sparse=True, **keywords)
    (out * torch.arange(8.0).reshape(2, 2, 2)).sum().backward()
    texts = [repr(weight.grad), weight.grad.is_coalesced()]
    look(torch.tensor([1, 3]), weight, sparse=True).sum().backward()
    texts.append(repr(weight.grad.coalesce()))
    (look(torch.tensor([1, 0]), weight, sparse=True).sum() + look(torch.tensor([3]), weight, sparse=True).sum()).backward()
    texts.append(repr(weight.grad.coalesce()))
    look(torch.tensor([1]), weight).sum().backward()
    texts.append(repr(weight.grad))
    look(torch.tensor([1]), weight, sparse=True).sum().backward()
    return [*texts, repr(weight.grad)]


@pytest.mark.parametrize("keywords", [{}, {"padding_idx": 2}], ids=["plain", "padding"])
def test_embedding(keywords, executor):
    assert embedded(ours, **keywords) == embedded(real_torch, **keywords)


def bagged(torch, mode, **keywords):
    weight = torch.arange(8.0).reshape(4, 2).requires_grad_()
    per_sample = torch.arange(4.0).requires_grad_() if mode == "sum" else None
    out = torch.nn.functional.embedding_bag(torch.tensor([2, 0, 2, 1]), weight, torch.tensor([0, 3]), mode=mode, sparse=True,
                                            per_sample_weights=per_sample, **keywords)  # fmt: skip
    out.sum().backward()
    return repr(out.detach()), repr(weight.grad), None if per_sample is None else repr(per_sample.grad)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_embedding_bag(mode):
    assert bagged(ours, mode) == bagged(real_torch, mode)
    assert bagged(ours, mode, padding_idx=2) == bagged(real_torch, mode, padding_idx=2)


def test_a_sparse_gradient_is_dense_for_other_nodes():
    weight = ours.ones(3, 2, requires_grad=True)
    ours.nn.functional.embedding(ours.tensor([1, 1]), weight * 2, sparse=True).sum().backward()
    assert weight.grad.tolist() == [[0, 0], [4, 4], [0, 0]]


def test_anomaly_mode_and_hooks_see_sparse_gradients():
    layer = ours.nn.Embedding(3, 2, sparse=True)
    seen: list[bool] = []
    layer.weight.register_hook(lambda g: seen.append(g.is_sparse))
    layer.weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.is_sparse))
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"), ours.autograd.detect_anomaly():
        layer(ours.tensor([1])).sum().backward()
    assert seen == [True, True]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        out = layer(ours.tensor([1])).sum()
        out.backward()
        out.backward()


def sparse_parameter(torch):
    weight = torch.nn.Parameter(named(torch)["k"])
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        (torch.sparse.mm(weight, torch.ones(3, 2)) ** 2).sum().backward()
        optimizer.step()
    return isinstance(weight, torch.nn.Parameter), weight.is_leaf, weight.requires_grad, weight.to_dense().tolist(), weight.grad.to_dense().tolist()


def test_a_sparse_parameter():
    assert sparse_parameter(ours)[:3] == sparse_parameter(real_torch)[:3] == (True, True, True)
    for mine, wanted in zip(sparse_parameter(ours)[3:], sparse_parameter(real_torch)[3:]):
        np.testing.assert_allclose(mine, wanted, rtol=1e-5)


def test_scaled_gradients_are_unscaled():
    weight = ours.ones(3, 2, requires_grad=True)
    optimizer, scaler = ours.optim.SGD([weight], lr=1.0), ours.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(ours.nn.functional.embedding(ours.tensor([0, 0, 2]), weight, sparse=True).sum()).backward()
    scaler.step(optimizer)
    assert weight.tolist() == [[-1, -1], [1, 1], [0, 0]]


OPTIMIZERS = {
    "SGD": {}, "SGD_maximize": {"maximize": True}, "SGD_decay": {"weight_decay": 0.1}, "SparseAdam": {}, "Adagrad": {}, "Adagrad_lr": {"lr_decay": 0.1},
    "Adagrad_decay": {"weight_decay": 0.1}, "Adam": {}, "AdamW": {}, "RMSprop": {}, "Adadelta": {}, "ASGD": {}, "Rprop": {}, "NAdam": {}, "RAdam": {}, "Adamax": {},
}  # fmt: skip


def trained(torch, name):
    weight = torch.nn.Parameter(torch.arange(8.0).reshape(4, 2))
    optimizer = getattr(torch.optim, name.partition("_")[0])([weight], lr=0.1, **OPTIMIZERS[name])
    for k in range(3):
        optimizer.zero_grad(set_to_none=k != 1)
        (torch.nn.functional.embedding(torch.tensor([k, 1, 1]), weight, sparse=True) ** 2).sum().backward()
        optimizer.step()
    return weight.tolist()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wanted = trained(real_torch, name)
        except RuntimeError as error:
            with pytest.raises(RuntimeError) as caught:
                trained(ours, name)
            assert str(caught.value) == str(error)
            return
        np.testing.assert_allclose(trained(ours, name), wanted, rtol=1e-5)
