from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pytorchlike as ours


def custom(torch: Any, space: str, name: str, function: Any, *, schema: str = "(Tensor x) -> Tensor", mutates_args: Any = (), **given: Any) -> Any:
    return torch.library.custom_op(f"{space}::{name}", function, mutates_args=mutates_args, schema=schema, **given)


def test_operator_is_made_from_a_function(torch: Any, space: str) -> None:
    def scale(x, by=2.0): return x * by

    scale.__annotations__ = {"x": torch.Tensor, "by": float, "return": torch.Tensor}
    made = torch.library.custom_op(f"{space}::scale", mutates_args=())(scale)
    assert repr(made) == f"<CustomOpDef({space}::scale)>" and made._qualname == f"{space}::scale"
    assert str(made._opoverload._schema) == f"{space}::scale(Tensor x, float by=2.) -> Tensor"
    assert made._opoverload.tags == [torch.Tag.pt2_compliant_tag]
    assert made._opoverload is getattr(torch.ops, space).scale.default
    assert made(torch.ones(2), 3.0).tolist() == getattr(torch.ops, space).scale(torch.ones(2), by=3.0).tolist() == [3, 3]


def test_second_definition_replaces_the_first(torch: Any, space: str) -> None:
    custom(torch, space, "foo", lambda x: x + 1)
    custom(torch, space, "foo", lambda x: x + 2)
    assert getattr(torch.ops, space).foo(torch.ones(1)).item() == 3


def test_definitions_are_checked(torch: Any, space: str) -> None:
    with pytest.raises(ValueError, match="not enough values to unpack"):
        torch.library.custom_op("foo", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match=r"Attempted to create a custom op with `mutates_args=\('x',\)` and `schema=\(Tensor x\) -> Tensor. The schema"):
        custom(torch, space, "foo", lambda x: x, mutates_args=("x",))
    with pytest.raises(NotImplementedError, match="custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only."):
        custom(torch, space, "foo", lambda x, y: x, schema="(Tensor x, *, Tensor y) -> Tensor")


def test_results_share_no_memory(torch: Any, space: str) -> None:
    x = torch.ones(2)
    custom(torch, space, "pair", lambda x: (x + 1,) * 2, schema="(Tensor x) -> (Tensor, Tensor)")
    for name, function in {"same": lambda x: x, "view": lambda x: x.view(-1), "detached": lambda x: x.detach()}.items():
        with pytest.raises(RuntimeError, match=rf"{name} \(with implementation in .*\): The output of this custom operator \(1\) must not also be an input"):
            custom(torch, space, name, function)(x)
    with pytest.raises(RuntimeError, match="may not alias any inputs to this custom operator or other returns"):
        getattr(torch.ops, space).pair(x)
    viewed = custom(torch, space, "declared", lambda x: x.view(-1), schema="(Tensor(a) x) -> Tensor(a)")
    assert viewed(torch.ones(2, 2)).shape == (4,)


def test_mutation_is_seen_by_the_tape(torch: Any, space: str) -> None:
    def through_numpy(x: Any) -> None:
        array = x.numpy()
        np.sin(array, out=array)

    op = custom(torch, space, "sin_", through_numpy, schema="(Tensor(a!) x) -> ()", mutates_args=("x",))
    x = torch.ones(2)
    w = torch.ones(2, requires_grad=True)
    y = w * x
    version = x._version
    assert op(x) is None and x._version > version
    assert np.allclose(x.numpy(), np.sin(1.0))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    assert op(torch.ones(1, device="meta")) is None
    with pytest.raises(RuntimeError, match=f"Cannot register autograd formula for non-functional operator <CustomOpDef\\({space}::sin_\\)> with schema"):
        op.register_autograd(lambda ctx, g: g)


def test_tagged_operators_return_what_they_write(torch: Any, space: str) -> None:
    inplace = custom(torch, space, "add_", lambda x: x.add_(1), schema="(Tensor(a!) x) -> Tensor(a!)", mutates_args=("x",), tags=torch.Tag.inplace)
    x = torch.ones(1)
    assert inplace(x) is x and x.item() == 2
    wrong = custom(torch, space, "bad_", lambda x: x + 1, schema="(Tensor(a!) x) -> Tensor(a!)", mutates_args=("x",), tags=torch.Tag.inplace)
    with pytest.raises(RuntimeError, match="An operator tagged with torch.Tag.inplace must return its first argument."):
        wrong(x)
    out = custom(torch, space, "out", lambda x, *, out: out.copy_(x), schema="(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", mutates_args=("out",),
                 tags=torch.Tag.out)  # fmt: skip
    target = torch.zeros(1)
    assert out(x, out=target) is target and target.item() == 2
    with pytest.raises(RuntimeError, match=r"out\(\): functions with out=... arguments don't support automatic differentiation"):
        out(torch.ones(1, requires_grad=True), out=target)
    with pytest.raises(RuntimeError, match="Out variants do not support autograd"):
        out.register_autograd(lambda ctx, g: g)
    assert out(x.to("meta"), out=target.to("meta")).is_meta
    with pytest.warns(UserWarning, match="is unnecessary. Custom ops tagged with torch.Tag.out already get an autogenerated fake kernel"):
        out.register_fake(lambda x, *, out: out)


