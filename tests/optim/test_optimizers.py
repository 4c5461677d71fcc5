"""Optimizers against torch's: the pure update, then the public class."""

import copy
import inspect
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch as theirs

import pytorchlike as ours
import pytorchlike.optim as ours_optim
from pytorchlike.optim import Optimizer

from .optimizers import OPTIMIZERS, REFUSED, SHAPES, SHAPES_OF, TOLERANCES

NAMES = sorted({name for name, _ in OPTIMIZERS})
ids = [f"{name}-{'-'.join(map(str, kwargs)) or 'defaults'}" for name, kwargs in OPTIMIZERS]


def gradients(steps, name, dtype=np.float32):
    """Gradients that change sign, vanish at some places and differ in size."""
    random = np.random.default_rng(0)
    for _ in range(steps):
        yield [
            np.asarray(random.normal(size=shape) * random.choice([0, 1e-3, 1, 1, 10], size=shape)).astype(dtype)
            for shape in SHAPES_OF.get(name, SHAPES).values()
        ]


def start(name, dtype=np.float32):
    random = np.random.default_rng(1)
    return [np.asarray(random.normal(size=shape)).astype(dtype) for shape in SHAPES_OF.get(name, SHAPES).values()]


def first_states(cls, params, group, on):
    states = []
    for p in params:
        state = {}
        shapes = {"row_var": (*p.shape[:-1], 1), "col_var": (*p.shape[:-2], 1, *p.shape[-1:])}
        for key in cls.state_keys({**on, "factored": p.ndim > 1}):
            initial = cls.INITIAL.get(key, 0.0)
            value = group[initial] if isinstance(initial, str) else initial
            state[key] = jnp.full((), value, jnp.float32) if key in cls.SCALARS else jnp.full(shapes.get(key, p.shape), value, p.dtype)
        states.append(state)
    return states


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=[pytest.mark.slow, pytest.mark.ci])])
@pytest.mark.parametrize(("name", "kwargs"), OPTIMIZERS, ids=ids)
def test_pure_update_follows_torch_for_50_steps_and_is_traced_once(name, kwargs, dtype):
    cls = getattr(ours_optim, name)
    reference = [theirs.nn.Parameter(theirs.from_numpy(a.copy())) for a in start(name, dtype)]
    optimizer = getattr(theirs.optim, name)(reference, **kwargs)
    group = optimizer.param_groups[0]
    on = cls.switches(group)
    traces = []

    with jax.enable_x64(True):
        params = [jnp.asarray(a) for a in start(name, dtype)]

        def update(first, hypers, *each):
            traces.append(first)
            updated = [
                cls.update({**on, "first": first, "factored": p.ndim > 1, "epsilon": float(jnp.finfo(p.dtype).eps)}, hypers, [p], [g], [s])
                for p, g, s in zip(*each, strict=True)
            ]
            return [p for (p,), _ in updated], [s for _, (s,) in updated]

        step = jax.jit(update, static_argnums=0)
        for i, grads in enumerate(gradients(50, name, dtype)):
            group["lr"] = optimizer.defaults["lr"] * (1 + 0.5 * np.cos(i))
            for p, g in zip(reference, grads):
                p.grad = theirs.from_numpy(g)
            optimizer.step()
            if i == 0:
                states = first_states(cls, params, group, on)
            hypers = {key: np.float64(value) for key, value in cls.numbers(group).items()}
            params, states = step(bool(on.get("dampening")) and i == 0, hypers, params, [jnp.asarray(g) for g in grads], states)
    assert len(traces) == (2 if on.get("dampening") else 1)
    tolerance = TOLERANCES.get(name, 2e-6 if dtype == "float32" else 1e-12)
    for mine, wanted in zip(params, reference):
        assert mine.dtype == dtype
        np.testing.assert_allclose(np.asarray(mine), wanted.detach().numpy(), rtol=tolerance, atol=tolerance)
    for mine, wanted in zip(states, (optimizer.state[p] for p in reference)):
        assert sorted(mine) == sorted(wanted)
        for key in mine:
            np.testing.assert_allclose(np.asarray(mine[key]), wanted[key].numpy(), rtol=1e-5, atol=1e-6, err_msg=key)


def run(library, name, kwargs, steps=3, dtype="float32"):
    params = [library.nn.Parameter(library.tensor(a.tolist(), dtype=getattr(library, dtype))) for a in start(name)]
    optimizer = getattr(library.optim, name)(params, **kwargs)
    for grads in gradients(steps, name):
        for p, g in zip(params, grads):
            p.grad = library.tensor(g.tolist(), dtype=p.dtype)
        optimizer.step()
    return params, optimizer


