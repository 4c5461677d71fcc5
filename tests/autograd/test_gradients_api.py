"""``autograd.grad`` and ``backward``: arguments, results and errors; every program runs on torch too."""

from __future__ import annotations

from tests.autograd.outcomes import agree, named_programs
from tests.autograd.programs import collected, leaf

PROGRAMS, program = collected()


def failing(name, call):
    """A program of two leaves, ``y = x * w``, and a call."""

    def run(torch):
        x, w = leaf(torch), leaf(torch)
        return call(torch, torch.autograd, x, w, x * w)

    run.__name__ = name
    return program(run)


failing("no_scalar", lambda torch, A, x, w, y: y.backward())
failing("no_scalar_to_grad", lambda torch, A, x, w, y: A.grad(y, x))
failing("complex_scalar", lambda torch, A, x, w, y: (y.sum() * 1j).backward())
failing("complex_gradient_of_real", lambda torch, A, x, w, y: y.backward(torch.ones(2, dtype=torch.complex64)))
failing("gradient_of_another_dtype", lambda torch, A, x, w, y: (y.backward(torch.ones(2, dtype=torch.float64)), x.grad)[1])
failing("gradient_of_another_shape", lambda torch, A, x, w, y: y.backward(torch.ones(3)))
failing("gradient_that_would_broadcast", lambda torch, A, x, w, y: y.backward(torch.ones(1)))
failing("gradient_is_a_number", lambda torch, A, x, w, y: y.backward(1.0))
failing("gradient_is_a_list", lambda torch, A, x, w, y: y.backward([1.0, 2.0]))
failing("constant_root", lambda torch, A, x, w, y: torch.ones(1).backward())
failing("constant_root_with_a_gradient", lambda torch, A, x, w, y: torch.ones(2).backward(torch.ones(2)))
failing("second_root_is_constant", lambda torch, A, x, w, y: A.backward([y.sum(), torch.ones(1)]))
failing("too_few_gradients", lambda torch, A, x, w, y: A.backward([y, y], [torch.ones(2)]))
failing("too_many_gradients", lambda torch, A, x, w, y: A.backward([y], [torch.ones(2), torch.ones(2)]))
failing("some_gradients", lambda torch, A, x, w, y: (A.backward([y, y.sum()], [torch.ones(2), None]), x.grad)[1])
failing("no_inputs", lambda torch, A, x, w, y: A.grad(y.sum(), []))
failing("no_inputs_of_backward", lambda torch, A, x, w, y: y.sum().backward(inputs=[]))
failing("constant_input", lambda torch, A, x, w, y: A.grad(y.sum(), torch.ones(2)))
failing("constant_input_of_backward", lambda torch, A, x, w, y: y.sum().backward(inputs=[torch.ones(2)]))
failing("unused_input", lambda torch, A, x, w, y: A.grad(y.sum(), [x, leaf(torch)]))
failing("unused_input_of_backward", lambda torch, A, x, w, y: (y.sum().backward(inputs=[x, leaf(torch)]), x.grad, w.grad)[1:])
failing("unused_is_allowed", lambda torch, A, x, w, y: A.grad(y.sum(), [x, leaf(torch)], allow_unused=True))
failing("unused_are_zeros", lambda torch, A, x, w, y: A.grad(y.sum(), [x, leaf(torch)], materialize_grads=True))
failing("zeros_of_higher_orders", lambda torch, A, x, w, y: A.grad(y.sum(), [leaf(torch)], materialize_grads=True, create_graph=True)[0].requires_grad)
failing("contradicting_arguments", lambda torch, A, x, w, y: A.grad(y.sum(), x, materialize_grads=True, allow_unused=False))
failing("inputs_in_a_dict", lambda torch, A, x, w, y: A.grad(y.sum(), {"x": x, "w": w}))
failing("inputs_of_backward_in_a_dict", lambda torch, A, x, w, y: (y.sum().backward(inputs={"x": x}), x.grad, w.grad)[1:])
failing("only_inputs", lambda torch, A, x, w, y: A.grad(y.sum(), x, only_inputs=False))
failing("old_name_of_gradients", lambda torch, A, x, w, y: (A.backward(y, grad_variables=torch.ones(2)), x.grad)[1])
failing("both_names_of_gradients", lambda torch, A, x, w, y: A.backward(y, torch.ones(2), grad_variables=torch.ones(2)))
failing("one_input_twice", lambda torch, A, x, w, y: A.grad(y.sum(), [x, x]))
failing("the_root_itself", lambda torch, A, x, w, y: A.grad(y, [y, x], torch.tensor([1.0, 3.0])))
failing("one_root_twice", lambda torch, A, x, w, y: A.grad([y, y], x, [torch.ones(2), torch.ones(2)]))
failing("inputs_in_a_row", lambda torch, A, x, w, y: A.grad((y * y).sum(), [y, x]))
failing("batched", lambda torch, A, x, w, y: A.grad(y, [x, w], torch.eye(2), is_grads_batched=True))
failing("batched_and_unused", lambda torch, A, x, w, y: A.grad(y, [x, leaf(torch)], torch.eye(2), is_grads_batched=True, allow_unused=True))
failing("batched_without_gradients", lambda torch, A, x, w, y: A.grad(y.sum(), x, is_grads_batched=True))
failing("batched_of_another_shape", lambda torch, A, x, w, y: A.grad(y, x, torch.ones(2, 3), is_grads_batched=True))
failing("batched_higher_orders", lambda torch, A, x, w, y: A.grad(A.grad(y * y, x, torch.eye(2), is_grads_batched=True, create_graph=True)[0].sum(), x))
failing("batched_scalars", lambda torch, A, x, w, y: A.grad([y, y.sum()], [x], [torch.eye(2), torch.tensor([1.0, 5.0])], is_grads_batched=True))
failing("batched_and_kept", lambda torch, A, x, w, y: [A.grad(y.exp(), x, torch.eye(2), is_grads_batched=True, retain_graph=True), A.grad(y.sum(), x)])
failing("results_are_a_tuple", lambda torch, A, x, w, y: [type(A.grad(y.sum(), i, retain_graph=True)).__name__ for i in (x, [x], (x,))])
failing("edges_and_zeros", lambda torch, A, x, w, y: A.grad(y.sum(), A.graph.get_gradient_edge(leaf(torch)), materialize_grads=True))
failing("create_graph_keeps", lambda torch, A, x, w, y: [A.grad(y.sum(), x, create_graph=True)[0].requires_grad, A.grad(y.sum(), x)])
failing("inputs_are_no_tensors", lambda torch, A, x, w, y: A.grad(y.sum(), [3]))


