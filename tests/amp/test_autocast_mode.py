"""Autocast against torch's: which operators are cast to what, contexts and their settings, the cache of casts, decorators for functions."""

import warnings

import numpy as np
import pytest
import torch as theirs
from torch._subclasses import FakeTensorMode

import pytorchlike as ours
from pytorchlike.core.state import thread

#: Calls under autocast: of float32 matrices and vectors ``a``, ``v``, ``x``, ``y``, half-precision ones ``h``, ``u``, and indices.
CALLS = """
torch.mm(a, a)
torch.mm(h, a)
torch.mm(torch.mm(a, a), a)
torch.matmul(a, v)
torch.addmm(h, a, a)
torch.mv(a, v)
torch.dot(u, v)
torch.einsum("ij,jk->ik", a, a)
torch.einsum("ii->i", a)
torch.chain_matmul(a, a, a)
torch.linalg.multi_dot([a, a])
torch.inner(a, a)
torch.linalg.vecdot(a, a)
F.linear(a, a, v)
F.conv1d(x, x[:, :, :2])
F.prelu(a, v[:1])
F.scaled_dot_product_attention(x, x.to(h.dtype), x)
F.layer_norm(h, (4,), v, v)
F.group_norm(x.to(h.dtype), 2, v, v)
F.batch_norm(x.to(h.dtype), v, v)
F.softmax(h, 1)
F.log_softmax(h, 1)
torch.exp(h)
torch.log(u)
torch.rsqrt(u)
u ** 2
u.sum()
h.prod(1)
h.cumsum(0)
h.mean()
h.norm()
torch.linalg.norm(h)
torch.logsumexp(h, 0)
torch.cat([a, h])
torch.cat([h, h])
torch.stack([h, a])
torch.cat([h, a.double()])
torch.addcmul(a, h, a)
torch.atan2(h, h)
torch.index_copy(h, 0, i[:2], a[:2])
torch.scatter_add(a, 0, torch.stack([i] * 4), a)
a + h
torch.clamp(h, 0)
F.gelu(h)
F.mse_loss(h, a)
F.l1_loss(h, h)
F.cross_entropy(h, i)
F.nll_loss(h, i)
F.binary_cross_entropy_with_logits(u, u)
F.cosine_similarity(a, a)
F.interpolate(x.to(h.dtype), scale_factor=2)
F.pad(x.to(h.dtype), (1, 1), mode="reflect")
F.pad(x.to(h.dtype), (1, 1))
torch.linalg.inv(h)
torch.linalg.cholesky(h)
torch.quantile(u, 0.5)
torch.trace(h)
torch.mm(a.double(), a.double())
torch.mm(torch.ones(2, 2, dtype=torch.int64), torch.ones(2, 2, dtype=torch.int64))
a.clone().addmm_(a, a)
torch.mm(a, a, out=torch.empty(4, 4))
torch.nn.LSTM(4, 3)(a)[0]
torch.nn.GRU(4, 3)(a)[0]
torch.nn.RNN(4, 3)(a)[0]
torch.nn.LSTMCell(4, 3)(a)[0]
torch.nn.MultiheadAttention(4, 2)(x, x, x)[0]
torch.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)(x)
""".strip().splitlines()


def names(library, half, device="cpu"):
    random = np.random.default_rng(0)
    a = random.normal(size=(4, 4)).astype(np.float32)
    arrays = {"a": a @ a.T / 4 + np.eye(4, dtype=np.float32), "v": random.uniform(0.1, 0.9, 4).astype(np.float32), "x": random.normal(size=(2, 4, 4))}
    if device == "cpu":
        found = {name: library.tensor(array.astype(np.float32)) for name, array in arrays.items()} | {"i": library.tensor([0, 1, 2, 3])}
    else:  # only dtypes matter there, and fake tensors hold no numbers
        found = {name: library.ones(array.shape, device=device) for name, array in arrays.items()}
        found["i"] = library.zeros(4, dtype=library.int64, device=device)
    found |= {"h": found["a"].to(getattr(library, half)), "u": found["v"].to(getattr(library, half))}
    return found | {"torch": library, "F": library.nn.functional}


def outcome(library, call, context, device="cpu"):
    library.manual_seed(0)
    given = names(library, "bfloat16", device)
    with warnings.catch_warnings(), context:
        warnings.simplefilter("ignore")
        try:
            return eval(call, given)
        except Exception as error:
            return type(error)


