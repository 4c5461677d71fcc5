"""``leaf.grad``: its strides, whose memory it is, how gradients are added up; every program runs on torch too."""

from __future__ import annotations

from tests.autograd.outcomes import agree, named_programs
from tests.autograd.programs import collected, leaf

PROGRAMS, program = collected()


def laid_out(torch, make):
    """A leaf of six elements with some strides."""
    return make(torch.arange(6.0)).detach().requires_grad_()


def layout_of(name, make, gradient=lambda torch, x: x * 2):
    """A program that tells the strides of the first and of the second gradient."""

    def run(torch):
        x = laid_out(torch, make)
        gradient(torch, x).sum().backward()
        first = x.grad.stride()
        gradient(torch, x).sum().backward()
        return x.stride(), first, x.grad.stride(), x.grad, x.grad.is_contiguous()

    run.__name__ = f"strides_{name}"
    return program(run)


layout_of("contiguous", lambda t: t.view(2, 3))
layout_of("transposed", lambda t: t.view(3, 2).t())
layout_of("of_a_product", lambda t: t.view(3, 2).t(), lambda torch, x: x @ torch.arange(3.0).view(3, 1))
layout_of("expanded", lambda t: t[:2].view(2, 1).expand(2, 3))
layout_of("with_gaps", lambda t: t[::2])
layout_of("channels_last", lambda t: t.view(1, 2, 3, 1).contiguous())
layout_of("of_one_row", lambda t: t.view(1, 6).t().view(6, 1))
layout_of("of_a_transposed_gradient", lambda t: t.view(2, 3), lambda torch, x: x.t().exp().t())


@program
def channels_last_parameters(torch):
    x = torch.arange(8.0).view(1, 2, 2, 2).contiguous(memory_format=torch.channels_last).requires_grad_()
    (x * x).sum().backward()
    return x.stride(), x.grad.stride()


@program
def create_graph_gradients(torch):
    x = laid_out(torch, lambda t: t.view(3, 2).t())
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (x**3).sum().backward(create_graph=True)
    return x.grad.stride(), x.grad.requires_grad, x.grad.grad_fn is not None, g.requires_grad


@program
def create_graph_adds_up_out_of_place(torch):
    x = leaf(torch)
    (x**2).sum().backward()
    first = x.grad
    (x**2).sum().backward(create_graph=True)
    return first is x.grad, first, x.grad


@program
def gradients_add_up_in_place(torch):
    x = leaf(torch)
    (x**2).sum().backward()
    first, version = x.grad, x.grad._version
    (x**2).sum().backward()
    return first is x.grad, first, first._version - version


@program
def gradients_of_two_leaves_share_no_memory(torch):
    x, w = leaf(torch), leaf(torch)
    (x + w).sum().backward()
    x.grad.mul_(5)
    return x.grad, w.grad, x.grad.data_ptr() == w.grad.data_ptr()


@program
def a_given_gradient_is_not_taken(torch):
    x, g = leaf(torch), torch.tensor([3.0, 4.0])
    x.backward(g)
    x.grad.mul_(5)
    return x.grad, g, x.grad is g


@program
def a_hook_that_keeps_the_gradient(torch):
    kept = []
    x = leaf(torch)
    x.register_hook(lambda g: kept.append(g))
    (x * 3).sum().backward()
    x.grad.mul_(5)
    return kept, x.grad


@program
def a_captured_gradient_is_its_own(torch):
    x = leaf(torch)
    y = x * 3
    a, b = torch.autograd.grad(y.sum(), [x, x])
    a.mul_(5)
    return a, b, a is b


@program
def gradients_that_were_set(torch):
    x = leaf(torch)
    x.grad = torch.tensor([10.0, 20.0])
    own = x.grad
    (x * 3).sum().backward()
    return own is x.grad, own


@program
def zeroed_and_forgotten_gradients(torch):
    x = leaf(torch)
    (x * 3).sum().backward()
    x.grad.zero_()
    (x * 3).sum().backward()
    kept = x.grad
    x.grad = None
    (x * 4).sum().backward()
    return kept, x.grad, kept is x.grad


