"""torch.utils._pytree against torch's: structures, maps, paths, registering, texts, errors."""

import dataclasses
import enum
import time
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest
import torch.utils._pytree as theirs

import pytorchlike.utils._pytree as ours

Point = namedtuple("Point", "x y")


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Pair:
    first: object
    second: object = None


class Box:
    def __init__(self, *content):
        self.content = list(content)

    def __eq__(self, other):
        return isinstance(other, Box) and self.content == other.content

    def __repr__(self):
        return f"Box{self.content}"


class Fixed:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Fixed) and self.value == other.value

    def __hash__(self):
        return hash(self.value)

    def __repr__(self):
        return f"Fixed({self.value})"


for library in (ours, theirs):
    library.register_pytree_node(
        Box, lambda b: (b.content, len(b.content)), lambda children, _: Box(*children), serialized_type_name="tests.Box",
        flatten_with_keys_fn=lambda b, library=library: ([(library.SequenceKey(i), c) for i, c in enumerate(b.content)], len(b.content)),
    )  # fmt: skip
    library.register_dataclass(Pair, serialized_type_name="tests.Pair")
    library.register_constant(Fixed)
    library._register_namedtuple(Point, serialized_type_name="tests.Point")

TREES = [
    1, None, (), [], {}, (1, [2, {"b": 3, "a": (4,)}], None), Point(1, [2, 3]), OrderedDict(z=1, y=[2]), defaultdict(list, k=1, j=(2, 3)),
    deque([1, [2]], maxlen=3), Box(1, Box(2), [3]), Pair(1, [2]), Pair([1]), (Fixed(3), 1), {Color.RED: 1, 2: [3]}, time.gmtime(0),
]  # fmt: skip


def same(run):
    found = []
    for library in (ours, theirs):
        try:
            found.append(run(library))
        except Exception as error:
            found.append((type(error).__name__, str(error)))
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_structures(tree):
    def run(library):
        leaves, spec = library.tree_flatten(tree)
        again = library.tree_structure(tree)
        facts = [repr(spec), spec.num_nodes, spec.num_leaves, spec.num_children, spec.is_leaf(), str(spec.context), spec == again, hash(spec) == hash(again)]
        return [
            leaves, *facts, [repr(c) for c in spec.children()], library.tree_unflatten(leaves, spec) == tree, library.tree_leaves(tree),
            library.treespec_pprint(spec), library.tree_map(lambda x: (x,), tree), library.tree_is_leaf(tree),
            library.tree_map_only(int, lambda x: x + 1, tree), library.tree_all(lambda x: x != 3, tree), library.tree_any(lambda x: x == 3, tree),
            library.tree_all_only(int, lambda x: x > 1, tree), library.tree_any_only(int, lambda x: x > 1, tree),
            library.tree_leaves(tree, is_leaf=lambda x: isinstance(x, list)), str(library._get_node_type(tree)),
        ]  # fmt: skip

    same(run)


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_paths_and_texts(tree):
    def run(library):
        with_path = library.tree_leaves_with_path(tree)
        paths = [library.keystr(path) for path, _ in with_path]
        assert [library.key_get(tree, path) for path, _ in with_path] == library.tree_leaves(tree) or isinstance(tree, Box)
        return [paths, library.tree_map_with_path(lambda path, x: (library.keystr(path), x), tree)]

    def texts(library):
        text = library.treespec_dumps(library.tree_structure(tree))
        return [text, repr(library.treespec_loads(text))]

    same(run)
    same(texts)


PAIRS = [
    ((1, [2, 3]), (4, [5, 6])), ((1, 2), ("a", [3])), ({"a": 1, "b": 2}, OrderedDict(b=3, a=4)), ((1, 2), [1, 2]), ((1, 2), (1,)),
    ({"a": 1}, {"b": 1}), ({"a": 1, "c": 2}, {"b": 1, "d": 2}), (Point(1, 2), (1, 2)), (Box(1), Box(2)), (Box(1), [2]), (Box(1), Box(2, 3)),
    (deque([1], 3), deque([2])), (defaultdict(int, a=1), {"a": 2}), (Point(1, 2), namedtuple("Other", "x y")(3, 4)),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(PAIRS)))
def test_maps_of_several(case):
    one, other = PAIRS[case]
    same(lambda library: library.tree_map(lambda *x: x, one, other))
    same(lambda library: library._broadcast_to_and_flatten(one, library.tree_structure(other)))


ERRORS = [
    lambda p: p.register_pytree_node(Box, list, list),
    lambda p: p.register_pytree_node(enum.Enum, list, list, to_dumpable_context=str),
    lambda p: p.tree_unflatten([1], p.tree_structure([1, 2])),
    lambda p: p.tree_unflatten([1], [1]),
    lambda p: p.tree_unflatten(p.tree_structure([1]), [2]),
    lambda p: p.register_constant(object),
    lambda p: p.register_dataclass(Box),
    lambda p: p.register_dataclass(Pair, field_names=["first", "other"]),
    lambda p: p.treespec_dumps(3),
    lambda p: p.treespec_dumps(p.treespec_leaf(), protocol=7),
    lambda p: p.treespec_loads('[7, {}]'),
    lambda p: p.treespec_loads('[1, {"type": "unknown", "context": "null", "children_spec": []}]'),
    lambda p: p.treespec_dumps(p.tree_structure(Fixed(1))),
    lambda p: p.map_only(3),
    lambda p: p.treespec_tuple([1]),
    lambda p: p.treespec_dict(a=1),
    lambda p: repr(p.treespec_dict(a=p.treespec_tuple([p.treespec_leaf()]))),
    lambda p: [isinstance(p.treespec_leaf(), p.LeafSpec), isinstance(p.treespec_tuple(), p.LeafSpec), isinstance(p.treespec_leaf(), p.TreeSpec)],
    lambda p: [p.is_namedtuple(Point), p.is_namedtuple(Point(1, 2)), p.is_namedtuple((1,)), p.is_structseq(time.gmtime()), p.is_structseq(tuple)],
    lambda p: [p.is_constant_class(Fixed), p.is_constant_class(Box), p.arg_tree_leaves(1, [2], a={"b": 3})],
    lambda p: [list in p.SUPPORTED_NODES, p.SUPPORTED_NODES[dict].flatten_fn({"a": 1}), p._dict_flatten({"b": 2})],
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors_and_kinds(case):
    same(ERRORS[case])
