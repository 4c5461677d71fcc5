"""torch.utils.weak: dictionaries of tensors by identity."""

import pytest

import pytorchlike as P
from pytorchlike.utils import weak

torch = pytest.importorskip("torch")
from torch.utils import weak as torch_weak  # noqa: E402

BOTH = pytest.mark.parametrize("lib, module", [(P, weak), (torch, torch_weak)], ids=["pytorchlike", "torch"])


@BOTH
def test_dictionary(lib, module):
    one, two = lib.ones(2), lib.ones(2)
    found = module.WeakTensorKeyDictionary({one: 1})
    found[two] = 2
    assert (found[one], found[two], len(found), found.get(lib.ones(2)), lib.ones(2) in found, 3 in found) == (1, 2, 2, None, False, False)
    same = found.copy()
    assert [v for _, v in same.items()] == [1, 2] and len(found.keyrefs()) == 2 and found.setdefault(one, 5) == 1
    del two
    assert len(found) == len(same) == 1 and found.pop(one) == 1 and not list(found)
    with pytest.raises(KeyError):
        found[one]


@BOTH
def test_references(lib, module):
    x, other = lib.ones(1), lib.ones(1)
    reference = module.WeakIdRef(x)
    assert reference == module.WeakIdRef(x) and not reference == module.WeakIdRef(other) and hash(reference) == id(x) and reference() is x
    holder = module.TensorWeakRef(x)
    assert holder() is x
    del x
    assert holder() is None and reference() is None and reference == reference
