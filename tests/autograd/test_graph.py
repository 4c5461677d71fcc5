"""torch.autograd.graph: hooks on saved tensors, edges, nodes, hooks over several tensors; every program runs on torch too."""

from __future__ import annotations

import gc
import weakref

import pytest

import pytorchlike as ours
from tests.autograd.outcomes import agree, named_programs
from tests.autograd.programs import collected, leaf

PROGRAMS, program = collected()


# ------------------------------------------------------------------------------------------------ hooks on saved tensors
@program
def pack_and_unpack_replace_what_is_saved(torch):
    seen = []
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(("pack", t.requires_grad, t.is_leaf)) or t * 2, lambda t: seen.append("unpack") or t):
        y = (x * x).sum()
    z = x.exp()
    (y + z.sum()).backward()
    return seen, x.grad


@program
def pack_sees_the_tensors_themselves(torch):
    x, w = leaf(torch), torch.nn.Parameter(torch.ones(2))
    seen = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append((t is x, t is w, type(t).__name__, t.grad_fn is None)) or t.detach(), lambda t: t):
        y = x * w
        z = y.exp()
        z.sum()
    return sorted(seen)


@program
def results_are_packed_with_their_place_on_the_tape(torch):
    seen = []
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append((t.grad_fn.name(), t.tolist())) or t.detach(), lambda t: t):
        y = x.exp()
    y.sum().backward()
    return seen, x.grad


@program
def the_innermost_pair_counts(torch):
    seen = []
    hooks = torch.autograd.graph.saved_tensors_hooks
    x = leaf(torch)
    with hooks(lambda t: seen.append("outer") or t, lambda t: t):
        x.exp()
        with hooks(lambda t: seen.append("inner") or t, lambda t: t):
            x.exp()
        x.exp()
    x.exp()
    return seen


@program
def double_backward_through_packed_values(torch):
    x = leaf(torch, 0.5, 1.5)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = (x.exp() * x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return g, h


@program
def unpack_runs_at_each_pass(torch):
    seen = []
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: seen.append(1) or t):
        y = x.exp().sum()
    y.backward(retain_graph=True)
    y.backward()
    try:
        y.backward()
    except RuntimeError as error:
        return len(seen), str(error)


@program
def pack_runs_without_recording(torch):
    seen = []
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append((torch.is_grad_enabled(), (t * 2).requires_grad)) or t.detach(), lambda t: t):
        x.exp()
    return seen


@program
def unpack_must_give_a_tensor(torch):
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: 1, lambda t: t):
        y = x.exp().sum()
    y.backward()


@program
def pack_must_not_write(torch):
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
        (x * 1).exp()


@program
def pack_must_not_write_to_a_constant(torch):
    x, c = leaf(torch), torch.ones(2)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t):
        x * c


@program
def an_error_in_pack_passes_through(torch):
    def refuse(t):
        raise ValueError("no")

    with torch.autograd.graph.saved_tensors_hooks(refuse, refuse):
        leaf(torch).exp()


@program
def an_error_in_unpack_passes_through(torch):
    def refuse(t):
        raise ValueError("no")

    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), refuse):
        y = leaf(torch).exp().sum()
    y.backward()


@program
def hooks_need_two_arguments(torch):
    with torch.autograd.graph.saved_tensors_hooks(lambda: 1, lambda t: t):
        leaf(torch).exp()


@program
def packing_forgives_later_writes(torch):
    x = leaf(torch)
    y = x * 1
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        z = y.pow(2)
    y.add_(1)
    z.sum().backward()
    return x.grad


@program
def nothing_is_packed_without_a_gradient(torch):
    seen = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(1), lambda t: t):
        torch.ones(2).exp()
        with torch.no_grad():
            leaf(torch).exp()
        leaf(torch) + 1
        leaf(torch)[:1]
    return seen


