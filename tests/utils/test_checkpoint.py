"""Activation checkpointing: every program runs on torch too; and what it is for, memory."""

from __future__ import annotations

import functools

import pytest

import pytorchlike as ours
from pytorchlike.graph import counters, lower, tiers
from tests.autograd.outcomes import agree, assert_close, named_programs
from tests.autograd.programs import collected

PROGRAMS, program = collected()


def leaf(torch, *numbers):
    return torch.tensor(numbers or (0.5, 1.5), requires_grad=True)


def check(torch):
    import importlib

    return importlib.import_module(f"{torch.__name__}.utils.checkpoint")


def both_variants(program):
    """The program with ``use_reentrant`` False and True."""
    for use_reentrant in (False, True):

        def run(torch, use_reentrant=use_reentrant):
            return program(torch, functools.partial(check(torch).checkpoint, use_reentrant=use_reentrant))

        run.__name__ = f"{program.__name__}_{'reentrant' if use_reentrant else 'recorded'}"
        PROGRAMS.append(run)
    return program


# ------------------------------------------------------------------------------------------------ both variants
@both_variants
def computes_again(torch, checkpoint):
    calls = []

    def f(x, w):
        calls.append((torch.is_grad_enabled(), x.requires_grad))
        return (x.sin() * w).exp()

    x, w = leaf(torch), leaf(torch)
    y = checkpoint(f, x, w)
    before = len(calls)
    y.sum().backward()
    return before, calls, y, x.grad, w.grad


@both_variants
def several_outputs_and_arguments(torch, checkpoint):
    def f(x, n, flag, w):
        return x * n if flag else x, "text", w.exp(), None

    x, w = leaf(torch), leaf(torch)
    a, text, b, nothing = checkpoint(f, x, 3, True, w)
    (a * b).sum().backward()
    return text, nothing, x.grad, w.grad


@both_variants
def random_numbers_are_the_same(torch, checkpoint):
    masks = []

    def f(x):
        mask = torch.rand(4)
        masks.append(mask)
        return x * mask

    torch.manual_seed(1)
    x = leaf(torch, 1.0, 2.0, 3.0, 4.0)
    y = checkpoint(f, x.exp())
    between = torch.rand(1)
    y.sum().backward()
    after = torch.rand(1)
    return [m.tolist() for m in masks], between, after, x.grad


@both_variants
def random_numbers_are_drawn_anew(torch, checkpoint):
    torch.manual_seed(1)
    masks = []

    def f(x):
        masks.append(torch.rand(2))
        return x * masks[-1]

    checkpoint(f, leaf(torch).exp(), preserve_rng_state=False).sum().backward()
    return [m.tolist() for m in masks]


@both_variants
def parameters_get_gradients(torch, checkpoint):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 4))
    x = torch.linspace(-1, 1, 8).reshape(2, 4).requires_grad_()
    checkpoint(model, x).pow(2).sum().backward()
    return x.grad, [p.grad for p in model.parameters()]


@both_variants
def nested(torch, checkpoint):
    calls = []

    def inner(x):
        calls.append("inner")
        return x.sin().exp()

    def outer(x):
        calls.append("outer")
        return checkpoint(inner, x.cos()) * x

    x = leaf(torch)
    checkpoint(outer, x).sum().backward()
    return x.grad, sorted(calls)


@both_variants
def chained(torch, checkpoint):
    x = leaf(torch)
    y = x
    for _ in range(3):
        y = checkpoint(lambda t: t.sin() * t.exp(), y)
    y.sum().backward()
    return x.grad


@both_variants
def an_error_in_the_forward(torch, checkpoint):
    def f(x):
        raise ValueError("no")

    checkpoint(f, leaf(torch))


@both_variants
def an_error_in_the_second_forward(torch, checkpoint):
    calls = []

    def f(x):
        calls.append(1)
        if len(calls) > 1:
            raise ValueError("no")
        return x.sin()

    checkpoint(f, leaf(torch)).sum().backward()