@pytest.mark.parametrize("call", CALLS)
def test_calls_on_the_cpu(call):
    mine, wanted = outcome(ours, call, ours.autocast("cpu")), outcome(theirs, call, theirs.autocast("cpu"))
    if wanted is RuntimeError and "LSTM(" in call:
        pytest.skip("oneDNN, which torch calls here, has no LSTM in bfloat16 for this processor")
    if isinstance(wanted, type):
        assert mine is wanted
        return
    assert str(mine.dtype) == str(wanted.dtype)
    # Products of bfloat16 numbers are summed in another order, and recurrent cells compute in float32 here.
    tolerance = 2e-2 if "bfloat16" in str(wanted.dtype) or "nn." in call else 1e-5
    np.testing.assert_allclose(mine.detach().double().numpy(), wanted.detach().double().numpy(), rtol=tolerance, atol=tolerance)


class OnFakeGpu:
    """torch's autocast for GPUs, on fake tensors: the context manager itself does nothing where there is no GPU."""

    def __enter__(self):
        theirs.set_autocast_dtype("cuda", theirs.bfloat16)
        theirs.set_autocast_enabled("cuda", True)

    def __exit__(self, *error):
        theirs.set_autocast_enabled("cuda", False)
        theirs.set_autocast_dtype("cuda", theirs.float16)
        theirs.clear_autocast_cache()


def test_dtypes_on_accelerators():
    different = {}
    without_fake = "nn.", "torch.empty", "torch.ones", "inv(", "cholesky", "conv1d", "prelu"  # no fake result, or none of another dtype
    calls = [c for c in CALLS if not any(part in c for part in without_fake)]
    for call in [*calls, "F.binary_cross_entropy(u, v)"]:
        with FakeTensorMode():
            wanted = outcome(theirs, call, OnFakeGpu(), "cuda")
        mine = outcome(ours, call, ours.autocast("xla"), "xla")
        if (mine if isinstance(mine, type) else str(mine.dtype)) != (wanted if isinstance(wanted, type) else str(wanted.dtype)):
            different[call] = mine, wanted
    assert different == {}


def linear(library):
    layer = library.nn.Linear(3, 2)
    layer.weight.data = library.tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    layer.bias.data = library.zeros(2)
    return layer, library.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]])


def test_gradients_of_a_parameter_used_twice(executor):
    grads = []
    for library in (ours, theirs):
        layer, x = linear(library)
        with library.autocast("cpu"):
            with library.no_grad():  # must not leave a cast without gradient behind
                layer(x)
            first, second = layer(x), layer(x * 2)
            loss = (first.float() * second.float()).sum()
        assert first.grad_fn.next_functions[-1][0].name() == "TBackward0" or library is ours
        loss.backward()
        grads.append(np.array(layer.weight.grad.tolist()))
        assert layer.weight.grad.dtype is library.float32
    np.testing.assert_allclose(*grads, rtol=1e-2)


def test_casts_of_parameters_are_kept_until_the_outermost_context_ends():
    w = ours.nn.Parameter(ours.ones(2, 2))
    with ours.autocast("cpu"):
        first = ours.mm(w, w)
        with ours.autocast("cpu"):
            pass
        again = ours.mm(w, w)
        assert first.grad_fn.next_functions == again.grad_fn.next_functions
        with ours.no_grad():
            w.mul_(3)
        assert ours.mm(w, w).tolist() == first.tolist()  # as in torch
        with ours.autocast("cpu", cache_enabled=False):
            assert ours.mm(w, w).tolist() == [[18.0, 18.0], [18.0, 18.0]]
    with ours.autocast("cpu"):
        assert ours.mm(w, w).tolist() == [[18.0, 18.0], [18.0, 18.0]]


