"""Datasets, samplers and the loader against torch's: same batches, same draws, same errors."""

import collections
import pickle
import warnings

import numpy as np
import pytest
import torch as theirs
import torch.utils.data as theirs_data

import pytorchlike as ours
import pytorchlike.utils.data as ours_data

BOTH = ((ours, ours_data), (theirs, theirs_data))
Point = collections.namedtuple("Point", "x y")


def plain(value):
    """Tensors as (dtype, nested lists), containers with their types' names."""
    if isinstance(value, (ours.Tensor, theirs.Tensor)):
        return "tensor", str(value.dtype), value.tolist()
    if isinstance(value, dict):
        return type(value).__name__, {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(item) for item in value]
    return value


def outcome(function, library, data):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = plain(function(library, data))
        except Exception as error:
            result = type(error).__name__, str(error)
    return result, [(w.category, str(w.message)) for w in caught]


def same(function):
    mine, wanted = (outcome(function, *pair) for pair in BOTH)
    assert mine == wanted
    return mine[0]


def stream(data, n=5, length=None):
    members = {"__iter__": lambda self: iter(range(n)), "__repr__": lambda self: "stream"}
    if length is not None:
        members["__len__"] = lambda self: length
    return type("Stream", (data.IterableDataset,), members)()


def seeded(draw):
    """Run ``draw`` after seeding; the default generator's next number shows how much it took."""

    def run(library, data):
        library.manual_seed(7)
        result = draw(library, data)
        return result, library.randint(1 << 30, (2,))

    return run


LOADER_ARGUMENTS = [
    {"num_workers": -1}, {"timeout": -1}, {"prefetch_factor": 2}, {"num_workers": 1, "prefetch_factor": -1}, {"persistent_workers": True},
    {"batch_size": 0}, {"batch_size": 1.5}, {"batch_size": True}, {"batch_size": None, "drop_last": True}, {"shuffle": True, "sampler": [1]},
    {"batch_sampler": [[1]], "batch_size": 2}, {"batch_sampler": [[1]], "shuffle": True}, {"batch_sampler": [[1]], "drop_last": True},
    {"multiprocessing_context": "spawn"}, {"num_workers": 1, "multiprocessing_context": "nope"}, {"num_workers": 1, "multiprocessing_context": 3},
    {"drop_last": "x"}, {"num_workers": "2"},
]  # fmt: skip


@pytest.mark.parametrize("arguments", LOADER_ARGUMENTS, ids=str)
def test_loader_refuses_what_torch_refuses(arguments):
    same(lambda library, data: data.DataLoader(list(range(10)), **arguments))


