"""``autograd.Function``, the forward: contexts, outputs, views and writes; every program runs on torch too."""

from __future__ import annotations

from tests.autograd.outcomes import agree, named_programs
from tests.autograd.programs import collected, function_of, leaf

PROGRAMS, program = collected()


# ------------------------------------------------------------------------------------------------ forward and context
@program
def double_backward(torch):
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    def backward(ctx, g):
        (result,) = ctx.saved_tensors
        return g * result

    x = leaf(torch)
    y = function_of(torch, forward, backward).apply(x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    return y, g, h, torch.autograd.grad(h.sum(), x), type(y.grad_fn).__name__, y.grad_fn.name()


@program
def setup_context(torch):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(x, factor):
            return x * factor + 1

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.seen = [type(i).__name__ for i in inputs], tuple(output.shape), output.requires_grad
            x, ctx.factor = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor, None

    x = leaf(torch)
    y = Scale.apply(x, 3.0)
    y.sum().backward()
    return y, x.grad, y.grad_fn.seen


@program
def setup_context_fills_in_defaults(torch):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(x, factor=2.0, shift=5.0):
            return x * factor + shift

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.inputs_seen = len(inputs)

        @staticmethod
        def backward(ctx, g):
            return g * 2, None, None

    x = leaf(torch)
    y = Scale.apply(x, shift=1.0)
    y.sum().backward()
    return y, x.grad, y.grad_fn.inputs_seen


@program
def forward_is_not_recorded(torch):
    seen = []

    def forward(ctx, x):
        seen.append((torch.is_grad_enabled(), (x * 2).requires_grad, x.requires_grad, x.is_leaf))
        return x * 2

    x = leaf(torch)
    function_of(torch, forward, lambda ctx, g: g * 2).apply(x * 1)
    return seen


@program
def tensors_by_keyword_count(torch):
    seen = []

    def forward(ctx, x, y):
        seen.append(ctx.needs_input_grad)
        return x * y

    y = leaf(torch)
    function_of(torch, forward, lambda ctx, g: (None, g * 3)).apply(torch.ones(2), y=y).sum().backward()
    return seen, y.grad


@program
def a_constant_is_returned_untracked(torch):
    c = torch.ones(2)
    y = function_of(torch, lambda ctx, x: x, lambda ctx, g: g).apply(c)
    return y is c, y._is_view(), y.data_ptr() == c.data_ptr(), y.requires_grad


@program
def needs_input_grad(torch):
    seen = []

    def forward(ctx, x, n, y, z):
        seen.append(ctx.needs_input_grad)
        return x * y + z

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g, None, g, None

    function_of(torch, forward, backward).apply(leaf(torch), 3, leaf(torch), torch.ones(2)).sum().backward()
    with torch.no_grad():
        function_of(torch, forward, backward).apply(leaf(torch), 3, leaf(torch), torch.ones(2))
    return seen


@program
def without_a_gradient(torch):
    y = function_of(torch, lambda ctx, x: x * 2, lambda ctx, g: g).apply(torch.ones(2))
    with torch.no_grad():
        z = function_of(torch, lambda ctx, x: x * 2, lambda ctx, g: g).apply(leaf(torch))
    return y.requires_grad, y.grad_fn, z.requires_grad


@program
def not_implemented(torch):
    class Nothing(torch.autograd.Function):
        pass

    texts = []
    for call in (lambda: Nothing.apply(leaf(torch)), lambda: Nothing.backward(None)):
        try:
            call()
        except NotImplementedError as error:
            texts.append(str(error))
    return texts


@program
def backward_not_implemented(torch):
    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    Nothing.apply(leaf(torch)).sum().backward()


@program
def vjp_instead_of_backward(torch):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, g):
            return g * 2

    x = leaf(torch)
    Twice.apply(x).sum().backward()
    return x.grad


@program
def vjp_and_backward(torch):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, g):
            return g * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    Twice.apply(leaf(torch)).sum().backward()


@program
def an_instance(torch):
    class Twice(torch.autograd.Function):
        pass

    made = Twice()
    try:
        made(1)
    except RuntimeError as error:
        return str(error)


@program
def keyword_arguments_without_setup_context(torch):
    return function_of(torch, lambda ctx, x: x * 2, lambda ctx, g: g).apply(x=leaf(torch))


