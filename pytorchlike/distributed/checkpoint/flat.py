"""State dictionaries as flat ones: ``{"model": {"weight": w}}`` is ``{"model.weight": w}``, with the way back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...tensors.tensor import Tensor

__all__ = ["flatten", "put", "resolved"]

Path = tuple[Any, ...]


def resolved(state_dict: dict[str, Any]) -> dict[str, Any]:
    """The dictionary with the states of modules, optimizers and the like in place of themselves."""
    return {key: value.state_dict() if _is_stateful(value) else value for key, value in state_dict.items()}


def _is_stateful(value: Any) -> bool:
    return callable(getattr(value, "state_dict", None)) and callable(getattr(value, "load_state_dict", None))


def _is_branch(value: Any) -> bool:
    """Whether something is taken apart: dictionaries, and lists that hold tensors or more that is taken apart."""
    return isinstance(value, dict) or isinstance(value, list) and any(isinstance(v, Tensor) or _is_branch(v) for v in value)


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if _is_branch(value):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(inner, (*path, key))
    else:
        yield path, value


def flatten(state_dict: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Path]]:
    """Leaves by their dotted names, and the path of each.

    Raises:
        ValueError: two leaves have one name.
    """
    leaves: dict[str, Any] = {}
    paths: dict[str, Path] = {}
    for path, leaf in _leaves(state_dict, ()):
        name = ".".join(map(str, path))
        if name in leaves:
            raise ValueError(f"duplicated flatten key {name}")
        leaves[name], paths[name] = leaf, path
    return leaves, paths


def put(state_dict: dict[str, Any], path: Path, value: Any) -> None:
    """Put a leaf at its place."""
    for key in path[:-1]:
        state_dict = state_dict[key]
    state_dict[path[-1]] = value
