"""``torch.ops.aten``: every overload of torch's that an operator of ours serves is found and does what torch's does."""

from __future__ import annotations

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours

#: Overload and arguments (lists are tensors).
CALLS = {
    "linalg_det.default": ([[2.0, 1.0], [1.0, 3.0]],), "linalg_norm.ord_str": ([[2.0, 1.0], [1.0, 3.0]], "nuc"),
    "linalg_pinv.default": ([[2.0, 1.0], [1.0, 3.0]], 0.1), "linalg_matrix_rank.tol_tensor": ([[2.0, 1.0], [1.0, 3.0]], [0.5]),
    "fft_rfft.default": ([1.0, 2.0, 3.0],), "special_erf.default": ([0.5],), "special_i1e.default": ([0.5],),
    "special_zeta.other_scalar": ([2.0], 1.5), "arccos.default": ([0.5],), "hann_window.periodic": (4, False), "sort.stable": ([2.0, 1.0],),
    "add.Tensor": ([1.0], [2.0]), "isin.Tensor_Scalar": ([1.0, 2.0], 2.0), "clamp.Tensor": ([1.0], [2.0]),
}  # fmt: skip

#: Of operators without a public ``out=``, and of overloads with a name of their own.
INTO = {"relu.out": ([-1.0, 2.0],), "roll.out": ([1.0, 2.0, 3.0], [1]), "add.Scalar_out": ([1.0], 2.0), "flip.out": ([1.0, 2.0], [0])}  # fmt: skip


def _arguments(module, arguments: tuple) -> list:
    return [module.tensor(a) if isinstance(a, list) and all(isinstance(e, (float, list)) for e in a) else a for a in arguments]


def _overload(module, name: str):
    packet, _, overload = name.partition(".")
    return getattr(getattr(module.ops.aten, packet), overload)


def _same(mine, theirs) -> None:
    pairs = zip(mine, theirs, strict=True) if isinstance(theirs, (tuple, list)) else [(mine, theirs)]
    for a, b in pairs:
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", CALLS)
def test_overloads_compute(name: str, executor: str) -> None:
    if name == "sort.stable":
        _same(_overload(ours, name)(ours.tensor([2.0, 1.0]), stable=True), _overload(real_torch, name)(real_torch.tensor([2.0, 1.0]), stable=True))
        return
    _same(_overload(ours, name)(*_arguments(ours, CALLS[name])), _overload(real_torch, name)(*_arguments(real_torch, CALLS[name])))


@pytest.mark.parametrize("name", INTO)
def test_overloads_write_into_out(name: str) -> None:
    expected = _overload(real_torch, name)(*_arguments(real_torch, INTO[name]), out=real_torch.empty(0))
    target = ours.empty(0)
    assert _overload(ours, name)(*_arguments(ours, INTO[name]), out=target) is target
    _same(target, expected)


@pytest.mark.parametrize("name", ["hann", "masked_sum", "erfcx", "no_such_operator"])
def test_names_that_aten_does_not_know(name: str) -> None:
    with pytest.raises(AttributeError):
        getattr(ours.ops.aten, name)


def test_an_overload_knows_its_name() -> None:
    found = ours.ops.aten.linalg_qr.default
    assert (str(found), found.name(), found.overloadpacket) == ("aten.linalg_qr.default", "aten::linalg_qr", ours.ops.aten.linalg_qr)
    with pytest.raises(AttributeError, match="has no overload name 'nothing'"):
        _ = ours.ops.aten.add.nothing


def test_stand_ins_for_overridable_functions() -> None:
    found = ours.overrides.get_testing_overrides()
    assert ours.add in found and found[ours.add](ours.ones(1), 2) == -1
    assert ours.functional.meshgrid is ours.meshgrid and ours.functional.stft is ours.stft
