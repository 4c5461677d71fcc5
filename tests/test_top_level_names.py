"""Names of ``torch`` itself that are no operators: typed storages, streams, results' classes, beside torch's."""

from __future__ import annotations

import pytest
import torch as real_torch

import pytorchlike as ours

EXPRESSIONS = [
    "torch.FloatStorage", "torch.FloatStorage.__module__", "torch.FloatStorage(2).fill_(1).tolist()", "torch.BoolStorage(2).dtype", "len(torch.LongStorage([1, 2]))",
    "torch.FloatStorage([1, 2], 3)", "torch.FloatStorage(dtype=torch.int32)", "isinstance(torch.LongStorage(2), torch.FloatStorage)",
    "isinstance(torch.LongStorage(2), torch.storage.TypedStorage)", "isinstance(torch.ones(2).storage(), torch.FloatStorage)",
    "isinstance(torch.ones(2).double().storage(), torch.FloatStorage)", "isinstance(torch.ones(2).storage(), torch.Storage)",
    "torch.FloatStorage(wrap_storage=torch.ones(2).untyped_storage()).tolist()", "torch.Stream()", "torch.Stream(device='cpu').query()", "torch.Event()",
    "isinstance(torch.ones(2, 2).max(0), torch.return_types.max)", "torch.return_types.nope",
    "isinstance(torch.linalg.eigh(torch.eye(2)), torch.return_types.linalg_eigh)", "isinstance(torch.ones(2).sort(), torch.return_types.max)",
    "'sort' in dir(torch.return_types)", "torch._assert(torch.tensor(True), 'no')", "torch._assert(torch.tensor(False), 'no')", "torch.newaxis",
    "torch.OutOfMemoryError.__mro__[1]", "torch.cuda.OutOfMemoryError is torch.OutOfMemoryError", "torch.AcceleratorError.__mro__[1]", "torch.has_lapack",
    "torch.DisableTorchFunction.__name__",
    "[n.op for n in torch.fx.symbolic_trace(lambda x: (torch._assert(x, 'no'), x)[1]).graph.nodes]",
]  # fmt: skip


def _outcome(torch, expression: str) -> str:
    try:
        return repr(eval(expression, {"torch": torch}))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.filterwarnings("ignore:TypedStorage")
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_they_mean_what_torchs_mean(expression: str) -> None:
    assert _outcome(ours, expression) == _outcome(real_torch, expression)
