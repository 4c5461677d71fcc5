"""Orthogonal, weight and spectral normalization against torch's, by parametrizations and by hooks."""

import importlib

import pytest

import pytorchlike as ours

from ..outcomes import same

SETTINGS = [
    ((3, 3), {}), ((3, 3), {"orthogonal_map": "cayley"}), ((3, 3), {"orthogonal_map": "householder"}), ((4, 2), {}), ((2, 4), {}),
    ((4, 2), {"orthogonal_map": "matrix_exp"}), ((2, 4), {"orthogonal_map": "cayley"}),
    ((3, 3), {"use_trivialization": False}), ((4, 2), {"use_trivialization": False}), ((2, 4), {"use_trivialization": False}),
    ((3, 3), {"orthogonal_map": "cayley", "use_trivialization": False}),
]  # fmt: skip


def weighted(library, shape, dtype="float32"):
    module = library.nn.Module()
    values = library.arange(float(shape[0] * shape[1]), dtype=library.float64).view(shape).sin() + library.eye(*shape)
    module.weight = library.nn.Parameter(values.to(getattr(library, dtype)))
    return module


@pytest.mark.parametrize(("shape", "kwargs"), SETTINGS, ids=str)
def test_orthogonal(shape, kwargs):
    def run(library):
        module = library.nn.utils.parametrizations.orthogonal(weighted(library, shape, "float64"), **kwargs)
        weight = module.weight
        coefficients = library.arange(float(weight.numel()), dtype=weight.dtype).view(weight.shape)
        (weight * coefficients).sum().backward()
        original = module.parametrizations.weight.original
        tall = weight if shape[0] >= shape[1] else weight.mT
        seen = [weight, original, original.grad, tall.mT @ tall]
        with library.no_grad():
            original.add_(0.1)
        seen.append(module.weight)
        q, _ = library.linalg.qr(library.ones(5, 5, dtype=weight.dtype).tril()[: max(shape), : min(shape)])
        try:
            module.weight = q if shape[0] >= shape[1] else q.mT
        except NotImplementedError as error:
            seen.append(str(error))
        return [*seen, module.weight]

    same(run, 1e-8)


def test_orthogonal_of_complex_and_batched_matrices():
    def run(library):
        module = library.nn.Module()
        module.weight = library.nn.Parameter(library.eye(3, dtype=library.complex64) * 2)
        library.nn.utils.parametrizations.orthogonal(module)
        batched = library.nn.Module()
        batched.weight = library.nn.Parameter(library.arange(12.0).view(2, 3, 2).cos())
        library.nn.utils.parametrizations.orthogonal(batched, orthogonal_map="householder", use_trivialization=False)
        return [module.weight.real, module.weight.imag, batched.weight]

    same(run)


@pytest.mark.parametrize("dim", [0, 1, -2, None])
def test_weight_norm(dim):
    def run(library):
        utils, x = library.nn.utils, library.ones(2, 2, 5)
        layer = utils.parametrizations.weight_norm(library.nn.Conv1d(2, 3, 2), dim=dim)
        out = layer(x)
        out.sum().backward()
        seen = [out, layer.state_dict(), layer.parametrizations.weight.original0.grad, layer.parametrizations.weight.original1.grad]
        old = utils.weight_norm(library.nn.Conv1d(2, 3, 2), dim=dim)
        layer.load_state_dict(old.state_dict())
        seen += [layer.weight, old(x), old.state_dict(), library.norm_except_dim(old.weight_v, 2, -1 if dim is None else dim)]
        utils.remove_weight_norm(old)
        return [*seen, list(old.state_dict())]

    same(run)