@program
def in_place_operators_pack(torch):
    seen = []
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.tolist()) or t.detach().clone(), lambda t: t):
        y = x * 3
        y.mul_(x)
        y.exp_()
    y.sum().backward()
    return seen[-1:], x.grad


@program
def functions_pack_what_they_save(torch):
    seen = []

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t is x) or t.detach() + 1, lambda t: seen.append("unpack") or t):
        y = Square.apply(x).sum()
    y.backward()
    return seen, x.grad


@program
def save_on_cpu(torch):
    x = leaf(torch)
    with torch.autograd.graph.save_on_cpu(pin_memory=False):
        y = (x.exp() * x).sum()
    y.backward()
    return x.grad


@program
def disabled_hooks_refuse(torch):
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        with torch.autograd.graph.save_on_cpu():
            pass


@program
def disabled_inside_of_active_hooks(torch):
    with torch.autograd.graph.save_on_cpu():
        with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
            pass


@program
def disabling_nests(torch):
    graph = torch.autograd.graph
    texts = []
    with graph.disable_saved_tensors_hooks("outer"):
        with graph.disable_saved_tensors_hooks("inner"):
            try:
                graph.save_on_cpu().__enter__()
            except RuntimeError as error:
                texts.append(str(error))
        try:
            graph.save_on_cpu().__enter__()
        except RuntimeError as error:
            texts.append(str(error))
    with graph.save_on_cpu():
        return texts


# ------------------------------------------------------------------------------------------------ what a node saved
@program
def saved_attributes(torch):
    x, w = leaf(torch), leaf(torch, 3.0, 4.0)
    m, e, a = (x * w).grad_fn, x.exp(), (x + w).grad_fn
    saved = sorted(n for n in dir(m) if "_saved" in n), [n for n in dir(a) if "_saved" in n and not n.endswith("alpha")]
    return saved, m._saved_self, m._saved_other, m._saved_self.grad_fn, e.grad_fn._saved_result.grad_fn is e.grad_fn, e.grad_fn._saved_result.requires_grad


@program
def saved_attributes_of_a_freed_node(torch):
    e = leaf(torch).exp()
    e.sum().backward()
    return e.grad_fn._saved_result


@program
def unknown_saved_attribute(torch):
    return leaf(torch).exp().grad_fn._saved_nothing


@program
def hooks_on_one_saved_tensor(torch):
    x = leaf(torch)
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: (t.detach() * 10,), lambda t: t[0])
    y.sum().backward()
    return x.grad


@program
def hooks_on_a_saved_tensor_twice(torch):
    y = leaf(torch).exp()
    saved = y.grad_fn._raw_saved_result
    saved.register_hooks(lambda t: t.detach(), lambda t: t)
    saved.register_hooks(lambda t: t.detach(), lambda t: t)


@program
def hooks_on_a_freed_saved_tensor(torch):
    y = leaf(torch).exp()
    saved = y.grad_fn._raw_saved_result
    y.sum().backward()
    saved.register_hooks(lambda t: t.detach(), lambda t: t)


@program
def saved_attribute_after_a_write(torch):
    y = leaf(torch).exp()
    node = y.grad_fn
    y.add_(1)
    return node._saved_result


# ------------------------------------------------------------------------------------------------ writes into what was saved
@program
def mutation_is_allowed(torch):
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        x = leaf(torch)
        a = x.clone()
        out = (a**2).sum()
        a.sin_()
        b = a[:1]
        other = (b * a.sum()).sum()
        a.zero_()
        (out + other).backward()
        return a, x.grad


@program
def mutation_and_double_backward(torch):
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        x = leaf(torch)
        a = x.clone()
        out = (a**3).sum()
        a.zero_()
        (g,) = torch.autograd.grad(out, x, create_graph=True)
        return torch.autograd.grad(g.sum(), x)


@program
def mutation_backward_must_be_inside(torch):
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        out = (leaf(torch) ** 2).sum()
    out.backward()


@program
def mutation_contexts_do_not_nest(torch):
    allow = torch.autograd.graph.allow_mutation_on_saved_tensors
    with allow():
        with allow():
            pass


