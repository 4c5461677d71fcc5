"""Modes over functions and operators, ``with torch.device(...)``, dispatch keys."""

from __future__ import annotations

import threading

import pytest

import pytorchlike as torch
from pytorchlike.core.state import thread
from pytorchlike.dispatch.keys import DispatchKey, key_set
from pytorchlike.overrides import BaseTorchFunctionMode, TorchFunctionMode
from pytorchlike.utils._python_dispatch import TorchDispatchMode


class Functions(TorchFunctionMode):
    """Writes down what is called."""

    def __init__(self) -> None:
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


class Overloads(TorchDispatchMode):
    """Writes down which operators run."""

    def __init__(self) -> None:
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def test_function_mode_sees_functions_methods_operators_and_factories() -> None:
    x = torch.ones(3)
    with Functions() as mode:
        x + 1, x.sum(), torch.zeros(2), x[0], x.tolist(), torch.max(x), x.view(3, 1), torch.nn.functional.relu(x), torch.arange(2)
    T = torch.Tensor
    assert mode.seen == [T.add, T.sum, torch.zeros, T.__getitem__, T.tolist, torch.max, T.view, torch.nn.functional.relu, torch.arange]
    x + 1
    assert len(mode.seen) == 9 and thread.state.slow == 0 or thread.state.immediate


def test_inner_mode_first_then_outer() -> None:
    with Functions() as outer, Functions() as inner, BaseTorchFunctionMode():
        torch.ones(1)
    assert outer.seen == inner.seen == [torch.ones]


def test_mode_is_left_after_an_error() -> None:
    with pytest.raises(ValueError), Functions():
        raise ValueError
    assert not thread.state.modes


def test_mode_is_of_its_thread() -> None:
    with Functions() as mode:
        other = threading.Thread(target=lambda: torch.ones(1) + 1)
        other.start()
        other.join()
    assert mode.seen == []


def test_dispatch_mode_sees_overloads_and_the_tape_stays() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    with Overloads() as mode:
        y = (x + 1).sum(1)
        x[0, 1:], x.t(), torch.max(x, 1), torch.cat([x, x])
        with torch.no_grad():
            x.mul_(1)
    assert mode.seen == ["aten.add.Tensor", "aten.sum.dim_IntList", "aten.select.int", "aten.slice.Tensor", "aten.t.default", "aten.max.dim",
                         "aten.cat.default", "aten.mul_.Tensor"]  # fmt: skip
    y.sum().backward()
    assert x.grad.tolist() == [[1.0] * 3] * 2


def test_dispatch_mode_may_answer_otherwise() -> None:
    class Instead(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is torch.ops.aten.sin.default:
                return torch.ops.aten.cos.default(*args)
            return func(*args, **(kwargs or {}))

    with Instead():
        assert torch.sin(torch.zeros(1)).item() == 1.0


def test_subclass_with_torch_dispatch() -> None:
    class Wrapped(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl
        seen = []

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            cls.seen.append((str(func), types))
            return func(*[a.as_subclass(torch.Tensor) if isinstance(a, cls) else a for a in args], **(kwargs or {})).as_subclass(cls)

    x = torch.ones(3).as_subclass(Wrapped)
    assert type(x + torch.ones(3)) is type(x.view(3, 1)) is Wrapped
    assert Wrapped.seen == [("aten.add.Tensor", (Wrapped,)), ("aten.view.default", (Wrapped,))]


def test_keys_highest_first() -> None:
    x = torch.ones(1, requires_grad=True)
    assert key_set((x, 1)) == [DispatchKey.Autograd, DispatchKey.CPU]
    with torch.no_grad():
        assert key_set((x,)) == [DispatchKey.CPU]
    assert key_set((torch.ones(1, device="meta"),)) == [DispatchKey.Meta]
    with Overloads():
        assert key_set(([x],)) == [DispatchKey.Python, DispatchKey.Autograd, DispatchKey.CPU]


def test_device_as_a_mode() -> None:
    x = torch.ones(1)
    with torch.device("meta"):
        with torch.device("cpu"):
            assert torch.zeros(1).device.type == "cpu"
        made = [torch.zeros(1), torch.tensor(1.0), torch.randn(2), torch.arange(3), torch.nn.Linear(2, 3).weight]
        assert {t.device.type for t in made} == {"meta"} and torch.ones_like(x).device.type == "cpu"
        assert torch.zeros(1, device="cpu").device.type == "cpu"
    assert torch.zeros(1).device.type == "cpu"

    @torch.device("meta")
    def make():
        return torch.zeros(1)

    assert make().device.type == "meta"


def test_default_device() -> None:
    torch.set_default_device("meta")
    try:
        assert torch.zeros(1).device == torch.get_default_device() == torch.device("meta")
    finally:
        torch.set_default_device(None)
    assert torch.zeros(1).device.type == "cpu"


def test_ops_namespace() -> None:
    aten, x = torch.ops.aten, torch.ones(2, 2)
    assert str(aten.add.Tensor) == "aten.add.Tensor" and str(aten.add) == "aten.add" and aten.add.Tensor.name() == "aten::add.Tensor"
    assert aten.mm.default is aten.mm.default and aten.add.Tensor.overloadpacket is aten.add
    assert aten.add.Tensor(x, x, alpha=2).tolist() == [[3.0, 3.0], [3.0, 3.0]] and aten.max.dim(x, 1)[1].tolist() == [0, 0]
    assert aten.add_.Tensor(x, 1) is x and aten.sum(x).item() == 8.0 and aten.max(x).item() == 2.0
    with pytest.raises(AttributeError, match="'aten' object has no attribute 'nothing'"):
        aten.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="The underlying op of 'aten.max' has no overload name 'nothing'"):
        aten.max.nothing  # noqa: B018