@both_variants
def under_autocast(torch, checkpoint):
    seen = []

    def f(x):
        y = x @ x
        seen.append(str(y.dtype))
        return y.float().exp()

    x = torch.linspace(0, 1, 4).reshape(2, 2).requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = checkpoint(f, x)
    y.sum().backward()
    return seen, x.grad.shape


@both_variants
def without_gradients(torch, checkpoint):
    with torch.no_grad():
        return checkpoint(lambda x: x * 2, leaf(torch)).requires_grad


@both_variants
def twice_with_retain_graph(torch, checkpoint):
    calls = []

    def f(x):
        calls.append(1)
        return x.sin().exp()

    x = leaf(torch)
    y = checkpoint(f, x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad, len(calls)


@both_variants
def an_input_that_was_modified(torch, checkpoint):
    x = leaf(torch)
    a = x * 1
    y = checkpoint(lambda t: t.sin().exp(), a)
    a.add_(1)
    y.sum().backward()


@both_variants
def no_input_asks_for_a_gradient(torch, checkpoint):
    w = leaf(torch)
    y = checkpoint(lambda t: t * w.exp(), torch.ones(2))
    flag = y.requires_grad
    if flag:
        y.sum().backward()
    return flag, w.grad


# ------------------------------------------------------------------------------------------------ the recorded variant
@program
def gradients_that_are_returned(torch):
    x = leaf(torch)
    y = check(torch).checkpoint(lambda t: t.sin().exp(), x, use_reentrant=False)
    return torch.autograd.grad(y.sum(), x)


@program
def reentrant_gradients_that_are_returned(torch):
    x = leaf(torch)
    y = check(torch).checkpoint(lambda t: t.sin().exp(), x, use_reentrant=True)
    return torch.autograd.grad(y.sum(), x)


@program
def reentrant_backward_with_inputs(torch):
    x = leaf(torch)
    check(torch).checkpoint(lambda t: t.sin().exp(), x, use_reentrant=True).sum().backward(inputs=[x])


@program
def reentrant_without_a_differentiable_output(torch):
    x = leaf(torch)
    check(torch).checkpoint(lambda t: t.detach() * 2, x, use_reentrant=True).sum().backward()


@program
def structures_and_keywords(torch):
    x, w = leaf(torch), leaf(torch)

    def f(pair, *, scale, extra=None):
        return {"result": pair["x"].exp() * scale * extra[0]}

    y = check(torch).checkpoint(f, {"x": x}, use_reentrant=False, scale=3.0, extra=[w])
    y["result"].sum().backward()
    return x.grad, w.grad


@program
def higher_orders(torch):
    x = leaf(torch)
    y = check(torch).checkpoint(lambda t: t.sin() * t.exp(), x, use_reentrant=False)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return torch.autograd.grad(g.sum(), x)


@program
def stops_early(torch):
    seen = []

    def f(x):
        y = x.sin()
        seen.append("sin")
        z = y.exp()
        seen.append("exp")
        z = z + 1
        seen.append("add")
        return z

    counts = []
    for early_stop in (True, False):
        seen.clear()
        check(torch).checkpoint(f, leaf(torch), use_reentrant=False, early_stop=early_stop).sum().backward()
        counts.append(list(seen))
    with check(torch).set_checkpoint_early_stop(False):
        y = check(torch).checkpoint(f, leaf(torch), use_reentrant=False)
    seen.clear()
    y.sum().backward()
    return counts[0][:3], counts[1], seen


@program
def contexts_of_both_computations(torch):
    import contextlib

    seen = []

    @contextlib.contextmanager
    def context(name):
        seen.append(f"enter {name}")
        yield
        seen.append(f"leave {name}")

    x = leaf(torch)
    y = check(torch).checkpoint(lambda t: t.sin(), x, use_reentrant=False, early_stop=False, context_fn=lambda: (context("a"), context("b")))
    y.sum().backward()
    return seen, x.grad


def mismatch(name, second, **options):
    """A program whose second computation is another one."""

    def run(torch):
        calls = []

        def f(x):
            calls.append(1)
            return x.sin().exp() if len(calls) == 1 else second(torch, x)

        try:
            check(torch).checkpoint(f, leaf(torch), use_reentrant=False, **options).sum().backward()
        except check(torch).CheckpointError as error:
            return str(error).split("\nTip:")[0].strip(), isinstance(error, RuntimeError)

    run.__name__ = name
    return program(run)


mismatch("too_few_are_saved", lambda torch, x: x.sin())
mismatch("too_many_are_saved", lambda torch, x: x.sin().exp().exp(), early_stop=False)
mismatch("another_shape_is_saved", lambda torch, x: x[:1].sin().exp())
mismatch("another_dtype_is_saved", lambda torch, x: x.double().sin().exp())
mismatch("nothing_is_compared", lambda torch, x: x.double().sin().exp().float(), determinism_check="none")


@program
def arguments_that_do_not_go_together(torch):
    checkpoint, texts = check(torch).checkpoint, []
    for call in (
        lambda: checkpoint(lambda x: x, leaf(torch), use_reentrant=False, determinism_check="all"),
        lambda: checkpoint(lambda x: x, leaf(torch), use_reentrant=True, scale=3),
        lambda: checkpoint(lambda x: x, leaf(torch), use_reentrant=True, debug=True),
        lambda: checkpoint(lambda x: x, leaf(torch), use_reentrant=False, debug=True, context_fn=lambda: None),
        lambda: check(torch).checkpoint_sequential([], 1, leaf(torch), use_reentrant=False, scale=3),
    ):
        try:
            call()
        except ValueError as error:
            texts.append(str(error))
    return texts


@program
def use_reentrant_should_be_said(torch):
    check(torch).checkpoint_sequential([torch.exp, torch.sin], 2, leaf(torch))
    return check(torch).checkpoint(lambda x: x.exp(), leaf(torch))


@program
def a_backward_pass_inside(torch):
    def f(x):
        y = x.sin()
        z = y.exp()
        (g,) = torch.autograd.grad(z.sum(), x, retain_graph=True)
        return z * g.detach()

    x = leaf(torch)
    y = check(torch).checkpoint(f, x, use_reentrant=False)
    y.sum().backward()
    return x.grad


@program
def a_backward_pass_inside_that_frees(torch):
    def f(x):
        (g,) = torch.autograd.grad(x.sin().exp().sum(), x)
        return x.cos() * g

    x = leaf(torch)
    check(torch).checkpoint(f, x, use_reentrant=False).sum().backward()
    return x.grad


@program
def saved_tensors_are_unpacked_once(torch):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0] * ctx.saved_tensors[0]

    check(torch).checkpoint(lambda x: Twice.apply(x.exp()), leaf(torch), use_reentrant=False).sum().backward()


