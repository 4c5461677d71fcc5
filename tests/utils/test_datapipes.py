"""Data pipes against torch's: what they yield, how long they are, what they refuse, and how `DataLoader` reads them."""

from __future__ import annotations

import copy
import importlib
import io
import pickle
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch as theirs

import pytorchlike as ours


class Library:
    """The pipes of one of the libraries."""

    def __init__(self, torch: Any) -> None:
        self.torch, self.data = torch, torch.utils.data
        self.iter = importlib.import_module(f"{torch.__name__}.utils.data.datapipes.iter")
        self.map = importlib.import_module(f"{torch.__name__}.utils.data.datapipes.map")
        self.common = importlib.import_module(f"{torch.__name__}.utils.data.datapipes.utils.common")
        self.settings = importlib.import_module(f"{torch.__name__}.utils.data.graph_settings")
        self.graph = importlib.import_module(f"{torch.__name__}.utils.data.graph")

    def stream(self, *items: Any) -> Any:
        return self.iter.IterableWrapper(items[0] if len(items) == 1 else items)

    def sequence(self, count: int = 6) -> Any:
        return self.map.SequenceWrapper(list(range(count)))


def _sum(a: int, b: int) -> int:
    return a + b


def _double(a: int) -> int:
    return 2 * a


def _parity(a: int) -> int:
    return a % 2


def _is_even(a: int) -> bool:
    return a % 2 == 0


PAIRS = [(1, 2), (3, 4)]
WORDS = ["a1", "b1", "a2", "c1", "a3", "b2"]
#: A pipe, or several, of each step.
STEPS: dict[str, Callable[[Library], Any]] = {
    "map": lambda t: t.stream(range(5)).map(_double),
    "map column": lambda t: t.stream(PAIRS).map(_double, input_col=1),
    "map columns": lambda t: t.stream(PAIRS).map(_sum, input_col=[0, 1]),
    "map to the end": lambda t: t.stream(PAIRS).map(_sum, input_col=[0, 1], output_col=-1),
    "map key": lambda t: t.stream([{"a": 1}]).map(_double, "a", "b"),
    "collate": lambda t: t.stream([[1, 2], [3]]).collate(sum),
    "filter": lambda t: t.stream(range(7)).filter(_is_even),
    "filter column": lambda t: t.stream(PAIRS).filter(_is_even, input_col=1),
    "batch": lambda t: t.stream(range(7)).batch(3),
    "batch, dropped": lambda t: t.stream(range(7)).batch(3, drop_last=True),
    "unbatch": lambda t: t.stream([[[0, 1], [2]], [[3]]]).unbatch(),
    "unbatch all": lambda t: t.stream([[[0, 1], [2]], [[3]]]).unbatch(-1),
    "groupby": lambda t: t.stream(WORDS).groupby(lambda w: w[0]),
    "groupby with keys": lambda t: t.stream(WORDS).groupby(lambda w: w[0], keep_key=True, group_size=2),
    "groupby, full": lambda t: t.stream(WORDS).groupby(lambda w: w[0], buffer_size=3, group_size=3, guaranteed_group_size=1, keep_key=True),
    "groupby, dropped": lambda t: t.stream(WORDS).groupby(lambda w: w[0], buffer_size=3, group_size=3, drop_remaining=True),
    "concat": lambda t: t.stream(range(3)).concat(t.stream(range(5))),
    "mux": lambda t: t.stream(range(3)).mux(t.stream(range(10, 15)), t.stream(range(20, 25))),
    "zip": lambda t: t.stream(range(3)).zip(t.stream(range(10, 15))),
    "fork": lambda t: t.stream(range(4)).fork(2),
    "fork one": lambda t: t.stream(range(4)).fork(1),
    "fork, copied": lambda t: t.stream([[1], [2]]).fork(2, copy="deep"),
    "demux": lambda t: t.stream(range(7)).demux(2, _parity),
    "demux, dropped": lambda t: t.stream(range(7)).demux(2, lambda a: a % 3 if a % 3 < 2 else None, drop_none=True),
    "shuffle": lambda t: t.stream(range(20)).shuffle(),
    "shuffle in a buffer": lambda t: t.stream(range(20)).shuffle(buffer_size=4).set_seed(3),
    "shuffle batches": lambda t: t.stream(range(12)).batch(3).shuffle(unbatch_level=1),
    "no shuffle": lambda t: t.stream(range(9)).shuffle().set_shuffle(False),
    "sharding": lambda t: t.settings.apply_sharding(t.stream(range(10)).sharding_filter(), 3, 1),
    "sampler": lambda t: t.iter.Sampler(t.stream(range(4)), t.data.SequentialSampler),
    "read": lambda t: t.stream([("x", io.StringIO("abcde"))]).read_from_stream(2),
    "by key: map": lambda t: t.sequence().map(_double),
    "by key: batch": lambda t: t.sequence(5).batch(2),
    "by key: batch, dropped": lambda t: t.sequence(5).batch(2, drop_last=True),
    "by key: concat": lambda t: t.sequence(2).concat(t.sequence(3)),
    "by key: zip": lambda t: t.sequence(2).zip(t.sequence(3)),
    "by key: shuffle": lambda t: t.sequence().shuffle(),
    "by key: shuffle keys": lambda t: t.map.SequenceWrapper({"a": 1, "b": 2}).shuffle(indices=["a", "b"]),
}


