"""Views on the tape and in-place operators: what is refused, with which text, and whose gradients follow; every program runs on torch too."""

from __future__ import annotations

from tests.autograd.outcomes import agree, named_programs
from tests.autograd.programs import collected

PROGRAMS, program = collected()


def leaf(torch, *numbers, **options):
    return torch.tensor(numbers or (1.0, 2.0, 3.0, 4.0), requires_grad=True, **options)


def refusing(name, write):
    """A program that writes into ``y``, a tensor on the tape, or into what it makes of it."""

    def run(torch):
        y = leaf(torch) * 1
        before = y.tolist()
        try:
            write(torch, y)
        except RuntimeError as error:
            return str(error), before == y.tolist()
        return y

    run.__name__ = name
    return program(run)


def written_in_place(torch, views):
    list(views)[0].mul_(2)


def views_of_the_views(torch, y):
    y.view(2, 2).unbind()[0].narrow(0, 0, 1).mul_(2)


def no_grad_view(torch, y):
    with torch.no_grad():
        v = y[:2]
    v.mul_(2)


def no_grad_view_of_a_multi_view(torch, y):
    v = y.split(2)[0]
    with torch.no_grad():
        w = v[:1]
    w.mul_(2)


def by_a_tensor_on_the_tape(torch, y):
    torch.ones(4).split(2)[0].mul_(y[:2])


def under_no_grad(torch, y):
    with torch.no_grad():
        y.split(2)[0].mul_(2)


def setitem_of_multi_view(torch, y):
    y.split(2)[1][0] = 5.0


def assigned_out(torch, y):
    torch.add(torch.ones(2), 1, out=y.split(2)[0])


def written_by_index(torch, y):
    for row in y.view(2, 2):
        row[0] = 7.0


refusing("split", lambda torch, y: written_in_place(torch, y.split(2)))
refusing("chunk", lambda torch, y: written_in_place(torch, y.chunk(2)))
refusing("unbind", lambda torch, y: written_in_place(torch, y.unbind()))
refusing("tensor_split", lambda torch, y: written_in_place(torch, y.tensor_split(2)))
refusing("iteration", lambda torch, y: written_in_place(torch, y.view(2, 2)))
refusing("split_second", lambda torch, y: y.split(2)[1].add_(1))
refusing("split_into_one", lambda torch, y: y.split(4)[0].add_(1))
for write in (views_of_the_views, no_grad_view, no_grad_view_of_a_multi_view, by_a_tensor_on_the_tape, under_no_grad, setitem_of_multi_view, assigned_out,
              written_by_index):  # fmt: skip
    refusing(write.__name__, write)


def after_the_base_was_written(name, view):
    """A program that uses a view after its base was written to."""

    def run(torch):
        x = leaf(torch)
        y = x * 1
        v = view(torch, y)
        y.mul_(3)
        texts = []
        for use in (lambda: v * 2, lambda: v.grad_fn, lambda: v.view(-1), lambda: v.mul_(2), lambda: v.sum().backward()):
            try:
                found = use()
                texts.append(type(found).__name__)
            except RuntimeError as error:
                texts.append(str(error))
        return texts, v.tolist(), repr(v), x.grad

    run.__name__ = name
    return program(run)


def without_grad(torch, make):
    with torch.no_grad():
        return make()


after_the_base_was_written("plain_view_after_a_write", lambda torch, y: y[:2])
after_the_base_was_written("multi_view_after_a_write", lambda torch, y: y.split(2)[0])
after_the_base_was_written("view_of_multi_view_after_a_write", lambda torch, y: y.split(2)[1][:1])
after_the_base_was_written("no_grad_view_after_a_write", lambda torch, y: without_grad(torch, lambda: y[:2]))
after_the_base_was_written("detached_after_a_write", lambda torch, y: y.detach()[:2])


@program
def leaf_and_view_of_leaf(torch):
    texts = []
    x = leaf(torch)
    for write in (lambda: x.mul_(2), lambda: x[:2].mul_(2), lambda: x.view(2, 2)[0].zero_(), lambda: x.split(2)[0].zero_()):
        try:
            write()
        except RuntimeError as error:
            texts.append(str(error))
    return texts, x


@program
def view_of_a_constant_written_with_a_gradient(torch):
    x, buffer = leaf(torch), torch.zeros(4)
    v = buffer[:2]
    v.add_(x[:2] * 3)
    w = buffer[1:3]
    (w.sum() + v.sum() * 10).backward()
    return x.grad, buffer.requires_grad, v.requires_grad, w.grad_fn.name(), buffer.grad_fn.name(), v.grad_fn.name()


