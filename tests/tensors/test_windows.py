"""Reading, writing and the gradient of views, against torch's aliasing tensors and a gather written with numpy."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pytorchlike.tensors import strided
from pytorchlike.tensors.geometry import Geometry, contiguous, geometry
from pytorchlike.tensors.windows import adjoint, is_dynamic_ok, plan, read, write


@pytest.fixture(autouse=True, scope="module")
def _x64():
    with jax.enable_x64(True):
        yield


def _geometry_of(x: torch.Tensor) -> Geometry:
    return geometry(x.size(), x.stride(), x.storage_offset())


def _random_view(draw, x: torch.Tensor) -> torch.Tensor:
    kind = draw(st.sampled_from(["permute", "slice", "select", "unsqueeze", "expand", "view", "diagonal", "unfold", "flatten", "as_strided"]))
    dim = draw(st.integers(0, max(x.ndim - 1, 0)))
    n = x.shape[dim] if x.ndim else 1
    if kind == "permute":
        return x.permute(draw(st.permutations(range(x.ndim))))
    if kind == "slice" and x.ndim:
        return torch.ops.aten.slice.Tensor(x, dim, draw(st.integers(0, n)), draw(st.integers(0, n)), draw(st.integers(1, 3)))
    if kind == "select" and x.ndim and n:
        return x.select(dim, draw(st.integers(0, n - 1)))
    if kind == "unsqueeze":
        return x.unsqueeze(dim)
    if kind == "expand":
        return x.expand([3 if k == 1 and draw(st.booleans()) else k for k in x.shape])
    if kind == "view" and x.ndim and n % 2 == 0 and n:
        return x.unflatten(dim, (2, n // 2))
    if kind == "flatten" and x.is_contiguous():
        return x.view(-1)
    if kind == "diagonal" and x.ndim > 1:
        first, second = draw(st.permutations(range(x.ndim)))[:2]
        return x.diagonal(draw(st.integers(-1, 1)), first, second)
    if kind == "unfold" and n:
        return x.unfold(dim, draw(st.integers(1, n)), draw(st.integers(1, 3)))
    if kind == "as_strided" and draw(st.booleans()):
        size = draw(st.lists(st.integers(1, 3), max_size=3))
        stride = [draw(st.integers(0, 8)) for _ in size]
        room = x.untyped_storage().nbytes() // x.element_size() - sum((k - 1) * s for k, s in zip(size, stride, strict=True))
        return x.as_strided(size, stride, draw(st.integers(0, room - 1))) if room > 0 else x
    return x


@st.composite
def windows(draw):
    """(base tensor, a view of it)."""
    size = draw(st.lists(st.sampled_from([1, 2, 3, 4, 6]), max_size=4))
    base = torch.arange(float(np.prod(size, dtype=int)), dtype=torch.float64).reshape(size)
    if draw(st.integers(0, 3)) == 0:
        base = base.permute(draw(st.permutations(range(base.ndim))))
    view = base
    for _ in range(draw(st.integers(1, 4))):
        view = _random_view(draw, view)
        if view.numel() > 500:
            break
    return base, view


def _flat_indices(at: Geometry) -> np.ndarray:
    index = np.full(tuple(at.size), at.offset)
    for d, (n, s) in enumerate(zip(at.size, at.stride, strict=True)):
        index = index + (np.arange(n) * s).reshape([-1 if k == d else 1 for k in range(at.ndim)])
    return index


def _check(base_tensor: torch.Tensor, view: torch.Tensor, start=None) -> None:
    base, at = _geometry_of(base_tensor), _geometry_of(view)
    value = jnp.asarray(base_tensor.numpy())
    extra = () if start is None else (start,)
    np.testing.assert_array_equal(read(value, base, at, *extra), view.numpy())
    first = at.offset if start is None else int(start)
    np.testing.assert_array_equal(strided.read(base, at, first, np.asarray(value)), view.numpy())

    g = np.random.default_rng(0).standard_normal(tuple(at.size))
    expected = torch.zeros_like(base_tensor)  # dense, so it has the base's strides
    expected.as_strided((base.numel,), (1,)).index_add_(0, torch.from_numpy(_flat_indices(at).reshape(-1)), torch.from_numpy(g.reshape(-1)))
    np.testing.assert_allclose(adjoint(jnp.asarray(g), base, at, *extra), expected.numpy(), rtol=1e-12)
    np.testing.assert_allclose(strided.adjoint(base, at, first, g), expected.numpy(), rtol=1e-12)

    if len(np.unique(_flat_indices(at))) == at.numel:  # no overlap
        target = base_tensor.clone()
        torch.as_strided(target, at.size, at.stride, at.offset).copy_(torch.from_numpy(g))
        np.testing.assert_array_equal(write(value, base, at, jnp.asarray(g), *extra), target.numpy())
        before = np.array(value)
        np.testing.assert_array_equal(strided.write(base, at, first, before, g), target.numpy())
        np.testing.assert_array_equal(before, value)  # a value never changes


@given(windows())
@settings(max_examples=40, deadline=None)
def test_random_windows_equal_torchs(window):
    with jax.disable_jit():
        _check(*window)


@given(windows())
@settings(max_examples=40, deadline=None)
def test_a_traced_offset_gives_the_same(window):
    base, view = window
    if is_dynamic_ok(_geometry_of(base), _geometry_of(view)):
        with jax.disable_jit():
            _check(base, view, jnp.asarray(view.storage_offset(), jnp.int64))


BASE = torch.arange(48.0, dtype=torch.float64).reshape(2, 4, 6)
KINDS = {
    "whole": [lambda x: x],
    "empty": [lambda x: x[1:1]],
    "dims": [lambda x: x.permute(2, 0, 1), lambda x: x[1], lambda x: x[:, ::2, 1:5:3], lambda x: x[None, :, 2, None].expand(3, 2, 5, 6), lambda x: x[1, 2, 3]],
    "digits": [lambda x: x.view(-1), lambda x: x.view(8, 3, 2)[1:, :, 0], lambda x: x[0].view(-1)[3:20:4], lambda x: x.unfold(2, 2, 2), lambda x: x.diagonal(0, 1, 2)],
    "range": [lambda x: x.as_strided((3, 4), (10, 1), 5), lambda x: x.as_strided((2, 3), (20, 1), 23)],
    "gather": [lambda x: x.unfold(2, 3, 1), lambda x: x.as_strided((3, 3), (7, 5), 2)],
}


@pytest.mark.parametrize(("kind", "make"), [(kind, make) for kind, makes in KINDS.items() for make in makes])
def test_each_kind_of_lowering(kind, make):
    view = make(BASE)
    assert plan(_geometry_of(BASE), _geometry_of(view)).kind == kind
    _check(BASE, view)


def test_a_base_in_another_order_is_not_transposed_for_a_slice():
    base = geometry((2, 3, 4, 4), (48, 1, 12, 3))
    text = str(jax.make_jaxpr(lambda v: read(v, base, geometry((2, 2, 4, 4), (48, 1, 12, 3), 1)))(jnp.zeros(base.size)))
    assert "transpose" not in text and "reshape" not in text


def test_moving_rows_compile_once():
    base, traces = contiguous((5, 3)), []

    @jax.jit
    def row(value, start):
        traces.append(start)
        return read(value, base, geometry((3,), (1,), 0), start)

    value = jnp.arange(15.0).reshape(5, 3)
    for i in range(5):
        assert is_dynamic_ok(base, geometry((3,), (1,), 3 * i))
        np.testing.assert_array_equal(row(value, jnp.asarray(3 * i)), value[i])
    assert len(traces) == 1
    assert not is_dynamic_ok(base, geometry((3,), (1,), 1))  # runs over the end of a row


@pytest.mark.parametrize("make", [lambda x: x[:, ::2, 1], lambda x: x.unfold(2, 3, 1)], ids=["slice", "gather"])
def test_adjoint_is_the_vjp_of_read_also_under_vmap_and_jit(make):
    base, at = _geometry_of(BASE), _geometry_of(make(BASE))
    value = jnp.asarray(np.stack([BASE.numpy(), BASE.numpy() + 1]))
    found, back = jax.vjp(jax.jit(jax.vmap(lambda v: read(v, base, at))), value)
    g = jnp.cos(found)
    np.testing.assert_allclose(back(g)[0], jax.vmap(lambda g: adjoint(g, base, at))(g), rtol=1e-12)
    if len(np.unique(_flat_indices(at))) == at.numel:
        _, back = jax.vjp(lambda v, new: write(v, base, at, new), value[0], found[0])
        to_value, to_new = back(jnp.cos(value[0]))
        np.testing.assert_allclose(to_new, read(jnp.cos(value[0]), base, at))
        np.testing.assert_allclose(to_value, write(jnp.cos(value[0]), base, at, jnp.zeros_like(found[0])))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "complex64"])
def test_every_dtype_is_kept(dtype):
    base = contiguous((3, 4))
    value = jnp.arange(12).reshape(3, 4).astype(dtype)
    for at in (geometry((3, 2), (4, 2), 1), geometry((2, 2), (3, 1), 1), geometry((3, 3), (1, 1), 0), geometry((2, 3), (0, 4), 0)):
        found = read(value, base, at)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.asarray(value).reshape(-1)[_flat_indices(at)])
        assert dtype == "bool" or adjoint(found, base, at).dtype == dtype
        if at.stride == (4, 2):
            assert write(value, base, at, found).dtype == dtype
