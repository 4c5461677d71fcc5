"""What operators there are: one entry for each declaration, and the page that lists them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from . import registry
from .registry import INPLACE, OPERATORS, OUT, Composite, Operator, ViewOperator

__all__ = ["OWN_RULE", "Entry", "page", "roster"]

OWN_RULE = "own rule"
_FROM_JAX, _NONE, _COMPOSED, _WINDOW = "from JAX", "none", "of what it calls", "of the view"


@dataclass(frozen=True)
class Entry:
    """One declared operator.

    Attributes:
        name: qualified name of the declaration, ``add.Tensor``.
        schema: the declaration's text.
        family: the file below ``aten/`` that declares it.
        public: where it is public: ``torch.add``, ``Tensor.add``, ``torch.special.erf`` ...
        derivative: ``own rule``, ``from JAX``, both (``own rule for self, mat1``), ``none``, ``of the view`` or ``of what it calls``.
        is_view: whether the result shares the input's memory.
        mutates: the forms that write: ``in-place``, ``out=``.
        calls_host: whether the body leaves XLA for the host in the middle of a program.
    """

    name: str
    schema: str
    family: str
    public: tuple[str, ...]
    derivative: str
    is_view: bool
    mutates: tuple[str, ...]
    calls_host: bool


def _derivative(declared: Operator | ViewOperator | Composite) -> str:
    if isinstance(declared, Composite):
        return _COMPOSED
    if not declared.differentiable:
        return _NONE
    if isinstance(declared, ViewOperator):
        return _WINDOW
    tensors = [a.name for a in declared.schema.arguments if a.is_tensor]
    ruled = [name for name in tensors if name in declared.rules]
    if not tensors:
        return _NONE
    if not ruled:
        return _FROM_JAX
    return OWN_RULE if len(ruled) == len(tensors) else f"{OWN_RULE} for {', '.join(ruled)}"


def _public(declared: Operator | ViewOperator | Composite) -> tuple[str, ...]:
    names = [declared.name, *[a for a in declared.aliases if "." not in a]]
    found = []
    for name in names:
        if registry.FUNCTION in declared.forms:
            found += [f"torch.{namespace}.{name}" if namespace else f"torch.{name}" for namespace in declared.namespaces]
        if registry.METHOD in declared.forms:
            found.append(f"Tensor.{name}")
    return (*found, *[f"torch.{alias.removeprefix('.')}" for alias in declared.aliases if "." in alias])


def roster() -> list[Entry]:
    """All operators of the package, by family and name; those that users declared are left out."""
    package = __name__.partition(".")[0]
    found = []
    for name, declared in OPERATORS.items():
        module = declared.__module__
        if not module.startswith(f"{package}.aten."):
            continue
        mutates = [text for form, text in ((INPLACE, "in-place"), (OUT, "out=")) if form in declared.forms]
        found.append(
            Entry(
                name, declared.schema_text, module.rpartition(".")[2], _public(declared), _derivative(declared), isinstance(declared, ViewOperator),
                tuple(mutates), declared.calls_host,
            )
        )  # fmt: skip
    return sorted(found, key=lambda entry: (entry.family, entry.name))


def _row(entry: Entry) -> str:
    kind = "view" if entry.is_view else "host" if entry.calls_host else ""
    cells = (f"`{entry.schema}`", ", ".join(entry.public) or "internal", entry.derivative, ", ".join(entry.mutates), kind)
    return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"


def page(entries: Iterable[Entry]) -> str:
    """The entries as a Markdown page, a table for each family."""
    entries = list(entries)
    counts = {
        "operators": len(entries), "views": sum(e.is_view for e in entries), "with a rule of their own": sum(e.derivative.startswith(OWN_RULE) for e in entries),
        "that JAX differentiates": sum(e.derivative == _FROM_JAX for e in entries), "composed of others": sum(e.derivative == _COMPOSED for e in entries),
        "that call the host": sum(e.calls_host for e in entries),
    }  # fmt: skip
    lines = [
        "# Roster of operators", "",
        "Written by `python docs/write_roster.py`; do not edit. What a declaration holds is explained in [operators.md](operators.md).", "",
        ", ".join(f"{count} {what}" for what, count in counts.items()) + ".", "",
        "The last columns: which gradient it has, which forms write into a tensor, and whether the result is a view or the body calls the host.",
    ]  # fmt: skip
    for family in sorted({e.family for e in entries}):
        lines += ["", f"## {family}", "", "| schema | public as | gradient | writes | |", "| --- | --- | --- | --- | --- |"]
        lines += [_row(e) for e in entries if e.family == family]
    return "\n".join(lines) + "\n"
