"""``__all__`` lists what exists, sorted; public functions and classes are documented."""

from __future__ import annotations

import ast
import re

import pytest

from .sources import trees


def _natural(name: str) -> list:
    """Letters without case, numbers by value: ``Conv2d`` before ``conv10``."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name.casefold())]


#: The orders that may be used: plain, without case, and ruff's (constants, classes, the rest).
ORDERS = {
    "plain": lambda n: n, "without case": str.casefold, "natural": _natural,
    "constants, classes, rest": lambda n: (0 if n.isupper() else 1 if n[:1].isupper() else 2, _natural(n)),
}  # fmt: skip


def _assigned(tree: ast.Module, name: str) -> list[str] | None:
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                try:
                    return list(ast.literal_eval(node.value))
                except ValueError:  # computed
                    return None
    return None


WITH_ALL = [path for path, tree in trees().items() if _assigned(tree, "__all__")]


@pytest.mark.parametrize("path", WITH_ALL)
def test_all_is_sorted_and_unique(path: str) -> None:
    names = _assigned(trees()[path], "__all__")
    assert len(set(names)) == len(names)
    assert any(names == sorted(names, key=order) for order in ORDERS.values()), sorted(names)


def _public_without_docstring(path: str) -> list[str]:
    missing = []
    for node in trees()[path].body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_") and ast.get_docstring(node) is None:
            overload = any("overload" in ast.unparse(d) for d in node.decorator_list)
            rule = any(".grad(" in ast.unparse(d) or ".check" in ast.unparse(d) for d in node.decorator_list)
            if not overload and not rule:
                missing.append(f"{path}:{node.lineno} {node.name}")
    return missing


@pytest.mark.parametrize("path", list(trees()))
def test_public_functions_and_classes_are_documented(path: str) -> None:
    assert _public_without_docstring(path) == []
