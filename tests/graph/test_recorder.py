"""The recorder: what is run when, what is kept, what is compiled again."""

from __future__ import annotations

import gc
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pytorchlike as torch
from pytorchlike.core.state import thread
from pytorchlike.graph import counters, recorder, tiers
from pytorchlike.graph.trie import SOFT_CAP, period_of


@pytest.fixture(autouse=True)
def deferred_only():
    if thread.state.immediate:
        pytest.skip("about the deferred executor")
    torch.graph.flush_all()
    counters.reset_counters()


def leaf(*shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).normal(size=shape).astype(np.float32)).clone()


def test_operators_are_recorded_not_run() -> None:
    x = leaf(3, 3)
    x.sum().item()
    y = (x * 2).relu()
    assert y._value.trace is thread.state.trace
    y.sum().item()
    assert y._value.trace is None and y._value.array is not None


def test_dead_results_are_not_computed() -> None:
    torch.graph.forget_programs()  # one that was made for more results would serve
    x = leaf(4)
    x.sum().item()
    counters.reset_counters()
    y = x + 1
    z = y * 2
    del y
    z.tolist()
    (program,) = counters.compilations or [None]
    assert program is None or len(program.live) == 1
    for _ in range(3):
        x * 5
    torch.graph.flush_all()
    assert len(counters.compilations) <= 1, "a trace of dead results is not run at all"


def test_second_iteration_compiles_nothing() -> None:
    w = leaf(8, 8).requires_grad_()
    optimizer = torch.optim.Adam([w], lr=0.1)

    def step(scale: float) -> float:
        optimizer.zero_grad()
        loss = ((leaf(4, 8) @ w) * scale).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    step(1.0), step(2.0)
    counters.reset_counters()
    for k in range(5):
        optimizer.param_groups[0]["lr"] = 0.1 / (k + 2)
        step(float(k))
    assert counters.compilations == [], "neither a learning rate nor a Python factor is part of the program"


def test_a_changing_index_compiles_a_few_times_only() -> None:
    x = leaf(40, 3)
    x.sum().item()
    counters.reset_counters()
    expected = np.asarray(x.tolist())
    counters.reset_counters()
    for k in range(40):
        np.testing.assert_allclose(x[k].sum().item(), expected[k].sum(), rtol=1e-5)
    assert len(counters.compilations) <= 4