@program
def a_gradient_that_asks_for_a_gradient(torch):
    x = leaf(torch)
    x.grad = torch.zeros(2, requires_grad=True)
    (x * 3).sum().backward()
    return x.grad.requires_grad


@program
def a_leaf_that_was_written_between(torch):
    x = leaf(torch)
    y = (x * 3).sum()
    with torch.no_grad():
        x.mul_(2)
    y.backward()
    return x, x.grad


@program
def a_leaf_with_other_data(torch):
    x = leaf(torch)
    y = (x * 3).sum()
    x.data = torch.tensor([7.0, 8.0])
    y.backward()
    (x * x).sum().backward()
    return x, x.grad


@program
def leaves_as_roots(torch):
    x = leaf(torch, 2.0)
    x.sum().backward()
    x.backward()
    torch.autograd.backward([x, x * 3])
    return x.grad


@program
def dtypes_of_gradients(torch):
    x = torch.tensor([1.0, 2.0], dtype=torch.float16, requires_grad=True)
    w = leaf(torch)
    (x * w).sum().backward()
    c = torch.tensor([1.0 + 2.0j], requires_grad=True)
    (c * c.conj()).real.sum().backward()
    return x.grad, w.grad, c.grad.dtype == torch.complex64, torch.view_as_real(c.grad)


@program
def a_frozen_leaf(torch):
    x, w = leaf(torch), leaf(torch)
    y = (x * w).sum()
    w.requires_grad_(False)
    y.backward()
    return x.grad, w.grad


@program
def deleted_gradients(torch):
    x = leaf(torch)
    (x * 3).sum().backward()
    del x.grad
    return x.grad


@program
def dtypes_that_were_asked_for(torch):
    seen = []
    x = torch.tensor([1.0, 2.0], dtype=torch.bfloat16, requires_grad=True)
    x.register_hook(lambda g: seen.append(str(g.dtype)))
    x.grad_dtype = torch.float32
    (x * 3).sum().backward()
    (x * 3).sum().backward()
    first = x.grad
    returned = torch.autograd.grad((x * 3).sum(), x)
    x.grad = None
    x.grad_dtype = None
    x.grad = torch.ones(2)
    other = torch.tensor([1.0], dtype=torch.bfloat16)
    other.grad_dtype = torch.float32
    other.requires_grad_()
    (other * 3).sum().backward()
    return str(leaf(torch).grad_dtype), seen, first, returned, x.grad_dtype, other.grad


def wrong_grad_dtype(name, tensor, value):
    def run(torch):
        tensor(torch).grad_dtype = value(torch)

    run.__name__ = f"grad_dtype_{name}"
    return program(run)


def with_a_gradient(torch):
    x = leaf(torch)
    x.grad = torch.ones(2)
    return x


wrong_grad_dtype("is_no_dtype", leaf, lambda torch: 3)
wrong_grad_dtype("beside_a_gradient", with_a_gradient, lambda torch: torch.float16)


@program
def grad_dtype_of_no_leaf(torch):
    return (leaf(torch) * 2).grad_dtype


def assigning(name, gradient):
    def run(torch):
        x = leaf(torch)
        x.grad = gradient(torch, x)
        return x.grad

    run.__name__ = f"assigning_{name}"
    return program(run)


assigning("another_shape", lambda torch, x: torch.ones(3))
assigning("another_dtype", lambda torch, x: torch.ones(2, dtype=torch.float64))
assigning("a_number", lambda torch, x: 3)
assigning("itself", lambda torch, x: x)
assigning("another_device", lambda torch, x: torch.ones(2, device="meta"))
assigning("a_view", lambda torch, x: torch.arange(4.0)[::2])


@named_programs(PROGRAMS)
def test_agrees_with_torch(program) -> None:
    agree(program)


@named_programs([create_graph_gradients, a_leaf_with_other_data, gradients_of_two_leaves_share_no_memory])
def test_both_executors(program, executor) -> None:
    agree(program)