@program
def batched_through_a_function(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    x = leaf(torch)
    y = Square.apply(x)[:1] * 3
    return torch.autograd.grad(y, x, torch.tensor([[1.0], [2.0], [3.0]]), is_grads_batched=True)


@program
def freed_by_grad(torch):
    x = leaf(torch)
    y = x.exp().sum()
    torch.autograd.grad(y, x)
    y.backward()


@program
def partly_freed(torch):
    x = leaf(torch)
    e = x.exp()
    e.sum().backward()
    (e * 2).sum().backward()


@program
def kept_by_create_graph_but_not_asked(torch):
    x = leaf(torch)
    y = x.exp().sum()
    torch.autograd.grad(y, x, create_graph=True, retain_graph=False)
    y.backward()


@program
def inputs_that_are_not_leaves(torch):
    x = leaf(torch)
    y = x * 2
    z = y.exp()
    z.sum().backward(inputs=[y])
    return y.grad, x.grad, y.retains_grad


@program
def inputs_of_both_kinds(torch):
    x = leaf(torch)
    y = x * 2
    (y * y).sum().backward(inputs=[y, x])
    return y.grad, x.grad


@program
def mapping_inputs(torch):
    from collections import UserDict

    texts = []
    x = leaf(torch)
    for call in (lambda: torch.autograd.grad(x.sum(), UserDict(x=x)), lambda: x.sum().backward(inputs=UserDict(x=x))):
        try:
            call()
        except TypeError as error:
            texts.append(str(error))
    return texts


@program
def views_as_inputs(torch):
    x = leaf(torch)
    y = x * 3
    v = y[:1]
    return torch.autograd.grad((v * v).sum() + y.sum(), [v, y, x])


@program
def written_tensors_as_inputs(torch):
    x = leaf(torch)
    y = x * 3
    y.mul_(2)
    return torch.autograd.grad((y * y).sum(), [y, x])


@program
def strides_of_what_permuted_views_pass_on(torch):
    x = torch.ones(2, 3, 4, requires_grad=True)
    found = []
    for make in (lambda: x.transpose(0, 2), lambda: x.permute(1, 2, 0), lambda: x[0].t(), lambda: x.movedim(0, 1).mT, lambda: x.view(4, 6).T):
        y = make()
        y.register_hook(lambda g: found.append(g.stride()))
        found.append(torch.autograd.grad((y * torch.ones(y.shape)).sum(), x)[0].stride())
    return found


@program
def nested_passes(torch):
    x, w = leaf(torch), leaf(torch)

    def hook(gradient):
        (w * 5).sum().backward()
        return gradient * 2

    y = x * 3
    y.register_hook(hook)
    y.sum().backward()
    return x.grad, w.grad


@program
def an_error_leaves_the_mode_as_it_was(torch):
    x = leaf(torch)
    y = x * 1
    y.register_hook(lambda g: 1 / 0)
    try:
        y.sum().backward(create_graph=False)
    except ZeroDivisionError:
        return torch.is_grad_enabled(), (x * 2).requires_grad


@named_programs(PROGRAMS)
def test_agrees_with_torch(program) -> None:
    agree(program)
