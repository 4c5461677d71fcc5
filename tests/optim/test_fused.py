"""``torch._fused_adam_`` and its like (`pytorchlike/optim/_fused.py`), beside torch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours

#: Calls over parameters p, gradients g, states m, v, x and counts s.
_MOMENTS = "beta1=0.9, beta2=0.99, eps=1e-8"
CALLS = [
    f"_fused_adam_(p, g, m, v, x, s, lr=0.1, weight_decay=0.01, amsgrad=True, maximize=False, {_MOMENTS})",
    f"_fused_adam_(p, g, m, v, [], s, lr=0.1, weight_decay=0.0, amsgrad=False, maximize=False, found_inf=t(1.0), {_MOMENTS})",
    f"_fused_adamw_(p, g, m, v, [], s, lr=t(0.1), weight_decay=0.01, amsgrad=False, maximize=True, grad_scale=t(2.0), {_MOMENTS})",
    "_fused_sgd_(p, g, m, weight_decay=0.1, momentum=0.9, lr=0.1, dampening=0.1, nesterov=False, maximize=False, is_first_step=True)",
    "_fused_sgd_(p, g, m, weight_decay=0.1, momentum=0.9, lr=0.1, dampening=0.0, nesterov=True, maximize=False, is_first_step=False)",
    "_fused_sgd_(p, g, [], weight_decay=0.1, momentum=0.0, lr=t(0.1), dampening=0.0, nesterov=False, maximize=True, is_first_step=False)",
    "_fused_adagrad_(p, g, v, s, lr=0.1, lr_decay=0.1, weight_decay=0.1, eps=1e-8, maximize=False)",
]


def _after(torch, call: str) -> list[np.ndarray]:
    start = {"p": [1.0, 2.0], "g": [0.5, -1.0], "m": [0.1, 0.1], "v": [0.2, 0.2], "x": [0.3, 0.3], "s": 3.0}
    names = {name: [torch.tensor(value, requires_grad=name == "p")] for name, value in start.items()}
    assert eval(f"torch.{call}", {"torch": torch, "t": torch.tensor, **names}) is None
    return [names[name][0].detach().numpy() for name in start]


@pytest.mark.parametrize("call", CALLS)
def test_what_is_written_is_torchs(call: str) -> None:
    for mine, theirs in zip(_after(ours, call), _after(real_torch, call), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)