def numbers(tensor):
    return np.asarray(tensor.detach().tolist())


def check_close(mine, wanted, tolerance=2e-6):
    assert str(mine.dtype) == str(wanted.dtype) and tuple(mine.shape) == tuple(wanted.shape)
    np.testing.assert_allclose(numbers(mine), numbers(wanted), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("name", "kwargs"), OPTIMIZERS, ids=ids)
def test_steps_states_and_repr(name, kwargs):
    (mine, my_optimizer), (wanted, their_optimizer) = run(ours, name, kwargs), run(theirs, name, kwargs)
    for a, b in zip(mine, wanted):
        check_close(a, b, TOLERANCES.get(name, 2e-6))
        assert list(my_optimizer.state[a]) == list(their_optimizer.state[b])
        for key, value in their_optimizer.state[b].items():
            check_close(my_optimizer.state[a][key], value, 1e-5)
    assert repr(my_optimizer) == repr(their_optimizer)
    assert my_optimizer.defaults == their_optimizer.defaults
    my_state, their_state = my_optimizer.state_dict(), their_optimizer.state_dict()
    assert my_state["param_groups"] == their_state["param_groups"]
    assert my_state["state"].keys() == their_state["state"].keys()


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=[pytest.mark.slow, pytest.mark.ci])])
@pytest.mark.parametrize(("name", "kwargs"), OPTIMIZERS, ids=ids)
def test_50_steps_in_which_gradients_are_missing(name, kwargs, dtype):
    """Each parameter has no gradient in some steps; the learning rate changes."""

    def run(library):
        params = [library.nn.Parameter(library.tensor(a.tolist(), dtype=getattr(library, dtype))) for a in start(name)]
        optimizer = getattr(library.optim, name)(params, **kwargs)
        for i, grads in enumerate(gradients(50, name, dtype)):
            optimizer.param_groups[0]["lr"] = optimizer.defaults["lr"] * (1 + 0.5 * np.cos(i))
            for k, (p, g) in enumerate(zip(params, grads)):
                p.grad = None if (i + k) % 4 == 0 else library.tensor(g.tolist(), dtype=p.dtype)
            optimizer.step()
        return params, [{key: numbers(value) for key, value in optimizer.state[p].items()} for p in params]

    (mine, my_states), (wanted, their_states) = run(ours), run(theirs)
    tolerance = TOLERANCES.get(name, 2e-6 if dtype == "float32" else 1e-12)
    for a, b in zip(mine, wanted):
        check_close(a, b, tolerance)
    for a, b in zip(my_states, their_states):
        assert list(a) == list(b)
        for key in a:
            np.testing.assert_allclose(a[key], b[key], rtol=max(tolerance, 1e-5), atol=1e-6, err_msg=key)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "kwargs"), [
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "maximize": True}), ("Adagrad", {"lr": 0.1}), ("Adagrad", {"lr_decay": 0.1, "maximize": True}),
    ("SparseAdam", {}), ("SparseAdam", {"lr": 0.1, "betas": (0.8, 0.9), "maximize": True}),
], ids=str)  # fmt: skip
def test_50_steps_of_sparse_gradients(name, kwargs, dtype):
    def run(library):
        random = np.random.default_rng(4)
        p = library.nn.Parameter(library.tensor(random.normal(size=(6, 2)).tolist(), dtype=getattr(library, dtype)))
        optimizer = getattr(library.optim, name)([p], **kwargs)
        for i in range(50):
            rows, values = random.integers(6, size=4).tolist(), random.normal(size=(4, 2)).tolist()
            sparse = library.sparse_coo_tensor([rows], library.tensor(values, dtype=p.dtype), (6, 2), check_invariants=True)
            p.grad = None if i % 4 == 0 else sparse
            optimizer.step()
        return p, {key: numbers(value) if hasattr(value, "detach") else value for key, value in optimizer.state[p].items()}

    (mine, my_state), (wanted, their_state) = run(ours), run(theirs)
    check_close(mine, wanted, 2e-6 if dtype == "float32" else 1e-12)
    assert list(my_state) == list(their_state)
    for key, value in their_state.items():
        np.testing.assert_allclose(my_state[key], value, rtol=1e-5 if dtype == "float32" else 1e-12, err_msg=key)


