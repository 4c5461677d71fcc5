"""``autograd.Function``, the backward: gradients, what is saved, hooks; every program runs on torch too."""

from __future__ import annotations

import gc
import weakref

import pytorchlike as ours
from tests.autograd.outcomes import agree, named_programs
from tests.autograd.programs import collected, function_of, leaf

PROGRAMS, program = collected()


# ------------------------------------------------------------------------------------------------ gradients
@program
def missing_gradients_are_zeros(torch):
    seen = []

    def backward(ctx, g, h):
        seen.append(h)
        return g

    x = leaf(torch)
    function_of(torch, lambda ctx, x: (x * 1, x * 2), backward).apply(x)[0].sum().backward()
    return seen, x.grad


@program
def missing_gradients_are_none(torch):
    seen = []

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 1, x * 2

    def backward(ctx, g, h):
        seen.append(h)
        return g

    x = leaf(torch)
    function_of(torch, forward, backward).apply(x)[0].sum().backward()
    return seen, x.grad


def returning(name, result):
    def run(torch):
        x = leaf(torch)
        y = function_of(torch, lambda ctx, x, n: x * 2, lambda ctx, g: result(torch, g)).apply(x, 3)
        y.sum().backward()
        return x.grad

    run.__name__ = f"backward_returns_{name}"
    return program(run)


returning("too_few", lambda torch, g: g)
returning("too_many", lambda torch, g: (g, None, g))
returning("nones_behind", lambda torch, g: (g, None, None, None))
returning("a_gradient_for_a_number", lambda torch, g: (g, g))
returning("a_number", lambda torch, g: (3.0, None))
returning("a_list", lambda torch, g: [g, None])
returning("another_shape", lambda torch, g: (torch.ones(3), None))
returning("a_broadcast_shape", lambda torch, g: (torch.ones(4, 2), None))
returning("a_smaller_shape", lambda torch, g: (torch.ones(1), None))
returning("another_dtype", lambda torch, g: (g.double(), None))
returning("none", lambda torch, g: (None, None))
returning("a_complex_gradient", lambda torch, g: (g * 1j, None))


@program
def an_error_in_backward(torch):
    def backward(ctx, g):
        raise ValueError("no")

    function_of(torch, lambda ctx, x: x * 2, backward).apply(leaf(torch)).sum().backward()


@program
def backward_is_recorded_for_higher_orders_only(torch):
    seen = []

    def backward(ctx, g):
        seen.append((torch.is_grad_enabled(), g.requires_grad, (ctx.saved_tensors[0] * g).requires_grad))
        return g * 2

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    x = leaf(torch)
    y = function_of(torch, forward, backward).apply(x)
    y.sum().backward(retain_graph=True)
    torch.autograd.grad(y.sum(), x, create_graph=True)
    return seen


@program
def once_differentiable(torch):
    from_module = torch.autograd.function.once_differentiable

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @from_module
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    x = leaf(torch)
    (g,) = torch.autograd.grad((Twice.apply(x) * x).sum(), x, create_graph=True)
    flag = g.requires_grad
    try:
        g.sum().backward()
    except RuntimeError as error:
        return g, flag, str(error)


# ------------------------------------------------------------------------------------------------ what is saved
@program
def saved_tensors_keep_their_place(torch):
    seen = []

    def forward(ctx, x, w):
        y = x * w
        ctx.save_for_backward(x, w, y, None, x * 3)
        return y

    def backward(ctx, g):
        x, w, y, nothing, inner = ctx.saved_tensors
        seen.append((x.is_leaf, w.grad_fn.name(), y.grad_fn is ctx, nothing, inner.requires_grad))
        return g * w, g * x

    x, w = leaf(torch), leaf(torch) * 1
    y = function_of(torch, forward, backward).apply(x, w)
    y.sum().backward()
    return seen, x.grad


