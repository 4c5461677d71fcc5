"""Hooks on tensors and leaves, ``retain_grad``, and the order in which all of them run; every program runs on torch too."""

from __future__ import annotations

import gc
import weakref

import pytorchlike as ours
from tests.autograd.outcomes import agree, named_programs
from tests.autograd.programs import collected, leaf

PROGRAMS, program = collected()


# ------------------------------------------------------------------------------------------------ order
@program
def order_on_one_tensor(torch):
    seen = []
    x = leaf(torch)
    y = x * 2
    y.grad_fn.register_prehook(lambda g: seen.append(("pre", g[0].tolist())))
    y.retain_grad()
    y.register_hook(lambda g: seen.append(("first", g.tolist())) or g * 10)
    y.register_hook(lambda g: seen.append(("second", g.tolist())) or g * 10)
    y.grad_fn.register_hook(lambda i, o: seen.append(("post", i[0].tolist(), o[0].tolist())))
    x.register_hook(lambda g: seen.append(("leaf", g.tolist())))
    x.register_post_accumulate_grad_hook(lambda p: seen.append(("accumulated", p.grad.tolist())))
    acc = y.grad_fn.next_functions[0][0]
    acc.register_prehook(lambda g: seen.append(("leaf pre", g[0].tolist())) or (g[0] * 2,))
    acc.register_hook(lambda i, o: seen.append(("leaf post", len(i), o[0].tolist())))
    y.sum().backward()
    return seen, x.grad, y.grad


@program
def prehooks_do_not_reach_retained_gradients(torch):
    x = leaf(torch)
    y = x * 2
    y.grad_fn.register_prehook(lambda g: (g[0] * 10,))
    y.retain_grad()
    (y * 3).sum().backward()
    return x.grad, y.grad


@program
def captured_gradients_and_hooks(torch):
    x = leaf(torch)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.retain_grad()
    z = y * 3
    both = torch.autograd.grad(z.sum(), [x, y], retain_graph=True)
    alone = torch.autograd.grad(z.sum(), [y], retain_graph=True)
    return both, alone, y.grad


@program
def captured_leaf_gradients_and_hooks(torch):
    seen = []
    x = leaf(torch)
    x.register_hook(lambda g: seen.append("hook") or g * 2)
    x.register_post_accumulate_grad_hook(lambda p: seen.append("accumulated"))
    (x * 2).sum().backward(inputs=[x])
    return torch.autograd.grad((x * 2).sum(), x), seen, x.grad


@program
def leaves_run_as_soon_as_they_can(torch):
    seen = []
    a, b, c = leaf(torch), leaf(torch), leaf(torch)
    for name, t in (("a", a), ("b", b), ("c", c)):
        t.register_post_accumulate_grad_hook(lambda p, name=name: seen.append(name))
    y = a * b
    y.register_hook(lambda g: seen.append("y"))
    z = y * c
    z.register_hook(lambda g: seen.append("z"))
    (z * b).sum().backward()
    return seen


