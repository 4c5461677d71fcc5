"""``Variable``, callbacks at the end of a pass, and switches beside the grad modes; every program runs on torch too."""

from __future__ import annotations

from tests.autograd.outcomes import agree, named_programs
from tests.autograd.programs import collected

PROGRAMS, program = collected()


@program
def variables_are_tensors(torch):
    Variable = torch.autograd.Variable
    x, y = torch.ones(2), torch.ones(2, requires_grad=True)
    v = Variable(x, requires_grad=True)
    facts = [v is x, v.data_ptr() == x.data_ptr(), v.requires_grad, isinstance(x, Variable), issubclass(torch.Tensor, Variable), type(v) is torch.Tensor]
    return facts, Variable(y).requires_grad, Variable(y * 2).grad_fn, Variable(), torch.autograd.variable.Variable is Variable


def refused(name, *arguments):
    def run(torch):
        return torch.autograd.Variable(*[a(torch) for a in arguments])

    run.__name__ = f"variable_of_{name}"
    return program(run)


refused("a_list", lambda torch: [1.0])
refused("integers_with_gradients", lambda torch: torch.arange(2), lambda torch: True)
refused("a_volatile_tensor", lambda torch: torch.ones(2), lambda torch: False, lambda torch: True)


@program
def callbacks_at_the_end_of_a_pass(torch):
    seen = []
    engine = torch.autograd.Variable._execution_engine
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: engine.queue_callback(lambda: seen.append(x.grad.tolist())) or seen.append("hook"))
    (x * 2).sum().backward()
    try:
        engine.queue_callback(print)
    except RuntimeError as error:
        return seen, str(error)


@program
def switches(torch):
    autograd = torch.autograd
    x = torch.arange(6.0).view(3, 2).t().detach().requires_grad_()
    (x @ torch.arange(3.0).view(3, 1)).sum().backward()
    with autograd.set_multithreading_enabled(False):
        (x * 2).sum().backward()

    @autograd.set_multithreading_enabled(True)
    def decorated():
        return 3

    with autograd.enforce_grad_layout_policy(True):
        return x.grad, x.grad.stride(), decorated()


@program
def memory_budgets(torch):
    texts = []
    for budget in (0.5, 2, True):
        try:
            torch.autograd.graph.region_activation_memory_budget(budget)
        except (RuntimeError, TypeError, ValueError) as error:
            texts.append([type(error).__name__, str(error)])
    return texts


@named_programs(PROGRAMS)
def test_agrees_with_torch(program) -> None:
    agree(program)