def _outcome(run: Callable[[], Any]) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = run()
        except Exception as error:
            result = type(error), error.args
    return result, [(w.category, str(w.message)) for w in caught]


def _seen(library: Library, pipe: Any) -> Any:
    return list(pipe), _outcome(lambda: len(pipe)), repr(pipe), str(pipe), library.torch.rand(2).tolist()


@pytest.mark.parametrize("step", STEPS)
def test_steps(step: str) -> None:
    def run(torch: Any) -> Any:
        torch.manual_seed(3)
        library = Library(torch)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of functions that cannot be pickled; another test
            made = STEPS[step](library)
        return [_seen(library, pipe) for pipe in (made if isinstance(made, list) else [made])]

    mine, wanted = run(ours), run(theirs)
    assert mine == wanted


REFUSED: dict[str, Callable[[Library], Any]] = {
    "lambda": lambda t: list(t.stream(range(2)).map(lambda a: a)),
    "local": lambda t: list(t.stream(range(2)).filter(lambda a: a)),
    "no function": lambda t: t.stream(range(2)).map(3),
    "arguments": lambda t: t.stream(PAIRS).map(_sum),
    "fewer arguments": lambda t: t.stream(PAIRS).map(_double, input_col=[0, 1]),
    "output": lambda t: t.stream(PAIRS).map(_double, output_col=1),
    "outputs": lambda t: t.stream(PAIRS).map(_double, input_col=0, output_col=[0, 1]),
    "batch size": lambda t: t.stream(range(2)).batch(0),
    "unbatch": lambda t: list(t.stream(range(2)).unbatch()),
    "group size": lambda t: t.stream(WORDS).groupby(str, group_size=0),
    "groups": lambda t: list(t.stream(WORDS).groupby(str, buffer_size=2, group_size=2)),
    "concat": lambda t: t.stream(range(2)).concat([1]),
    "zip": lambda t: t.iter.Zipper([1]),
    "fork": lambda t: t.stream(range(2)).fork(0),
    "fork buffer": lambda t: list(t.stream(range(5)).fork(2, buffer_size=2)[0]),
    "fork unlimited": lambda t: list(t.stream(range(5)).fork(2, buffer_size=-1)[0]),
    "fork copy": lambda t: t.stream(range(5)).fork(2, copy="x"),
    "demux": lambda t: list(t.stream(range(5)).demux(2, _double)[0]),
    "demux buffer": lambda t: list(t.stream(range(9)).demux(2, _parity, buffer_size=2)[0]),
    "unknown": lambda t: t.stream(range(2)).unknown,
    "mode": lambda t: t.iter.FileOpener(["x"], mode="w"),
    "encoding": lambda t: t.iter.FileOpener(["x"], mode="b", encoding="utf-8"),
    "instance": lambda t: t.stream(range(2)).sharding_filter().apply_sharding(2, 2),
    "twice": lambda t: t.settings.apply_sharding(t.stream(range(2)).sharding_filter().sharding_filter(), 2, 1),
    "index": lambda t: t.sequence(2).concat(t.sequence(2))[4],
    "batch index": lambda t: t.sequence(2).batch(2)[1],
    "zip index": lambda t: t.sequence(2).zip(t.sequence(3))[2],
    "taken": lambda t: t.data.functional_datapipe("map")(type("Own", (t.data.IterDataPipe,), {})),
    "graph": lambda t: t.graph.traverse_dps([1]),
    "old names": lambda t: len(t.graph.traverse(t.stream([1]))),
    "path": lambda t: list(t.iter.FileOpener([1])),
    "error in a step": lambda t: list(t.stream([1, 0]).map(_inverse).batch(2)),
    "buffer": lambda t: t.stream([1]).shuffle(buffer_size=0),
}  # fmt: skip


