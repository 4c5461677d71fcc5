from __future__ import annotations

import gc
import re
import warnings
from typing import Any

import pytest

import pytorchlike as ours


def packet(torch: Any, space: str, name: str) -> Any:
    return getattr(getattr(torch.ops, space), name)


def test_definitions_are_found_by_torch_ops(torch: Any, lib: Any, space: str) -> None:
    assert lib.define("foo(Tensor x) -> Tensor") == "foo"
    lib.define("foo.two(Tensor x, Tensor y) -> Tensor", tags=torch.Tag.pointwise)
    lib.impl("foo", lambda x: x + 1, "CPU")
    lib.impl("foo.two", lambda x, y: x + y, "CPU")
    foo, x = packet(torch, space, "foo"), torch.ones(1)
    assert (foo(x).item(), foo(x, x).item(), foo.two(x, x).item(), foo.default(x).item()) == (2, 2, 2, 2)
    assert foo.overloads() == ["default", "two"]
    assert repr(foo) == f"<OpOverloadPacket(op='{space}.foo')>" and repr(foo.two) == f"<OpOverload(op='{space}.foo', overload='two')>"
    assert (str(foo), str(foo.default), foo.two.name(), foo.two._name) == (f"{space}.foo", f"{space}.foo.default", *[f"{space}::foo.two"] * 2)
    assert str(foo.two._schema) == f"{space}::foo.two(Tensor x, Tensor y) -> Tensor"
    assert foo.two.tags == [torch.Tag.pointwise] and foo.default.overloadpacket is foo
    assert "foo" in dir(getattr(torch.ops, space))
    with pytest.raises(AttributeError, match=f"The underlying op of '{space}.foo' has no overload name 'zzz'"):
        _ = foo.zzz
    with pytest.raises(RuntimeError, match="Overloaded torch operator invoked from Python failed to match any schema:"):
        foo(x, 3)