@program
def passes_of_one_group(torch):
    calls = []

    def f(x):
        calls.append(1)
        return x.sin(), x.exp()

    x = leaf(torch)
    a, b = check(torch).checkpoint(f, x, use_reentrant=False)
    with check(torch).GraphExecGroup():
        a.sum().backward()
        b.sum().backward()
        try:
            with check(torch).GraphExecGroup():
                pass
        except RuntimeError as error:
            text = str(error).split(". ")[0]
    return len(calls), x.grad, text


@program
def inside_of_other_hooks(torch):
    seen = []
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append("pack") or t, lambda t: seen.append("unpack") or t):
        y = check(torch).checkpoint(lambda t: t.sin().exp(), x, use_reentrant=False)
    y.sum().backward()
    return seen, x.grad


@program
def sequential(torch):
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh()) for _ in range(5)])
    x = torch.linspace(-1, 1, 8).reshape(2, 4).requires_grad_()
    results = []
    for segments in (1, 2, 5):
        for use_reentrant in (False, True):
            x.grad = None
            y = check(torch).checkpoint_sequential(model, segments, x, use_reentrant=use_reentrant)
            y.sum().backward()
            results.append((y, x.grad))
    return results


@program
def helpers(torch):
    module = check(torch)
    a, b = module.detach_variable((leaf(torch), 3))
    texts = []
    try:
        module.detach_variable([1])
    except RuntimeError as error:
        texts.append(str(error))
    module.check_backward_validity([torch.ones(1)])
    return a.is_leaf, a.requires_grad, b, texts, module.DefaultDeviceType.get_device_type(), module.get_device_states(leaf(torch))


