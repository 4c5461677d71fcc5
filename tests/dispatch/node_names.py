"""What torch calls the node of each operator, found by calling both libraries: ``python -m tests.dispatch.node_names --write`` makes
``pytorchlike/core/data/node_names.tsv`` anew."""

from __future__ import annotations

import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch as real_torch

import pytorchlike as ours
from pytorchlike.dispatch import derivative, view
from tests.aten import oracle
from tests.aten.test_operators import CASES

TABLE = Path(ours.__file__).parent / "core" / "data" / "node_names.tsv"


def _result(module: Any, sample: Any, dtype: str) -> list[str | None]:
    built = oracle.Built(module, sample, dtype, True)
    found = oracle.find(module, sample.path)(*built.args, **built.kwargs)
    results = found if isinstance(found, (tuple, list)) else [found]
    return [r.grad_fn.name() if isinstance(r, module.Tensor) and r.grad_fn is not None else None for r in results]


def nodes() -> Iterator[tuple[str, str, str, str]]:
    """(operator, operator with its inputs' dimensions, our name, torch's name) for every sample with a gradient whose last node is the operator's."""
    asked: list[tuple[str, str, str]] = []
    original = derivative.backward_name

    def listening(declared: Any, inputs: Any = ()) -> str:
        name = original(declared, inputs)
        asked.append((declared.qualified_name, f"{declared.qualified_name}/{','.join(str(len(a.size)) for a in inputs)}", name))
        return name

    derivative.backward_name = view.backward_name = listening
    try:
        for case in CASES:
            sample, dtype = case.values
            if not sample.grad:
                continue
            asked.clear()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    theirs, mine = _result(real_torch, sample, dtype), _result(ours, sample, dtype)
                except Exception:
                    continue
            for one, other in zip(theirs, mine):
                if one is not None and other is not None and asked and asked[-1][2] == other:
                    if _is_of(asked[-1][0], sample.path):
                        yield *asked[-1], one
                    break
    finally:
        derivative.backward_name = view.backward_name = original


def _is_of(operator: str, path: str) -> bool:
    """Whether the operator stands for the whole function (a private one, or one of its name), not for the last step of a composite."""
    name, function = operator.partition(".")[0], path.rpartition(".")[2]
    return name.startswith(("_", function)) or function.startswith(name)


def table() -> dict[str, str]:
    """operator, or operator/dimensions where those decide -> torch's name, where it is not the operator's in capitals."""
    found: dict[str, Counter] = defaultdict(Counter)
    detailed: dict[str, Counter] = defaultdict(Counter)
    plain: dict[str, str] = {}
    for operator, with_dimensions, _, theirs in nodes():
        found[operator][theirs] += 1
        detailed[with_dimensions][theirs] += 1
        plain[operator] = derivative._in_capitals(operator.partition(".")[0])
    rows = {operator: plain[operator] if plain[operator] in names else names.most_common(1)[0][0] for operator, names in found.items()}
    for key, names in detailed.items():
        operator = key.partition("/")[0]
        if rows[operator] not in names:
            rows[key] = names.most_common(1)[0][0]
    return {key: name for key, name in sorted(rows.items()) if "/" in key or name != plain[key]}


if __name__ == "__main__":
    made = table()
    if "--write" in sys.argv:
        TABLE.write_text("operator\tnode\n" + "".join(f"{key}\t{name}\n" for key, name in made.items()))
    print(len(made), "operators with names of their own")