@pytest.mark.parametrize("name", NAMES)
def test_sparse_gradients_are_refused_as_in_torch(name):
    def outcome(library):
        p = library.nn.Parameter(library.ones(2, 2))
        optimizer = getattr(library.optim, name)([p], **({"weight_decay": 0.1} if name in ("SGD", "Adagrad") else {}))
        p.grad = library.sparse_coo_tensor([[0]], library.ones(1, 2), (2, 2), check_invariants=True)
        try:
            optimizer.step()
        except Exception as error:
            return type(error), str(error), p.tolist()

    assert outcome(ours) == outcome(theirs) != None  # noqa: E711


@pytest.mark.parametrize("name", NAMES)
def test_signatures(name):
    mine, wanted = (inspect.signature(getattr(library.optim, name).__init__) for library in (ours, theirs))
    assert [(p.name, p.kind, p.default) for p in mine.parameters.values()] == [
        (p.name, p.kind, p.default) for p in wanted.parameters.values()
    ]


@pytest.mark.parametrize(("name", "kwargs"), [(name, kwargs) for name, cases in REFUSED.items() for kwargs in cases], ids=str)
def test_refused_arguments(name, kwargs):
    def outcome(library):
        try:
            getattr(library.optim, name)([library.nn.Parameter(library.ones(2))], **kwargs)
        except Exception as error:
            return type(error), str(error)

    assert outcome(ours) == outcome(theirs) != None  # noqa: E711


@pytest.mark.parametrize("name, dtype", [
    ("SGD", "float64"), ("SGD", "float16"), ("SGD", "complex64"), ("Adam", "float64"), ("Adam", "bfloat16"), ("Adam", "complex64"),
    ("Adagrad", "float64"), ("Adagrad", "bfloat16"), ("Adagrad", "complex64"), ("Rprop", "float16"), ("Rprop", "complex64"),
])  # fmt: skip
def test_other_dtypes(name, dtype):
    kwargs = {"momentum": 0.9} if name == "SGD" else {}
    mine, wanted = run(ours, name, kwargs, dtype=dtype)[0], run(theirs, name, kwargs, dtype=dtype)[0]
    for a, b in zip(mine, wanted):
        check_close(a, b, {"float64": 1e-12, "bfloat16": 2e-2, "float16": 2e-3, "complex64": 1e-5}[dtype])


def parameters(library, n=2):
    return [library.nn.Parameter(library.ones(2)) for _ in range(n)]


GROUPS = [
    lambda library, p: p[0],
    lambda library, p: [],
    lambda library, p: [1],
    lambda library, p: [{"params": []}],
    lambda library, p: [{"params": p[0], "lr": 0.1}, {"params": [p[1]]}],
    lambda library, p: [{"lr": 1}],
    lambda library, p: iter(p),
    lambda library, p: [{"params": {p[0]}}],
    lambda library, p: [p[0] * 2],
    lambda library, p: [("a", p[0]), ("b", p[1])],
    lambda library, p: [("a", p[0]), p[1]],
    lambda library, p: [p[0], ("a", p[1])],
    lambda library, p: [{"params": [("a", p[0])]}, {"params": [p[1]]}],
    lambda library, p: [{"params": [p[0]]}, {"params": [("a", p[1])]}],
    lambda library, p: [p[0], p[0]],
    lambda library, p: [{"params": p[0]}, {"params": p[0]}],
]


@pytest.mark.parametrize("case", range(len(GROUPS)))
def test_parameter_groups(case):
    def outcome(library):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                optimizer = library.optim.SGD(GROUPS[case](library, parameters(library)), lr=0.5)
                result = repr(optimizer), [len(group["params"]) for group in optimizer.param_groups], optimizer.state_dict()
            except Exception as error:
                result = type(error), str(error)
        return result, [str(w.message) for w in caught]

    assert outcome(ours) == outcome(theirs)


def test_add_param_group_and_load_errors():
    def outcomes(library):
        optimizer = library.optim.SGD(parameters(library), lr=0.5)
        cases = [
            lambda: optimizer.add_param_group(1),
            lambda: optimizer.add_param_group({"params": parameters(library), "own": 2}),
            lambda: optimizer.load_state_dict({"state": {}, "param_groups": []}),
            lambda: library.optim.SGD(parameters(library, 1)).load_state_dict(library.optim.SGD(parameters(library, 2)).state_dict()),
            lambda: library.optim.Optimizer(parameters(library), {}).step(),
        ]
        for case in cases:
            try:
                yield case(), repr(optimizer)
            except Exception as error:
                yield type(error), str(error)

    assert list(outcomes(ours)) == list(outcomes(theirs))