# ------------------------------------------------------------------------------------------------ selective
def selective(name, policy, f=None, **options):
    """A program with a policy, which counts what its operators compute."""

    def run(torch):
        module = check(torch)
        w = torch.linspace(0.1, 0.9, 16).reshape(4, 4).requires_grad_()
        x = torch.linspace(-1, 1, 16).reshape(4, 4).requires_grad_()
        context_fn = functools.partial(module.create_selective_checkpoint_contexts, policy(torch, module), **options)
        y = module.checkpoint(f or (lambda a, b: torch.mm(torch.mm(a, b).sigmoid(), b).exp()), x, w, use_reentrant=False, context_fn=context_fn)
        y.sum().backward()
        return x.grad, w.grad

    run.__name__ = f"selective_{name}"
    return program(run)


selective("list", lambda torch, module: [torch.ops.aten.mm.default])
selective("everything", lambda torch, module: lambda ctx, op, *a, **k: module.CheckpointPolicy.MUST_SAVE)
selective("nothing", lambda torch, module: lambda ctx, op, *a, **k: module.CheckpointPolicy.PREFER_RECOMPUTE)
selective("bool", lambda torch, module: lambda ctx, op, *a, **k: op is torch.ops.aten.sigmoid.default)
selective("on_the_host", lambda torch, module: lambda ctx, op, *a, **k: module.CheckpointPolicy.MUST_CPU_OFFLOAD)
selective("no_list", lambda torch, module: 3)
selective("products", lambda torch, module: [torch.ops.aten.mm.default], lambda a, b: (a @ b).sigmoid() @ b)
selective("written", lambda torch, module: [torch.ops.aten.mm.default], lambda a, b: a.mm(b).add_(1).exp())
selective("written_and_allowed", lambda torch, module: [torch.ops.aten.mm.default], lambda a, b: a.mm(b).add_(1).exp(), allow_cache_entry_mutation=True)


@program
def selective_shows_products(torch):
    seen = []

    def policy(ctx, op, *args, **kwargs):
        if op in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default):
            seen.append((str(op), ctx.is_recompute, tuple(ctx.op_output.shape)))
        return False

    module = check(torch)
    linear, other = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4, bias=False)
    x = torch.ones(2, 4, requires_grad=True)
    contexts = functools.partial(module.create_selective_checkpoint_contexts, policy)
    module.checkpoint(lambda t: other(linear(t)) @ t.t(), x, use_reentrant=False, context_fn=contexts).sum().backward()
    return seen


@program
def selective_twice(torch):
    module = check(torch)
    contexts = functools.partial(module.create_selective_checkpoint_contexts, [torch.ops.aten.sin.default])
    y = module.checkpoint(lambda t: t.sin().exp(), leaf(torch), use_reentrant=False, context_fn=contexts).sum()
    y.backward(retain_graph=True)
    y.backward()


@named_programs(PROGRAMS)
def test_agrees_with_torch(program) -> None:
    agree(program)


@named_programs([p for p in PROGRAMS if p.__name__.startswith(("computes_again", "nested", "selective_list", "sequential"))])
def test_both_executors(program, executor) -> None:
    agree(program)


