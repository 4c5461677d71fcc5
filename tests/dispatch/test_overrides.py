"""``__torch_function__``, call by call against torch: what a subclass is told, and the class of what comes back."""

from __future__ import annotations

import pytest
import torch as real_torch

import pytorchlike as ours

#: Calls that torch and pytorchlike tell a subclass about in the same words: names, identity, positional and keyword arguments.
CALLS = """x + 1; 1 + x; x - 1; 1 - x; x * 2; x / 2; 2 / x; x // 2; 2 // x; x % 2; 2 % x; x**2; 2**x; -x; +x; abs(x); x == 1; x < 1; x != 1
x > x; x @ x.t(); ~x.bool(); x.bool() & True; torch.sum(x, dim=1); torch.sum(x, 1); x.sum(dim=1); x.sum(axis=1); x.view(3, 2); x.view((3, 2))
x.reshape(3, 2); torch.cat([x, x], 1); F.relu(x); F.linear(x, x); x[0]; x.shape; x.size(); x.dtype; x.detach(); x.data; x.float(); x.numpy(); len(x)
x.T; x.grad; x.requires_grad; x.__setitem__(0, 1); torch.zeros_like(x); torch.max(x); torch.max(x, 1); x.max(dim=1); x.numel(); x.tolist(); x.clone()
x.requires_grad_(); bool(x.sum()); float(x.sum()); hash(x); x.is_leaf; torch.einsum('ij->i', x); torch.stack([x, x]); torch.where(x > 0, x, x)
torch.clamp(x, min=0); torch.add(x, 1, alpha=2); torch.add(torch.ones(2, 3), x); torch.add(x, 1, out=torch.ones(2, 3)); x.permute(1, 0); x.expand(2, 3)
x.unbind(); x.unflatten(0, (1, 2)); torch.is_tensor(x)""".replace("\n", ";").split(";")


def _told(torch, call: str) -> tuple:
    log = []

    class Logged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            owners = [o for o in (torch.Tensor, torch, torch.nn.functional) if getattr(o, func.__name__, None) is func]
            log.append((func.__name__, len(owners), len(args), sorted(kwargs or {}), [t.__name__ for t in types]))
            return super().__torch_function__(func, types, args, kwargs)

    x = torch.ones(2, 3).as_subclass(Logged)
    result = eval(call, {"torch": torch, "F": torch.nn.functional, "x": x})
    return log, type(result).__name__


@pytest.mark.parametrize("call", [c.strip() for c in CALLS])
def test_subclass_is_told_what_torch_tells(call: str) -> None:
    assert _told(ours, call) == _told(real_torch, call)


def _subclass(torch):
    class My(torch.Tensor):
        pass

    return My


def test_results_keep_the_class_and_the_tape() -> None:
    My = _subclass(ours)
    x = ours.ones(2, requires_grad=True)
    y = (x.as_subclass(My) * 3).sum()
    assert type(y) is My
    y.backward()
    assert x.grad.tolist() == [3.0, 3.0] and type(x.grad) is ours.Tensor


def test_inplace_returns_the_tensor_itself_and_views_stay_views() -> None:
    x = ours.zeros(2, 2).as_subclass(_subclass(ours))
    assert x.add_(1) is x
    row = x[0]
    row.mul_(5)
    assert x.tolist() == [[5.0, 5.0], [1.0, 1.0]] and type(row) is type(x)


@pytest.mark.parametrize("torch", [ours, real_torch], ids=["ours", "torch"])
def test_subclass_before_base_then_left_to_right(torch) -> None:
    asked = []

    class Base(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append((cls.__name__, [t.__name__ for t in types]))
            return NotImplemented

    class Derived(Base):
        pass

    a, b = torch.ones(1).as_subclass(Base), torch.ones(1).as_subclass(Derived)
    with pytest.raises(TypeError, match="all __torch_function__ handlers returned NotImplemented"):
        torch.add(a, b)
    assert asked == [("Derived", ["Derived", "Base"]), ("Base", ["Derived", "Base"])]


class Duck:
    """No tensor at all."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func, len(args), kwargs


def test_unrelated_class_takes_over() -> None:
    duck = Duck()
    assert ours.mean(duck) == (ours.mean, 1, {})
    assert ours.cat([duck], dim=0)[0] is ours.cat
    assert ours.add(ours.ones(1), duck, alpha=2) == (ours.add, 2, {"alpha": 2})
    assert ours.max(duck, 1) == (ours.max, 2, {})
    assert ours.ones(1) + duck == (ours.Tensor.add, 2, {})
    assert ours.nn.functional.softmax(duck, dim=1)[0] is ours.nn.functional.softmax


def test_predicates() -> None:
    O = ours.overrides
    assert O.has_torch_function((Duck(),)) and not O.has_torch_function((ours.ones(1), ours.nn.Parameter(ours.ones(1)), 3))
    assert O.is_tensor_like(Duck()) and O.is_tensor_like(ours.ones(1)) and not O.is_tensor_like(1)
    assert O.resolve_name(ours.add) == "torch.add" and O.resolve_name(ours.Tensor.add) == "torch.Tensor.add"
    assert O.resolve_name(ours.Tensor.shape.__get__) == "torch.Tensor.shape.__get__"
    assert O.resolve_name(ours.nn.functional.relu) == "torch.nn.functional.relu" and O.resolve_name(print) is None
    assert ours.add in O.get_overridable_functions()["torch"]


def test_handle_and_wrap() -> None:
    def scale(x, by=2):
        if ours.overrides.has_torch_function((x,)):
            return ours.overrides.handle_torch_function(scale, (x,), x, by=by)
        return x * by

    @ours.overrides.wrap_torch_function(lambda x: (x,))
    def wrapped(x):
        return x

    duck = Duck()
    assert scale(duck) == (scale, 1, {"by": 2}) and scale(3) == 6
    assert wrapped(duck)[0] is wrapped and wrapped(1) == 1


def test_switches() -> None:
    x = ours.ones(1).as_subclass(_subclass(ours))
    with ours._C.DisableTorchFunctionSubclass():
        assert type(x + 1) is ours.Tensor
    with ours._C.DisableTorchFunction():
        assert type(x + 1) is ours.Tensor
    assert type(x + 1) is type(x)


def test_disabled_class_takes_the_short_way() -> None:
    class Plain(ours.Tensor):
        __torch_function__ = ours._C._disabled_torch_function_impl

    x = ours.ones(2).as_subclass(Plain)
    assert type(x + 1) is ours.Tensor and type(x.detach()) is ours.Tensor


def test_own_members_win_over_handed_over_ones() -> None:
    class Own(ours.Tensor):
        @property
        def shape(self):
            return "mine"

        def tolist(self):
            return "mine"

    x = ours.ones(2).as_subclass(Own)
    assert x.shape == x.tolist() == "mine" and x.numel() == 2
