"""Methods that are no operators, against torch's."""

import warnings

import pytest
import torch as theirs

import pytorchlike as ours


def both(function):
    results = []
    for library in (ours, theirs):
        library.manual_seed(5)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = function(library)
                found = found.tolist() if hasattr(found, "tolist") else found
            except Exception as error:
                found = type(error).__name__, str(error).partition("\n")[0]
        results.append((found, [str(w.message) for w in caught]))
    assert results[0] == results[1]


@pytest.mark.parametrize("size, wrap", [((3, 3), False), ((2, 4), False), ((7, 2), True), ((7, 2), False), ((3, 2), True), ((2, 2, 2), False), ((3,), False), ((2, 3, 3), False)])
def test_fill_diagonal(size, wrap, executor):
    both(lambda library: library.zeros(size).fill_diagonal_(5, wrap=wrap))
    both(lambda library: library.zeros(size).transpose(0, -1).fill_diagonal_(5, wrap))


def test_fill_diagonal_has_a_gradient(executor):
    def gradient(library):
        x = library.ones(3, 3, requires_grad=True)
        (x * 2).fill_diagonal_(7).sum().backward()
        return x.grad

    both(gradient)


METHODS = {
    "apply_": lambda library: library.arange(4.0).reshape(2, 2).t().apply_(lambda v: v * 2 + 1),
    "map_": lambda library: library.arange(4).map_(library.ones(1).long(), lambda a, b: a - b),
    "map2_": lambda library: library.ones(2, 2).map2_(library.ones(2), library.ones(2, 1), lambda a, b, c: a + b * c),
    "apply_ of a leaf": lambda library: library.ones(2, requires_grad=True).apply_(abs),
    "map_ of other dtypes": lambda library: library.ones(2).map_(library.ones(2).double(), max),
    "no function": lambda library: library.ones(2).apply_(3),
    "is_nonzero": lambda library: [library.tensor(0).is_nonzero(), library.tensor([2.0]).is_nonzero()],
    "is_nonzero of several": lambda library: library.ones(2).is_nonzero(),
    "kinds": lambda library: [getattr(library.ones(1), name) for name in ("is_xla", "is_ipu", "is_maia")] + [library.ones(1).is_distributed()],
    "module_load": lambda library: library.zeros(2).module_load(library.ones(2)),
    "detach": lambda library: library.detach(library.ones(2, requires_grad=True)).requires_grad,
    "resize_as": lambda library: library.arange(4).resize_as(library.zeros(2, 2)),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    both(METHODS[name])


def test_typed_storages_of_numbers():
    made = ours.TypedStorage([1, 2], dtype=ours.int32)
    assert made.tolist() == [1, 2] and made.dtype is ours.int32 and len(ours.TypedStorage(3)) == 3 and len(ours.TypedStorage()) == 0
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        ours.TypedStorage(2.5)


@pytest.mark.parametrize("hard", [False, True])
def test_gumbel_softmax_draws_torchs_numbers(hard, executor):
    found = []
    for library in (ours, theirs):
        library.manual_seed(2)
        logits = library.arange(6.0).reshape(2, 3).requires_grad_()
        result = library.nn.functional.gumbel_softmax(logits, tau=0.7, hard=hard, dim=0)
        (result * library.arange(6.0).reshape(2, 3)).sum().backward()
        found.append(theirs.tensor([result.tolist(), logits.grad.tolist()]))
    theirs.testing.assert_close(*found, rtol=1e-5, atol=1e-6)
