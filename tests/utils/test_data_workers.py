"""Worker processes of the loader against torch's: order, seeds, errors; and that nothing is left behind."""

import ast
import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import pytorchlike as ours
import pytorchlike.utils.data as ours_data
from pytorchlike.utils.data._utils import pool, transport
from tests.utils import datasets, worker_cases

from .test_data import same
from .worker_cases import CASES

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


@pytest.fixture(scope="module")
def torchs():
    """torch's results."""
    program = [sys.executable, "-m", "tests.utils.worker_cases"]
    return ast.literal_eval(subprocess.run(program, capture_output=True, text=True, timeout=200, check=True).stdout)


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.parametrize("name", CASES)
def test_batches_order_and_random_streams_are_torchs(name, torchs):
    assert worker_cases.plain(CASES[name](ours, ours_data, datasets.OurCounting)) == torchs[name]


def test_tensors_arrive_as_they_are():
    loader = ours_data.DataLoader(datasets.Kinds(), batch_size=None, num_workers=1)
    wanted = datasets.Kinds()
    for i, batch in enumerate(loader):
        expected = wanted[i]
        assert batch["bytes"] == expected["bytes"] and type(batch["numbers"]) is ours.Tensor
        for name in ("row", "half", "last", "empty", "leaf", "scalar"):
            assert batch[name].equal(expected[name]) and batch[name].dtype == expected[name].dtype
        assert batch["last"].stride() == expected["last"].stride()
        assert batch["leaf"].requires_grad and batch["leaf"].is_leaf
        batch["row"].add_(1)
        assert batch["row"].equal(expected["row"] + 1)


def test_errors_of_workers():
    loader = ours_data.DataLoader(datasets.Troubled(), batch_size=None, num_workers=1, sampler=[0, 1, 4, 0, 2], prefetch_factor=1)
    batches = iter(loader)
    assert next(batches) == 0
    with pytest.raises(ValueError, match=r"^Caught ValueError in DataLoader worker process 0\.\nOriginal Traceback \(most recent call last\):\n") as caught:
        next(batches)
    assert str(caught.value).endswith("ValueError: no sample of this number\n")
    with pytest.raises(TypeError, match="in DataLoader worker process 0"):  # cannot be pickled
        next(batches)
    assert next(batches) == 0  # the workers go on, as torch's do
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly") as caught:
        next(batches)
    assert "killed by signal: Killed" in str(caught.value.__cause__)
    with pytest.raises(RuntimeError, match="have ended"):
        next(batches)


@pytest.mark.slow
@pytest.mark.ci
def test_beginnings_that_fail_and_batches_out_of_order():
    loader = ours_data.DataLoader(datasets.Noted(ours_data), batch_size=None, num_workers=2, worker_init_fn=datasets.greet, in_order=False)
    batches, found, errors = iter(loader), [], []
    while True:
        try:
            found.append(next(batches)["index"])
        except KeyError as error:
            errors.append(str(error))
        except StopIteration:
            break
    assert errors and all("Caught KeyError in DataLoader worker process 1." in error and "no beginning" in error for error in errors)
    assert len(found) + len(errors) == 10 and len(set(found)) == len(found) > 0


def test_timeout_and_no_processes_left(monkeypatch):
    monkeypatch.setattr(pool, "_PATIENCE", 0.2)
    loader = ours_data.DataLoader(datasets.Troubled(), batch_size=None, num_workers=1, sampler=[0, 3, 0], timeout=120)
    batches = iter(loader)
    assert next(batches) == 0
    (worker,) = batches._workers
    assert worker in multiprocessing.active_children()
    batches._pool.timeout = 0.1  # the worker sleeps
    with pytest.raises(RuntimeError, match="DataLoader timed out after 0.1 seconds"):
        next(batches)
    descriptors = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    del batches
    gc.collect()
    assert not worker.is_alive() and worker not in multiprocessing.active_children()
    if descriptors:
        assert len(os.listdir("/proc/self/fd")) < descriptors


class Locked:
    """What cannot be pickled."""

    def __init__(self):
        self.lock = threading.Lock()

    def __len__(self):
        return 1


def test_what_cannot_be_pickled_is_named_with_advice(monkeypatch):
    with pytest.raises(pickle.PicklingError, match=r"the dataset \(of type Locked\) cannot be pickled: .*num_workers=0"):
        iter(ours_data.DataLoader(Locked(), num_workers=1))
    monkeypatch.setattr(transport, "can_pickle_by_value", lambda: False)
    with pytest.raises(pickle.PicklingError, match=r"the collate_fn \(<function .*<lambda>.*\) cannot be pickled: .*instead of lambdas"):
        iter(ours_data.DataLoader([1], num_workers=1, collate_fn=lambda batch: batch))


@pytest.mark.parametrize("by_value", [False, True])
@pytest.mark.parametrize("blocks", [False, True])
def test_messages_share_memory(by_value, blocks, monkeypatch):
    monkeypatch.setattr(transport, "_HAS_BLOCKS", blocks and transport._HAS_BLOCKS)
    table = ours.arange(60000.0).view(3, 20000)
    value = {"all": table, "row": table[1], "numbers": np.arange(9000), "class": ours_data.TensorDataset, "parameter": ours.nn.Parameter(ours.ones(2))}
    one, other = multiprocessing.Pipe()
    with one, other:
        message = transport.pack(value, by_value=by_value)
        thread = threading.Thread(target=transport.send, args=(one, message))
        thread.start()
        found = transport.unpack(transport.receive(other))
        thread.join()
    assert found["all"].equal(table) and found["row"].equal(table[1]) and found["class"] is ours_data.TensorDataset
    assert isinstance(found["parameter"], ours.nn.Parameter)
    found["row"].zero_()
    assert found["all"][1].sum() == 0 and table[1].sum() != 0  # the row is a view still
    found["numbers"][0] = 5
    small = transport.pack(table[1], elements_only=True)
    assert small.nbytes < 2 * 20000 * 4


def test_a_tensor_of_the_tape_cannot_be_sent():
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        transport.pack(ours.ones(2, requires_grad=True) * 2)


PROGRAM = """
import torch
from torch.utils.data import DataLoader, Dataset

class Squares(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return torch.tensor(index) ** 2

scale = 10
print([batch.tolist() for batch in DataLoader(Squares(), batch_size=2, num_workers=1, collate_fn=lambda batch: torch.stack(batch) * scale)])
iterator = iter(DataLoader(Squares(), num_workers=1))
"""


@pytest.mark.slow
@pytest.mark.ci
def test_an_unguarded_program_with_lambdas_runs_and_exits_cleanly(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    run = subprocess.run([sys.executable, "-m", "pytorchlike", str(script)], capture_output=True, text=True, timeout=120, check=False)
    assert (run.stdout, run.stderr, run.returncode) == ("[[0, 10], [40, 90]]\n", "", 0)


def test_fork_is_replaced_with_a_warning():
    from pytorchlike.utils.data._utils.pool import _start_context

    with pytest.warns(UserWarning, match="worker processes are spawned instead"):
        assert _start_context(multiprocessing.get_context("fork")).get_start_method() == "spawn"
    assert _start_context(multiprocessing.get_context("forkserver")).get_start_method() == "forkserver"


def test_more_workers_than_processors_warn_as_in_torch():
    same(lambda library, data: data.DataLoader([1], num_workers=1000).check_worker_number_rationality())
