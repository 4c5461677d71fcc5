"""Memory that numpy arrays, tensors and views share, and how long it lives; storages, ``set_``, ``resize_``."""

from __future__ import annotations

import gc
import warnings

import numpy as np
import pytest

import pytorchlike as ours

from .twin import same

VALUES = {
    "f": lambda t: t.arange(2.0), "m": lambda t: t.ones(2, 3), "g": lambda t: t.ones(2, requires_grad=True), "i": lambda t: t.tensor([1, 2]),
    "z": lambda t: t.zeros(0), "n": np.ones(2),
}  # fmt: skip
EXPRESSIONS = """
f.untyped_storage()|f.untyped_storage().nbytes()|f[1:].untyped_storage().nbytes()|len(f.untyped_storage())|f.untyped_storage().data_ptr()==f.data_ptr()|f.storage().size()
f.storage().dtype|f.storage()[0]|f.untyped_storage()._cdata==f[1:].untyped_storage()._cdata|f.untyped_storage().device|f.untyped_storage()==f[1:].untyped_storage()
f.untyped_storage()==f.clone().untyped_storage()|repr(f.untyped_storage())|repr(f.storage())|f.is_shared()|f.is_pinned()|f.is_same_size(m)|m.sum_to_size(1,3)
m.sum_to_size(3)|m.sum_to_size((2,1))|m.sum_to_size(5)|m.sum_to_size(2,3)|f.is_set_to(f)|f.is_set_to(f[:])|f.is_set_to(f.clone())|f.resize_(3).shape|f.resize_(1)|f.resize_(2,2).shape
f.resize_((1,2)).shape|g.resize_(3)|f.resize_as_(m).shape|z.set_(f)|z.set_(f).data_ptr()==f.data_ptr()|z.set_(f.untyped_storage())|z.set_(f.untyped_storage(),1,(1,),(1,))
z.set_(f.storage(),0,(2,))|f.set_()|z.set_(i)|z.set_(f.untyped_storage(),-1,(1,))|torch.from_numpy(n).resize_(9)|f.resize_(-1)|f.resize(1)|m.T.resize_(2,2)|f[1:].resize_(1)
f.element_size()|f.itemsize|f.nbytes|f.storage_offset()|m[1:,1:].storage_offset()|m[1:,1:].data_ptr()-m.data_ptr()|torch.is_storage(f.untyped_storage())|torch.is_storage(f)
"""


@pytest.mark.parametrize("expression", [e for line in EXPRESSIONS.strip().splitlines() for e in line.split("|")])
def test_storages(executor: str, expression: str) -> None:
    same(expression, **VALUES)


def test_numpy_and_tensor_see_each_other(executor: str) -> None:
    def run(t):
        base = t.arange(12.0).reshape(3, 4)
        whole, part = base.numpy(), base[1:, ::2].numpy()
        whole[1, 0] = -1
        base[2, 2] = -2
        part[0, 1] = -3
        base.t()[3].fill_(8)
        view = base[1]
        whole[1] *= 2
        return base, whole, part, view, base.sum()

    same(run)


def test_array_and_tensor_see_each_other(executor: str) -> None:
    def run(t):
        a = np.arange(24.0).reshape(4, 6)
        rows, columns, fortran = t.from_numpy(a), t.from_numpy(a[1:, ::2]), t.from_numpy(a.T)
        a[1, 0] = -1
        rows[1, 2] = -2
        columns[2, 1] = -3
        fortran[5, 3] = -4
        part = rows[1:][1:]
        a[2] = 7
        part.add_(1)
        doubled = rows * 2
        a[0] = 100
        return rows, columns, fortran, part, doubled, a

    same(run)


def test_zero_dimensions_and_overlapping_arrays(executor: str) -> None:
    def run(t):
        a, b = np.array(3.0), np.arange(4.0)
        zero, repeated = t.from_numpy(a), t.from_numpy(np.lib.stride_tricks.as_strided(b, (3, 2), (8, 8)))
        a[()] = 5
        zero.add_(1)
        b[1] = 9
        return zero, a, repeated, t.tensor(2.0).numpy()

    same(run)


