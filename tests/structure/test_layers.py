"""Imports only point downwards (docs/architecture.md, "Layers"), those inside functions included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePath

import pytest

from .sources import trees

#: The layers from the bottom up.
LAYERS = [
    {"core"}, {"graph"}, {"tensors"}, {"dispatch"}, {"aten"}, {"autograd"}, {"nn", "optim", "amp", "func", "distributions"},
    {"alias", "compiler", "export", "distributed", "utils", "serialization", "profiler", "testing", "cpu", "cuda", "backends", "hub", "fx",
     "library", "extensions"},
]  # fmt: skip
RANKS = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
#: Everything else at the top of the package: public names.
PUBLIC = len(LAYERS)

#: (file or folder, what it imports) -> why that is right although it points upwards.
TOLERATED = {
    ("dispatch/namespaces.py", "alias"): "alias.py imports nothing of ours at the top, so that any layer may use it",
    ("serialization/loading.py", "interop"): "inside a function: torch.load reads the files of safetensors, whose bridge builds on save and load",
    ("nn/functional/_borrowed.py", "overrides"): "loaded when asked for: names of torch's file that code copied from it looks for",
    ("alias.py", "version"): "inside a function: the version's text is read when a library asks for torch's metadata",
}


def _imported(path: str, tree: ast.Module) -> Iterator[tuple[str, int]]:
    """(top-level name of ours, line) of each import that runs."""
    folder = PurePath(path).parent.parts
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from ((a.name.split(".")[1], node.lineno) for a in node.names if a.name.startswith("pytorchlike."))
        elif isinstance(node, ast.ImportFrom):
            module = tuple(node.module.split(".")) if node.module else ()
            if node.level:
                module = folder[: len(folder) - node.level + 1] + module
            elif module[:1] == ("pytorchlike",):
                module = module[1:]
            else:
                continue
            yield from ((module[0] if module else a.name, node.lineno) for a in node.names)


def _rank(name: str) -> int:
    return RANKS.get(name.removesuffix(".py"), PUBLIC)


@pytest.mark.parametrize("path", [p for p in trees() if _rank(PurePath(p).parts[0]) < PUBLIC])
def test_imports_point_downwards(path: str) -> None:
    own = PurePath(path).parts[0]
    upwards = sorted({
        f"{path}:{line} imports {name}"
        for name, line in _imported(path, trees()[path])
        if _rank(name) > _rank(own) and (path, name) not in TOLERATED and (own, name) not in TOLERATED
    })  # fmt: skip
    assert upwards == []


def test_tolerated_exceptions_exist() -> None:
    found = {(key, name) for path, tree in trees().items() for name, _ in _imported(path, tree) for key in (path, PurePath(path).parts[0])}
    assert set(TOLERATED) <= found


def test_the_package_never_imports_torch() -> None:
    imports = [
        f"{path}:{node.lineno}"
        for path, tree in trees().items()
        if path != "as_torch/torch.py"
        for node in ast.walk(tree)
        if (isinstance(node, ast.Import) and any(a.name.split(".")[0] == "torch" for a in node.names))
        or (isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "torch")
    ]
    assert imports == []
