"""Causal masks for attention, and the switches of its kernels, against torch's."""

import pytest
import torch as theirs

import pytorchlike as ours

from ..outcomes import same


@pytest.mark.parametrize("variant", ["causal_upper_left", "causal_lower_right"])
@pytest.mark.parametrize("sizes", [(3, 3), (2, 4), (4, 3)])
def test_attention(variant, sizes):
    def run(library):
        bias = __import__(f"{library.__name__}.nn.attention.bias", fromlist=["x"])
        q, k, v = (library.randn(1, 2, n, 4) for n in (sizes[0], sizes[1], sizes[1]))
        mask = getattr(bias, variant)(*sizes)
        found = library.nn.functional.scaled_dot_product_attention(q, k, v, mask, scale=0.3)
        return [found.nan_to_num(0.0), repr(mask), mask._materialize(), int(mask.variant), mask.seq_len_q, isinstance(mask, library.Tensor)]

    same(run)


@pytest.mark.parametrize("case", [
    lambda t, b: t.nn.functional.scaled_dot_product_attention(*[t.ones(1, 1, 2, 2)] * 3, b.causal_upper_left(2, 2), is_causal=True),
    lambda t, b: t.nn.functional.scaled_dot_product_attention(t.ones(1, 1, 2, 2), t.ones(1, 1, 3, 2).double(), t.ones(1, 1, 3, 2), b.causal_lower_right(2, 3)),
    lambda t, b: b.causal_upper_left(2), lambda t, b: b.causal_lower_right(2, 3, 4), lambda t, b: b.CausalBias(1, 2, 3),
])  # fmt: skip
def test_errors(case):
    found = same(lambda t: case(t, __import__(f"{t.__name__}.nn.attention.bias", fromlist=["x"])))
    assert found[0].endswith("Error")


def test_kernels():
    def run(library):
        attention, cuda = library.nn.attention, library.backends.cuda
        kinds, seen = attention.SDPBackend, []
        x = library.randn(1, 1, 3, 4)

        def look():
            seen.append([cuda.flash_sdp_enabled(), cuda.math_sdp_enabled(), cuda.mem_efficient_sdp_enabled(), cuda.cudnn_sdp_enabled()])

        with attention.sdpa_kernel(kinds.MATH):
            look()
            with attention.sdpa_kernel([kinds.MATH, kinds.FLASH_ATTENTION], set_priority=True):
                look()
                seen.append(library.nn.functional.scaled_dot_product_attention(x, x, x))
            look()
        look()
        seen.append([(repr(kind), str(kind), int(kind), kind.name) for kind in kinds.__members__.values()])
        try:
            with attention.sdpa_kernel("math"):
                pass
        except AssertionError as error:
            seen.append(str(error))
        return seen

    same(run)


def test_no_other_kernels():
    for library in (ours, theirs):
        attention = library.nn.attention
        assert attention.current_flash_attention_impl() is None
        with pytest.raises(ValueError, match="Unknown flash attention impl 'mine'"):
            attention.activate_flash_attention_impl("mine")
    with pytest.raises(NotImplementedError, match="register_flash_attention_impl"):
        ours.nn.attention.register_flash_attention_impl("mine", register_fn=len)