# ------------------------------------------------------------------------------------------------ outputs
@program
def outputs_of_all_kinds(torch):
    seen = []

    def forward(ctx, x):
        return x * 2, 3, "text", None, x.long(), x * 3

    def backward(ctx, *grads):
        seen.append(grads)
        return grads[0] * 2 + grads[-1] * 3

    x = leaf(torch)
    outputs = function_of(torch, forward, backward).apply(x)
    outputs[0].sum().backward()
    return outputs, seen, x.grad, [isinstance(o, torch.Tensor) and o.requires_grad for o in outputs], type(outputs).__name__


@program
def outputs_in_a_list(torch):
    outputs = function_of(torch, lambda ctx, x: [x * 2, x * 3], lambda ctx, *g: g[0]).apply(leaf(torch))
    return type(outputs).__name__, outputs, outputs[0].requires_grad


@program
def outputs_in_a_tuple_of_one(torch):
    outputs = function_of(torch, lambda ctx, x: (x * 2,), lambda ctx, *g: g[0]).apply(leaf(torch))
    return type(outputs).__name__


@program
def output_none(torch):
    return function_of(torch, lambda ctx, x: None, lambda ctx, *g: g[0]).apply(leaf(torch))


@program
def an_input_is_returned(torch):
    x = leaf(torch)
    a = x * 1
    y = function_of(torch, lambda ctx, x: x, lambda ctx, g: g * 10).apply(a)
    y.sum().backward()
    return y is a, y._is_view(), y.grad_fn.name(), x.grad


@program
def a_leaf_is_returned(torch):
    x = leaf(torch)
    y = function_of(torch, lambda ctx, x: x, lambda ctx, g: g * 10).apply(x)
    y.sum().backward()
    return y is x, y.is_leaf, y._is_view(), x.grad


@program
def a_constant_input_is_returned(torch):
    x, c = leaf(torch), torch.ones(2)
    y, z = function_of(torch, lambda ctx, x, c: (x * 2, c), lambda ctx, g, h: (g * 2 + h, None)).apply(x, c)
    (y + z).sum().backward()
    return z is c, z.requires_grad, c.requires_grad, x.grad


@program
def a_view_is_returned(torch):
    x = leaf(torch)
    y = function_of(torch, lambda ctx, x: x.view(2, 1), lambda ctx, g: g.view(2) * 5).apply(x * 1)
    y.sum().backward()
    return x.grad, y.grad_fn.name(), y._is_view()


@program
def writing_into_a_returned_view(torch):
    x = leaf(torch)
    y = function_of(torch, lambda ctx, x: x.view(2, 1), lambda ctx, g: g.view(2) * 5).apply(x * 1)
    y.mul_(2)


@program
def writing_into_one_of_several_returned_views(torch):
    x = leaf(torch)
    y, z = function_of(torch, lambda ctx, x: (x.view(2, 1), x[:1]), lambda ctx, g, h: g.view(2) * 5).apply(x * 1)
    y.mul_(2)


@program
def writing_into_a_returned_input(torch):
    x = leaf(torch)
    a = x * 1
    y = function_of(torch, lambda ctx, x: x, lambda ctx, g: g * 10).apply(a)
    y.mul_(2)


@program
def writing_into_an_output(torch):
    x = leaf(torch)
    y = function_of(torch, lambda ctx, x: x * 3, lambda ctx, g: g * 3).apply(x)
    y.mul_(2)
    y.sum().backward()
    return x.grad, y


@program
def the_same_output_twice(torch):
    def forward(ctx, x):
        y = x * 3
        return y, y

    x = leaf(torch)
    a, b = function_of(torch, forward, lambda ctx, g, h: g * 3 + h * 30).apply(x)
    (a.sum() + 2 * b.sum()).backward()
    return a is b, x.grad


@program
def not_differentiable(torch):
    seen = []

    def forward(ctx, x):
        a, b = x * 2, x * 3
        ctx.mark_non_differentiable(b)
        return a, b

    def backward(ctx, g, h):
        seen.append(h)
        return g * 2

    x = leaf(torch)
    a, b = function_of(torch, forward, backward).apply(x)
    a.sum().backward()
    return a.requires_grad, b.requires_grad, b.grad_fn, seen, x.grad


@program
def all_outputs_not_differentiable(torch):
    def forward(ctx, x):
        y = x * 2
        ctx.mark_non_differentiable(y)
        return y

    y = function_of(torch, forward, lambda ctx, g: g).apply(leaf(torch))
    return y.requires_grad, y.grad_fn