def test_endless_loop_is_cut_on_its_period() -> None:
    x = leaf(5)
    for _ in range(4 * SOFT_CAP):
        x = (x * 0.9 + 0.1).tanh() - 0.01
    values = x.tolist()
    assert counters.flushes["cap"] >= 3
    assert len(counters.compilations) <= 4, "the pieces are the same program"
    y = leaf(5).numpy().astype(np.float32)
    for _ in range(4 * SOFT_CAP):
        y = np.tanh(y * np.float32(0.9) + np.float32(0.1)) - np.float32(0.01)
    np.testing.assert_allclose(values, y, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("in_use", [True, False, True])
def test_trace_whose_values_are_in_use_goes_on(in_use: bool) -> None:
    x, kept = torch.ones(3), []
    for _ in range(SOFT_CAP * 5 // 2):
        x = x * 1.0
        kept.append(x if in_use else None)
    assert x.tolist() == [1.0] * 3
    assert counters.flushes["cap"] == (0 if in_use else 2)
    assert all(y.tolist() == [1.0] * 3 for y in kept if y is not None)


@pytest.mark.parametrize(
    ("sequence", "expected"),
    [("abcabcabc", (3, 0)), ("xyababab", (2, 2)), ("abcdefgh", (0, 0)), ("aaaa", (1, 0)), ("xabcabcab", (3, 1))],
)
def test_period_of_the_tail(sequence: str, expected: tuple[int, int]) -> None:
    period, start = period_of(list(sequence))
    assert (period, start) == expected


@tiers.forced(tiers.FULL)
def test_updated_parameters_are_donated() -> None:
    w = leaf(128, 128)
    torch.graph.flush_all()
    w.mul_(0.5)
    torch.graph.flush_all()
    address = w._content().array.unsafe_buffer_pointer()
    w.mul_(0.5)
    torch.graph.flush_all()
    assert any(p.donated for p in counters.compilations)
    assert w._content().array.unsafe_buffer_pointer() == address


@tiers.forced(tiers.FULL)
def test_gradients_that_are_the_arrived_gradient_are_not_copied() -> None:
    a, b, g = leaf(64, 128).requires_grad_(), leaf(64, 128).requires_grad_(), leaf(64, 128)
    torch.graph.flush_all()
    total = a + b
    first, second = torch.autograd.grad(total, (a, b), g)
    torch.graph.flush_all()
    arrays = [t._content().array for t in (g, first, second)]
    addresses = {array.unsafe_buffer_pointer() for array in map(jax.block_until_ready, arrays)}
    assert len(addresses) == 1
    np.testing.assert_array_equal(total.detach().numpy(), 2 * leaf(64, 128).numpy())
    before = g.numpy().copy()
    first.mul_(2)  # shares an array, not a storage
    del a, b, total
    torch.graph.flush_all()
    np.testing.assert_array_equal(first.numpy(), 2 * before)
    np.testing.assert_array_equal(second.numpy(), before)
    np.testing.assert_array_equal(g.numpy(), before)


def test_arrays_handed_out_are_not_donated() -> None:
    from pytorchlike.tensors.convert import to_jax

    w = leaf(128, 128)
    w.mul_(1.0)
    handed = to_jax(w)
    before = np.array(handed)
    w.mul_(0.5)
    torch.graph.flush_all()
    np.testing.assert_array_equal(np.asarray(handed), before)


def test_lingering_garbage_does_not_compile_again() -> None:
    x = leaf(6)
    x.sum().item()

    def run(keep: bool) -> None:
        y = x * 3
        z = y + 1
        if keep:
            cycle: list = [y]
            cycle.append(cycle)
        del y
        z.sum().item()

    gc.disable()
    try:
        run(True)
        counters.reset_counters()
        run(False)
        assert counters.compilations == []
    finally:
        gc.enable()


def test_each_thread_records_for_itself() -> None:
    x = leaf(16)
    x.sum().item()
    results: dict[int, list[float]] = {}

    def work(k: int) -> None:
        y = x
        for _ in range(50):
            y = y * 1.01 + k
        results[k] = y.tolist()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    for k, values in results.items():
        y = np.asarray(x.tolist(), np.float32)
        for _ in range(50):
            y = y * np.float32(1.01) + np.float32(k)
        np.testing.assert_allclose(values, y, rtol=1e-4)


def test_a_pending_value_can_be_used_by_another_thread() -> None:
    x = leaf(8)
    y = x * 2
    z = y + 1
    found: list[float] = []
    worker = threading.Thread(target=lambda: found.extend((y * 10).tolist()))
    worker.start()
    worker.join()
    np.testing.assert_allclose(found, np.asarray(x.tolist()) * 20, rtol=1e-6)
    np.testing.assert_allclose(z.tolist(), np.asarray(x.tolist()) * 2 + 1, rtol=1e-6)


def test_error_that_depends_on_data_names_operator_and_line() -> None:
    table = leaf(4, 2)
    index = torch.tensor([0, 6]) + torch.tensor([0, 1])  # pending
    bad = torch.index_select(table, 0, index); line = sys._getframe().f_lineno  # noqa: E702
    with pytest.raises(IndexError) as caught:
        bad.sum().item()
    assert "index_select" in str(caught.value) and f"{__file__}:{line}" in str(caught.value)
    assert table.shape == (4, 2) and np.isfinite(table.tolist()).all(), "the tensors keep their values"


def test_error_that_depends_on_known_data_is_raised_at_the_call() -> None:
    table = leaf(4, 2) * 2  # pending, but only its size counts
    with pytest.raises(IndexError, match="^index 7 is out of bounds for dimension 0 with size 4$"):
        table[torch.tensor([0, 7])]
    assert table.sum().item() == pytest.approx(sum(map(sum, table.tolist())), rel=1e-6), "nothing was recorded"


def test_failed_write_leaves_the_tensor_as_it_was() -> None:
    x = torch.zeros(3)
    x.index_add_(0, torch.tensor([4]) + 1, torch.ones(1))
    with pytest.raises((IndexError, RuntimeError)):
        x.tolist()
    assert x.tolist() == [0.0, 0.0, 0.0]


def test_import_changes_no_jax_setting() -> None:
    assert jnp.arange(3).dtype == jnp.int32
    assert jnp.zeros(2).dtype == jnp.float32
    assert not jax.config.jax_enable_x64
    torch.ones(2, dtype=torch.float64).sum().item()
    assert jnp.arange(3.0).dtype == jnp.float32


def test_explain_tells_flushes_and_programs() -> None:
    x = leaf(3)
    (x + 1).tolist()
    text = torch.graph.explain()
    assert "tolist 1" in text and "1 programs" in text


def test_two_devices_in_one_trace() -> None:
    if torch.device("xla", 0) and len(jax.devices()) < 2:
        pytest.skip("one device")
    a = torch.ones(3)
    b = torch.ones(3, device="xla:1")
    c, d = a + 1, b + 2
    assert d.device == torch.device("xla:1") and d.tolist() == [3.0, 3.0, 3.0] and c.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(RuntimeError, match="same device"):
        a + b
    assert recorder.materialise(d._content(), "test").devices() == {jax.devices()[1]}


def test_meta_tensors_are_inferred_never_run() -> None:
    a = torch.empty(3, 4, device="meta")
    b = (a @ torch.empty(4, 5, device="meta")).relu()
    assert b.shape == (3, 5) and b.device.type == "meta"
    with pytest.raises((NotImplementedError, RuntimeError)):
        b.tolist()


def test_an_error_while_running_does_not_poison_what_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    from pytorchlike.graph import lower

    x = leaf(3)
    x.sum().item()
    y = x + 41

    def fail(*args: object) -> None:
        raise MemoryError("no memory")

    with monkeypatch.context() as patched:
        patched.setattr(lower.Program, "run", fail)
        with pytest.raises(MemoryError):
            y.tolist()
    z = x * 2
    np.testing.assert_allclose(z.tolist(), np.asarray(x.tolist()) * 2)
    np.testing.assert_allclose(y.tolist(), np.asarray(x.tolist()) + 41, rtol=1e-6)