def test_array_outlives_tensor(executor: str) -> None:
    tensor = ours.arange(3.0)
    array = tensor.numpy()
    tensor.add_(1)
    del tensor
    gc.collect()
    array += 1
    assert array.tolist() == [2, 3, 4]
    shared = ours.from_numpy(np.arange(3.0))  # nobody else holds the array
    gc.collect()
    shared += 1
    assert shared.tolist() == [1, 2, 3]


@pytest.mark.parametrize("make", [
    lambda t: t.numpy(), lambda t: t[1:].numpy(), lambda t: t.numpy()[1:][1:], lambda t: memoryview(t.numpy()), lambda t: t.numpy().reshape(2, 2).T,
    lambda t: np.asarray(t), lambda t: t.numpy().view(np.int32), lambda t: np.from_dlpack(t), lambda t: t.numpy().flat, lambda t: np.broadcast_to(t.numpy(), (2, 4)),
])  # fmt: skip
def test_memory_is_shared_as_long_as_somebody_looks(make) -> None:
    tensor = ours.arange(4.0)
    seen = make(tensor)
    tensor.fill_(5)
    assert np.asarray(seen).astype(np.float64).ravel()[-1] in (5.0, float(np.float32(5).view(np.int32)))
    assert tensor._storage.host is not None
    del seen
    gc.collect()
    tensor.add_(1)
    assert tensor.tolist() == [6] * 4
    assert tensor._storage.host is None  # back to a device array


@pytest.mark.parametrize("array", [
    np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(12.0).reshape(3, 4)[1:, ::2], np.arange(6.0)[2:][1:],
    np.frombuffer(bytearray(48)), np.arange(6, dtype=np.int16).view(np.int8)[2:], np.zeros((3, 0)), np.ones((2, 3, 4)).transpose(1, 2, 0),
    np.zeros(4, dtype=[("a", "<f8"), ("b", "<f8")])["b"],
], ids=range(9))  # fmt: skip
def test_arrays_of_all_layouts(executor: str, array: np.ndarray) -> None:
    tensor = ours.from_numpy(array)
    assert tensor.stride() == tuple(s // array.itemsize for s in array.strides) or array.size == 0
    np.testing.assert_array_equal(tensor.numpy(), array)
    array[...] = 3
    np.testing.assert_array_equal((tensor + 0).numpy(), array)
    tensor.mul_(2)
    np.testing.assert_array_equal(array, 6)


def test_read_only_array() -> None:
    array = np.arange(3.0)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="The given NumPy array is not writable"):
        tensor = ours.from_numpy(array)
    tensor.add_(1)
    assert tensor.tolist() == [1, 2, 3] and array.tolist() == [0, 1, 2]


def test_gradients_of_shared_memory(executor: str) -> None:
    def run(t):
        a = np.ones((4, 2), np.float32)
        w = t.from_numpy(a).requires_grad_()
        row = w[0]
        a[0] = 3
        (row * row).sum().backward()
        return w.grad, row

    same(run)


def test_resize_keeps_memory(executor: str) -> None:
    def run(t):
        x = t.arange(6.0).reshape(2, 3)
        view = x.t()
        x.resize_(2, 2)
        x[0, 0] = 9
        y = t.arange(3.0)
        z = y[1:]
        y.resize_(5)
        y[3:] = 7
        y[2] = -1
        return x, view, y, z

    same(run)


def test_set_shares(executor: str) -> None:
    def run(t):
        x, y = t.arange(4.0), t.zeros(0)
        y.set_(x.untyped_storage(), 1, (3,), (1,))
        y.mul_(10)
        return x, y, y.untyped_storage().nbytes()

    same(run)


def test_no_copy_back_when_nothing_changed() -> None:
    tensor = ours.from_numpy(np.arange(3.0))
    keep = tensor.numpy()
    before = tensor._content()
    assert tensor._content() is before
    keep[0] = 1
    assert tensor._content() is not before
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(tensor.sum()) == 4
