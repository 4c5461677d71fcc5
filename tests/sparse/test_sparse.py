"""Sparse tensors: making, reading, converting, operators; each expression prints as torch prints it, or fails as in torch."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch as real_torch

import pytorchlike as ours

from .both import agree, named, shown

MAKING = """
s; k; r; o; h; d.to_sparse_csc(); d.to_sparse_bsr((1, 3)); d.to_sparse_bsc((2, 1)); s.t(); r.t()
torch.sparse_coo_tensor(i, v); torch.sparse_coo_tensor((2, 3)); torch.sparse_coo_tensor([[0, 1], [2, 0]], [1, 2]); torch.sparse_coo_tensor(i, v, (2, 2))
torch.sparse_coo_tensor(i, v, (2, 3, 4)); torch.sparse_coo_tensor(i, v, (2, 3), dtype=torch.int32); torch.sparse_coo_tensor(i, torch.ones(2), (2, 3))
torch.sparse_coo_tensor(i[0], v); torch.sparse_coo_tensor(torch.zeros(2, 0), []); torch.sparse_coo_tensor([[0, 1]], torch.ones(2, 3))
torch.sparse_coo_tensor(i, v, (2, 2), check_invariants=True); torch.sparse_coo_tensor(i.flip(1), v, is_coalesced=True, check_invariants=True)
torch.sparse_coo_tensor(i, v, (2, 3), requires_grad=True); torch.sparse_coo_tensor(i, v.clone().requires_grad_(), (2, 3))
torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0]); torch.sparse_csr_tensor([0, 1, 2], [0, 3], [1.0, 2.0], (2, 3), check_invariants=True)
torch.sparse_csr_tensor(crow_indices=[0, 1, 2], col_indices=[0, 1], values=[1, 2], size=(2, 3), dtype=torch.float64)
torch.sparse_csc_tensor([0, 1, 2], [0, 1], [1.0, 2.0]); torch.sparse_bsr_tensor([0, 1], [0], [[[1.0, 2.0], [3, 4]]])
torch.sparse_compressed_tensor([0, 1, 2], [0, 1], [1.0, 2.0], layout=torch.sparse_csr); torch.sparse_compressed_tensor([0, 1], [0], [1.0])
torch.sparse.spdiags(torch.arange(6.0).reshape(2, 3), torch.tensor([0, 1]), (3, 3)); torch.sparse.spdiags(d, torch.tensor([0, 0]), (3, 3))
torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([0, -1]), (3, 3), layout=torch.sparse_csr); torch.tensor(1.0).to_sparse(); torch.zeros(2, 3).to_sparse()
d.to_sparse(0); d.to_sparse(3); d.to_sparse(layout=torch.strided); torch.stack([d, d]).to_sparse_csr(); d.to_sparse().to_sparse_csr(); r.to_sparse()
torch.zeros_like(s); torch.zeros_like(r); s.new_zeros(2); s.clone().zero_(); torch.ones_like(s)
"""
READING = """
s.layout; s.is_sparse; r.is_sparse; r.is_sparse_csr; type(s); s.shape; s.size(1); s.dim(); s.numel(); s.dtype; s.device; s.element_size(); s._nnz(); len(s)
s.is_coalesced(); k.is_coalesced(); k.t().is_coalesced(); h.sparse_dim(); h.dense_dim(); d.sparse_dim(); d.dense_dim(); s.requires_grad; s.is_leaf; s.grad
s.indices(); s.values(); s._indices(); s._values(); k.indices(); k.values(); r.crow_indices(); r.col_indices(); r.values(); r.indices(); r._indices()
r.ccol_indices(); d.indices(); d.values(); d.coalesce(); d.crow_indices(); d.is_coalesced(); r.coalesce(); d.to_dense(); s.to_dense(); h.to_dense(); r.to_dense()
s.numpy(); r.numpy(); s.tolist(); s.item(); bool(s); s.stride(); r.stride(); s.is_contiguous(); s.storage(); s.data_ptr(); s.nbytes; s.contiguous(); s.type()
s.double(); s.to(torch.float16); s.int(); s.to(s.double()); r.double(); s.clone(); s.detach(); f"{s}"; list(s); s[0]; s[0, 2]; s[:, 0]; s[..., 0]; s[None]; s[0:1]
s[torch.tensor([0, 1])]; r[0]; r[0, 1]; s == s; torch.allclose(s, s); torch.equal(s, s); torch.is_tensor(s); s.is_floating_point(); s.is_same_size(d)
"""
OPERATORS = """
k + k; (s + o).coalesce(); d + s; s + d; (s - k).coalesce(); d - s; s - 1; s + 1; k * k; k * o; s * d; d * s; s * 2; 2 * s; s * torch.tensor(2.0); s / 2; s / d; s / s; 2 / s; -s; s // 2
h + h; h * 2; r + r; r * 2; r * r; r * d; d + r; r.sin(); r.neg(); s.clone().add_(s).coalesce(); s.clone().mul_(2); s.clone().div_(2); torch.zeros(2, 3).add_(s)
s.abs(); s.sqrt(); s.sin(); s.exp(); s.cos(); s.relu(); s.pow(2); s ** 2; s.isnan(); torch.nan_to_num(s); s.sign(); torch.log1p(s)
s.sum(); s.sum(0); s.sum(1); h.sum(0); h.sum(1); r.sum(); r.sum(0); torch.sparse.sum(s, 0); torch.sparse.sum(s, dim=(0, 1))
torch.sparse.sum(s, 1, dtype=torch.float64); s.norm(); s.any(); s.mean(); s.max(); s.t(); s.transpose(0, 1); s.permute(1, 0); h.t(); h.transpose(0, 1)
s.unsqueeze(0); s.select(0, 1); s.index_select(0, torch.tensor([1, 0, 1])); s.index_select(1, torch.tensor([0])); s.narrow_copy(0, 1, 1); s.narrow(0, 1, 1)
torch.cat([s, s]); torch.cat([s, s], 1); torch.stack([s, s]); torch.cat([s, d]); s.reshape(3, 2); s.view(3, 2); d.sparse_mask(s); d.sparse_mask(k); s.sparse_mask(k)
d.sparse_mask(r); torch.mm(s, torch.ones(3, 2)); s @ torch.ones(3); s @ s.t(); torch.ones(2, 2) @ s; torch.mv(s, torch.ones(3)); r @ torch.ones(3, 2); r @ r.t()
torch.addmm(torch.ones(2, 2), s, torch.ones(3, 2)); torch.sparse.addmm(torch.ones(2, 2), s, torch.ones(3, 2), beta=2, alpha=3); torch.hspmm(s, torch.ones(3, 2))
torch.smm(s, torch.ones(3, 2)); torch.mm(s, torch.ones(2, 2)); torch.bmm(torch.stack([s, s]), torch.ones(2, 3, 2)); torch.sparse.softmax(o, 1)
torch.sparse.log_softmax(o, 0); torch.sparse.softmax(o, 0, dtype=torch.float64); torch.sparse.softmax(h, 1); torch.sparse.mm(r, torch.ones(3, 2), "mean")
torch.sparse.mm(r, torch.ones(3, 2), "amax"); torch.sparse.sampled_addmm(r, torch.ones(2, 2), d, beta=2.0, alpha=0.5)
s.clone().sparse_resize_((3, 4), 2, 0); s.clone().sparse_resize_and_clear_((3, 4), 2, 0); s.clone().copy_(o)
torch.sspaddmm(o, torch.eye(2).to_sparse(), d); o.sspaddmm(torch.eye(2).to_sparse(), d, beta=2, alpha=3); torch.saddmm(o, torch.eye(2).to_sparse(), d)
torch.sspaddmm(o, d, d); torch.sspaddmm(o, torch.eye(3).to_sparse(), d); torch.hsmm(s, torch.ones(3, 2)); torch.native_norm(k)
torch.resize_as_sparse_(torch.zeros(2, 2).to_sparse(), s)
"""
#: Where torch names another operator, to which its own comes down.
OTHERWISE = {"s.mean()"}


def expressions(text: str) -> list[str]:
    """The expressions of a block."""
    return [e.strip() for line in text.strip().splitlines() for e in line.split("; ")]


@pytest.mark.parametrize("block", [MAKING, READING, OPERATORS], ids=["making", "reading", "operators"])
def test_expressions_print_or_fail_as_in_torch(block, executor):
    mine, theirs = named(ours), named(real_torch)
    wrong = {}
    for expression in expressions(block):
        found, wanted = shown(expression, mine), shown(expression, theirs)
        if expression in OTHERWISE:
            assert found.partition(":")[0] == wanted.partition(":")[0], expression
        elif found != wanted:
            wrong[expression] = (found, wanted)
    assert wrong == {}


def test_what_cannot_be_done_is_named():
    s = named(ours)["s"]
    for call, name in ((lambda: s.exp(), "exp"), (lambda: ours.cumsum(s, 0), "cumsum"), (lambda: s.exp_(), "exp_"), (lambda: ours.conv1d(s, s), "conv")):
        with pytest.raises(NotImplementedError, match=f"Could not run 'aten::{name}.*' with arguments from the 'SparseCPU' backend"):
            call()


def test_invariants_are_checked_when_asked_for():
    indices = [[0, 5]]
    check = ours.sparse.check_sparse_tensor_invariants
    assert not check.is_enabled()
    with check(), pytest.raises(RuntimeError, match="size is inconsistent with indices: for dim 0, size is 2 but found index 5"):
        ours.sparse_coo_tensor(indices, [1.0, 2.0], (2,))
    assert not check.is_enabled()
    assert check(True)(check.is_enabled)()


def test_the_values_share_memory_and_a_place_on_the_tape():
    values = ours.ones(2, requires_grad=True)
    made = ours.sparse_coo_tensor([[0, 1]], values * 1, (3,))
    made.to_dense().sum().backward()
    assert values.grad.tolist() == [1, 1]
    plain = ours.ones(2)
    shared = ours.sparse_coo_tensor([[0, 1]], plain, (3,))
    plain.mul_(2)
    assert shared.to_dense().tolist() == [2, 2, 0]
    shared.requires_grad_()
    assert not plain.requires_grad


@pytest.mark.parametrize("name", ["s", "k", "r"])
def test_files_pickles_and_copies(name, tmp_path):
    mine = named(ours)[name]
    text = repr(mine)
    buffer = io.BytesIO()
    ours.save({"a": mine}, buffer)
    buffer.seek(0)
    assert repr(ours.load(buffer)["a"]) == text
    buffer.seek(0)
    assert repr(real_torch.load(buffer)["a"]) == text
    real_torch.save(named(real_torch)[name], tmp_path / "theirs.pt")
    assert repr(ours.load(tmp_path / "theirs.pt")) == text
    assert repr(pickle.loads(pickle.dumps(mine))) == repr(copy.deepcopy(mine)) == text


def test_a_layer_of_a_graph_network():
    def layer(torch):
        torch.manual_seed(0)
        edges = torch.tensor([[0, 1, 1, 2, 2], [1, 0, 2, 1, 2]])
        weight = torch.nn.Parameter(torch.ones(5))
        adjacency = torch.sparse_coo_tensor(edges, weight, (3, 3)).coalesce()
        linear = torch.nn.Linear(2, 2)
        degree = torch.sparse.sum(adjacency, 1).to_dense()
        out = torch.relu(torch.sparse.mm(adjacency, linear(torch.arange(6.0).reshape(3, 2))) / degree[:, None])
        out.sum().backward()
        return [t.tolist() for t in (out, weight.grad, linear.weight.grad)]

    for mine, wanted in zip(layer(ours), layer(real_torch), strict=True):
        real_torch.testing.assert_close(real_torch.tensor(mine), real_torch.tensor(wanted))


def test_printing_cuts_long_tensors_and_names_devices():
    agree("torch.sparse_coo_tensor(torch.arange(1200)[None], torch.arange(1200.0))")
    assert "device='meta', size=(2, 3), layout=torch.sparse_coo" in repr(named(ours)["s"].to("meta"))