def test_kernels_of_devices(torch: Any, space: str, caplog: pytest.LogCaptureFixture) -> None:
    op = custom(torch, space, "foo", lambda x: torch.zeros_like(x))
    assert op.register_kernel("cpu")(lambda x: torch.ones_like(x)) is not None
    x = torch.full((1,), 5.0)
    assert op(x).item() == 1
    with op.set_kernel_enabled("cpu", False):
        assert op(x).item() == 0
    assert op(x).item() == 1
    with op.set_kernel_enabled("cuda", False):
        assert op(x).item() == 1
    assert "Attempted to disable kernel for cuda but no kernel was registered for this device type." in caplog.text
    torch.library.register_kernel(f"{space}::foo", "cpu", lambda x: x * 2)
    assert op(x).item() == 10
    only_cuda = custom(torch, space, "bar", lambda x: x + 1, device_types="cuda")
    with pytest.raises(NotImplementedError, match=f"Could not run '{space}::bar' with arguments from the 'CPU' backend"):
        only_cuda(x)


def test_factories_go_by_their_device(torch: Any, space: str) -> None:
    op = custom(torch, space, "made", lambda n, device: torch.ones(n, device=device), schema="(int n, Device device) -> Tensor", device_types="cpu")
    assert op(3, torch.device("cpu")).shape == (3,) and op(2, "cpu").shape == (2,)
    with pytest.raises(RuntimeError, match="made does not have a kernel registered for meta. Please use register_kernel to do so."):
        op(3, torch.device("meta"))
    with pytest.raises(ValueError, match="Functions without tensor inputs are required to have a `device: torch.device` argument"):
        custom(torch, space, "none", lambda n: torch.ones(n), schema="(int n) -> Tensor", device_types="cpu")


def test_fake_kernels_compute_shapes(torch: Any, space: str) -> None:
    def foo(x): return x.nonzero()

    op = custom(torch, space, "foo", foo)
    meta = torch.ones(3, device="meta")
    with pytest.raises(RuntimeError, match=rf"There was no fake impl registered for <CustomOpDef\({space}::foo\)>.*Please use `foo.register_fake`"):
        op(meta)
    op.register_fake(lambda x: x.new_empty(2, x.dim()))
    assert op(meta).shape == (2, 1) and op(meta).is_meta
    torch.library.register_fake(f"{space}::foo", lambda x: x.new_empty(torch.library.get_ctx().new_dynamic_size()))
    with pytest.raises(RuntimeError, match=rf"{space}::foo \(.*\): You're trying to run this operator with meta Tensors \(as opposed to FakeTensors\)"):
        op(meta)
    assert torch.library.get_ctx() is None
    with pytest.raises(RuntimeError, match=f"operator {space}::none does not exist"):
        torch.library.register_fake(f"{space}::none", lambda x: x)
    with pytest.raises(ValueError, match=r"register_fake\(3\): got unexpected type for op: <class 'int'>"):
        torch.library.register_fake(3)
    with pytest.warns(FutureWarning, match="`torch.library.impl_abstract` was renamed to `torch.library.register_fake`"):
        torch.library.impl_abstract(f"{space}::foo", lambda x: x.new_empty(9))
    assert op(meta).shape == (9,)


def test_autocast_casts(torch: Any, space: str) -> None:
    op = custom(torch, space, "mul", lambda xs, y: torch.stack(list(xs)).sum(0) * y, schema="(Tensor[] xs, Tensor y) -> Tensor")
    op.register_autocast("cpu", torch.bfloat16)
    lib = torch.library.Library(space, "FRAGMENT")
    lib.define("of_lib(Tensor x) -> Tensor")
    lib.impl("of_lib", lambda x: x + 1, "CPU")
    torch.library.register_autocast(f"{space}::of_lib", "cpu", torch.float16)
    x, d = torch.ones(1), torch.ones(1, dtype=torch.float64)
    with torch.autocast("cpu"):
        assert op([x, x], x).dtype is torch.bfloat16 and op([d], d).dtype is torch.float64
        assert getattr(torch.ops, space).of_lib(x).dtype is torch.float16
        with torch.autocast("cpu", enabled=False):
            assert op([x], x).dtype is torch.float32
    assert op([x, x], x).dtype is torch.float32
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`, got: `<class 'int'>`"):
        op.register_autocast(3, torch.bfloat16)
    lib._destroy()


def modes(torch: Any) -> Any:
    import importlib

    return importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode


def test_modes_see_overloads_and_have_rules(torch: Any, space: str) -> None:
    op = custom(torch, space, "foo", lambda x, *, k=1.0: x * k, schema="(Tensor x, *, float k=1.0) -> Tensor")
    seen = []

    class Mode(modes(torch)):  # type: ignore[misc]
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((func, kwargs))
            return func(*args, **(kwargs or {}))

    x = torch.ones(1)
    with Mode():
        assert op(x, k=3.0).item() == 3
    assert (op._opoverload, {"k": 3.0}) in seen
    torch.library.register_torch_dispatch(f"{space}::foo", Mode, lambda mode, func, types, args, kwargs: args[0] + kwargs["k"])
    with Mode():
        assert op(x, k=3.0).item() == 4
    assert op(x, k=3.0).item() == 3


def test_subclasses_and_function_modes_take_over(torch: Any, space: str) -> None:
    op = custom(torch, space, "foo", lambda x: x * 2)
    seen = []

    class Sub(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    x = torch.ones(1).as_subclass(Sub)
    assert type(op(x)) is type(getattr(torch.ops, space).foo(x)) is Sub
    assert [f for f in seen if "foo" in str(f)] == [op._opoverload, getattr(torch.ops, space).foo]


def test_traced_by_fx(torch: Any, space: str) -> None:
    import importlib

    fx = importlib.import_module(f"{torch.__name__}.fx")
    op = custom(torch, space, "foo", lambda x: x * 2)
    traced = fx.symbolic_trace(lambda x: op(x) + 1)
    assert [n.target for n in traced.graph.nodes if n.op == "call_function"][0] is op._opoverload
    assert traced(torch.ones(1)).item() == 3


def test_triton_op_is_a_custom_op() -> None:
    op = ours.library.triton_op("triton_space::foo", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    assert op(ours.ones(1)).item() == 2
