"""Folding batch normalization, and memory formats of weights, against torch's."""

import pytest

from ..outcomes import same


def normalization(library, kind, features):
    bn = getattr(library.nn, kind)(features)
    bn.running_mean.copy_(library.arange(float(features)))
    bn.running_var.copy_(library.arange(1.0, features + 1))
    bn.weight.data.copy_(library.arange(float(features)) - 0.5)
    return bn.eval()


@pytest.mark.parametrize("kind", ["Conv1d", "Conv2d", "ConvTranspose2d", "Linear"])
@pytest.mark.parametrize("bias", [True, False])
def test_fused_layers_do_the_same(kind, bias):
    def run(library):
        utils = library.nn.utils
        if kind == "Linear":
            layer, bn, x = library.nn.Linear(2, 3, bias=bias), normalization(library, "BatchNorm1d", 3), library.ones(2, 2)
            fused = utils.fuse_linear_bn_eval(layer.eval(), bn)
        else:
            layer, bn = getattr(library.nn, kind)(2, 3, 2, bias=bias), normalization(library, f"BatchNorm{kind[-2]}d", 3)
            x = library.ones(*([1, 2, 3] if kind == "Conv1d" else [1, 2, 3, 3]))
            fused = utils.fuse_conv_bn_eval(layer.eval(), bn, transpose="Transpose" in kind)
        return [fused.weight, fused.bias, fused(x), fused.weight.requires_grad, fused.bias.requires_grad, (fused(x) - bn(layer(x))).abs().max() < 1e-5]

    same(run)


@pytest.mark.parametrize("case", [
    lambda t, u: u.fuse_conv_bn_eval(t.nn.Conv1d(1, 1, 1), t.nn.BatchNorm1d(1)),
    lambda t, u: u.fuse_linear_bn_eval(t.nn.Linear(2, 2).eval(), t.nn.BatchNorm1d(3).eval()),
    lambda t, u: u.fuse_conv_bn_eval(t.nn.Conv1d(1, 1, 1).eval(), t.nn.BatchNorm1d(1, track_running_stats=False).eval()),
])  # fmt: skip
def test_errors(case):
    assert same(lambda library: case(library, library.nn.utils))[0] == "AssertionError"


def test_memory_formats():
    def run(library):
        model = library.nn.Sequential(library.nn.Conv2d(2, 3, 2), library.nn.Sequential(library.nn.Conv3d(2, 3, 2)), library.nn.Linear(2, 2))
        library.nn.utils.convert_conv2d_weight_memory_format(model, library.channels_last)
        library.nn.utils.convert_conv3d_weight_memory_format(model, library.channels_last_3d)
        return [(p.stride(), p) for p in model.parameters()]

    same(run)
