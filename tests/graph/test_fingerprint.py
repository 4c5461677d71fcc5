"""Fingerprints: equal in all processes for the same computation, different for different ones, and none for what nobody can tell."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pytorchlike as ours
from pytorchlike.graph import counters, fingerprint
from pytorchlike.graph.fingerprint import Unknown, described, digest
from pytorchlike.graph.instruction import Instruction

SCRIPT = """
import pytorchlike as torch
from tests.graph.test_fingerprint import PROGRAMS, fingerprints_of
for name in sorted(PROGRAMS):
    print(name, *[f.hex() for f in fingerprints_of(PROGRAMS[name])])
"""


def matrix() -> Any:
    return ours.ones(4, 6).requires_grad_()


def adam(**options: Any) -> Any:
    weight = matrix()
    weight.grad = ours.ones(4, 6)
    ours.optim.Adam([weight], lr=0.1, **options).step()
    return weight


def gradient(function: Callable) -> Any:
    x = matrix()
    function(x).backward()
    return x.grad


def written(row: int) -> Any:
    x = ours.zeros(4, 6) + 1
    x[row] = 2
    return x


#: No two of them are the same computation.
PROGRAMS: dict[str, Callable[[], Any]] = {
    "sum": lambda: matrix().sum(),
    "sum of rows": lambda: matrix().sum(1),
    "sum of rows, kept": lambda: matrix().sum(1, keepdim=True),
    "sum in float64": lambda: matrix().sum(1, dtype=ours.float64),
    "a gradient": lambda: gradient(lambda x: x.exp().sum()),
    "another gradient": lambda: gradient(lambda x: x.exp().mean()),
    "in place": lambda: (ours.ones(3) + 1).mul_(ours.ones(3)),
    "not in place": lambda: (ours.ones(3) + 1).mul(ours.ones(3)),
    "a row": lambda: (matrix() + 1)[2] * 1,
    "another row": lambda: (matrix() + 1)[3] * 1,
    "a written row": lambda: written(2),
    "another written row": lambda: written(3),
    "adam": lambda: adam(),
    "adam, amsgrad": lambda: adam(amsgrad=True),
    "adam, maximized": lambda: adam(maximize=True),
    "a batch": lambda: ours.func.vmap(lambda x: x.sin())(matrix()),
    "a batch of columns": lambda: ours.func.vmap(lambda x: x.sin(), 1)(matrix()),
    "a direction": lambda: ours.func.jvp(lambda x: x.cos(), (ours.ones(3),), (ours.ones(3),)),
    "a branch": lambda: ours.cond(ours.tensor(True), lambda x: x.sin(), lambda x: x.cos(), (ours.ones(3),)),
    "the other branch": lambda: ours.cond(ours.tensor(True), lambda x: x.cos(), lambda x: x.sin(), (ours.ones(3),)),
}


def instructions_of(program: Callable[[], Any]) -> list[Instruction]:
    """What runs for a program's results."""
    ours.graph.flush_all()
    found: list[Instruction] = []

    def note(instructions: list[Any], *_: float) -> None:
        found.extend(instructions)

    counters.watchers.append(note)
    try:
        result = program()
        ours.graph.flush_all()
    finally:
        counters.watchers.remove(note)
    del result
    return found


def fingerprints_of(program: Callable[[], Any]) -> tuple[bytes, ...]:
    return tuple([instruction.fingerprint() for instruction in instructions_of(program)])


def test_programs_that_differ_have_other_fingerprints() -> None:
    found = {name: fingerprints_of(program) for name, program in PROGRAMS.items()}
    assert all(found.values())
    assert len(set(found.values())) == len(found), [name for name, f in found.items() if list(found.values()).count(f) > 1]


def test_another_process_finds_the_same() -> None:
    mine = {name: [f.hex() for f in fingerprints_of(program)] for name, program in PROGRAMS.items()}
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    printed = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True).stdout
    for line in printed.splitlines():
        name = max((n for n in mine if line.startswith(n + " ")), key=len)
        assert line.removeprefix(name).split() == mine[name], name
    assert len(printed.splitlines()) == len(mine)


def test_the_default_dtype_is_part_of_it() -> None:
    def mean() -> Any:
        return ours.ones(3, dtype=ours.int64).true_divide(2)

    single = fingerprints_of(mean)
    ours.set_default_dtype(ours.float64)
    try:
        assert fingerprints_of(mean) != single
    finally:
        ours.set_default_dtype(ours.float32)


def test_what_has_code_of_the_users_has_none() -> None:
    factor = 2.0
    instruction = Instruction("users", lambda x: x * factor)
    for _ in range(2):
        with pytest.raises(Unknown):
            instruction.fingerprint()
    with pytest.raises(Unknown):
        described([np.sum, [test_what_has_code_of_the_users_has_none]])


def _pair(module: str = fingerprint.__name__) -> tuple[Callable, Callable]:
    """Two functions of one line, as if they stood in the package."""
    space: dict[str, Any] = {"__name__": module}
    exec("pair = (lambda x: x + 1, lambda x: x + 2)", space)
    return space["pair"]


def test_functions_are_told_by_their_code_and_what_they_hold() -> None:
    first, second = _pair()
    assert digest(first) != digest(second) and digest(first) == digest(_pair()[0])
    space: dict[str, Any] = {"__name__": fingerprint.__name__}
    exec("def made(n, *, m=1):\n    def inner(x, k=n, *, j=m):\n        return n + m\n    return inner", space)
    made = space["made"]
    assert digest(made(1)) == digest(made(1)) != digest(made(2))
    assert digest(made(1, m=2)) != digest(made(1))
    assert digest(functools.partial(first, 1)) != digest(functools.partial(first, 2))


def test_values_of_different_types_differ() -> None:
    values = [0, 0.0, False, "0", None, (0,), [0], {0}, {0: 0}, 0j, b"0", -0.0, ours.float32, np.dtype("float32"), np.float32(0), ours.device("cpu"), np.zeros(1)]
    assert len({digest(value) for value in values}) == len(values)
    assert digest(np.zeros(3)) != digest(np.ones(3))


def test_what_is_part_of_itself_has_none() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(Unknown):
        digest(loop)


def test_the_environment_follows_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint.environment()
    assert fingerprint.environment() == before
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_max_isa=AVX2")
    assert fingerprint.environment() != before
