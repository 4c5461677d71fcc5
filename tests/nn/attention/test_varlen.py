"""Attention of sequences one behind the other, against torch's attention of each; torch's own function runs on GPUs alone."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch as theirs
from torch.nn.attention import varlen as theirs_varlen

import pytorchlike as ours
from pytorchlike.nn.attention import varlen

QUERIES, KEYS = [3, 1, 5], [4, 2, 5]


def _expected(q, k, v, window, scale, used):
    """Each sequence alone, by torch: results, and sums of exponentials."""
    results, sums = [], []
    for a, b, c, count in zip(q.split(QUERIES), k.split(KEYS), v.split(KEYS), used):
        a, b, c = (x.transpose(0, 1) for x in (a, b[:count], c[:count]))
        place = theirs.arange(count) - (theirs.arange(a.size(1)) + count - a.size(1))[:, None]
        sees = (place >= -window[0] if window[0] >= 0 else place == place) & (place <= window[1] if window[1] >= 0 else place == place)
        results.append(theirs.nn.functional.scaled_dot_product_attention(a, b, c, sees, scale=scale, enable_gqa=True).transpose(0, 1))
        b = b.repeat_interleave(a.size(0) // b.size(0), 0)
        scores = (a @ b.transpose(-1, -2)) * (scale or a.size(-1) ** -0.5)
        sums.append(scores.masked_fill(~sees, float("-inf")).logsumexp(-1).transpose(0, 1))
    return theirs.cat(results), theirs.cat(sums)


@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (1, 0), (1, 1)])
@pytest.mark.parametrize("heads", [2, 4])
@pytest.mark.parametrize(("scale", "used"), [(None, None), (0.3, [3, 2, 4])])
def test_sequences_are_attended_to_alone(window: tuple, heads: int, scale: float | None, used: list | None) -> None:
    random = np.random.default_rng(0)
    arrays = [random.normal(size=(sum(n), h, 8)).astype(np.float32) for n, h in ((QUERIES, heads), (KEYS, 2), (KEYS, 2))]
    starts = [ours.tensor(np.cumsum([0, *n]).tolist(), dtype=ours.int32) for n in (QUERIES, KEYS)]
    mine = [ours.tensor(a.tolist(), requires_grad=True) for a in arrays]
    result, sums = varlen.varlen_attn(
        *mine, *starts, 5, 5, window_size=window, scale=scale, enable_gqa=heads != 2, seqused_k=None if used is None else ours.tensor(used),
        return_aux=varlen.AuxRequest(lse=True),
    )  # fmt: skip
    wanted = [theirs.tensor(a, requires_grad=True) for a in arrays]
    expected, expected_sums = _expected(*wanted, window, scale, used or KEYS)
    np.testing.assert_allclose(result.detach().tolist(), expected.detach().tolist(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(sums.detach().tolist(), expected_sums.detach().tolist(), rtol=1e-5, atol=1e-6)
    result.sin().sum().backward()
    expected.sin().sum().backward()
    for a, b in zip(mine, wanted):
        np.testing.assert_allclose(a.grad.tolist(), b.grad.tolist(), rtol=1e-4, atol=1e-5)


def test_signature_and_errors_are_torchs() -> None:
    names = [
        [(p.name, p.kind, p.default) for p in inspect.signature(each.varlen_attn).parameters.values()] for each in (varlen, theirs_varlen)
    ]
    assert names[0] == names[1] and varlen.AuxRequest() == theirs_varlen.AuxRequest()
    for library, module in ((ours, varlen), (theirs, theirs_varlen)):
        starts = library.tensor([0, 2])
        with pytest.raises(ValueError, match="Expect query and key/value to have the same number of heads but got Hq=4 and Hkv=2"):
            module.varlen_attn(library.ones(2, 4, 8), library.ones(2, 2, 8), library.ones(2, 2, 8), starts, starts, 2, 2)
        with pytest.raises(ValueError, match="multiple of kv heads for GQA but got Hq=3 and Hkv=2"):
            module.varlen_attn(library.ones(2, 3, 8), library.ones(2, 2, 8), library.ones(2, 2, 8), starts, starts, 2, 2, enable_gqa=True)
    with pytest.raises(NotImplementedError, match="block_table"):
        x = ours.ones(2, 1, 8)
        varlen.varlen_attn(x, x[None], x[None], starts, starts, 2, 2, block_table=ours.tensor([[0]]))


def test_results_are_written_where_asked() -> None:
    x, starts, out = ours.randn(5, 2, 8), ours.tensor([0, 2, 5]), ours.empty(5, 2, 8)
    assert varlen.varlen_attn_out(out, x, x, x, starts, None, 3, 3) is out
    assert out.equal(varlen.varlen_attn(x, x, x, starts, None, 3, 3))