def test_hooks():
    def calls(library):
        optimizer = library.optim.SGD(parameters(library), lr=0.5)
        seen = []
        handles = [
            optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(("pre", o is optimizer, len(args), kwargs))),
            optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(("post", o is optimizer, len(args), kwargs))),
            optimizer.register_state_dict_pre_hook(lambda o: seen.append("state pre")),
            optimizer.register_state_dict_post_hook(lambda o, state: {**state, "extra": 1}),
            optimizer.register_load_state_dict_pre_hook(lambda o, state: seen.append(("load pre", sorted(state)))),
            optimizer.register_load_state_dict_post_hook(lambda o: seen.append("load post")),
            __import__(f"{library.__name__}.optim.optimizer", fromlist=["x"]).register_optimizer_step_post_hook(
                lambda o, args, kwargs: seen.append("everywhere")
            ),
        ]
        seen.append(optimizer.step(lambda: 5))
        state = optimizer.state_dict()
        seen.append(sorted(state))
        optimizer.load_state_dict(state)
        for handle in handles:
            handle.remove()
        optimizer.step()
        seen.append(sorted(optimizer.state_dict()))
        optimizer.register_step_pre_hook(lambda *_: 3)
        with pytest.raises(RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs\), but got 3\."):
            optimizer.step()
        return seen

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert calls(ours) == calls(theirs)


def test_own_optimizers_get_hooks_and_state():
    class Own(ours.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p]["calls"] = self.state[p].get("calls", 0) + 1

    params = parameters(ours)
    optimizer = Own(params, 0.1)
    seen = []
    optimizer.register_step_post_hook(lambda *_: seen.append(1))
    optimizer.step()
    assert seen == [1] and optimizer.state_dict()["state"] == {0: {"calls": 1}, 1: {"calls": 1}}


def test_zero_grad_and_parameters_without_gradient():
    p, q = parameters(ours)
    optimizer = ours.optim.Adam([p, q], lr=0.1)
    p.grad = ours.ones(2)
    optimizer.step()
    assert q not in optimizer.state and q.tolist() == [1.0, 1.0]
    grad = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is grad and grad.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert p.grad is None


def test_states_move_between_the_libraries():
    (mine, my_optimizer), (_, their_optimizer) = run(ours, "Adam", {"amsgrad": True}), run(theirs, "Adam", {"amsgrad": True})
    given = their_optimizer.state_dict()
    given["state"] = {
        i: {key: ours.tensor(value.tolist(), dtype=getattr(ours, str(value.dtype)[6:])) for key, value in s.items()}
        for i, s in given["state"].items()
    }
    fresh = ours.optim.Adam(mine, lr=1.0)
    fresh.load_state_dict(given)
    assert fresh.param_groups[0]["lr"] == 1e-3 and fresh.param_groups[0]["amsgrad"] is True
    for p in mine:
        for key, value in my_optimizer.state[p].items():
            check_close(fresh.state[p][key], value, 1e-5)
    fresh.step()


def test_tensor_learning_rates():
    mine, wanted = (run(library, "SGD", {"lr": library.tensor(0.25), "momentum": 0.5}) for library in (ours, theirs))
    for a, b in zip(mine[0], wanted[0]):
        check_close(a, b)
    for library in (ours, theirs):
        with pytest.raises(ValueError, match="Tensor lr must be 1-element"):
            library.optim.SGD(parameters(library), lr=library.tensor([1.0, 2.0]))


def test_copies():
    _, optimizer = run(ours, "Adam", {})
    other = copy.deepcopy(optimizer)
    assert repr(other) == repr(optimizer)
    assert [list(s) for s in other.state.values()] == [list(s) for s in optimizer.state.values()]
    assert all(name in vars(other) for name in Optimizer._HOOKS)
    other.step()


def test_aliases_of_parameters_and_states_see_a_step():
    p = parameters(ours, 1)[0]
    alias = p.detach()
    optimizer = ours.optim.SGD([p], lr=0.5, momentum=0.9)
    for _ in range(2):
        p.grad = ours.ones(2)
        optimizer.step()
        buffer = optimizer.state[p]["momentum_buffer"]
    assert alias.tolist() == p.tolist()
    p.grad = ours.ones(2)
    optimizer.step()
    assert optimizer.state[p]["momentum_buffer"] is buffer


