"""Wrong calls of generated functions: torch's exception types; numpy's spellings of argument names."""

from __future__ import annotations

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours

#: Calls that fail -> what the message must name.
WRONG = {
    'torch.add(x, "a")': ["add()", "other", "str"], 'x + "a"': ["'Tensor' and 'str'"], '"a" + x': ["Tensor"], 'x.sum(dim="a")': ["sum()", "dim", "str"],
    "torch.sum()": ["sum()"], 'x.view("a")': ["view()", "str"], "x.sum(foo=1)": ["sum()", "foo"], "torch.add(x, x, foo=1)": ["add()", "foo"],
    "torch.add(x)": ["add()", "other"], "x.mul_()": ["mul_()", "other"], 'x.add_("a")': ["other", "str"], "torch.cat(x)": ["cat()", "tensors", "Tensor"],
    "torch.cat([x, 1])": ["element 1", "int"], 'torch.stack([x, x], dim="a")': ["stack()", "dim", "str"], "torch.relu(x, x)": ["relu()"],
    "torch.relu(1)": ["relu()", "input", "int"], 'x.transpose("a", 0)': ["transpose()", "dim0", "str"], "x.unsqueeze()": ["unsqueeze()", "dim"],
    "x.view()": ["view()", "size"], "torch.zeros()": ["zeros()", "size"], "x.sum(1, axis=1)": ["sum()", "axis"], "x.cumsum(0, axis=0)": ["cumsum()"],
    "x.cumsum(0, foo=0)": ["cumsum()", "foo"], 'x.clamp("a")': ["clamp()", "str"], "x.to(foo=1)": ["to()", "foo"], "x @ 1": ["'Tensor' and 'int'"],
    'torch.ones(2, dtype="a")': ["ones()", "dtype", "str"], "x.max(foo=1)": ["max()", "foo"], "x.flip(axis=0)": ["flip()"],
    "x.select(axis=0)": ["select()", "index"],
}  # fmt: skip


def _error(torch, call: str) -> BaseException:
    with pytest.raises(Exception) as caught:
        eval(call, {"torch": torch, "x": torch.ones(2, 3)})
    return caught.value


@pytest.mark.parametrize("call", WRONG)
def test_wrong_call_raises_as_torch_and_says_why(call: str) -> None:
    error = _error(ours, call)
    assert type(error) is type(_error(real_torch, call))
    assert all(part in str(error) for part in WRONG[call]), str(error)


SPELLINGS = """x.squeeze(axis=0); torch.cat([x, x], axis=1); x.sum(axis=1, keepdims=True); x.mean(axis=0); torch.softmax(x, axis=1); x.unsqueeze(axis=0)
torch.stack([x, x], axis=1); x.argmax(axis=1); x.max(axis=1, keepdims=True)[0]; x.cumsum(axis=0); x.cumsum_(axis=0); x.select(axis=0, index=1)
x.var(axis=1, keepdims=True); x.index_select(axis=0, index=torch.tensor([0])); x.all(axis=1); x.amax(axis=1); x.logsumexp(axis=1); x.unbind(axis=1)[0]
x.chunk(2, axis=0)[0]; x.sort(axis=1)[0]; x.topk(1, axis=1)[0]; x.any(axis=0, keepdims=True); x.prod(axis=1)""".replace("\n", ";").split(";")


@pytest.mark.parametrize("call", [c.strip() for c in SPELLINGS])
def test_numpy_spellings(call: str) -> None:
    found, expected = (eval(call, {"torch": t, "x": t.arange(6.0).reshape(2, 3)}) for t in (ours, real_torch))
    np.testing.assert_allclose(found.tolist(), expected.tolist(), rtol=1e-6)


def test_input_names_the_first_argument_of_functions() -> None:
    assert ours.add(input=ours.ones(1), other=1).item() == 2.0