@program
def chains_of_views(torch):
    x = leaf(torch)
    y = (x * 1).view(2, 2)
    row = y[1]
    row.mul_(x[0])
    column = y.t()[1]
    column.add_(1)
    y.sum().backward()
    (grad,) = torch.autograd.grad((x.exp()).sum(), x)
    return x.grad, y, row, grad


@program
def names_of_written_nodes(torch):
    x = leaf(torch)
    y = x * 1
    v = y[:2]
    v.mul_(2)
    names = [type(y.grad_fn).__name__, y.grad_fn.name(), type(v.grad_fn).__name__]
    y.add_(1)
    return names, y.grad_fn.name(), y.grad_fn.next_functions[0][0].name()


@program
def what_the_error_names(torch):
    texts = []
    for write in (lambda y: y.add_(1), lambda y: y[:1].add_(1), lambda y: y.zero_(), lambda y: without_grad(torch, lambda: y.add_(1))):
        x = leaf(torch)
        y = x * 1
        z = y.pow(2)
        write(y)
        try:
            z.sum().backward()
        except RuntimeError as error:
            texts.append(str(error))
    return texts


@program
def what_the_error_names_for_views(torch):
    x = leaf(torch)
    y = x * 1
    z = y[:2].pow(2)
    y.add_(1)
    z.sum().backward()


@program
def what_the_error_names_off_the_tape(torch):
    x, y = leaf(torch), torch.ones(4)
    z = x * y
    y.add_(1)
    z.sum().backward()


@program
def leaves_that_may_not_be_changed(torch):
    texts = []
    for change in (lambda w: w.t_(), lambda w: w.unsqueeze_(0), lambda w: w.squeeze_(), lambda w: w.set_(torch.zeros(2)), lambda w: w.expand(2, 2, 2).add_(1),
                   lambda w: setattr(w, "data", torch.zeros(2, dtype=torch.int64)), lambda w: w.__setitem__((0, 5), 1.0)):
        w = torch.ones(2, 2, requires_grad=True)
        try:
            change(w)
        except (RuntimeError, IndexError) as error:
            texts.append(str(error))
        texts.append([w.shape, w.is_leaf, w])
    return texts


@program
def which_views_may_be_written_to(torch):
    found = []
    for make in (lambda x: x.hsplit(2), lambda x: x.vsplit(2), lambda x: x.split(1), lambda x: torch.broadcast_tensors(x, x), lambda x: [x.expand(2, 2, 2)], lambda x: [x.mT, x.T]):
        for x in (torch.eye(2, requires_grad=True), torch.eye(2, requires_grad=True) * 1):
            views = make(x)
            found += [views[0] is x, type(views[0].grad_fn).__name__]
            try:
                found.append(views[0].add_(1) is views[0])
            except RuntimeError as error:
                found.append(str(error))
            found.append(x)
    return found


@program
def a_leaf_that_is_a_view(torch):
    memory = torch.arange(6.0)
    x = memory.reshape(2, 3).requires_grad_()
    y = x.as_strided((4,), (1,), 1)
    (y * y).sum().backward()
    texts = []
    for write in (lambda: x[0].mul_(2), lambda: x.mul_(2)):
        try:
            write()
        except RuntimeError as error:
            texts.append(str(error))
    return x.grad, memory.requires_grad, y.grad_fn.next_functions[0][0].name(), texts


@program
def windows_reach_beyond_a_view(torch):
    base = torch.arange(6.0, requires_grad=True)
    x = base[1:4]
    x.retain_grad()
    y = x.as_strided((6,), (1,), 0)
    (y * torch.arange(6.0)).sum().backward()
    return x.grad, base.grad


@program
def windows_on_elements_that_share_memory(torch):
    base = torch.arange(4.0, requires_grad=True)
    found = []
    for x in (base.expand(3, 4), base.unfold(0, 2, 1)):
        x.retain_grad()
        y = x.as_strided((2, 2), (1, 1), 0)
        (g,) = torch.autograd.grad((y**3 * torch.arange(4.0).reshape(2, 2)).sum(), base, create_graph=True)
        (g * torch.arange(4.0)).sum().backward()
        found += [g, base.grad, x.grad]
        base.grad = None
    return found


@named_programs(PROGRAMS)
def test_agrees_with_torch(program) -> None:
    agree(program)
