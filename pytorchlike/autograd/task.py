"""The backward passes that are running in this thread: what hooks, unpacking and other tools may ask about them."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Container
from typing import Any

from ..tensors.tape import AccumulateGrad, Node

__all__ = ["Task", "current_node", "current_task", "is_plain_backward", "will_run"]

_next_number = itertools.count().__next__


class Task:
    """One backward pass.

    Attributes:
        number: tells passes apart.
        nodes, leaves: those that gradients arrive at.
        is_plain: ``backward`` without ``inputs``.
        captures: gradients are returned, not accumulated.
        callbacks: called when the pass has ended.
        node, grads: the node that is running and what arrived there; kept up to date where somebody else's code may run.
    """

    __slots__ = ("number", "nodes", "leaves", "is_plain", "captures", "callbacks", "node", "grads")

    def __init__(self, nodes: Container[Node], leaves: Container[Node], is_plain: bool, captures: bool) -> None:
        self.number = _next_number()
        self.nodes = nodes
        self.leaves = leaves
        self.is_plain = is_plain
        self.captures = captures
        self.callbacks: list[Callable[[], None]] = []
        self.node: Node | None = None
        self.grads: list[Any] = []


class _Running(threading.local):
    """Per thread: the passes that are running, innermost last."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []


running = _Running()


def current_task() -> Task | None:
    """The innermost pass that is running."""
    return running.tasks[-1] if running.tasks else None


def current_node() -> Node | None:
    """The node whose derivative is being computed."""
    return running.tasks[-1].node if running.tasks else None


def is_plain_backward() -> bool:
    """Whether all running passes are ``backward`` without ``inputs`` (there may be none)."""
    return all(task.is_plain for task in running.tasks)


def will_run(node: Node) -> bool:
    """Whether the running pass reaches this node.

    Raises:
        RuntimeError: no pass is running, or one that returns gradients is asked about a leaf; torch's texts.
    """
    task = current_task()
    if task is None:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    if task.captures and type(node) is AccumulateGrad:
        raise RuntimeError(
            "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is currently not supported."
        )
    return node in task.nodes or node in task.leaves
