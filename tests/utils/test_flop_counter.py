"""torch.utils.flop_counter: the counts of torch, by operator and by module, forward and backward."""

import pytest

import pytorchlike as P
from pytorchlike.utils import flop_counter

torch = pytest.importorskip("torch")
from torch.utils import flop_counter as torch_counter  # noqa: E402

CASES = {
    "mm": lambda t, r: r(3, 4) @ r(4, 5),
    "matmul of a batch and a matrix": lambda t, r: r(2, 3, 4) @ r(4, 5),
    "bmm": lambda t, r: r(2, 3, 4) @ r(2, 4, 5),
    "no gradient": lambda t, r: r(3, 4).detach() @ r(4, 5),
    "vectors": lambda t, r: (r(3, 4) @ r(4)).sum() + r(4) @ r(4),
    "einsum": lambda t, r: t.einsum("abij,abjk->ik", r(2, 3, 4, 5), r(2, 3, 5, 6)),
    "addmm": lambda t, r: t.addmm(r(3, 5), r(3, 4), r(4, 5)),
    "baddbmm": lambda t, r: t.baddbmm(r(2, 3, 5), r(2, 3, 4), r(2, 4, 5)),
    "linear": lambda t, r: t.nn.functional.linear(r(2, 3, 4), r(5, 4)),
    "linear with bias": lambda t, r: t.nn.functional.linear(r(2, 3, 4), r(5, 4), r(5)),
    "conv": lambda t, r: t.nn.functional.conv2d(r(2, 4, 6, 7), r(6, 2, 3, 3), groups=2),
    "conv of one": lambda t, r: t.nn.functional.conv1d(r(4, 7), r(6, 4, 3)),
    "conv of numbers": lambda t, r: t.nn.functional.conv2d(r(2, 4, 6, 7).detach(), r(6, 4, 3, 3)),
    "transposed conv": lambda t, r: t.nn.functional.conv_transpose2d(r(2, 4, 6, 7), r(4, 3, 3, 3), groups=2, stride=2),
}


def _counts(lib, counter, call):
    with counter.FlopCounterMode(display=False) as mode:
        call(lib, lambda *shape: lib.ones(*shape).requires_grad_()).sum().backward()
    return {module: {str(name): n for name, n in found.items()} for module, found in mode.get_flop_counts().items()}


@pytest.mark.parametrize("name", CASES)
def test_operators(name):
    assert _counts(P, flop_counter, CASES[name]) == _counts(torch, torch_counter, CASES[name])


def _model(lib):
    nn = lib.nn
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Sequential(nn.Conv1d(3, 4, 3), nn.Linear(6, 2)))


def test_modules():
    found = [_counts(lib, counter, lambda lib, r: _model(lib)(r(2, 3, 4))) for lib, counter in ((P, flop_counter), (torch, torch_counter))]
    assert found[0] == found[1] and "Sequential.2.1" in found[0]


def test_attention_and_table(capsys):
    with flop_counter.FlopCounterMode(depth=1) as mode:
        q = P.ones(1, 2, 300, 4, requires_grad=True)
        forward = P.nn.functional.scaled_dot_product_attention(q, q, q)
        assert mode.get_total_flops() == 2 * 2 * 2 * 300 * 300 * 4
        forward.sum().backward()
        _model(P)(P.ones(2, 3, 4))
    shown = capsys.readouterr().out
    assert shown.rstrip("\n") == mode.get_table(1)
    assert [line.split() for line in shown.splitlines()[2:5]] == [
        ["Global", "10.081M", "100.00%"],
        ["-", "aten._scaled_dot_product_flash_attention", "2.880M", "28.57%"],
        ["-", "aten._scaled_dot_product_flash_attention_backward", "7.200M", "71.42%"],
    ]
    assert "Sequential" in shown and "Sequential.0" not in shown
    outside = mode.get_total_flops()
    (P.ones(3, 3, requires_grad=True) @ P.ones(3, 3)).sum().backward()
    assert mode.get_total_flops() == outside


@pytest.mark.parametrize("lib, counter", [(P, flop_counter), (torch, torch_counter)], ids=["pytorchlike", "torch"])
def test_own_formulas(lib, counter):
    mapping = {lib.ops.aten.exp: lambda shape, out_shape=None: 7 * out_shape[0]}
    with counter.FlopCounterMode(display=False, custom_mapping=mapping) as mode:
        lib.ones(3).exp()
    assert mode.get_flop_counts() == {"Global": {lib.ops.aten.exp: 21}}
    with pytest.raises(RuntimeError, match="duplicate"):
        counter.register_flop_formula(lib.ops.aten.mm)(len)
    with pytest.raises(ValueError, match="OpOverloadPacket"):
        counter.register_flop_formula(len)(len)