@program
def hooks_and_missing_gradients(torch):
    seen = []

    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    class Seen(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(("backward", g.tolist()))
            return g

    x, u = leaf(torch), leaf(torch)
    y = x * 2
    y.grad_fn.register_hook(lambda i, o: seen.append(("post", i, o)))
    s = Seen.apply(y)
    w = s.exp()
    x.register_post_accumulate_grad_hook(lambda p: seen.append("accumulated x"))
    (Nothing.apply(w) + u).sum().backward()
    before = x.grad, u.grad
    (Nothing.apply(x.exp()) + x).sum().backward()
    return before, x.grad, seen


@program
def tensor_hooks_and_missing_gradients(torch):
    seen = []

    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    x = leaf(torch)
    y = x * 2
    y.register_hook(lambda g: seen.append(g))
    y.retain_grad()
    Nothing.apply(y).sum().backward()
    return seen, x.grad, y.grad


@program
def leaf_hooks_and_missing_gradients(torch):
    seen = []

    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    x = leaf(torch)
    x.register_hook(lambda g: seen.append(g))
    x.register_post_accumulate_grad_hook(lambda p: seen.append("accumulated"))
    Nothing.apply(x).sum().backward()
    found = torch.autograd.grad(Nothing.apply(x * 1).sum(), x, allow_unused=True)
    return seen, x.grad, found


@program
def hooks_on_one_of_several_results(torch):
    seen = []
    x = leaf(torch)
    a, b = x.unbind()
    a.register_hook(lambda g: seen.append(("a", g.tolist())))
    b.register_hook(lambda g: seen.append(("b", g)))
    a.grad_fn.register_prehook(lambda g: seen.append([None if e is None else e.tolist() for e in g]))
    (a * 3).backward()
    return seen, x.grad


# ------------------------------------------------------------------------------------------------ what hooks return
def hook_returning(name, made):
    def run(torch):
        x = leaf(torch)

        def hook(g):
            return made(torch)

        x.register_hook(hook)
        (x * 2).sum().backward()
        return x.grad

    run.__name__ = name
    return program(run)


hook_returning("hook_returns_a_number", lambda torch: 3)
hook_returning("hook_returns_another_shape", lambda torch: torch.ones(3))
hook_returning("hook_returns_another_dtype", lambda torch: torch.ones(2, dtype=torch.float64))
hook_returning("hook_returns_a_tensor", lambda torch: torch.ones(2))


@program
def hooks_may_write(torch):
    x = leaf(torch)
    y = x * 1
    y.register_hook(lambda g: (g.mul_(3), None)[1])
    (y * y).sum().backward()
    return x.grad


@program
def hooks_remove_themselves(torch):
    seen = []
    x = leaf(torch)
    handle = x.register_hook(lambda g: seen.append(1) or handle.remove())
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    return seen, x.grad


@program
def hooks_with_create_graph(torch):
    x = leaf(torch)
    y = x * x
    y.register_hook(lambda g: g * x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return g, torch.autograd.grad(g.sum(), x)


@program
def hooks_see_no_recording(torch):
    seen = []
    x = leaf(torch)
    x.register_hook(lambda g: seen.append((g.requires_grad, torch.is_grad_enabled())))
    (x * 2).sum().backward()
    torch.autograd.grad((x * x).sum(), x, create_graph=True)
    return seen


@program
def hook_needs_a_gradient(torch):
    torch.ones(2).register_hook(print)


@program
def post_accumulate_hook_needs_a_gradient(torch):
    torch.ones(2).register_post_accumulate_grad_hook(print)


@program
def post_accumulate_hook_needs_a_leaf(torch):
    (leaf(torch) * 2).register_post_accumulate_grad_hook(print)


@program
def post_accumulate_hook_steps(torch):
    x = leaf(torch)

    def step(p):
        with torch.no_grad():
            p -= 0.1 * p.grad
        p.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * x).sum().backward()
    (x * x).sum().backward()
    handle.remove()
    (x * x).sum().backward()
    return x, x.grad


@program
def post_accumulate_hook_returns(torch):
    x = leaf(torch)
    x.register_post_accumulate_grad_hook(lambda p: 3)
    (x * x).sum().backward()


@program
def backward_hooks_attribute(torch):
    x = leaf(torch)
    before = x._backward_hooks
    handle = x.register_hook(lambda g: None)
    during = len(x._backward_hooks)
    handle.remove()
    return before, during, len(x._backward_hooks), (x * 2)._backward_hooks


# ------------------------------------------------------------------------------------------------ retain_grad
@program
def retained_gradient_follows_the_tensor(torch):
    x = leaf(torch)
    y = x.clone()
    y.retain_grad()
    y.mul_(3)
    (y * y).sum().backward()
    return x.grad, y.grad, y.retains_grad


@program
def hooks_stay_with_the_old_version(torch):
    seen = []
    x = leaf(torch)
    y = x.clone()
    y.register_hook(lambda g: seen.append(("before", g.tolist())))
    y.mul_(3)
    y.register_hook(lambda g: seen.append(("after", g.tolist())))
    y.sum().backward()
    return seen


@program
def retained_view(torch):
    x = leaf(torch, 1.0, 2.0, 3.0)
    y = x * 2
    v = y[:2]
    v.retain_grad()
    y.retain_grad()
    (v.sum() + y.sum() * 10).backward()
    return v.grad, y.grad, x.grad


@program
def retained_view_that_is_written(torch):
    x = leaf(torch, 1.0, 2.0, 3.0)
    y = x * 2
    v = y[:2]
    v.retain_grad()
    v.mul_(3)
    (v * v).sum().backward()
    return v.grad, x.grad, v.retains_grad


@program
def retained_base_whose_view_is_written(torch):
    x = leaf(torch, 1.0, 2.0, 3.0)
    y = x * 2
    y.retain_grad()
    y[:2].mul_(3)
    flag = y.retains_grad
    (y * y).sum().backward()
    return y.grad, x.grad, flag


@program
def retained_view_whose_base_is_written(torch):
    x = leaf(torch, 1.0, 2.0, 3.0)
    y = x * 2
    v = y[:2]
    v.retain_grad()
    y.mul_(3)
    flag = v.retains_grad
    (v * v).sum().backward()
    return v.grad, x.grad, flag, v.retains_grad


@program
def retained_gradients_add_up(torch):
    x = leaf(torch)
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    z = (y * 3).sum()
    z.backward(retain_graph=True)
    first = y.grad
    z.backward()
    return y.grad, first, first is y.grad


@program
def retain_grad_of_leaves_and_constants(torch):
    x = leaf(torch)
    x.retain_grad()
    x.sum().backward()
    try:
        torch.ones(2).retain_grad()
    except RuntimeError as error:
        return x.retains_grad, x.grad, str(error)


@program
def gradient_of_a_non_leaf_warns(torch):
    y = leaf(torch) * 2
    return y.grad


@program
def retained_after_detach_in_place(torch):
    x = leaf(torch)
    y = x * 2
    y.retain_grad()
    y.detach_()
    y.requires_grad_()
    (y * 5).sum().backward()
    return y.grad, x.grad, y.is_leaf


@program
def requires_grad_switched_off_and_on(torch):
    seen = []
    x = leaf(torch)
    x.register_hook(lambda g: seen.append(g.tolist()))
    x.requires_grad_(False)
    x.requires_grad_(True)
    (x * 2).sum().backward()
    return seen, x.grad


@named_programs(PROGRAMS)
def test_agrees_with_torch(program) -> None:
    agree(program)


@named_programs([order_on_one_tensor, hooks_may_write, retained_view_that_is_written])
def test_both_executors(program, executor) -> None:
    agree(program)


def test_a_retained_gradient_keeps_no_tensor_alive() -> None:
    x = ours.ones(2).requires_grad_()
    y = x * 2
    y.retain_grad()
    z = y.sum()
    gone = weakref.ref(y)
    gc.disable()
    try:
        del y
        assert gone() is None
    finally:
        gc.enable()
    z.backward()
    assert x.grad.tolist() == [2.0, 2.0]
