"""How much of torch's API is here: ``python -m pytorchlike.testing.api_coverage [TABLE]``.

With a table, whose lines are a name (``torch.nn.Linear``, ``torch.Tensor.sum``) and a weight behind a tab, it prints the weighted share of the names
that resolve, for each namespace, and the heaviest missing ones.  Without one it goes through the public names of real torch's namespaces.  Where
torch is installed, a name counts only if its signature takes what torch's takes.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Finding", "check", "incompatibility", "public_names", "report", "resolve"]

_PACKAGE = (__package__ or __name__).partition(".")[0]
#: The namespaces of `public_names`, below ``torch.``.
NAMESPACES = (
    "Tensor", "nn", "nn.functional", "nn.init", "nn.utils", "optim", "optim.lr_scheduler", "amp", "utils.data", "serialization", "distributions",
)  # fmt: skip
_MISSING = object()
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True)
class Finding:
    """What was found at a name.

    Attributes:
        name: as torch spells it.
        weight: how much it counts.
        problem: why it does not count, "" if it does.
    """

    name: str
    weight: float
    problem: str = ""

    @property
    def namespace(self) -> str:
        """The name without its last part."""
        return self.name.rpartition(".")[0]


def resolve(name: str, package: str) -> Any:
    """What a dotted name beginning with ``torch`` means in a package: modules are imported, attributes looked up.

    Raises:
        AttributeError: nothing.
    """
    found: Any = importlib.import_module(package)
    path = package
    for part in name.split(".")[1:]:
        path = f"{path}.{part}"
        inner = getattr(found, part, _MISSING)
        if inner is _MISSING and inspect.ismodule(found):
            try:
                inner = importlib.import_module(path)
            except ImportError:
                inner = _MISSING
        if inner is _MISSING:
            raise AttributeError(f"no {part} in {getattr(found, '__name__', found)}")
        found = inner
    return found


def _parameters(value: Any) -> dict[str, inspect.Parameter] | None:
    try:
        return dict(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return None


def incompatibility(ours: Any, theirs: Any) -> str:
    """Why ``ours`` cannot stand for ``theirs``: a class or function is none, or a parameter is missing or stands elsewhere; "" if it can."""
    if isinstance(theirs, type) and not isinstance(ours, type):
        return "not a class"
    if callable(theirs) and not callable(ours):
        return "not callable"
    wanted, have = (_parameters(value) if callable(value) else None for value in (theirs, ours))
    if wanted is None or have is None:
        return ""
    kinds = {parameter.kind for parameter in have.values()}
    takes_names, takes_positions = inspect.Parameter.VAR_KEYWORD in kinds, inspect.Parameter.VAR_POSITIONAL in kinds
    order = [name for name, parameter in have.items() if parameter.kind in _POSITIONAL]
    place = 0
    for name, parameter in wanted.items():
        if parameter.kind in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL):
            continue
        if name not in have and not name.startswith("_") and not takes_names and not (takes_positions and parameter.kind in _POSITIONAL):
            return f"no parameter {name}"
        if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
            if name in have and have[name].kind in _POSITIONAL and order.index(name) != place:
                return f"parameter {name} at another place"
            place += 1
    return ""


def check(names: Iterable[tuple[str, float]], *, signatures: bool = True) -> list[Finding]:
    """Look every name up.

    Args:
        signatures: compare with real torch where it is installed; names that torch itself does not have are left out then.
    """
    compare = signatures and importlib.util.find_spec("torch") is not None
    found = []
    for name, weight in names:
        theirs = _MISSING
        if compare:
            try:
                theirs = resolve(name, "torch")
            except Exception:
                continue
        try:
            ours = resolve(name, _PACKAGE)
        except (AttributeError, NotImplementedError, RuntimeError) as error:
            found.append(Finding(name, weight, str(error).partition("\n")[0]))
            continue
        found.append(Finding(name, weight, "" if theirs is _MISSING else incompatibility(ours, theirs)))
    return found


def public_names() -> Iterator[tuple[str, float]]:
    """The public names of real torch in `NAMESPACES`, each with weight 1.

    Raises:
        ModuleNotFoundError: torch is not installed.
    """
    for namespace in NAMESPACES:
        place = resolve(f"torch.{namespace}", "torch")
        names = getattr(place, "__all__", None) or [
            name for name in dir(place) if not name.startswith("_") and not inspect.ismodule(getattr(place, name, None)) and _is_torchs(getattr(place, name, None))
        ]
        yield from ((f"torch.{namespace}.{name}", 1.0) for name in sorted(names))


def _is_torchs(value: Any) -> bool:
    """Whether a name without ``__all__`` is torch's own, and not something imported for use."""
    module = getattr(value, "__module__", None) or ""
    return not isinstance(value, (type, type(_is_torchs))) or module.partition(".")[0] == "torch"


def _table(path: str) -> Iterator[tuple[str, float]]:
    with open(path, encoding="utf-8") as file:
        for line in file:
            name, _, rest = line.rstrip("\n").partition("\t")
            if name and not name.startswith("#"):
                yield name, float(rest.partition("\t")[0] or 1)


def report(findings: list[Finding], heaviest: int = 40, skip: tuple[str, ...] = ()) -> str:
    """The share of each namespace and of all, and the heaviest names that do not count.

    Args:
        heaviest: how many of these.
        skip: names that begin so are left out.
    """
    findings = [finding for finding in findings if not finding.name.startswith(skip)] if skip else findings
    total: collections.defaultdict[str, float] = collections.defaultdict(float)
    good: collections.defaultdict[str, float] = collections.defaultdict(float)
    count: collections.Counter[Any] = collections.Counter()
    for finding in findings:
        for key in (finding.namespace, "all"):
            total[key] += finding.weight
            good[key] += finding.weight if not finding.problem else 0
            count[key] += not finding.problem
            count[key, "of"] += 1
    lines = [f"{'namespace':42} {'weight':>9} {'covered':>8}  names"]
    for key in sorted(total, key=lambda key: -total[key]):
        lines.append(f"{key:42} {total[key]:9.3f} {100 * good[key] / (total[key] or 1):7.2f}%  {count[key]}/{count[key, 'of']}")
    missing = sorted((finding for finding in findings if finding.problem), key=lambda finding: -finding.weight)
    lines += ["", f"missing, heaviest first ({len(missing)} in all)"]
    lines += [f"{finding.weight:9.4f} {finding.name}: {finding.problem}" for finding in missing[:heaviest]]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """The program."""
    parser = argparse.ArgumentParser(prog="python -m pytorchlike.testing.api_coverage", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("table", nargs="?", help="lines of a name and a weight behind a tab; without it, the public names of real torch")
    parser.add_argument("--heaviest", type=int, default=40, help="how many missing names are listed")
    parser.add_argument("--skip", action="append", default=[], metavar="PREFIX", help="leave names out that begin so; may be repeated")
    parser.add_argument("--no-signatures", action="store_true", help="do not compare with real torch")
    chosen = parser.parse_args(arguments)
    if chosen.table is None and importlib.util.find_spec("torch") is None:
        sys.exit("api_coverage: torch is not installed, so there are no names to look for: give a table")
    names = public_names() if chosen.table is None else _table(chosen.table)
    print(report(check(names, signatures=not chosen.no_signatures), chosen.heaviest, tuple(chosen.skip)))


if __name__ == "__main__":
    main()
