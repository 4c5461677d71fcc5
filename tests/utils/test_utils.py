"""torch.utils: the small functions, and what cannot be done, said clearly."""

import warnings
import weakref

import pytest

import pytorchlike as P
from pytorchlike.utils import _contextlib, _device, collect_env, cpp_extension, hooks, module_tracker

torch = pytest.importorskip("torch")

BOTH = pytest.mark.parametrize("lib", [P, torch], ids=["pytorchlike", "torch"])


@BOTH
def test_swap_tensors(lib):
    lib.utils  # noqa: B018
    a, b = lib.nn.Parameter(lib.ones(2)), lib.zeros(3, requires_grad=True)
    a.mark = 1
    (a * 2).sum().backward()
    lib.utils.swap_tensors(a, b)
    assert isinstance(b, lib.nn.Parameter) and type(a) is lib.Tensor and a.tolist() == [0, 0, 0] and b.tolist() == [1, 1]
    assert b.grad.tolist() == [2, 2] and a.grad is None and b.mark == 1 and not hasattr(a, "mark")
    (b * 3).sum().backward()
    (a * 5).sum().backward()
    assert b.grad.tolist() == [5, 5] and a.grad.tolist() == [5, 5, 5]
    module = lib.nn.Linear(2, 1)
    other = lib.nn.Parameter(lib.ones(4, 4))
    lib.utils.swap_tensors(module.weight, other)
    assert module.weight.shape == (4, 4) and other.shape == (1, 2)


@BOTH
def test_swap_refused(lib):
    a, b = lib.ones(2), lib.zeros(3)
    kept = weakref.ref(a)
    with pytest.raises(RuntimeError, match="Cannot swap t1 because it has weakref associated with it"):
        lib.utils.swap_tensors(a, b)
    assert kept() is a

    class Slotted(lib.Tensor):
        __slots__ = ("extra",)

    with pytest.raises(RuntimeError, match="different slots"):
        lib.utils.swap_tensors(b, lib.ones(2).as_subclass(Slotted))


@BOTH
def test_set_module(lib):
    class Some:
        pass

    lib.utils.set_module(Some, "elsewhere")
    assert Some.__module__ == "elsewhere"
    with pytest.raises(TypeError, match="The mod argument should be a string"):
        lib.utils.set_module(Some, 3)


def test_hooks_of_tensors():
    x = P.ones(1, requires_grad=True)
    x.register_hook(lambda g: g)
    with pytest.warns(UserWarning, match="will not be serialized"):
        hooks.warn_if_has_hooks(x)
    y = P.ones(1, requires_grad=True)
    y.register_hook(hooks.unserializable_hook(lambda g: g))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hooks.warn_if_has_hooks(y)


def test_contexts():
    entered = []

    class Logged(_contextlib._NoParamDecoratorContextManager):
        def __enter__(self):
            entered.append("in")

        def __exit__(self, *error):
            entered.append("out")

    @Logged
    def double(x):
        return 2 * x

    assert double(2) == 4 and double(3) == 6 and entered == ["in", "out"] * 2
    with _device.DeviceContext("meta"):
        assert P.ones(1).device.type == "meta"
    assert _device.set_device("meta")(P.ones)(1).device.type == "meta" and P.ones(1).device.type == "cpu"


def test_module_tracker():
    class Looks(P.nn.Module):
        def forward(self, x):
            seen.append(set(tracker.parents))
            return x

    seen = []
    net = P.nn.Sequential(P.nn.Linear(2, 2), P.nn.Sequential(Looks()))
    with module_tracker.ModuleTracker() as tracker:
        net(P.ones(1, 2))
    net(P.ones(1, 2))
    assert seen == [{"Global", "Sequential", "Sequential.1", "Sequential.1.0"}, {"Global"}]


def test_environment():
    text = collect_env.get_pretty_env_info()
    assert "pytorchlike version: " in text and "JAX devices: " in text


@pytest.mark.parametrize("name", ["load", "load_inline", "CppExtension", "CUDAExtension", "BuildExtension"])
def test_extensions_are_refused(name):
    with pytest.raises(NotImplementedError, match=f"cpp_extension.{name}: C"):
        getattr(cpp_extension, name)("mine", [])
    assert cpp_extension.CUDA_HOME is None
    with pytest.raises(NotImplementedError, match="others cannot be added"):
        P.utils.rename_privateuse1_backend("npu")