@program
def increment_version(torch):
    x = leaf(torch)
    y = x.exp()
    before = y._version
    torch.autograd.graph.increment_version(y)
    torch.autograd.graph.increment_version([y, y])
    after = y._version - before
    try:
        y.sum().backward()
    except RuntimeError as error:
        return after, y, str(error)


# ------------------------------------------------------------------------------------------------ edges and nodes
@program
def gradient_edges_as_inputs_and_outputs(torch):
    graph = torch.autograd.graph
    x = leaf(torch)
    y = x * 2
    z = y.exp().sum()
    edge, leaf_edge, out = graph.get_gradient_edge(y), graph.get_gradient_edge(x), graph.get_gradient_edge(z)
    del y
    found = torch.autograd.grad(out, [edge, leaf_edge], retain_graph=True)
    other = torch.autograd.grad(z, edge, retain_graph=True)
    torch.autograd.backward(out, inputs=[leaf_edge], retain_graph=True)
    torch.autograd.backward([out])
    return found, other, x.grad, edge.output_nr, edge.node.name(), leaf_edge.node.name(), len(edge)


@program
def gradient_edge_with_a_gradient(torch):
    x = leaf(torch)
    y = x * 2
    edge = torch.autograd.graph.get_gradient_edge(y)
    torch.autograd.backward(edge, torch.tensor([1.0, 3.0]), retain_graph=True)
    texts = []
    for given in (None, torch.ones(3), torch.ones(2, dtype=torch.complex64)):
        try:
            torch.autograd.backward(edge, given, retain_graph=True)
        except RuntimeError as error:
            texts.append(str(error))
    return x.grad, texts


@program
def backward_inputs_with_an_edge_of_no_leaf(torch):
    x = leaf(torch)
    y = x * 2
    edge = torch.autograd.graph.get_gradient_edge(y)
    y.sum().backward(inputs=edge)


@program
def gradient_edge_of_a_constant(torch):
    return torch.autograd.graph.get_gradient_edge(torch.ones(2))


@program
def edges_of_several_results(torch):
    x = leaf(torch)
    a, b = x.unbind()
    edge = torch.autograd.graph.get_gradient_edge(b)
    return edge.output_nr, torch.autograd.grad(a * b, [edge, a]), isinstance(edge, torch.autograd.graph.GradientEdge)


@program
def nodes(torch):
    Node = torch.autograd.graph.Node
    x = leaf(torch)
    y = x * x

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    fn, acc = y.grad_fn, y.grad_fn.next_functions[0][0]
    fn.metadata["note"] = 1
    later = (y + 1).grad_fn
    meta = fn._input_metadata[0]
    return (
        isinstance(fn, Node), isinstance(acc, Node), isinstance(Twice.apply(x).grad_fn, Node), isinstance(x, Node), issubclass(type(fn), Node),
        fn.name(), acc.name(), y.grad_fn.metadata, later._sequence_nr() > fn._sequence_nr(), acc._sequence_nr(), acc.variable is x,
        tuple(meta.shape), str(meta.dtype), str(meta.device), meta.is_nested_tensor, len(fn.next_functions), acc.next_functions,
    )  # fmt: skip


@program
def numbers_have_an_empty_edge(torch):
    x = leaf(torch)
    return [[f is None for f, _ in n.next_functions] for n in ((x * 2).grad_fn, (2 * x).grad_fn, (x + 1).grad_fn, (x / 2).grad_fn, (x**2).grad_fn, (1 - x).grad_fn)]


@program
def hooks_on_nodes(torch):
    seen = []
    x = leaf(torch)
    y = x * 2

    def after(inputs, outputs):
        seen.append([None if i is None else i.tolist() for i in inputs] + [o.tolist() for o in outputs])
        return (inputs[0] * 5, None)

    handle = y.grad_fn.register_hook(after)
    first = y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 3,))
    y.sum().backward(retain_graph=True)
    handle.remove()
    first.remove()
    y.sum().backward()
    return seen, x.grad