def test_debug_shows_the_operators() -> None:
    calls = []

    def f(x):
        calls.append(1)
        return x.sin().exp() if len(calls) == 1 else x.cos()

    y = check(ours).checkpoint(f, leaf(ours), use_reentrant=False, debug=True).sum()
    with pytest.raises(check(ours).CheckpointError) as caught:
        y.backward()
    text = str(caught.value)
    assert "$1: f32[2] = torch.ops.aten.sin.default($0)" in text and "torch.ops.aten.cos.default" in text and "test_checkpoint.py" in text
    assert "A different number of tensors was saved" in str(caught.value.__cause__)


def test_packets_are_no_overloads() -> None:
    with pytest.raises(ValueError, match=r"Expected op in `op_list` to be an OpOverload but got: aten.mm .* change it to `torch.ops.aten.mm.default`"):
        check(ours).create_selective_checkpoint_contexts([ours.ops.aten.mm])


def temporary_bytes(monkeypatch: pytest.MonkeyPatch, function) -> int:
    """What the programs that a function runs need beside inputs and results."""
    sizes = []
    original = lower.Part._compile

    def compile_and_measure(part, tier):
        compiled = original(part, tier)
        sizes.append(compiled.memory_analysis().temp_size_in_bytes)
        return compiled

    with monkeypatch.context() as patched, tiers.forced(tiers.FULL):
        patched.setattr(lower.Part, "_compile", compile_and_measure)
        function()
    return sum(sizes)


def test_memory_falls_although_forward_and_backward_are_one_program(monkeypatch) -> None:
    x = ours.ones(512, 32)
    weights = [ours.full((32, 32), 0.01 * (k + 1)).requires_grad_() for k in range(16)]

    def loss(call):
        y = x
        for k in range(0, 16, 4):
            y = call(lambda t, k=k: functools.reduce(lambda a, w: (a @ w).tanh(), weights[k : k + 4], t), y)
        return y.sum()

    def gradients(call):
        for w in weights:
            w.grad = None
        loss(call).backward()
        return [w.grad.tolist() for w in weights[:1]]

    x.requires_grad_()
    activation = 512 * 32 * 4
    kept = temporary_bytes(monkeypatch, lambda: gradients(lambda f, t: f(t)))
    assert kept > 15 * activation
    for use_reentrant in (False, True):
        call = functools.partial(check(ours).checkpoint, use_reentrant=use_reentrant)
        assert temporary_bytes(monkeypatch, lambda call=call: gradients(call)) < 10 * activation


def test_what_a_policy_keeps_is_not_computed_again() -> None:
    def products(policy) -> int:
        x = ours.linspace(0, 1, 16).reshape(4, 4).requires_grad_()
        contexts = functools.partial(check(ours).create_selective_checkpoint_contexts, policy)
        y = check(ours).checkpoint(lambda a: a.mm(a).sin().mm(a).sin(), x, use_reentrant=False, context_fn=contexts)
        y.sum().backward()
        x.grad.tolist()
        return sum(step.instruction.name == "mm" for part in counters.compilations[-1].parts for step in part.steps)

    assert products([]) - products([ours.ops.aten.mm.default]) == 2


def test_inside_of_compiled_functions() -> None:
    model = ours.nn.Sequential(ours.nn.Linear(4, 4), ours.nn.Tanh(), ours.nn.Dropout(0.5))
    x = ours.linspace(-1, 1, 8).reshape(2, 4)

    def loss(x):
        return check(ours).checkpoint(model, x, use_reentrant=False).pow(2).sum()

    def step(x):
        model.zero_grad()
        found = loss(x)
        found.backward()
        return found

    def outside(x):
        model.zero_grad()
        found = compiled_loss(x)
        found.backward()
        return found

    compiled_loss = ours.compile(loss)
    found = []
    for run in (step, ours.compile(step), outside):
        for _ in range(2):
            ours.manual_seed(3)
            found.append([run(x).item(), model[0].weight.grad.tolist()])
    for other in found[1:]:
        assert_close(other, found[0])