def test_the_second_step_and_a_new_learning_rate_compile_nothing():
    from pytorchlike.graph import counters

    p = parameters(ours, 1)[0]
    optimizer = ours.optim.AdamW([p], lr=0.5)

    def step(lr):
        optimizer.param_groups[0]["lr"] = lr
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()

    step(0.1)
    before = len(counters.compilations)
    step(0.2)
    step(0.3)
    assert len(counters.compilations) == before


def test_other_parameters_and_states_for_a_while():
    def run(library):
        params = parameters(library)
        optimizer = library.optim.SGD(params, lr=0.5, momentum=0.9)
        swap, seen = library.optim.swap_in_optimizer_params_and_state, []

        def attempt(others, state):
            try:
                with swap(optimizer, others, state):
                    for p in others.values():
                        p.grad = library.ones(2)
                    optimizer.step()
            except RuntimeError as error:
                seen.append(str(error))

        attempt({}, {})
        for p in params:
            p.grad = library.ones(2)
        optimizer.step()
        others = {str(i): library.nn.Parameter(library.zeros(2)) for i in range(2)}
        state = copy.deepcopy(optimizer.state_dict())
        attempt(others, {**state, "param_groups": [{**state["param_groups"][0], "lr": 0.1}]})
        seen += [p.tolist() for p in (*others.values(), *params)] + [optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["params"][0] is params[0]]
        seen.append([s["momentum_buffer"].tolist() for s in (*state["state"].values(), *optimizer.state.values())])
        group = state["param_groups"][0]
        for wrong in (
            3, {}, {**state, "state": []}, {**state, "state": {0: 1}}, {**state, "state": {params[0]: {}}}, {**state, "state": {7: {}}},
            {**state, "param_groups": {}}, {**state, "param_groups": []}, {**state, "param_groups": [1]}, {**state, "param_groups": [{"params": [0, 1]}]},
            {**state, "param_groups": [{**group, "params": [0]}]}, {**state, "param_groups": [{**group, "params": ["a", "b"]}]},
        ):  # fmt: skip
            attempt(others, wrong)
        attempt({"0": others["0"]}, state)
        return seen

    mine, wanted = run(ours), run(theirs)
    assert mine == wanted


def test_sparse_adam_wants_sparse_gradients():
    for library in (ours, theirs):
        (p,) = parameters(library, 1)
        p.grad = library.ones(2)
        with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients, please consider Adam instead"):
            library.optim.SparseAdam([p]).step()
        with pytest.raises(ValueError, match=r"Complex params at indices \[\[0, 0\]\]: SparseAdam does not support complex parameters"):
            library.optim.SparseAdam([library.nn.Parameter(library.ones(2, dtype=library.complex64))])


def test_sparse_adam_updates_what_the_gradient_states():
    def run(library):
        p = library.nn.Parameter(library.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
        optimizer = library.optim.SparseAdam([p], lr=0.1)
        for rows in ([0, 2], [2, 2], [1, 0]):
            p.grad = library.sparse_coo_tensor([rows], library.tensor([[0.5, -1.0], [2.0, 0.25]]), (3, 2), check_invariants=True)
            optimizer.step()
        return p.tolist(), optimizer.state[p]["exp_avg"].tolist(), optimizer.state[p]["step"]

    mine, wanted = run(ours), run(theirs)
    np.testing.assert_allclose(mine[0], wanted[0], rtol=1e-6)
    np.testing.assert_allclose(mine[1], wanted[1], rtol=1e-6)
    assert mine[2] == wanted[2]


def test_optimizers_written_for_torch_find_what_they_import():
    from pytorchlike.optim.optimizer import _default_to_fused_or_foreach, _get_value, _use_grad_for_differentiable

    class Own(ours.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr, "differentiable": False})

        @_use_grad_for_differentiable
        def step(self, closure=None):
            self._cuda_graph_capture_health_check()
            for group in self.param_groups:
                params = [p for p in group["params"] if p.grad is not None]
                assert _default_to_fused_or_foreach(params, group["differentiable"]) == (False, False)
                for (own, grads), places in self._group_tensors_by_device_and_dtype([params, [p.grad for p in params]], True).values():
                    assert places == [0, 1]
                    for p, g in zip(own, grads):
                        p.add_(g, alpha=-_get_value(group["lr"]))

    params = parameters(ours)
    for p in params:
        p.grad = ours.ones(2)
    Own(params, ours.tensor(0.5)).step()
    assert [p.tolist() for p in params] == [[0.5, 0.5]] * 2