def _inverse(a: int) -> float:
    return 1 / a


@pytest.mark.parametrize("case", REFUSED)
def test_errors_and_warnings(case: str) -> None:
    def run(torch: Any) -> str:
        return repr(_outcome(lambda: REFUSED[case](Library(torch)))).replace("pytorchlike.", "torch.")

    assert run(ours) == run(theirs)


@pytest.mark.parametrize("case", ["latest", "begins late", "own next", "fork", "fork behind"])
def test_one_iterator_at_a_time(case: str) -> None:
    def run(torch: Any) -> Any:
        library = Library(torch)

        class Own(library.data.IterDataPipe):
            def __init__(self) -> None:
                self.resets, self.place = 0, 0

            def __iter__(self) -> Any:
                return self

            def __next__(self) -> int:
                self.place += 1
                return self.place

            def reset(self) -> None:
                self.resets += 1

        def attempt() -> Any:
            if case == "own next":
                pipe = Own()
                first = iter(pipe)
                got = [next(first), next(first), pipe._number_of_samples_yielded]
                second = iter(pipe)
                return got, next(second), pipe.resets, _outcome(lambda: next(first))
            if case.startswith("fork"):
                a, b = library.stream(range(4)).fork(2)
                first, second = iter(a), iter(b)
                got = [next(first), next(second), next(first)]
                third = iter(a)
                got.append(next(third))
                if case == "fork behind":
                    got.append(next(iter(b)))
                    return got, next(third)
                return got, _outcome(lambda: next(second))
            pipe = library.stream(range(4))
            first = iter(pipe)
            got = [] if case == "begins late" else [next(first)]
            second = iter(pipe)
            got += [next(second), next(second), pipe._number_of_samples_yielded]
            return got, _outcome(lambda: next(first)), _outcome(lambda: next(second))

        return repr(_outcome(attempt)).replace("pytorchlike.", "torch.")

    assert run(ours) == run(theirs)


