"""Pruning against torch's: masks, their combination, removing, errors."""

import copy

import pytest
import torch.nn.utils.prune  # noqa: F401 - torch has it only then

import pytorchlike as ours

from ..outcomes import same

METHODS = {
    "identity": lambda p, m: p.identity(m, "weight"),
    "l1": lambda p, m: p.l1_unstructured(m, "weight", 0.4),
    "l1, 0": lambda p, m: p.l1_unstructured(m, "weight", 0),
    "random": lambda p, m: p.random_unstructured(m, "weight", 3),
    "random, structured": lambda p, m: p.random_structured(m, "weight", 1, dim=1),
    "ln": lambda p, m: p.ln_structured(m, "weight", 0.5, n=2, dim=0),
    "ln, infinite": lambda p, m: p.ln_structured(m, "weight", 1, n=float("-inf"), dim=-1),
    "mask": lambda p, m: p.custom_from_mask(m, "weight", m.weight.detach() > 0),
}


def layer_of(library):
    layer = library.nn.Linear(4, 3)
    layer.weight.data = library.arange(12.0).view(3, 4).sin()
    return layer


def facts(library, layer):
    layer.zero_grad()
    out = layer(library.ones(2, 4))
    out.sum().backward()
    return [out, layer.state_dict(), [p.grad for p in layer.parameters()], library.nn.utils.prune.is_pruned(layer), len(layer._forward_pre_hooks)]


@pytest.mark.parametrize("names", [[name] for name in METHODS] + [["l1", "ln"], ["ln", "random", "l1"], ["mask", "random, structured"]], ids=str)
def test_pruning(names):
    def run(library):
        prune, layer = library.nn.utils.prune, layer_of(library)
        for name in names:
            METHODS[name](prune, layer)
        seen = facts(library, layer)
        hook = next(iter(layer._forward_pre_hooks.values()))
        seen.append([type(hook).__name__, [type(m).__name__ for m in hook] if isinstance(hook, prune.PruningContainer) else 0])
        seen += facts(library, copy.deepcopy(layer))
        prune.remove(layer, "weight")
        return seen + facts(library, layer)

    same(run)


def test_importance_scores_and_tensors():
    def run(library):
        prune, layer = library.nn.utils.prune, layer_of(library)
        prune.l1_unstructured(layer, "bias", 1, importance_scores=library.tensor([3.0, 0.1, 2.0]))
        method = prune.L1Unstructured(2)
        t = library.tensor([1.0, -4.0, 2.0, 0.5])
        return [layer.bias_mask, method.prune(t), method.prune(t, importance_scores=-t.flip(0).abs()), method.prune(t, library.tensor([1.0, 1, 0, 1]))]

    same(run)


def test_global_pruning():
    def run(library):
        prune, model = library.nn.utils.prune, library.nn.Sequential(layer_of(library), layer_of(library))
        model[1].weight.data *= 2
        prune.l1_unstructured(model[0], "weight", 1)
        pairs = [(model[0], "weight"), (model[1], "weight"), (model[1], "bias")]
        prune.global_unstructured(pairs, prune.L1Unstructured, importance_scores={(model[1], "bias"): library.ones(3) * 9}, amount=0.5)
        return [model.state_dict(), prune.is_pruned(model)]

    same(run)


ERRORS = [
    lambda t, p, m: p.l1_unstructured(m, "weight", "a"),
    lambda t, p, m: p.l1_unstructured(m, "weight", -1),
    lambda t, p, m: p.l1_unstructured(m, "weight", 1.5),
    lambda t, p, m: p.l1_unstructured(m, "weight", 13),
    lambda t, p, m: p.ln_structured(m, "bias", 1, 2, 0),
    lambda t, p, m: p.ln_structured(m, "weight", 1, 2, 5),
    lambda t, p, m: p.ln_structured(m, "weight", 9, 2, 0),
    lambda t, p, m: p.custom_from_mask(m, "weight", t.ones(2)),
    lambda t, p, m: p.remove(m, "weight"),
    lambda t, p, m: p.global_unstructured(3, p.L1Unstructured),
    lambda t, p, m: p.global_unstructured([(m, "weight")], p.L1Unstructured, importance_scores=[1], amount=1),
    lambda t, p, m: p.global_unstructured([(m, "weight")], p.RandomStructured, amount=1),
    lambda t, p, m: p.PruningContainer().add_pruning_method(3),
    lambda t, p, m: p.l1_unstructured(m, "weight", 1, importance_scores=t.ones(2)),
    lambda t, p, m: p.L1Unstructured(1).prune(t.ones(3), importance_scores=t.ones(2)),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case):
    assert same(lambda library: ERRORS[case](library, library.nn.utils.prune, layer_of(library)))[0].endswith("Error")


def test_a_failed_pruning_leaves_the_module_as_it_was():
    layer = layer_of(ours)
    weight = layer.weight
    with pytest.raises(ValueError):
        ours.nn.utils.prune.l1_unstructured(layer, "weight", 100)
    assert layer.weight is weight and list(layer.state_dict()) == ["bias", "weight"] and not layer._forward_pre_hooks