@program
def mark_non_differentiable_of_an_input(torch):
    def forward(ctx, x):
        ctx.mark_non_differentiable(x)
        return x

    y = function_of(torch, forward, lambda ctx, g: g).apply(leaf(torch))
    return y.requires_grad


# ------------------------------------------------------------------------------------------------ writes
@program
def dirty_input(torch):
    def forward(ctx, x):
        x.mul_(3)
        ctx.mark_dirty(x)
        return x

    x = leaf(torch)
    a = x * 1
    before = a._version
    y = function_of(torch, forward, lambda ctx, g: g * 3).apply(a)
    y.sum().backward()
    return y is a, a, a._version - before, a.grad_fn.name(), x.grad


@program
def dirty_view(torch):
    def forward(ctx, x):
        x.mul_(3)
        ctx.mark_dirty(x)
        return x

    x = leaf(torch, 1.0, 2.0, 3.0)
    a = x * 1
    v = a[:2]
    y = function_of(torch, forward, lambda ctx, g: g * 3).apply(v)
    (a * a).sum().backward()
    return y is v, a, a.grad_fn.name(), v.grad_fn.name(), x.grad


@program
def dirty_leaf(torch):
    def forward(ctx, x):
        x.mul_(3)
        ctx.mark_dirty(x)
        return x

    function_of(torch, forward, lambda ctx, g: g * 3).apply(leaf(torch))


@program
def dirty_but_not_returned(torch):
    def forward(ctx, x):
        x.mul_(3)
        ctx.mark_dirty(x)
        return x * 1

    function_of(torch, forward, lambda ctx, g: g * 3).apply(leaf(torch) * 1)


@program
def dirty_constant(torch):
    def forward(ctx, x, buffer):
        buffer.add_(x)
        ctx.mark_dirty(buffer)
        return buffer

    x, buffer = leaf(torch), torch.zeros(2)
    y = function_of(torch, forward, lambda ctx, g: (g, g)).apply(x, buffer)
    y.sum().backward()
    return y is buffer, buffer.requires_grad, buffer, x.grad


@program
def dirty_value_saved_elsewhere(torch):
    def forward(ctx, x):
        x.mul_(3)
        ctx.mark_dirty(x)
        return x

    x = leaf(torch)
    a = x * 1
    square = a * a
    function_of(torch, forward, lambda ctx, g: g * 3).apply(a)
    square.sum().backward()


@program
def dirty_is_no_input(torch):
    def forward(ctx, x):
        y = x * 3
        ctx.mark_dirty(y)
        return y

    x = leaf(torch)
    function_of(torch, forward, lambda ctx, g: g * 3).apply(x).sum().backward()
    return x.grad


# ------------------------------------------------------------------------------------------------ other outputs
@program
def a_detached_output(torch):
    x = leaf(torch)
    y = function_of(torch, lambda ctx, x: x.detach(), lambda ctx, g: g * 7).apply(x * 1)
    y.sum().backward()
    return x.grad, y.requires_grad


@program
def an_outside_tensor_is_returned(torch):
    x, c, w = leaf(torch), torch.ones(2), leaf(torch) * 1
    outputs = function_of(torch, lambda ctx, x: (c, w), lambda ctx, g, h: g * 7 + h).apply(x)
    (outputs[0] + outputs[1]).sum().backward()
    return x.grad, outputs[0] is c, outputs[1] is w, c.requires_grad, w.grad_fn.name()


@program
def nested_functions(torch):
    def inner_forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    inner = function_of(torch, inner_forward, lambda ctx, g: g * 2 * ctx.saved_tensors[0])

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return inner.apply(x) * 3

    def backward(ctx, g):
        with torch.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            inner.apply(x).sum().backward()
        return g * 3 * x.grad

    x = leaf(torch)
    y = function_of(torch, forward, backward).apply(x)
    y.sum().backward()
    return x.grad, y.grad_fn.next_functions[0][0].name()


@program
def old_classes(torch):
    return issubclass(torch.autograd.function.InplaceFunction, torch.autograd.Function)


@named_programs(PROGRAMS)
def test_agrees_with_torch(program) -> None:
    agree(program)


@named_programs([double_backward, dirty_view, outputs_of_all_kinds])
def test_both_executors(program, executor) -> None:
    agree(program)