def test_files(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("b.txt", "a.txt", "c.bin", "sub/d.txt"):
        (tmp_path / name).write_text(name)

    def run(torch: Any) -> Any:
        library, root = Library(torch), str(tmp_path)
        listed = library.iter.FileLister(root, "*.txt", recursive=True)
        opened = listed.open_files(mode="b")
        streams = list(library.iter.FileLister(root, ["a*", "c*"]).open_files())
        wrapper = streams[0][1]
        seen = [list(listed), list(opened.read_from_stream()), wrapper.read(), wrapper.closed, repr(wrapper)[:14]]
        child = library.common.StreamWrapper(io.StringIO("x"), parent_stream=wrapper)
        wrapper.autoclose()
        seen.append(wrapper.closed)
        library.common.StreamWrapper.close_streams({"a": [child]})
        return [
            *seen,
            child.closed,
            wrapper.closed,
            list(library.iter.FileLister([root, root], abspath=True)),
            len(library.iter.FileLister(".", length=3)),
        ]

    assert run(ours) == run(theirs)


def test_own_steps_and_determinism() -> None:
    def run(torch: Any) -> Any:
        library = Library(torch)

        class Plus(library.data.IterDataPipe):
            def __init__(self, source: Any, number: int = 1) -> None:
                self.source, self.number = source, number

            def __iter__(self) -> Any:
                for item in self.source:
                    yield item + self.number

        library.data.functional_datapipe("plus_for_test")(Plus)
        pipe = library.stream(range(3)).plus_for_test(number=5)
        varying = library.data.non_deterministic(Plus)
        maybe = library.data.non_deterministic(lambda source, number=1: number > 1)(Plus)
        seen = [list(pipe), "plus_for_test" in dir(pipe), list(varying([1])), list(maybe([1], 2))]
        with library.data.guaranteed_datapipes_determinism():
            seen += [_outcome(lambda: varying([1])), _outcome(lambda: maybe([1], 2)), list(maybe([1]))]
        seen += [_outcome(lambda: library.data.non_deterministic(int)), _outcome(lambda: library.data.non_deterministic(3))]
        return seen

    assert run(ours) == run(theirs)


def test_graphs_seeds_and_copies() -> None:
    def run(torch: Any) -> Any:
        library = Library(torch)
        pipe = library.stream(range(9)).shuffle().sharding_filter().map(_double).zip(library.stream(range(9)).shuffle())
        graph = library.graph.traverse_dps(pipe)
        names = sorted(str(each) for each in library.settings.get_all_graph_pipes(graph))
        library.settings.apply_random_seed(pipe, torch.Generator().manual_seed(4))
        copied, other = pickle.loads(pickle.dumps(pipe)), copy.deepcopy(pipe)
        unshuffled = library.settings.apply_shuffle_settings(library.stream(range(4)).shuffle(), shuffle=False)
        a, b = copy.deepcopy(library.stream(range(3)).fork(2))
        return names, list(pipe), list(copied), list(other), list(unshuffled), [list(a), list(b)]

    assert run(ours) == run(theirs)


@pytest.mark.parametrize("shuffle", [None, False, True])
def test_loaders_read_pipes_in_torchs_order(shuffle: bool | None) -> None:
    def run(torch: Any) -> Any:
        library, found = Library(torch), []
        torch.manual_seed(11)
        for pipe in (library.stream(range(10)).shuffle().sharding_filter(), library.stream(range(5))):
            loader = library.data.DataLoader(pipe, batch_size=3, shuffle=shuffle)
            found += [_outcome(lambda loader=loader: [batch.tolist() for batch in loader]) for _ in range(2)]
        found.append(
            [batch.tolist() for batch in library.data.DataLoader(library.sequence().map(_double), batch_size=4, shuffle=bool(shuffle))]
        )
        return found, torch.rand(1).item()

    assert run(ours) == run(theirs)


@pytest.mark.slow
@pytest.mark.ci
def test_workers_share_the_samples_in_torchs_order() -> None:
    """Each worker takes its part; workers that are kept get new seeds."""

    def run(torch: Any) -> Any:
        library = Library(torch)
        torch.manual_seed(5)
        pipe = library.stream(range(12)).shuffle().sharding_filter().map(_double)
        loader = library.data.DataLoader(pipe, batch_size=2, num_workers=2, persistent_workers=True, multiprocessing_context="spawn")
        return [[batch.tolist() for batch in loader] for _ in range(2)], torch.rand(1).item()

    assert run(ours) == run(theirs)


@pytest.mark.parametrize("name", ["DFIterDataPipe", "argument_validation", "runtime_validation", "datapipes.iter.RoutedDecoder"])
def test_what_is_not_here_is_refused_by_name(name: str) -> None:
    module, _, last = f"pytorchlike.utils.data.{name}".rpartition(".")
    with pytest.raises(AttributeError, match=rf"{last}: .* not in pytorchlike"):
        getattr(importlib.import_module(module), last)


def test_random_numbers_of_the_process_are_left_alone() -> None:
    random.seed(1)
    first = random.random()
    random.seed(1)
    list(Library(ours).stream(range(5)).shuffle())
    assert random.random() == first