def test_nested_contexts_decorators_and_settings():
    def run(library):
        x, seen = library.ones(2, 2), []

        def look():
            on = library.is_autocast_enabled("cpu"), library.get_autocast_dtype("cpu"), library.is_autocast_cache_enabled()
            seen.append((str(library.mm(x, x).dtype), on[0], str(on[1]), on[2]))

        look()
        with library.autocast("cpu", cache_enabled=False):
            look()
            with library.amp.autocast("cpu", enabled=False):
                look()
                with library.autocast("cpu", dtype=library.float16):
                    look()
                library.autocast("cpu")(look)()
            look()
            with library.autocast("xla"):
                look()
        with pytest.raises(ZeroDivisionError), library.autocast("cpu"):
            raise ZeroDivisionError
        look()
        library.set_autocast_enabled("cpu", True)
        look()
        library.set_autocast_dtype("cpu", library.float16)
        look()
        library.set_autocast_enabled("cpu", False)
        library.set_autocast_dtype("cpu", library.bfloat16)
        seen.append([library.autocast_increment_nesting(), library.autocast_decrement_nesting(), library.is_autocast_enabled()])
        seen.append([library.amp.is_autocast_available(d) for d in ("cpu", "cuda", "xla", "meta", "mps", "vulkan")])
        return seen

    assert run(ours) == run(theirs)
    assert thread.state.slow == 0 and thread.state.autocast is None


REFUSED = [
    lambda t: t.autocast(3),
    lambda t: t.autocast("meta"),
    lambda t: t.autocast("cpu")(3),
    lambda t: t.autocast("cpu", dtype=t.float32)._enabled,
    lambda t: t.autocast("cuda")._enabled,
    lambda t: t.cuda.amp.autocast()._enabled,
    lambda t: t.cpu.amp.autocast().fast_dtype is t.bfloat16,
    lambda t: t.cuda.amp.custom_bwd(len) is not None,
    lambda t: t.is_autocast_enabled(3),
    lambda t: t.set_autocast_enabled("cpu", 1),
    lambda t: t.set_autocast_dtype("cpu", "x"),
    lambda t: t.set_autocast_cache_enabled(1),
    lambda t: t.amp.custom_fwd(device_type=3),
    lambda t: t.is_autocast_cpu_enabled(),
    lambda t: t.set_autocast_cpu_enabled(1),
    lambda t: str(t.get_autocast_gpu_dtype()),
    lambda t: t.cuda.amp.common.amp_definitely_not_available(),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_errors_and_warnings(case):
    def run(library):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = REFUSED[case](library)
            except Exception as error:
                result = type(error), str(error)
        return result, [(w.category, str(w.message).partition(" (Triggered")[0]) for w in caught]

    assert run(ours) == run(theirs)


def test_a_mixture_of_half_precisions_is_refused():
    for library in (ours, theirs):
        with library.autocast("cpu"), pytest.raises(RuntimeError, match="Unexpected floating ScalarType in at::autocast::prioritize"):
            library.cat([library.ones(2, dtype=library.float16), library.ones(2)])


@pytest.mark.parametrize("cast", [None, "float32"])
def test_functions_under_autocast(cast):
    def run(library):
        seen = []

        class Product(library.autograd.Function):
            @staticmethod
            @library.amp.custom_fwd(device_type="cpu", cast_inputs=cast and getattr(library, cast))
            def forward(ctx, a, b):
                ctx.save_for_backward(a, b)
                seen.append((str(a.dtype), library.is_autocast_enabled("cpu")))
                return a.mm(b)

            @staticmethod
            @library.amp.custom_bwd(device_type="cpu")
            def backward(ctx, grad):
                a, b = ctx.saved_tensors
                seen.append((str(grad.dtype), library.is_autocast_enabled("cpu")))
                return grad.mm(b.t()), a.t().mm(grad)

        a = library.ones(2, 2, requires_grad=True)
        with library.autocast("cpu"):
            out = Product.apply(a, library.ones(2, 2, dtype=library.bfloat16))
        out.float().sum().backward()
        Product.apply(a, a)
        return [*seen, str(out.dtype), str(a.grad.dtype), a.grad.tolist()]

    assert run(ours) == run(theirs)


def test_other_threads_are_not_concerned():
    import threading

    seen = []
    with ours.autocast("cpu"):
        thread_of_its_own = threading.Thread(target=lambda: seen.append(ours.mm(ours.ones(2, 2), ours.ones(2, 2)).dtype))
        thread_of_its_own.start()
        thread_of_its_own.join()
    assert seen == [ours.float32]


def test_a_training_step_is_one_program():
    from pytorchlike.graph import counters

    layer, x = linear(ours)
    optimizer = ours.optim.SGD(layer.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        with ours.autocast("cpu"):
            loss = layer(x).square().sum()
        loss.backward()
        optimizer.step()

    step()
    step()
    before = len(counters.compilations)
    step()
    assert len(counters.compilations) == before
