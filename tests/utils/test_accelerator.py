"""torch.accelerator and torch.xpu where there is no such device: torch's answers and errors; and what finds a device's module."""

import inspect
import warnings

import pytest
import torch as theirs

import pytorchlike as ours

ACCELERATOR = [name for name in theirs.accelerator.__all__ if name not in ("Graph", "set_stream")]
XPU = [name for name in ours.xpu.__all__ if name not in ("synchronize", "set_rng_state", "seed", "init")]


def _outcome(module, name):
    function = getattr(module, name)
    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    arguments = [[] if name == "set_rng_state_all" else 0 for _ in needed]
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        try:
            found = function(*arguments)
        except Exception as error:
            return type(error).__name__, str(error)
    return found if isinstance(found, (int, list, tuple, type(None))) else type(found).__name__


@pytest.mark.skipif(theirs.cuda.is_available() or ours.cuda.is_available(), reason="the answers without an accelerator")
@pytest.mark.parametrize("module, name", [*(("accelerator", name) for name in ACCELERATOR), *(("xpu", name) for name in XPU)])
def test_without_a_device(module, name):
    assert _outcome(getattr(ours, module), name) == _outcome(getattr(theirs, module), name)


def test_names_at_the_top():
    assert ours.get_device_module("cpu") is ours.cpu and ours.get_device_module("cuda") is ours.cuda
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        ours.get_device_module("foo")
    assert ours.Future is ours.futures.Future and ours.legacy_contiguous_format is ours.contiguous_format
    assert ours.DisableTorchFunctionSubclass is ours._C.DisableTorchFunctionSubclass and ours.onnx.is_in_onnx_export() is False
    with pytest.raises(NotImplementedError, match="torch.onnx.export"):
        ours.onnx.export(None)
    x = ours.ones(3)
    assert ours.from_dlpack(ours.to_dlpack(x)).equal(x)


def test_without_an_accelerator_a_module_is_the_cpus():
    assert ours.get_device_module() is (ours.cuda if ours.cuda.is_available() else ours.cpu)
