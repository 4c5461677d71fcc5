"""Process groups, collectives and `DistributedDataParallel` in a world of one process, beside torch's with gloo."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.distributed as their_dist
import torch.distributed.device_mesh as their_mesh
import torch.distributed.nn as their_nn  # before there is a group: its functions keep the default one of now

import pytorchlike
import pytorchlike.distributed as our_dist
import pytorchlike.distributed.device_mesh as our_mesh
import pytorchlike.distributed.nn as our_nn

LIBRARIES = ((pytorchlike, our_dist), (torch, their_dist))


@pytest.fixture
def groups() -> Iterator[None]:
    """The default group in both libraries."""
    our_dist.init_process_group("gloo", rank=0, world_size=1, store=object())
    their_dist.init_process_group("gloo", rank=0, world_size=1, store=their_dist.HashStore())
    yield
    for _, dist in LIBRARIES:
        if dist.is_initialized():
            dist.destroy_process_group()


def outcome(run: Any, *arguments: Any) -> Any:
    try:
        return run(*arguments)
    except Exception as error:
        return type(error).__name__, str(error)


def both(run: Any) -> Any:
    """The results of ``run(torch, dist)``, or their errors, are the same."""
    mine, theirs = (outcome(run, *each) for each in LIBRARIES)
    assert mine == theirs
    return mine


WITHOUT_GROUP = [
    lambda t, d: d.get_rank(), lambda t, d: d.get_world_size(), lambda t, d: d.barrier(), lambda t, d: d.all_reduce(t.ones(2)),
    lambda t, d: t.nn.parallel.DistributedDataParallel(t.nn.Linear(1, 1)), lambda t, d: d.is_initialized(), lambda t, d: d.group.WORLD,
    lambda t, d: d.destroy_process_group(), lambda t, d: d.init_process_group("gloo"),
    lambda t, d: t.utils.data.distributed.DistributedSampler([1, 2]),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(WITHOUT_GROUP)))
def test_without_a_group(case: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    both(WITHOUT_GROUP[case])


def test_group_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "localhost"), ("MASTER_PORT", "29511"), ("LOCAL_RANK", "3")):
        monkeypatch.setenv(name, value)
    our_dist.init_process_group("nccl")
    assert (our_dist.get_backend(), our_dist.get_node_local_rank(), os.environ["RANK"]) == ("nccl", 3, "0")
    our_dist.destroy_process_group()
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(NotImplementedError, match="a world of 2 processes; only one process is supported"):
        our_dist.init_process_group()
    assert not our_dist.is_initialized()


QUERIES = [
    lambda t, d: (d.get_rank(), d.get_world_size(), str(d.get_backend()), d.is_initialized(), d.get_process_group_ranks(d.group.WORLD)),
    lambda t, d: d.init_process_group("gloo", rank=0, world_size=1),
    lambda t, d: (d.group.WORLD is d.GroupMember.WORLD, d.group.WORLD.size(), d.group.WORLD.rank()),
    lambda t, d: [d.get_rank(d.new_group([0])), d.get_world_size(d.new_group())],
    lambda t, d: (d.get_rank(d.GroupMember.NON_GROUP_MEMBER), d.get_world_size(d.GroupMember.NON_GROUP_MEMBER)),
    lambda t, d: len(t.utils.data.distributed.DistributedSampler(range(5))),
]


@pytest.mark.parametrize("case", range(len(QUERIES)))
def test_ranks_and_sizes(groups: None, case: int) -> None:
    both(QUERIES[case])


def _on_tensors(run: Any) -> Any:
    def case(t: Any, d: Any) -> Any:
        a, out = t.arange(4.0), t.zeros(4)
        result = run(d, a, out)
        return [result if not hasattr(result, "wait") else result.wait(), a.tolist(), out.tolist()]

    return case


COLLECTIVES = [_on_tensors(run) for run in (
    lambda d, a, out: d.all_reduce(a), lambda d, a, out: d.all_reduce(a, op=d.ReduceOp.MAX, async_op=True), lambda d, a, out: d.reduce(a, 0),
    lambda d, a, out: d.broadcast(a, src=0), lambda d, a, out: d.all_gather([out], a), lambda d, a, out: d.all_gather_into_tensor(out, a, async_op=True),
    lambda d, a, out: d.gather(a, [out], 0), lambda d, a, out: d.scatter(out, [a], 0), lambda d, a, out: d.reduce_scatter(out, [a]),
    lambda d, a, out: d.reduce_scatter_tensor(out, a), lambda d, a, out: d.all_to_all([out], [a]), lambda d, a, out: d.all_to_all_single(out, a),
    lambda d, a, out: d.barrier(),
)]  # fmt: skip


@pytest.mark.parametrize("case", range(len(COLLECTIVES)))
def test_collectives(groups: None, case: int) -> None:
    both(COLLECTIVES[case])


def test_objects(groups: None) -> None:
    def run(t: Any, d: Any) -> Any:
        given, gathered, scattered, sent = {"x": [1]}, [None], [None], [1, 2]
        d.all_gather_object(gathered, given)
        d.scatter_object_list(scattered, [7], 0)
        d.broadcast_object_list(sent, 0)
        return gathered, gathered[0] is given, scattered, sent

    assert both(run)[1] is False


def test_refused_arguments(groups: None) -> None:
    for call in (
        lambda: our_dist.all_reduce([1]), lambda: our_dist.all_gather(1, pytorchlike.ones(2)),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="Invalid function argument"):
            call()
    target = pytorchlike.zeros(3)
    for call in (
        lambda: our_dist.all_gather([target] * 2, pytorchlike.ones(3)), lambda: our_dist.all_gather([target], pytorchlike.ones(4)),
        lambda: our_dist.broadcast(target, 1),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="invalid"):
            call()
    assert target.tolist() == [0.0] * 3
    with pytest.raises(ValueError, match="Invalid destination rank"):
        our_dist.send(target, 0)


def test_distributed_data_parallel(groups: None) -> None:
    def run(t: Any, d: Any) -> Any:
        t.manual_seed(0)
        module = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.BatchNorm1d(3))
        wrapped = t.nn.parallel.DistributedDataParallel(module, find_unused_parameters=True)
        with wrapped.no_sync():
            inside = wrapped.require_backward_grad_sync
        with wrapped.join():
            wrapped(t.arange(6.0).view(3, 2)).square().sum().backward()
        return (
            repr(wrapped), list(wrapped.state_dict()), wrapped.module is module, inside, wrapped.require_backward_grad_sync, wrapped.device_ids,
            wrapped.broadcast_buffers, wrapped.will_sync_module_buffers(), [[round(v, 4) for v in p.grad.flatten().tolist()] for p in module.parameters()],
        )  # fmt: skip

    both(run)


@pytest.mark.parametrize("run", [
    lambda t, d: t.nn.parallel.DistributedDataParallel(t.nn.ReLU()),
    lambda t, d: t.nn.parallel.DistributedDataParallel(t.nn.Linear(1, 1), device_ids=[0, 1]),
])  # fmt: skip
def test_what_distributed_data_parallel_refuses(groups: None, run: Any) -> None:
    both(run)


COLLECTIVES_WITH_GRADIENTS = [
    lambda t, n, x: n.all_reduce(x * 2), lambda t, n, x: n.all_gather(x)[0], lambda t, n, x: n.broadcast(x, 0), lambda t, n, x: n.reduce(x, 0),
    lambda t, n, x: n.scatter([x], 0), lambda t, n, x: n.gather(x, 0)[0], lambda t, n, x: n.reduce_scatter(t.empty(2, 3), [x]),
    lambda t, n, x: n.all_to_all([t.empty(2, 3)], [x])[0], lambda t, n, x: n.all_to_all_single(t.empty(2, 3), x), lambda t, n, x: n.broadcast(x, 1),
    lambda t, n, x: n.reduce(x, 2),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("case", range(len(COLLECTIVES_WITH_GRADIENTS)))
def test_collectives_with_gradients(case: int, groups: None) -> None:
    found = []
    for (t, _), n in zip(LIBRARIES, (our_nn, their_nn), strict=True):
        x = t.arange(6.0).reshape(2, 3).requires_grad_()
        y = outcome(COLLECTIVES_WITH_GRADIENTS[case], t, n, x)
        if isinstance(y, tuple):
            found.append(y[0])  # the error's class; gloo's text names its own source
            continue
        (y * y).sum().backward()
        found.append((type(y.grad_fn).__name__, y.tolist(), x.grad.tolist()))
    assert found[0] == found[1]


def test_a_mesh_of_one_process(groups: None) -> None:
    def facts(m: Any) -> Any:
        mesh = m.init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
        part = mesh["tp"]
        return (
            mesh.size(), mesh.size(0), mesh.ndim, mesh.shape, mesh.mesh.tolist(), mesh.get_rank(), mesh.get_local_rank("dp"), tuple(mesh.get_coordinate()),
            mesh.mesh_dim_names, mesh.device_type, part.mesh_dim_names, part.shape, mesh.get_group("dp").size(), len(mesh.get_all_groups()),
        )  # fmt: skip

    assert facts(our_mesh) == facts(their_mesh)
    wrong = [
        lambda m: m.init_device_mesh("cpu", (2,)), lambda m: m.init_device_mesh("cpu", (1, 1), mesh_dim_names=("a",)),
        lambda m: m.init_device_mesh("cpu", (1, 1), mesh_dim_names=("a", "a")), lambda m: m.init_device_mesh("cpu", (1,), mesh_dim_names=("a",))["b"],
    ]  # fmt: skip
    for make in wrong:
        assert outcome(make, our_mesh) == outcome(make, their_mesh)


def test_placements_and_no_distributed_tensors() -> None:
    import torch.distributed.tensor as theirs

    import pytorchlike.distributed.tensor as ours

    def facts(m: Any) -> Any:
        all_of_them = [m.Shard(1), m.Replicate(), m.Partial()]
        return [(str(p), repr(p), p.is_shard(), p.is_shard(0), p.is_replicate(), p.is_partial(), p == m.Shard(1)) for p in all_of_them]

    assert facts(ours) == facts(theirs)
    assert not isinstance(pytorchlike.ones(2), ours.DTensor)
    for make in (ours.DTensor, ours.distribute_tensor, ours.distribute_module):
        with pytest.raises(NotImplementedError, match="torch.distributed.tensor"):
            make(pytorchlike.ones(2))
