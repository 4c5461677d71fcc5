"""torch.autograd.anomaly_mode: where in the forward a failing (or NaN) derivative comes from.

While the mode is on each new node notes the user's stack, and the node whose derivative made it.  When a derivative raises, or gives NaN, a
warning shows that.  The gradients of several nodes are looked at together, before anybody else's code sees one of them: looking means running
the trace.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..aten.sparse_tensor import SparseTensor
from ..core.state import thread
from ..graph.instruction import Instruction
from ..graph.provenance import user_stack
from ..graph.recorder import record, synchronise
from ..graph.value import Value
from ..tensors.tape import AccumulateGrad, Node, observe_new_nodes
from ..tensors.tensor import Tensor
from .task import current_node

__all__ = [
    "NanWatch", "detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "report", "set_anomaly_enabled", "set_detect_anomaly",
]  # fmt: skip

#: Keys of a node's ``metadata``, torch's own.
_STACK, _PARENT = "traceback_", "parent_"


class _Settings(threading.local):
    """Per thread: whether a NaN is an error while the mode is on."""

    check_nan = True


_settings = _Settings()
#: How many threads have the mode on.
_active = 0


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on in this thread."""
    return thread.state.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Whether a NaN is an error while anomaly detection is on."""
    return _settings.check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly detection on or off for this thread."""
    global _active
    state = thread.state
    _settings.check_nan = check_nan
    if state.anomaly == enabled:
        return
    state.anomaly = enabled
    change = 1 if enabled else -1
    state.slow += change
    _active += change
    observe_new_nodes(_note if _active else None)


class detect_anomaly:  # noqa: N801 - torch's name
    """Inside the block, the forward that led to a failing derivative is shown, and a gradient that is NaN is an error.

    For debugging: it is slow.

    Args:
        check_nan: look for NaN.

    Raises:
        RuntimeError: a derivative gave NaN; names the node.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.prev = is_anomaly_enabled()
        self.check_nan = check_nan
        self.prev_check_nan = is_anomaly_check_nan_enabled()
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.", stacklevel=2
        )

    def __enter__(self) -> None:
        set_anomaly_enabled(True, self.check_nan)

    def __exit__(self, *error: object) -> None:
        set_anomaly_enabled(self.prev, self.prev_check_nan)


class set_detect_anomaly:  # noqa: N801 - torch's name
    """Switch anomaly detection on or off: at once, and back at the end when used as a context manager."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev = is_anomaly_enabled()
        self.prev_check_nan = is_anomaly_check_nan_enabled()
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        set_anomaly_enabled(self.prev, self.prev_check_nan)


# ---------------------------------------------------------------------------------------------------------------- what is noted and shown
def _note(node: Node) -> None:
    """Keep where a new node comes from."""
    if not thread.state.anomaly:
        return
    stack = node.metadata[_STACK] = user_stack()
    for edge in node.edges:
        if edge is not None and type(edge[0]) is AccumulateGrad:
            edge[0].metadata.setdefault(_STACK, stack)
    parent = current_node()
    if parent is not None:
        node.metadata[_PARENT] = parent


def report(node: Node) -> None:
    """Warn of an error in a node's derivative, with the forward that it belongs to, and what induced that."""
    stack = node.metadata.get(_STACK)
    if stack is None:
        told = "No forward pass information available. Enable detect anomaly during forward pass for more information."
    else:
        told = "Traceback of forward call that caused the error:\n" + "".join(stack)
    warnings.warn(f"Error detected in {node.name()}. {told}", stacklevel=2)
    parent = node.metadata.get(_PARENT)
    while parent is not None:
        name, stack = parent.name(), parent.metadata.get(_STACK)
        if stack is None:
            told = f"Error detected in {name}. No forward pass information available. Enable detect anomaly during forward pass for more information."
        else:
            told = f"\n\nPrevious calculation was induced by {name}. Traceback of forward call that induced the previous calculation:\n" + "".join(stack)
        warnings.warn(told, stacklevel=2)
        parent = parent.metadata.get(_PARENT)


_HAS_NAN = Instruction("has_nan", lambda x: jnp.any(jnp.isnan(x)))


class NanWatch:
    """The gradients of one backward pass that nobody has looked at yet."""

    def __init__(self) -> None:
        self.pending: list[tuple[Node, int, Value]] = []

    def look_at(self, node: Node, gradients: Sequence[Any]) -> None:
        """Note what a node's derivative gave (tensors or values)."""
        if not is_anomaly_check_nan_enabled():
            return
        for number, gradient in enumerate(node.spread(gradients)):
            values = gradient._elements if isinstance(gradient, SparseTensor) else gradient
            value = values._content() if isinstance(values, Tensor) else values
            if value is not None and value.aval.differentiable and not value.aval.is_meta:
                self.pending.append((node, number, record(_HAS_NAN, (value,))[0]))

    def settle(self) -> None:
        """Look at what was noted.

        Raises:
            RuntimeError: NaN; torch's text.
        """
        pending, self.pending = self.pending, []
        for node, number, flag in pending:
            if bool(np.asarray(synchronise(flag, "anomaly mode"))):
                report(node)
                raise RuntimeError(f"Function '{node.name()}' returned nan values in its {number}th output.")