@pytest.mark.parametrize("arguments", [{"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}, {"shuffle": "x"}], ids=str)
def test_loader_of_a_stream_refuses_what_torch_refuses(arguments):
    same(lambda library, data: data.DataLoader(stream(data), **arguments))


ITERATIONS = [
    {"batch_size": 3}, {"batch_size": 3, "drop_last": True}, {"batch_size": 3, "shuffle": True}, {"batch_size": None}, {"batch_size": None, "shuffle": True},
    {"sampler": [4, 2, 2]}, {"batch_sampler": [[1, 2], [0]]}, {"batch_size": 4, "collate_fn": list},
]  # fmt: skip


@pytest.mark.parametrize("arguments", ITERATIONS, ids=str)
def test_batches_and_random_numbers_taken(arguments):
    @same
    @seeded
    def _(library, data):
        loader = data.DataLoader(list(range(10)), **arguments)
        return [list(loader), list(loader), len(loader), len(iter(loader))]


def test_loader_with_its_own_generator():
    @same
    @seeded
    def _(library, data):
        generator = library.Generator().manual_seed(3)
        loader = data.DataLoader(list(range(10)), batch_size=4, shuffle=True, generator=generator)
        return list(loader), list(loader), library.randint(1 << 30, (2,), generator=generator)


def test_an_iterator_draws_its_seed_when_it_is_made():
    @same
    @seeded
    def _(library, data):
        iter(data.DataLoader(list(range(10)), shuffle=True))


SAMPLERS = {
    "random": lambda library, data: data.RandomSampler(range(10)),
    "random, more than there are": lambda library, data: data.RandomSampler(range(10), num_samples=25),
    "random, fewer": lambda library, data: data.RandomSampler(range(10), num_samples=4),
    "replacement": lambda library, data: data.RandomSampler(range(10), replacement=True, num_samples=70),
    "sequential": lambda library, data: data.SequentialSampler(range(4)),
    "subset": lambda library, data: data.SubsetRandomSampler([5, 8, 9, 11]),
    "weighted": lambda library, data: data.WeightedRandomSampler([0.1, 0.9, 3.0, 0.0], 9),
    "weighted, without replacement": lambda library, data: data.WeightedRandomSampler([0.1, 0.9, 3.0], 3, replacement=False),
    "batch": lambda library, data: data.BatchSampler(data.SequentialSampler(range(5)), 2, False),
    "batch, drop": lambda library, data: data.BatchSampler(range(5), 2, True),
    "distributed": lambda library, data: data.DistributedSampler(range(10), 3, 1, seed=2),
    "distributed, drop": lambda library, data: data.DistributedSampler(range(11), 4, 3, shuffle=False, drop_last=True),
    "distributed, few": lambda library, data: data.DistributedSampler(range(3), 8, 7, shuffle=False),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_draw_as_torch_does(name):
    @same
    @seeded
    def _(library, data):
        sampler = SAMPLERS[name](library, data)
        return list(sampler), list(sampler), len(sampler)


def test_a_sampler_with_a_generator_of_its_own():
    @same
    def _(library, data):
        generator = library.Generator().manual_seed(5)
        sampler = data.RandomSampler(range(6), num_samples=12, generator=generator)
        return list(sampler), library.randint(1 << 30, (2,), generator=generator)


SAMPLER_ERRORS = [
    lambda library, data: data.RandomSampler(range(3), replacement=1),
    lambda library, data: data.RandomSampler(range(3), num_samples=0),
    lambda library, data: data.RandomSampler(range(3), num_samples="a"),
    lambda library, data: data.RandomSampler([]),
    lambda library, data: data.WeightedRandomSampler([1, 2], True),
    lambda library, data: data.WeightedRandomSampler([1, 2], 2, replacement=1),
    lambda library, data: data.WeightedRandomSampler([[1, 2]], 2),
    lambda library, data: data.BatchSampler(range(3), 0, False),
    lambda library, data: data.BatchSampler(range(3), 2, 1),
    lambda library, data: data.Sampler(range(3)),
    lambda library, data: data.DistributedSampler(range(3), 2, 2),
]


@pytest.mark.parametrize("case", range(len(SAMPLER_ERRORS)))
def test_samplers_refuse_what_torch_refuses(case):
    same(SAMPLER_ERRORS[case])


DATASETS = [
    lambda library, data: data.TensorDataset(library.ones(2), library.ones(3)),
    lambda library, data: list(data.TensorDataset(library.arange(4).view(2, 2), library.ones(2))),
    lambda library, data: data.TensorDataset(library.arange(4))[1:3],
    lambda library, data: data.StackDataset(),
    lambda library, data: data.StackDataset([1], a=[1]),
    lambda library, data: data.StackDataset([1], [1, 2]),
    lambda library, data: [data.StackDataset([1, 2], [3, 4])[1], data.StackDataset(a=[1, 2], b=[3, 4]).__getitems__([0, 1])],
    lambda library, data: [data.ConcatDataset([[1, 2], [3, 4, 5]])[i] for i in (0, 1, 2, 4, -1, -5)],
    lambda library, data: data.ConcatDataset([[1, 2], [3]])[-4],
    lambda library, data: data.ConcatDataset([[1, 2], [3]])[3],
    lambda library, data: data.ConcatDataset([[1, 2], [3]]).cummulative_sizes,
    lambda library, data: data.ConcatDataset([]),
    lambda library, data: data.ConcatDataset([stream(data)]),
    lambda library, data: [list(data.ChainDataset([stream(data), stream(data, 2)])), list(stream(data) + stream(data))],
    lambda library, data: len(data.ChainDataset([stream(data, length=3), stream(data, length=4)])),
    lambda library, data: list(data.ChainDataset([stream(data), [1]])),
    lambda library, data: data.Dataset()[0],
    lambda library, data: len(data.Dataset()),
    lambda library, data: [data.Subset([5, 6, 7], [2, 0])[1], data.Subset([5, 6, 7], [2, 0]).__getitems__([0, 1])],
    lambda library, data: data.Subset(np.arange(4), [2, 0])[[0, 1]].tolist(),
    lambda library, data: data.random_split(range(10), [3, 3]),
    lambda library, data: data.random_split(range(10), [1.5, -0.5]),
    lambda library, data: data.random_split(range(10), [0.5, 0.2]),
    lambda library, data: [s.indices for s in data.random_split(range(2), [0.9, 0.1], library.Generator().manual_seed(0))],
    lambda library, data: [s.indices for s in data.random_split(range(10), [0.3, 0.3, 0.4], library.Generator().manual_seed(1))],
]


@pytest.mark.parametrize("case", range(len(DATASETS)))
def test_datasets_do_what_torch_does(case):
    same(DATASETS[case])


def test_random_split_takes_from_the_default_generator():
    same(seeded(lambda library, data: [s.indices for s in data.random_split(range(10), [4, 6])]))


COLLATED = [
    [1, 2], [True, False], [1.5, 2], [np.float32(1), np.float32(2)], [np.int16(1), np.int16(2)], ["a", "b"], [b"a", b"b"],
    [np.ones(2), np.zeros(2)], [np.ones(2), np.zeros(3)], [np.ones(2), np.zeros(2, np.float32)], [np.array("a")], [np.array([None])],
    [np.array(3), np.array(4)], [(1, 2.0), (3, 4.0)], [[1, 2], [3, 4]], [[1], [1, 2]], [Point(1, "a"), Point(2, "b")],
    [{"a": 1, "b": [1, 2]}, {"a": 2, "b": [3, 4]}], [collections.OrderedDict(x=1), collections.OrderedDict(x=2)],
    [collections.defaultdict(int, x=1), collections.defaultdict(int, x=2)], [None, None], [object], [{1, 2}], [], [range(2), range(2)],
]  # fmt: skip


@pytest.mark.parametrize("batch", COLLATED, ids=lambda batch: str(batch)[:40])
def test_default_collate(batch):
    same(lambda library, data: data.default_collate(batch))


def test_default_collate_of_tensors():
    same(lambda library, data: data.default_collate([library.ones(2), library.zeros(2)]))
    same(lambda library, data: data.default_collate([(library.tensor(1), {"k": library.tensor([2])})] * 2))
    same(lambda library, data: data.default_collate([library.ones(2), library.zeros(3)]))


@pytest.mark.parametrize(
    "value",
    [1, "a", np.ones(2), np.float32(2), np.array(["a"]), (1, np.ones(1)), [np.ones(1)], Point(1, np.ones(1)), {"a": np.ones(1)}],
    ids=str,
)
def test_default_convert(value):
    same(lambda library, data: data.default_convert(value))


def test_custom_collate_functions():
    @same
    def _(library, data):
        collate = __import__(f"{library.__name__}.utils.data._utils.collate", fromlist=["collate"])
        table = {**collate.default_collate_fn_map, range: lambda batch, *, collate_fn_map: [list(r) for r in batch]}
        return collate.collate([(range(2), 1.0), (range(3), 2.0)], collate_fn_map=table)


def test_tensor_datasets_load_alike_with_and_without_the_short_way():
    @same
    @seeded
    def _(library, data):
        tensors = library.arange(12).view(6, 2), library.arange(6) * 0.5
        whole = data.TensorDataset(*tensors)
        part = data.random_split(whole, [4, 2])[0]
        return [list(data.DataLoader(d, batch_size=4, shuffle=True)) for d in (whole, part, data.ConcatDataset([whole, part]))]


def test_streams_by_batches_and_their_wrong_lengths():
    same(lambda library, data: list(data.DataLoader(stream(data), batch_size=2)))
    same(lambda library, data: list(data.DataLoader(stream(data), batch_size=2, drop_last=True)))
    same(lambda library, data: list(data.DataLoader(stream(data), batch_size=None)))
    same(lambda library, data: len(data.DataLoader(stream(data))))

    @same
    def _(library, data):
        loader = data.DataLoader(stream(data, length=4), batch_size=1)
        return len(loader), list(loader)


def test_attributes_are_fixed():
    def set_attribute(name):
        def run(library, data):
            setattr(data.DataLoader([1, 2]), name, 1)

        return run

    for name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
        assert same(set_attribute(name))[0] == "ValueError"


def test_pinned_memory_without_accelerator_warns_as_torch_does():
    same(lambda library, data: list(data.DataLoader([1, 2], pin_memory=True)))


def test_the_loader_is_a_step_boundary(monkeypatch):
    from pytorchlike.graph import recorder

    reasons = []
    monkeypatch.setattr(recorder, "step_boundary", reasons.append)
    assert len(list(ours_data.DataLoader([1, 2, 3]))) == 3
    assert reasons == ["DataLoader"] * 4


def test_public_names():
    missing = set(theirs_data.__all__) - set(ours_data.__all__)
    assert missing <= {name for name in missing if "Pipe" in name or name in DATAPIPES}


DATAPIPES = {
    "DataChunk", "argument_validation", "functional_datapipe", "guaranteed_datapipes_determinism", "non_deterministic", "runtime_validation",
    "runtime_validation_disabled",
}  # fmt: skip


def test_pickles_without_the_name_torch_for_this_package():
    """By ``pickle`` itself, whatever the name ``torch`` means in the process."""
    data, model = ours.utils.data, ours.nn.Linear(2, 2)
    dataset = data.Subset(data.ConcatDataset([data.TensorDataset(ours.ones(2)), data.StackDataset([1, 2])]), [0, 2])
    optimizer = ours.optim.Adam(model.parameters())
    for value in (
        dataset, data.BatchSampler(data.RandomSampler(dataset), 1, False), data.DataLoader(dataset), optimizer, data.Dataset, ours.optim.SGD,
        ours.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, 5), ours.optim.lr_scheduler.ReduceLROnPlateau, ours.optim.swa_utils.AveragedModel(model),
        ours.nn.quantizable.LSTM(2, 2), ours.nn.intrinsic.ConvReLU2d(ours.nn.Conv2d(1, 1, 1), ours.nn.ReLU()), ours.nn.quantized.FloatFunctional(),
    ):  # fmt: skip
        copied = pickle.loads(pickle.dumps(value))
        assert type(copied) is type(value) and (copied is value or not isinstance(value, type))
