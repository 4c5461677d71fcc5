"""Gradients of convolutions as functions, arguments of factories, and names that are left out, against torch's."""

import pytest

import pytorchlike as ours

from .outcomes import same


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients_of_convolutions(dims):
    def run(library):
        x, weight = library.randn([2, 4] + [5] * dims), library.randn([6, 2] + [3] * dims)
        settings = {"stride": 2, "padding": 1, "dilation": 1, "groups": 2}
        y = getattr(library.nn.functional, f"conv{dims}d")(x, weight, **settings)
        grad = library.randn(y.shape)
        of_input, of_weight = (getattr(library.nn.grad, f"conv{dims}d_{of}") for of in ("input", "weight"))
        return [of_input(x.shape, weight, grad, **settings), of_weight(x, weight.shape, grad, **settings)]

    same(run, 1e-4)


@pytest.mark.parametrize("kwargs", [None, {}, {"device": "cpu"}, {"factory_kwargs": {"dtype": 1}, "device": 2}, {"bias": 1},
                                    {"dtype": 1, "factory_kwargs": {"dtype": 1}}], ids=str)  # fmt: skip
def test_factory_kwargs(kwargs):
    same(lambda library: library.nn.factory_kwargs(kwargs))


def test_names_that_are_left_out():
    for name, text in (("qat", "pytorchlike has no quantization-aware modules"), ("nothing", "torch.nn.nothing is not in pytorchlike yet")):
        with pytest.raises(AttributeError, match=text):
            getattr(ours.nn, name)
    assert ours.nn.common_types._size_2_t == int | tuple[int, int]
