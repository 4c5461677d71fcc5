"""Nested containers beside ``torch.utils._pytree``."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest
import torch.utils._pytree as theirs

from pytorchlike.core import pytree

Pair = namedtuple("Pair", "left right")
TREES = [
    1, None, (), [1, (2, None)], {"b": 1, "a": [2]}, OrderedDict(b=1, a=2), defaultdict(list, {"k": [1]}), deque([1, 2], 3), Pair(1, {"x": 2}), ({},),
]  # fmt: skip


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_as_torch(tree) -> None:
    leaves, spec = pytree.flatten(tree)
    their_leaves, their_spec = theirs.tree_flatten(tree)
    assert leaves == their_leaves
    again = pytree.unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree) and pytree.flatten(again)[1] == spec
    assert repr(spec) == repr(their_spec)
    if isinstance(tree, dict):
        assert list(again) == list(tree)


@pytest.mark.parametrize("prefix", [0, (0, None), (0, {"a": 1, "b": [2, 3]}), (0, {"a": 1}), (0, [1]), [0, 1]], ids=repr)
def test_prefixes_as_torch(prefix) -> None:
    tree = (1, {"a": 2, "b": [3, 4]})
    assert pytree.broadcast(prefix, pytree.flatten(tree)[1]) == theirs._broadcast_to_and_flatten(prefix, theirs.tree_flatten(tree)[1])


def test_map_and_register() -> None:
    class Box:
        def __init__(self, content):
            self.content = content

    pytree.register(Box, lambda box: ([box.content], None), lambda children, _: Box(*children))
    assert pytree.tree_map(lambda a, b: a + b, {"x": Box(1)}, {"x": Box(2)})["x"].content == 3
    with pytest.raises(ValueError, match="already registered"):
        pytree.register(Box, None, None)
    with pytest.raises(ValueError, match="holds 2 items"):
        pytree.unflatten([1], pytree.flatten((1, 2))[1])
