"""Device objects against torch's, and the JAX device behind each."""

import copy
import pickle

import jax
import pytest
import torch

from pytorchlike.core.device import CPU, META, as_device, device, jax_device, of_jax_device


def answer(function, *args):
    try:
        found = function(*args)
    except RuntimeError as error:
        return str(error)
    return repr(found), str(found), found.type, found.index


@pytest.mark.parametrize(
    "args", [("cpu",), ("cpu:0",), ("cuda",), ("cuda:1",), ("cuda", 1), ("cuda:01",), ("meta",), ("cuda:1", 2), ("mps",)], ids=str
)
def test_equals_torch(args):
    assert answer(device, *args) == answer(torch.device, *args)


def test_unknown_type_is_refused():
    with pytest.raises(RuntimeError, match="at start of device string: foo"):
        device("foo")
    with pytest.raises(RuntimeError, match="device"):
        as_device("mps")


def test_devices_are_values():
    one = device("cuda", 1)
    assert one == device("cuda:1") and hash(one) == hash(device("cuda:1")) and one != device("cuda") and device(one) == one
    assert copy.deepcopy(one) is one
    with pytest.raises(AttributeError):
        one.type = "cpu"


def test_device_pickles():
    assert pickle.loads(pickle.dumps(device("cuda", 1))) == device("cuda", 1)


def test_jax_device_behind():
    assert as_device(None) is CPU and as_device("cpu") is CPU and as_device("meta") is META
    assert jax_device(CPU) == jax.local_devices(backend="cpu")[0]
    assert of_jax_device(jax_device(CPU)) is CPU