def test_namespaces_and_kinds_are_checked(torch: Any, lib: Any, space: str) -> None:
    Library = torch.library.Library
    assert repr(lib) == f"Library(kind=DEF, ns={space}, dispatch_key=)>"
    with pytest.raises(RuntimeError, match=f"Only a single TORCH_LIBRARY can be used to register the namespace {space}; please put all"):
        Library(space, "DEF")
    with pytest.raises(ValueError, match="Unsupported kind: X"):
        Library(space, "X")
    with pytest.raises(RuntimeError, match="could not parse dispatch key: Foo"):
        Library(space, "IMPL", "Foo")
    with pytest.raises(ValueError, match="prim is a reserved namespace"):
        Library("prim", "DEF")
    with pytest.raises(RuntimeError, match=r"Explicitly provided namespace \(other\) in schema string does not match namespace of enclosing TORCH_LIBRARY"):
        lib.define("other::foo(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="Invalid alias_analysis type BAR"):
        lib.define("foo(Tensor x) -> Tensor", "BAR")
    lib.define("foo(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match=re.escape(f"Tried to register an operator ({space}::foo(Tensor x) -> Tensor) with the same name")):
        lib.define("foo(Tensor x) -> Tensor")
    impl = Library(space, "IMPL", "CPU")
    with pytest.raises(RuntimeError, match="Cannot define an operator inside of a TORCH_LIBRARY_IMPL block"):
        impl.define("bar(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match=r"Explicitly provided dispatch key \(CUDA\) is inconsistent with the dispatch key of the enclosing"):
        impl.impl("foo", lambda x: x, "CUDA")
    with pytest.raises(RuntimeError, match=r"Explicitly provided namespace \(other\) in operator name does not match namespace of enclosing"):
        impl.impl("other::foo", lambda x: x)


def test_kernels_are_checked_and_overridden(torch: Any, lib: Any, space: str) -> None:
    lib.define("foo(Tensor x) -> Tensor")
    foo, x = packet(torch, space, "foo"), torch.ones(1)
    with pytest.raises(NotImplementedError, match=f"Could not run '{space}::foo' with arguments from the 'CPU' backend. This could be because"):
        foo(x)
    with pytest.raises(TypeError, match="Input function is required to be a callable but found type <class 'int'>"):
        lib.impl("foo", 3)
    with pytest.raises(RuntimeError, match="could not parse dispatch key: Foo"):
        lib.impl("foo", lambda x: x, "Foo")
    with pytest.raises(RuntimeError, match="impl should be passed either a name or an OpOverload object as the first argument, got <class 'int'>"):
        lib.impl(3, lambda x: x, "CPU")
    lib.impl(foo.default, lambda x: x + 1, "CPU")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lib.impl(f"{space}::foo", lambda x: x + 2, "CPU")
    with pytest.raises(RuntimeError, match="This is not allowed since there's already a kernel registered from python overriding foo's behavior for CPU"):
        lib.impl("foo", lambda x: x, "CPU", allow_override=False)
    assert foo(x).item() == 3
    with pytest.raises(NotImplementedError, match=f"{space}::foo: attempted to run this operator with Meta tensors, but there was no fake impl"):
        foo(torch.ones(1, device="meta"))
    lib.impl("foo", lambda x: x.new_empty(7), "Meta")
    assert foo(torch.ones(1, device="meta")).shape == (7,)


def test_kernels_are_chosen_by_key(torch: Any, lib: Any, space: str) -> None:
    x = torch.ones(1)
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", lambda x: x * 2)
    assert packet(torch, space, "foo")(x).item() == 2
    lib.impl("foo", lambda x: x * 5, "CPU")
    assert packet(torch, space, "foo")(x).item() == 5
    lib.impl("foo", lambda x: x * 7, "Autograd")
    assert packet(torch, space, "foo")(x).item() == 7
    lib.impl("foo", lambda x: x * 11, "AutogradCPU")
    assert packet(torch, space, "foo")(x).item() == 11
    lib.impl("foo", torch.library.fallthrough_kernel, "AutogradCPU")
    assert packet(torch, space, "foo")(x).item() == 5
    lib.define("factory(int n) -> Tensor")
    lib.impl("factory", lambda n: torch.ones(n), "CPU")
    with pytest.raises(NotImplementedError, match="There were no tensor arguments to this function"):
        packet(torch, space, "factory")(3)
    lib.impl("factory", lambda n: torch.ones(n), "BackendSelect")
    assert packet(torch, space, "factory")(3).shape == (3,)


def test_kernel_for_autograd_goes_on_below(torch: Any, lib: Any, space: str) -> None:
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", lambda x: x * 2, "CPU")
    foo = packet(torch, space, "foo")

    class Sevenfold(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with torch._C._AutoDispatchBelowAutograd():
                return foo(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 7

    lib.impl("foo", Sevenfold.apply, "Autograd")
    x = torch.ones(2, requires_grad=True)
    y = foo(x)
    y.sum().backward()
    assert y.tolist() == [2, 2] and x.grad.tolist() == [7, 7]


def test_kernel_with_keyset_redispatches(torch: Any, lib: Any, space: str) -> None:
    lib.define("foo(Tensor x) -> Tensor")
    seen = []

    def above(keyset: Any, x: Any) -> Any:
        seen.append((keyset.has(torch._C.DispatchKey.CPU), keyset.has("AutogradCPU") if torch is ours else True))
        return packet(torch, space, "foo").default.redispatch(keyset & torch._C._after_autograd_keyset, x)

    lib.impl("foo", above, "Autograd", with_keyset=True)
    lib.impl("foo", lambda x: x + 5, "CPU")
    assert packet(torch, space, "foo")(torch.ones(1)).item() == 6 and seen == [(True, True)]


def test_destroyed_library_takes_all_back(torch: Any, space: str) -> None:
    outer = torch.library.Library(space, "FRAGMENT")
    outer.define("foo(Tensor x) -> Tensor")
    outer.impl("foo", lambda x: x + 1, "CompositeExplicitAutograd")
    with torch.library._scoped_library(space, "FRAGMENT") as inner:
        inner.impl("foo", lambda x: x + 2, "CPU")
        inner.define("bar(Tensor x) -> Tensor")
        assert packet(torch, space, "foo")(torch.ones(1)).item() == 3
    assert packet(torch, space, "foo")(torch.ones(1)).item() == 2
    with pytest.raises(AttributeError, match=f"'_OpNamespace' '{space}' object has no attribute 'bar'"):
        packet(torch, space, "bar")
    with pytest.raises(AssertionError, match="Library object has been destroyed"):
        inner.define("bar(Tensor x) -> Tensor")
    del outer
    gc.collect()
    with pytest.raises(AttributeError):
        packet(torch, space, "foo")


def test_decorators_of_libraries(torch: Any, lib: Any, space: str) -> None:
    @torch.library.define(lib, "foo(Tensor x) -> Tensor")
    def foo(x: Any) -> Any:
        return x + 1

    torch.library.define(f"{space}::bar", "(Tensor x) -> Tensor")

    @torch.library.impl(f"{space}::bar", "cpu")
    def bar(x: Any) -> Any:
        return x + 2

    @torch.library.impl(lib, "bar", "Meta")
    def bar_meta(x: Any) -> Any:
        return x.new_empty(5)

    x = torch.ones(1)
    assert packet(torch, space, "foo")(x).item() == 2 and packet(torch, space, "bar")(x).item() == 3
    assert packet(torch, space, "bar")(x.to("meta")).shape == (5,)
    with pytest.raises(ValueError, match='expected schema to look like e.g. "\\(Tensor x\\) -> Tensor" but got "Tensor x"'):
        torch.library.define(f"{space}::baz", "Tensor x")
    with pytest.raises(ValueError, match='Expected `qualname` to be of the form "namespace::name", but got baz'):
        torch.library.impl("baz", "cpu")(lambda x: x)
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda, .* device type at start of device string: foo"):
        torch.library.impl(f"{space}::bar", "foo")


def test_tags_are_held_against_the_schema(torch: Any, lib: Any, answer: Any) -> None:
    for schema, tag, text in [
        ("a(Tensor x) -> Tensor", torch.Tag.out, "must have at least one mutable argument"),
        ("b(Tensor(a!) x) -> Tensor(a!)", torch.Tag.out, r"Found mutable positional args: \['x'\]"),
        ("c(*, Tensor(a!) x) -> ()", torch.Tag.out, r"must return all mutable arguments \(got 1 mutable args but 0 returns\)"),
        ("d(*, Tensor(a!) x) -> Tensor", torch.Tag.out, "Return 0 of schema tagged with torch.Tag.out must alias mutable arg 'x'"),
        ("e(Tensor x) -> Tensor", torch.Tag.inplace, "requires the first positional argument to be mutable"),
        ("f(Tensor(a!) x) -> ()", torch.Tag.inplace, "must return exactly one value"),
        ("g(Tensor(a!) x) -> Tensor", torch.Tag.inplace, "return must alias the first argument"),
        ("h(Tensor(a!) x, Tensor(b!) y) -> Tensor(a!)", torch.Tag.inplace, r"Found additional mutable args: \['y'\]"),
    ]:
        with pytest.raises(ValueError, match=text):
            lib.define(schema, tags=tag)


def test_what_is_not_supported_says_so() -> None:
    lib = ours.library.Library("unsupported", "FRAGMENT")
    lib.define("foo(Tensor x) -> Tensor")
    for key in ("SparseCPU", "Functionalize", "FuncTorchBatched"):
        with pytest.raises(NotImplementedError, match=f"dispatch key {key} are never called"):
            lib.impl("foo", lambda x: x, key)
    with pytest.raises(NotImplementedError, match="kernels of aten::add.Tensor cannot be replaced"):
        ours.library.Library("aten", "IMPL").impl("add.Tensor", lambda a, b: a, "CPU")
    with pytest.raises(NotImplementedError, match="Library.fallback"):
        lib.fallback(lambda: None, "CPU")
    with pytest.raises(NotImplementedError, match="wrap_triton"):
        ours.library.wrap_triton(lambda: None)
    with pytest.raises(OSError, match="Could not load this library: /there/is/none.so"):
        ours.ops.load_library("/there/is/none.so")
    assert "/there/is/none.so" not in ours.ops.loaded_libraries
    lib._destroy()


def test_torchs_own_names() -> None:
    from pytorchlike._library.custom_ops import CustomOpDef
    from pytorchlike._library.infer_schema import infer_schema

    assert CustomOpDef is ours.library.CustomOpDef and infer_schema is ours.library.infer_schema
    assert ours.Tag is ours._C.Tag and ours.DispatchKey is ours._C.DispatchKey and str(ours.DispatchKey.CPU) == "DispatchKey.CPU"
    assert str(ours._C.DispatchKeySet("CPU")) == "DispatchKeySet(CPU)" and ours.types.Number == int | float | bool


def test_get_kernel(torch: Any, lib: Any, space: str) -> None:
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", lambda x: x + 5, "CPU")
    kernel = torch.library.get_kernel(f"{space}::foo", "CPU")
    assert kernel.call_boxed(torch._C.DispatchKeySet(torch._C.DispatchKey.CPU), torch.ones(1)).item() == 6
    with pytest.raises(ValueError, match="Invalid dispatch key: Foo"):
        torch.library.get_kernel(f"{space}::foo", "Foo")
    with pytest.raises(ValueError, match=r"get_kernel\(3\): got unexpected type for op: <class 'int'>"):
        torch.library.get_kernel(3, "CPU")
    with pytest.raises(RuntimeError, match=f"operator {space}::none does not exist"):
        torch.library.get_kernel(f"{space}::none", "CPU")


def test_operators_may_be_defined_in_aten(torch: Any) -> None:
    lib = torch.library.Library("aten", "FRAGMENT")
    lib.define("of_a_user(Tensor x) -> Tensor")
    lib.impl("of_a_user", lambda x: x + 1, "CPU")
    assert torch.ops.aten.of_a_user(torch.ones(1)).item() == 2
    lib._destroy()
