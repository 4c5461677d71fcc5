"""Parametrizations against torch's: registering, reading, assigning, caching, removing, errors."""

import copy
import pickle

import pytest

import pytorchlike as ours

from ..outcomes import same


def kinds(library):
    """Modules that serve as parametrizations."""
    Module = library.nn.Module

    class Symmetric(Module):
        def forward(self, X):
            return X.triu() + X.triu(1).transpose(-1, -2)

        def right_inverse(self, A):
            return A.triu()

    class Doubled(Module):
        calls = 0

        def forward(self, X):
            type(self).calls += 1
            return X * 2

        def right_inverse(self, A):
            return A / 2

    class Sum(Module):
        def forward(self, a, b):
            return a + b

        def right_inverse(self, X):
            return X * 0.25, X * 0.75

    class Plain(Module):
        def forward(self, X):
            return X.tanh()

    class Undefined(Plain):
        def right_inverse(self, X):
            raise NotImplementedError

    class Halves(Module):
        def forward(self, X):
            return X.double()

    class Fewer(Module):
        def forward(self, X):
            return X[:1]

    class Nothing(Module):
        def forward(self, X):
            return None

    class Wrong(Module):
        def __init__(self, result):
            super().__init__()
            self.result = result

        def forward(self, *X):
            return X[0]

        def right_inverse(self, X):
            return self.result(X)

    return {name: kind for name, kind in locals().items() if isinstance(kind, type)}


def facts(module, x):
    before = [(name, tuple(p.shape), p.requires_grad) for name, p in module.named_parameters()]
    module.zero_grad()
    out = module(x)
    out.sum().backward()
    grads = {name: p.grad for name, p in module.named_parameters()}
    return [before, out, grads, module.state_dict(), repr(module), type(module).__name__]


@pytest.mark.parametrize("names", [["Symmetric"], ["Doubled"], ["Sum"], ["Plain"], ["Undefined"], ["Symmetric", "Doubled"], ["Sum", "Doubled"]], ids=str)
def test_registering_assigning_and_removing(names):
    def run(library):
        known, parametrize = kinds(library), library.nn.utils.parametrize
        layer, x = library.nn.Linear(3, 3), library.ones(2, 3)
        weight = layer.weight
        seen = [parametrize.is_parametrized(layer)]
        for name in names:
            parametrize.register_parametrization(layer, "weight", known[name]())
        seen += facts(layer, x) + [parametrize.is_parametrized(layer, "weight"), parametrize.is_parametrized(layer, "bias"), layer.weight is weight]
        seen.append(parametrize.type_before_parametrizations(layer) is library.nn.Linear)
        try:
            layer.weight = library.arange(9.0).view(3, 3)
        except RuntimeError as error:
            seen.append(str(error))
        seen.append(layer.weight)
        copied = copy.deepcopy(layer)
        seen.append(copied(x))
        parametrize.remove_parametrizations(layer, "weight")
        return [*seen, *facts(layer, x), parametrize.is_parametrized(layer), parametrize.is_parametrized(copied), layer.weight is weight]

    same(run)


def test_buffers_and_several_tensors(executor):
    def run(library):
        known, parametrize = kinds(library), library.nn.utils.parametrize
        layer = library.nn.BatchNorm1d(3)
        parametrize.register_parametrization(layer, "running_mean", known["Doubled"]())
        parametrize.register_parametrization(layer, "weight", known["Plain"]())
        x = library.arange(6.0).view(2, 3)
        seen = facts(layer.eval(), x)
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
        seen += [type(layer).__name__, parametrize.is_parametrized(layer)]
        parametrize.remove_parametrizations(layer, "running_mean")
        return [*seen, *facts(layer, x), [name for name, _ in layer.named_buffers()]]

    same(run)