@pytest.mark.parametrize("kind", ["Linear", "Conv1d", "ConvTranspose1d"])
@pytest.mark.parametrize("way", ["parametrization", "hook"])
def test_spectral_norm(kind, way, executor):
    def run(library):
        utils = library.nn.utils
        layer = library.nn.Linear(4, 3) if kind == "Linear" else getattr(library.nn, kind)(4, 3, 2)
        x = library.arange(8.0).view(2, 4) if kind == "Linear" else library.arange(24.0).view(2, 4, 3)
        (utils.parametrizations if way == "parametrization" else utils).spectral_norm(layer, n_power_iterations=2)
        state = layer.state_dict()
        names = ("parametrizations.weight.0._u", "parametrizations.weight.0._v") if way == "parametrization" else ("weight_u", "weight_v")
        seen = [list(state), [tuple(v.shape) for v in state.values()]]
        for i, name in enumerate(names):  # both start at random numbers; the power method has to agree from one start on
            state[name] = library.arange(1.0, state[name].numel() + 1) * (1 + i)
        layer.load_state_dict(state)
        out = layer(x)
        again = layer(x)
        (out.sum() + again.square().sum()).backward()
        seen += [out, again, [p.grad for p in layer.parameters()], layer.state_dict()]
        layer.eval()
        seen += [layer(x), layer(x)]
        if way == "hook":
            utils.remove_spectral_norm(layer)
            assert library is not ours or not layer._load_state_dict_pre_hooks  # torch forgets to take its hook out
        else:
            utils.parametrize.remove_parametrizations(layer, "weight")
        return [*seen, layer(x), list(layer.state_dict()), len(layer._state_dict_hooks)]

    same(run, 1e-4)


def test_spectral_norm_starts_at_torchs_random_vectors():
    same(lambda library: library.nn.utils.spectral_norm(library.nn.Linear(4, 3)).state_dict())
    same(lambda library: library.nn.utils.parametrizations.spectral_norm(library.nn.Linear(4, 3)).weight, 1e-4)


def test_spectral_norm_of_a_vector_and_an_old_state():
    def run(library):
        module = library.nn.Module()
        module.weight = library.nn.Parameter(library.arange(3.0))
        library.nn.utils.parametrizations.spectral_norm(module)
        layer = library.nn.utils.spectral_norm(library.nn.Linear(2, 3))
        original = library.arange(6.0).view(3, 2).cos()
        state = {"weight_orig": original, "weight": original / 2, "weight_u": library.tensor([0.6, 0.0, 0.8]), "bias": library.zeros(3)}
        layer.load_state_dict(state)
        return [module.weight, layer.weight_v]

    same(run, 1e-4)


ERRORS = [
    lambda u, nn: u.parametrizations.orthogonal(nn.Linear(2, 2), "nothing"),
    lambda u, nn: u.parametrizations.orthogonal(nn.Linear(2, 2), "bias"),
    lambda u, nn: u.parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map="qr"),
    lambda u, nn: u.parametrizations.spectral_norm(nn.Linear(2, 2), "nothing"),
    lambda u, nn: u.parametrizations.spectral_norm(nn.Linear(2, 2), n_power_iterations=0),
    lambda u, nn: u.parametrizations.spectral_norm(nn.Linear(2, 2), dim=2),
    lambda u, nn: u.spectral_norm(nn.Linear(2, 2), n_power_iterations=0),
    lambda u, nn: u.spectral_norm(u.spectral_norm(nn.Linear(2, 2))),
    lambda u, nn: u.spectral_norm(nn.Linear(2, 2, bias=False), "bias"),
    lambda u, nn: u.remove_spectral_norm(nn.Linear(2, 2)),
    lambda u, nn: u.remove_weight_norm(nn.Linear(2, 2)),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case):
    found = same(lambda library: ERRORS[case](library.nn.utils, library.nn))
    assert found[0].endswith("Error")


def test_a_matrix_of_another_shape_cannot_be_assigned():
    def run(library):
        module = library.nn.utils.parametrizations.orthogonal(weighted(library, (3, 3)))
        module.weight = library.ones(2, 2)

    assert same(run)[0] == "ValueError"


def test_functions_are_not_hidden_by_files_of_their_name():
    for name in ("weight_norm", "spectral_norm"):
        importlib.import_module(f"pytorchlike.nn.utils.{name}")
    assert callable(ours.nn.utils.weight_norm) and callable(ours.nn.utils.spectral_norm)