def node_hook(name, result):
    def run(torch):
        x = leaf(torch)
        y = x * x

        def hook(*gradients):
            return result(torch)

        getattr(y.grad_fn, name)(hook)
        y.sum().backward()
        return x.grad

    run.__name__ = f"{name}_{result.__name__}"
    return program(run)


def returning_a_tensor(torch):
    return torch.ones(2)


def returning_too_many(torch):
    return (torch.ones(2),) * 3


def returning_another_shape(torch):
    return (torch.ones(3), torch.ones(3))[: 1 + 1]


def returning_a_number(torch):
    return (1, 2)


for hook_name in ("register_hook", "register_prehook"):
    for made in (returning_a_tensor, returning_too_many, returning_a_number):
        node_hook(hook_name, made)
node_hook("register_hook", returning_another_shape)


# ------------------------------------------------------------------------------------------------ hooks over several tensors
@program
def multi_grad_hook_all(torch):
    seen = []
    a, b = leaf(torch), leaf(torch)
    c, d = a * b, a * b
    handle = torch.autograd.graph.register_multi_grad_hook((a, b, c, d), lambda grads: seen.append([g is not None for g in grads]))
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    (c * d).sum().backward(retain_graph=True)
    handle.remove()
    c.sum().backward(retain_graph=True)
    return seen


@program
def multi_grad_hook_while_gradients_are_returned(torch):
    seen = []
    a = leaf(torch)
    b = a * 2
    c = b * 3
    handle = torch.autograd.graph.register_multi_grad_hook((b, c), lambda grads: seen.append([g is not None for g in grads]))
    torch.autograd.grad(c.sum(), b, retain_graph=True)
    handle.remove()
    torch.autograd.graph.register_multi_grad_hook((a, b), print)
    try:
        torch.autograd.grad(c.sum(), a)
    except RuntimeError as error:
        return seen, str(error)


@program
def multi_grad_hook_any(torch):
    seen = []
    a, b = leaf(torch), leaf(torch)
    c, d = a * b, a * b
    handle = torch.autograd.graph.register_multi_grad_hook((a, b, c, d, torch.ones(2)), lambda g: seen.append(g.tolist()), mode="any")
    (c * 3 + d).sum().backward(retain_graph=True)
    handle.remove()
    (c + d).sum().backward()
    return seen


@program
def multi_grad_hook_on_a_constant(torch):
    torch.autograd.graph.register_multi_grad_hook((leaf(torch), torch.ones(2)), print)


@program
def multi_grad_hook_mode(torch):
    torch.autograd.graph.register_multi_grad_hook((leaf(torch),), print, mode="some")


@named_programs(PROGRAMS)
def test_agrees_with_torch(program) -> None:
    agree(program)


@named_programs([pack_and_unpack_replace_what_is_saved, in_place_operators_pack, mutation_is_allowed])
def test_both_executors(program, executor) -> None:
    agree(program)


def test_packing_replaces_the_value() -> None:
    x = ours.ones(3).requires_grad_()
    y = x * 1
    value = weakref.ref(y._content())
    with ours.autograd.graph.saved_tensors_hooks(lambda t: None, lambda t: ours.ones(3)):
        z = y.pow(2)
    gc.disable()
    try:
        del y
        z.tolist()
        assert value() is None
    finally:
        gc.enable()
    z.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_hooks_are_per_thread() -> None:
    import threading

    seen = []
    x = ours.ones(2).requires_grad_()
    with ours.autograd.graph.saved_tensors_hooks(lambda t: seen.append(1) or t, lambda t: t):
        other = threading.Thread(target=lambda: x.exp())
        other.start()
        other.join()
    assert not seen


def test_switches_without_streams() -> None:
    ours.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    with pytest.raises(NotImplementedError, match="streams"):
        ours.autograd.graph.set_override_stale_capture_stream(True)