def test_training_reaches_the_originals():
    def run(library):
        known, parametrize = kinds(library), library.nn.utils.parametrize
        layer, x = library.nn.Linear(2, 2), library.ones(1, 2)
        optimizer = library.optim.SGD(layer.parameters(), lr=0.1)
        parametrize.register_parametrization(layer, "weight", known["Symmetric"]())
        for _ in range(2):
            optimizer.zero_grad()
            layer(x).square().sum().backward()
            optimizer.step()
        return layer.weight, layer.parametrizations.weight.original

    same(run)


def test_the_cache_computes_once():
    def run(library):
        known, parametrize = kinds(library), library.nn.utils.parametrize
        layer = library.nn.Linear(2, 2)
        parametrize.register_parametrization(layer, "weight", known["Doubled"]())
        known["Doubled"].calls = 0
        with parametrize.cached():
            first, second = layer.weight, layer.weight
            with parametrize.cached():
                third = layer.weight
            fourth = layer.weight
        return known["Doubled"].calls, first is second is third is fourth, layer.weight is first

    assert same(run) == [1, True, False]


def test_transfer():
    def run(library):
        known, parametrize = kinds(library), library.nn.utils.parametrize
        one, other = library.nn.Linear(2, 2), library.nn.Linear(2, 2)
        parametrize.register_parametrization(one, "weight", known["Doubled"]())
        parametrize.register_parametrization(one, "bias", known["Sum"]())
        parametrize.transfer_parametrizations_and_params(one, other)
        third = parametrize.transfer_parametrizations_and_params(one, library.nn.Linear(2, 2), "weight")
        return [other.weight, other.bias, other.state_dict(), third.weight, parametrize.is_parametrized(third, "bias"), other.weight is one.weight]

    same(run)


def errors():
    def register(*names, tensor="weight", unsafe=False):
        def run(library, layer):
            known = kinds(library)
            for name in names:
                made = known["Wrong"](name) if callable(name) else known[name]()
                library.nn.utils.parametrize.register_parametrization(layer, tensor, made, unsafe=unsafe)
            return layer.weight

        return run

    def then(run, after):
        def both(library, layer):
            run(library, layer)
            return after(library, layer)

        return both

    def assign(library, layer):
        layer.weight = library.ones(3, 3)

    def assign_doubles(library, layer):
        layer.weight = library.ones(3, 3).double()

    def remove(**kwargs):
        return lambda library, layer: library.nn.utils.parametrize.remove_parametrizations(layer, "weight", **kwargs)

    return [
        register("Halves"), register("Fewer"), register("Nothing"), register("Halves", unsafe=True), register("Doubled", tensor="nothing"),
        register("Doubled", "Halves"), register("Doubled", "Fewer"), register("Doubled", "Nothing"),
        register(lambda X: 3), register(lambda X: (X, 3)), register(lambda X: X.double()), register(lambda X: "ab"),
        register("Doubled", lambda X: X.double()), register("Doubled", lambda X: X[:1]), register("Doubled", lambda X: 3),
        then(register("Plain"), assign), then(register("Symmetric"), assign_doubles), then(register("Sum"), assign_doubles),
        then(register("Sum"), remove(leave_parametrized=False)), remove(),
        lambda library, layer: library.nn.utils.parametrize.ParametrizationList([], layer.weight),
        then(register("Doubled"), lambda library, layer: pickle.dumps(layer)),
    ]  # fmt: skip


@pytest.mark.parametrize("case", range(len(errors())))
def test_errors(case):
    same(lambda library: errors()[case](library, library.nn.Linear(3, 3)))


def test_a_failed_registration_leaves_the_module_as_it_was():
    layer = ours.nn.Linear(2, 2)
    before = layer.weight.tolist()
    with pytest.raises(ValueError):
        ours.nn.utils.parametrize.register_parametrization(layer, "weight", kinds(ours)["Fewer"]())
    assert type(layer) is ours.nn.Linear and layer.weight.tolist() == before and list(dict(layer.named_parameters())) == ["weight", "bias"]