@program
def saved_tensors_after_free(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    y = function_of(torch, forward, lambda ctx, g: g).apply(leaf(torch))
    node = y.grad_fn
    first = node.saved_tensors
    y.sum().backward()
    return first, node.saved_tensors


@program
def second_backward_after_free(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, g):
        return g * ctx.saved_tensors[0]

    y = function_of(torch, forward, backward).apply(leaf(torch)).sum()
    y.backward()
    y.backward()


@program
def second_backward_without_saved_tensors(torch):
    x = leaf(torch)
    y = function_of(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(x)
    z = y.sum()
    z.backward()
    z.backward()
    return x.grad


@program
def saved_input_was_modified(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    a = leaf(torch) * 1
    y = function_of(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(a)
    a.add_(1)
    y.sum().backward()


@program
def saved_output_was_modified(torch):
    def forward(ctx, x):
        y = x * 2
        ctx.save_for_backward(y)
        return y

    y = function_of(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(leaf(torch))
    y.add_(1)
    y.sum().backward()


@program
def save_something_else(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x, 3)
        return x * 2

    function_of(torch, forward, lambda ctx, g: g).apply(leaf(torch))


@program
def save_for_forward_something_else(torch):
    def forward(ctx, x):
        ctx.save_for_forward(x, 3)
        return x * 2

    function_of(torch, forward, lambda ctx, g: g).apply(leaf(torch))


@program
def attributes_and_aliases_of_the_context(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.mark_dirty()
        return ctx.to_save[0] is x and x * 2

    def backward(ctx, g):
        seen.append((len(ctx.saved_variables), type(ctx).__name__, isinstance(ctx, torch.autograd.function.FunctionCtx)))
        return g

    seen = []
    x = leaf(torch)
    y = function_of(torch, forward, backward).apply(x)
    raw = y.grad_fn._raw_saved_tensors
    same = raw[0].unpack() is x
    y.sum().backward()
    return seen, type(y.grad_fn).__name__, isinstance(y.grad_fn, torch.autograd.function.BackwardCFunction), len(raw), same


@program
def raw_saved_tensors_after_free(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    y = function_of(torch, forward, lambda ctx, g: g).apply(leaf(torch))
    y.sum().backward()
    return y.grad_fn._raw_saved_tensors


@program
def clear_saved_tensors_on_access(torch):
    texts = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        try:
            print(ctx.saved_tensors)
        except RuntimeError as error:
            texts.append(str(error))
        return g * x

    x = leaf(torch)
    function_of(torch, forward, backward, clear_saved_tensors_on_access=True).apply(x).sum().backward()
    return x.grad, texts


@program
def boxed_gradients(torch):
    seen = []

    def backward(ctx, grads):
        seen.append((type(grads).__name__, len(grads)))
        return grads.pop() * 2

    x = leaf(torch)
    function_of(torch, lambda ctx, x: x * 2, backward, boxed_grads_call=True).apply(x).sum().backward()
    return x.grad, seen


@program
def hooks_on_a_function(torch):
    seen = []
    x = leaf(torch)
    y = function_of(torch, lambda ctx, x, n: x * n, lambda ctx, g: (g * 2, None)).apply(x, 2)
    y.grad_fn.register_hook(lambda i, o: seen.append((i, o)))
    y.grad_fn.register_prehook(lambda o: (o[0] * 3,))
    y.sum().backward()
    return seen, x.grad, [f is None for f, _ in y.grad_fn.next_functions]


@named_programs(PROGRAMS)
def test_agrees_with_torch(program) -> None:
    agree(program)


@named_programs([saved_tensors_keep_their_place, missing_gradients_are_zeros])
def test_both_executors(program, executor) -> None:
    agree(program)


def test_saving_an_output_makes_no_cycle() -> None:
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    y = function_of(ours, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(ours.ones(2).requires_grad_())
    node = weakref.ref(y.grad_fn)
    gc.disable()
    try:
        del y
        assert node() is None
    finally:
        gc.enable()
