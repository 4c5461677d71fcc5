from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import pytest

import pytorchlike as ours
from pytorchlike.dispatch.custom_vjp import rules_for_jax
from pytorchlike.interop.jax import pure


def custom(torch: Any, space: str, name: str, function: Any, schema: str) -> Any:
    return torch.library.custom_op(f"{space}::{name}", function, mutates_args=(), schema=schema)


def test_formula_is_on_the_tape(torch: Any, space: str) -> None:
    op = custom(torch, space, "mul", lambda x, y, *, scale=2.0: x * y * scale, "(Tensor x, Tensor y, *, float scale=2.0) -> Tensor")
    needed = []

    def setup_context(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.scale = keyword_only_inputs["scale"]

    def backward(ctx: Any, g: Any) -> Any:
        needed.append(ctx.needs_input_grad)
        x, y = ctx.saved_tensors
        return g * y * ctx.scale * 10, g * x * ctx.scale * 10

    op.register_autograd(backward, setup_context=setup_context)
    x, y = torch.ones(2, requires_grad=True), torch.full((2,), 3.0)
    result = op(x, y)
    assert type(result.grad_fn).__name__ == f"GeneratedBackwardFor_{space}_mul_defaultBackward"
    result.sum().backward()
    assert x.grad.tolist() == [60, 60] and needed == [(True, False)]
    y.requires_grad_()
    (g,) = torch.autograd.grad(op(x, y, scale=1.0).sum(), x, create_graph=True)
    assert torch.autograd.grad(g.sum(), y)[0].tolist() == [10, 10]  # the backward's own operators are on the tape
    with torch.no_grad():
        assert not op(x, y).requires_grad


def test_lists_of_tensors(torch: Any, space: str) -> None:
    op = custom(torch, space, "cat", lambda xs, n: (torch.cat(xs) * n, [x * n for x in xs]), "(Tensor[] xs, int n) -> (Tensor, Tensor[])")
    seen: dict[str, Any] = {}

    def backward(ctx: Any, g: Any, gs: Any) -> Any:
        seen["needed"] = ctx.needs_input_grad
        return [a * 3 + g.sum() for a in gs], None

    op.register_autograd(backward, setup_context=lambda ctx, inputs, output: seen.update(inputs=inputs, output=output))
    a, b = torch.ones(1, requires_grad=True), torch.ones(2, requires_grad=True)
    whole, (first, second) = op([a, b], 2)
    (whole.sum() + first.sum() + second.sum() * 2).backward()
    assert a.grad.tolist() == [6] and b.grad.tolist() == [9, 9]
    assert seen["needed"] == ([True, True], False) and len(seen["inputs"][0]) == 2 and len(seen["output"][1]) == 2
    op.register_autograd(lambda ctx, g, gs: ([gs[0]], None))
    with pytest.raises(RuntimeError, match="Expected the return from backward to be of the same structure as the inputs. Got: "):
        op([a, b], 2)[0].sum().backward()
    split = custom(torch, space, "split", lambda x: [x + 1, x + 2], "(Tensor x) -> Tensor[]")
    split.register_autograd(lambda ctx, grads: grads[0] + grads[1] * 2)
    results = split(c := torch.ones(1, requires_grad=True))
    assert isinstance(results, list)
    (results[0] + results[1]).sum().backward()
    assert c.grad.tolist() == [3]


def test_without_formula_backward_refuses(torch: Any, space: str) -> None:
    op = custom(torch, space, "foo", lambda x: x * 2, "(Tensor x) -> Tensor")
    y = op(torch.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match=f"Trying to backward through {space}.foo.default but no autograd formula was registered. Please use register"):
        y.sum().backward()


def test_kernels_without_autograd_warn(torch: Any, lib: Any, space: str) -> None:
    ops = getattr(torch.ops, space)
    lib.define("recorded(Tensor x) -> Tensor")
    lib.impl("recorded", lambda x: x * 2, "CompositeExplicitAutograd")
    lib.define("foreign(Tensor x) -> Tensor")
    lib.impl("foreign", lambda x: torch.from_numpy(x.detach().numpy() * 2), "CPU")
    lib.define("composed(Tensor x) -> Tensor")
    lib.impl("composed", lambda x: x * 2)
    for name, gradient, warns in (("recorded", [2, 2], True), ("foreign", None, True), ("composed", [2, 2], False)):
        x = torch.ones(2, requires_grad=True)
        y = getattr(ops, name)(x)
        if name == "foreign":
            assert "grad_fn=<WarnNotImplemented>" in str(y)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            y.sum().backward()
        assert any(f"{space}::{name}: an autograd kernel was not registered to the Autograd key(s)" in str(w.message) for w in caught) is warns
        assert (x.grad if x.grad is None else x.grad.tolist()) == gradient


def test_formulas_of_operators_of_libraries(torch: Any, lib: Any, space: str) -> None:
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", lambda x: x * 2, "CPU")
    torch.library.register_autograd(f"{space}::foo", lambda ctx, g: g * 10, lib=lib)
    x = torch.ones(1, requires_grad=True)
    getattr(torch.ops, space).foo(x).backward()
    assert x.grad.item() == 10
    lib.define("mut(Tensor(a!) x) -> ()")
    with pytest.raises(RuntimeError, match=f"Cannot register autograd formula for non-functional operator {space}.mut.default with schema"):
        torch.library.register_autograd(f"{space}::mut", lambda ctx, g: g)
    lib.define("kw(Tensor x, *, Tensor y) -> Tensor")
    for register in (torch.library.register_autograd, torch.library.register_vmap):
        with pytest.raises(NotImplementedError, match="with kwarg-only Tensor args. In the original definition of the op, please make your tensors not"):
            register(f"{space}::kw", lambda *args: None)
    with pytest.raises(AttributeError, match=f"'_OpNamespace' '{space}' object has no attribute 'none'"):
        torch.library.register_autograd(f"{space}::none", lambda ctx, g: g)


def test_vmap_has_rules_or_goes_one_by_one(torch: Any, space: str) -> None:
    op = custom(torch, space, "mul", lambda x, y, *, scale=2.0: x * y * scale, "(Tensor x, Tensor y, *, float scale=2.0) -> Tensor")
    numpy = custom(torch, space, "sin", lambda x: torch.from_numpy(np.asarray(x.numpy() + 1)), "(Tensor x) -> Tensor")
    seen = []

    @op.register_vmap
    def _(info: Any, in_dims: Any, x: Any, y: Any, *, scale: float = 2.0) -> Any:
        seen.append((info.batch_size, in_dims[1], scale, info.randomness))
        return x.movedim(in_dims[0], 0) * y * scale, 0

    x = torch.arange(6.0).reshape(2, 3)
    assert torch.vmap(lambda a, b: op(a, b, scale=3.0), in_dims=(1, None))(x, torch.ones(2)).tolist() == (x.T * 3).tolist()
    assert seen == [(3, None, 3.0, "error")]
    assert torch.vmap(numpy)(x).tolist() == (x + 1).tolist()
    assert torch.vmap(torch.vmap(numpy))(x).tolist() == (x + 1).tolist()


def test_transformations_use_the_formula() -> None:
    """torch refuses these: the function that it makes of an operator has no ``setup_context`` of its own."""
    torch, space = ours, "transformed"
    op = custom(torch, space, "sin", lambda x: x.sin(), "(Tensor x) -> Tensor")
    op.register_autograd(lambda ctx, g: g * ctx.saved_tensors[0].cos() * 10, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    x = torch.tensor([0.5, 1.0])
    expected = (x.cos() * 10).tolist()
    assert torch.func.grad(lambda x: op(x).sum())(x).tolist() == pytest.approx(expected)
    assert torch.func.jacrev(op)(x).diagonal().tolist() == pytest.approx(expected)
    assert torch.vmap(torch.func.grad(op))(x).tolist() == pytest.approx(expected)
    assert torch.func.grad(lambda x: torch.vmap(op)(x).sum())(x).tolist() == pytest.approx(expected)
    with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
        torch.func.jvp(op, (x,), (x,))
    parts = custom(torch, space, "parts", lambda x: [x * 2, x * 3], "(Tensor x) -> Tensor[]")
    assert [p.tolist() for p in torch.vmap(parts)(x)] == [[1, 2], [1.5, 3]]


def test_jax_differentiates_what_kernels_do() -> None:
    import jax

    op = custom(ours, "for_jax", "sin", lambda x: x.sin(), "(Tensor x) -> Tensor")
    function = pure(lambda x: op(x).sum())
    assert jax.grad(function)(jax.numpy.zeros(2)).tolist() == [1, 1]
    assert float(jax.jit(function)(jax.numpy.zeros(2))) == 0


def test_jax_uses_the_formula_between_rules() -> None:
    import jax
    import jax.numpy as jnp

    op = custom(ours, "for_rules", "mul", lambda x, y, k=1.0: x * y * k, "(Tensor x, Tensor y, float k=1.) -> Tensor")

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs[:2])
        ctx.k = inputs[2]

    op.register_autograd(lambda ctx, g: (g * ctx.saved_tensors[1] * 10 * ctx.k, g * ctx.saved_tensors[0], None), setup_context=setup_context)
    parts = custom(ours, "for_rules", "parts", lambda xs: [xs[0] * 2, (xs[1] > 0).to(ours.int64)], "(Tensor[] xs) -> Tensor[]")
    parts.register_autograd(lambda ctx, grads: [grads[0] * 7, None])
    a, b = jnp.ones(3), jnp.full(3, 2.0)
    gradient = jax.grad(pure(lambda x, y: op(x, y, 3.0).sum()), argnums=(0, 1))
    assert [g.tolist() for g in gradient(a, b)] == [[6] * 3, [3] * 3]
    with rules_for_jax():
        for found in (gradient(a, b), jax.jit(gradient)(a, b)):
            assert [g.tolist() for g in found] == [[60] * 3, [1] * 3]
        assert jax.grad(lambda a: gradient(a, b)[1].sum())(a).tolist() == [1] * 3  # the backward's own operators
        assert jax.vmap(jax.grad(pure(lambda x, y: op(x, y))))(a, b).tolist() == [20] * 3
        assert jax.grad(pure(lambda x: parts([x, x])[0].sum()))(a).tolist() == [7] * 3


def test_checkpoint_recomputes(torch: Any, space: str) -> None:
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    calls = []
    op = custom(torch, space, "foo", lambda x: (calls.append(0), x * 2)[1], "(Tensor x) -> Tensor")
    op.register_autograd(lambda ctx, g: g * ctx.saved_tensors[0], setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output))
    x = torch.ones(1, requires_grad=True)
    checkpoint(op, x, use_reentrant=False).sum().backward()
    assert x.grad.item() == 2 and len(calls) == 2
