"""What the tape saved, seen from outside: packing it with hooks, and ``node._saved_self``, ``node._raw_saved_self``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..core.state import thread
from ..dispatch import overrides
from ..graph.value import Value
from ..tensors.tape import FREED, Node, PackedValue, check_current, unpack_value
from ..tensors.tensor import Tensor, make_tensor
from .grad_mode import no_grad

__all__ = ["KeptTensor", "SavedTensor", "pack"]

Hooks = tuple[Callable[[Tensor], Any], Callable[[Any], Tensor]]


# ---------------------------------------------------------------------------------------------------------------- packing
def pack(tensor: Tensor, hooks: Hooks) -> PackedValue:
    """What stands for a tensor on the tape: what the first hook makes of it.

    Raises:
        RuntimeError: the hook modified the tensor.
    """
    pack_hook, unpack_hook = hooks
    before = tensor._version
    with no_grad():
        packed = pack_hook(tensor)
    if tensor._version != before:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be modified by in-place "
            "operations as this can lead to unexpected side-effects. Please open an issue if you need to perform in-place operations on the input "
            "to a pack hook."
        )
    return PackedValue(functools.partial(_unpack, unpack_hook, packed))


def _unpack(unpack_hook: Callable[[Any], Tensor], packed: Any) -> Value:
    tensor = unpack_hook(packed)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(tensor).__name__}")
    return tensor._content()


def _pack_saved(node: Node, tensors: Sequence[Tensor], results: Sequence[Tensor]) -> None:
    """Hand what a new node saved to the innermost pair of hooks.

    Args:
        tensors, results: of the operator that the node belongs to.
    """
    hooks = thread.state.saved_tensor_hooks[-1]
    backward = node.backward
    saved = [*[tensors[k] for k in backward.saved_inputs], *[results[k] for k in backward.saved_outputs]]
    node.saved = tuple([pack(t, hooks) for t in saved])  # type: ignore[misc]


overrides.pack_saved = _pack_saved


class KeptTensor:
    """A tensor kept as the tape keeps what it saves: packed where hooks are active, else checked against later writes.

    Args:
        tensor: no result of the node that it is kept for.
    """

    def __init__(self, tensor: Tensor) -> None:
        hooks = thread.state.saved_tensor_hooks
        self._edge = tensor._current_edge()
        self._kept = pack(tensor, hooks[-1]) if hooks else tensor._content()
        self._original = None if hooks else tensor

    def unpack(self) -> Tensor:
        """The tensor, in its place on the tape.

        Raises:
            RuntimeError: it was modified in place; torch's text.
        """
        if self._original is None:
            return make_tensor(self._kept.unpack(), self._edge)  # type: ignore[union-attr]
        check_current(self._kept, self._edge)  # type: ignore[arg-type]
        return self._original


# ---------------------------------------------------------------------------------------------------------------- attributes of nodes
def _unpacked(self: Node, position: int) -> Tensor:
    """A saved value as a tensor in its place on the tape.

    Raises:
        RuntimeError: it was freed, or modified in place since; torch's texts.
    """
    if self.saved is None:
        raise RuntimeError(FREED)
    return make_tensor(unpack_value(self, self.saved[position]), self.saved_edge(position))


Node.unpacked = _unpacked  # type: ignore[attr-defined]


class SavedTensor:
    """One tensor that a node saved."""

    __module__ = "torch._C._autograd"

    def __init__(self, node: Node, position: int) -> None:
        self._node = node
        self._position = position

    def unpack(self) -> Tensor:
        """The tensor, in its place on the tape.

        Raises:
            RuntimeError: it was freed, or modified in place since; torch's texts.
        """
        return self._node.unpacked(self._position)  # type: ignore[attr-defined]

    @property
    def data(self) -> Tensor:
        """The tensor, off the tape."""
        return self.unpack().detach()

    def register_hooks(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        """Keep ``pack_hook(tensor)`` instead of the tensor; ``unpack_hook`` gives it back.

        Raises:
            RuntimeError: it was freed, or has hooks already; torch's texts.
        """
        saved = self._node.saved
        if saved is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are freed when you call "
                ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you need "
                "to access saved variables after calling backward."
            )
        if isinstance(saved[self._position], PackedValue):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is allowed at a time."
            )
        packed = pack(self.unpack(), (pack_hook, unpack_hook))
        self._node.saved = (*saved[: self._position], packed, *saved[self._position + 1 :])  # type: ignore[arg-type]


def _positions(node: Node) -> dict[str, int | list[int]]:
    """Argument or result -> where in `Node.saved` it is (a list for an argument that is a list)."""
    backward = node.backward
    if backward is None or backward.described is None:
        return {}
    instruction, _ = backward.described
    layout, schema = instruction.layout, instruction.operator.schema
    found: dict[str, Any] = {}
    for position, k in enumerate(backward.saved_inputs):
        name = layout.argument_of[k]
        if layout.is_list(name):
            found.setdefault(name, []).append(position)
        else:
            found[name] = position
    for position, k in enumerate(backward.saved_outputs, len(backward.saved_inputs)):
        found[schema.result_names[k] if schema.result_names else "result" if len(backward.outputs) == 1 else f"result{k}"] = position
    return found


def _arguments(node: Node) -> dict[str, Any]:
    """The arguments that are no tensors and that the derivative looks at."""
    if node.backward is None or node.backward.described is None:
        return {}
    instruction, asked = node.backward.described
    floats, ints = map(iter, node.scalars or ((), ()))
    found = {}
    for name, part in zip(instruction.layout.order, instruction.layout.parts, strict=True):
        if part[0] in ("float", "int", "static"):
            value = next(floats) if part[0] == "float" else next(ints) if part[0] == "int" else part[1]
            if name in asked:
                found[name] = value
    return found


def _get(self: Node, attribute: str) -> Any:
    """``node._saved_NAME``, ``node._raw_saved_NAME``."""
    name = attribute.removeprefix("_raw").removeprefix("_saved_")
    if name != attribute.removeprefix("_raw"):
        position = _positions(self).get(name)
        if isinstance(position, list):
            raw = tuple([SavedTensor(self, k) for k in position])
            return raw if attribute.startswith("_raw") else tuple([r.unpack() for r in raw])
        if position is not None:
            return SavedTensor(self, position) if attribute.startswith("_raw") else SavedTensor(self, position).unpack()
        arguments = _arguments(self) if attribute.startswith("_saved") else {}
        if name in arguments:
            return arguments[name]
    raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute}'")


def _list(self: Node) -> list[str]:
    tensors = _positions(self)
    names = [f"{prefix}_{name}" for name in tensors for prefix in ("_saved", "_raw_saved")]
    return [*object.__dir__(self), *names, *[f"_saved_{name}" for name in _arguments(self)]]


Node.__getattr__ = _get  # type: ignore[attr-defined]
Node.__dir__ = _list  # type: ignore[method-assign, assignment]
