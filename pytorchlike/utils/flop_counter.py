"""``torch.utils.flop_counter``: floating-point operations of matrix products, convolutions and attention, by module."""

from __future__ import annotations

import functools
import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from ..core.pytree import tree_map
from ..dispatch.overloads import OpOverloadPacket, packet_of
from ..tensors.tensor import Tensor
from ._python_dispatch import TorchDispatchMode
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "flop_registry", "register_flop_formula"]

_ADDMM, _ATTENTION, _BADDBMM, _BMM, _CONVOLUTION, _EINSUM, _LINEAR, _MATMUL, _MM = (
    packet_of("aten", name) for name in ("addmm", "_attention", "baddbmm", "bmm", "convolution", "_einsum", "linear", "matmul", "mm")
)
_CONVOLUTIONS = [packet_of("aten", f"conv{n}d") for n in (1, 2, 3)]
_TRANSPOSED = [packet_of("aten", f"conv_transpose{n}d") for n in (1, 2, 3)]
_CONV_BACKWARD, _FLASH, _FLASH_BACKWARD = (  # torch's operators that are none here
    OpOverloadPacket("aten", name, {})
    for name in ("convolution_backward", "_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_backward")
)

flop_registry: dict[Any, Callable] = {}
"""Formulas by operator (``torch.ops.aten.mm``); each takes what the operator takes and ``out_val``."""


def _shape(value: Any) -> Any:
    return value.shape if isinstance(value, Tensor) else value


def _on_shapes(formula: Callable) -> Callable:
    @functools.wraps(formula)
    def counted(*args: Any, out_val: Any = None, **kwargs: Any) -> Any:
        args, kwargs, out_shape = tree_map(_shape, (args, kwargs, out_val))
        return formula(*args, out_shape=out_shape, **kwargs)

    return counted


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Callable], Callable]:
    """Decorate a function that counts for these operators; it gets shapes in place of tensors, and ``out_shape``.

    Args:
        get_raw: it gets the tensors, and ``out_val``.
    """

    def register(formula: Callable) -> Callable:
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(f"register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. torch.ops.mylib.foo), got {target} "
                                 f"which is of type {type(target)}")  # fmt: skip
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = formula if get_raw else _on_shapes(formula)
        return formula

    return register


# ---------------------------------------------------------------------------------------------------------------- formulas
@register_flop_formula(_MM)
def mm_flop(a_shape: Sequence[int], b_shape: Sequence[int], *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """``(m, k) @ (k, n)``."""
    return 2 * math.prod(a_shape) * b_shape[-1]


@register_flop_formula(_BMM)
def bmm_flop(a_shape: Sequence[int], b_shape: Sequence[int], out_shape: Any = None, **kwargs: Any) -> int:
    """``(b, m, k) @ (b, k, n)``."""
    return 2 * math.prod(a_shape) * b_shape[-1]


@register_flop_formula([_ADDMM, _BADDBMM])
def addmm_flop(self_shape: Any, a_shape: Sequence[int], b_shape: Sequence[int], out_shape: Any = None, **kwargs: Any) -> int:
    """A product; the sum does not count."""
    return 2 * math.prod(a_shape) * b_shape[-1]


@register_flop_formula(_LINEAR)
def _linear_flop(x_shape: Sequence[int], w_shape: Sequence[int], *args: Any, **kwargs: Any) -> int:
    return 2 * math.prod(x_shape) * w_shape[0] if len(w_shape) == 2 else 0


@register_flop_formula(_MATMUL)
def _matmul_flop(a_shape: Sequence[int], b_shape: Sequence[int], out_shape: Sequence[int], **kwargs: Any) -> int:
    return 2 * math.prod(out_shape) * a_shape[-1] if len(b_shape) > 1 else 0  # products with a vector do not count


@register_flop_formula(_EINSUM)
def _einsum_flop(equation: str, shapes: Sequence[Sequence[int]], **kwargs: Any) -> int:
    """From left to right: each product has the sizes of all its letters; a letter is summed when no later operand has it."""
    inputs, _, kept = equation.partition("->")
    texts = inputs.split(",")
    if len(texts) == 1:
        return 0
    dots = max((len(shape) + 3 - len(text) for text, shape in zip(texts, shapes, strict=True) if "..." in text), default=0)
    names: dict[Any, int] = {}
    letters = []
    for text, shape in zip(texts, shapes, strict=True):
        before, found, after = text.partition("...")
        count = len(shape) - len(before) - len(after) if found else 0
        labels: list[Any] = [*before, *range(dots - count, dots), *after]
        for label, size in zip(labels, shape, strict=True):
            names[label] = max(names.get(label, 1), size)
        letters.append(set(labels))
    total, held = 0, letters[0]
    for k in range(1, len(letters)):
        union = held | letters[k]
        total += 2 * math.prod(names[label] for label in union)
        held = {label for label in union if label in kept or isinstance(label, int) or any(label in later for later in letters[k + 1 :])}
    return total


def conv_flop_count(x_shape: Sequence[int], w_shape: Sequence[int], out_shape: Sequence[int], transposed: bool = False) -> int:
    """A convolution: each element of the result (transposed: of the input) meets the whole kernel."""
    spatial = len(w_shape) - 2
    batch = x_shape[0] if len(x_shape) == len(w_shape) else 1
    return 2 * batch * math.prod((x_shape if transposed else out_shape)[-spatial:]) * math.prod(w_shape)


@register_flop_formula(_CONVOLUTIONS)
def _conv_flop(x_shape: Sequence[int], w_shape: Sequence[int], *args: Any, out_shape: Sequence[int], **kwargs: Any) -> int:
    return conv_flop_count(x_shape, w_shape, out_shape)


@register_flop_formula(_TRANSPOSED)
def _conv_transpose_flop(x_shape: Sequence[int], w_shape: Sequence[int], *args: Any, out_shape: Sequence[int], **kwargs: Any) -> int:
    return conv_flop_count(x_shape, w_shape, out_shape, transposed=True)


@register_flop_formula(_ATTENTION)
def _attention_flop(query: Sequence[int], key: Sequence[int], value: Sequence[int], *args: Any, **kwargs: Any) -> int:
    return 2 * math.prod(query[:-1]) * key[-2] * (query[-1] + value[-1])


# ---------------------------------------------------------------------------------------------------------------- the backward pass
def _names(func: OpOverloadPacket, args: tuple, out: Tensor) -> tuple[OpOverloadPacket, OpOverloadPacket]:
    """As which of torch's operators a product counts, forward and backward."""
    product = _MM if func is _LINEAR or args and isinstance(args[-1], Tensor) and args[-1].dim() == 2 else _BMM
    if func is _LINEAR:
        return (_ADDMM if len(args) > 2 and args[2] is not None else product), product
    if func in _CONVOLUTIONS or func in _TRANSPOSED:
        return _CONVOLUTION, _CONV_BACKWARD
    if func is _ATTENTION:
        return _FLASH, _FLASH_BACKWARD
    if func in (_MATMUL, _EINSUM):
        return product, product
    return func, _BMM if func in (_BMM, _BADDBMM) else _MM


def _backward_flop(func: OpOverloadPacket, args: tuple, out_shape: Sequence[int], forward: int) -> int:
    """Flops of the gradients of those arguments that need one."""
    if func is _ATTENTION:
        query, key, value = (t.shape for t in args[:3])
        return 2 * math.prod(query[:-1]) * key[-2] * (3 * query[-1] + 2 * value[-1])  # the scores are computed again
    tensors = args[1] if func is _EINSUM else args
    tensors = tensors[1:3] if func in (_ADDMM, _BADDBMM) else tensors[:2] if func is not _EINSUM else tensors
    needed = [isinstance(t, Tensor) and t.requires_grad for t in tensors]
    if func not in _CONVOLUTIONS and func not in _TRANSPOSED:
        return forward * sum(needed)
    x, w = (t.shape for t in tensors)
    x, g = ((1, *s) if len(s) < len(w) else s for s in (x, out_shape))
    a, b = (g, x) if func in _TRANSPOSED else (x, g)
    of_weight = 2 * math.prod(w[2:]) * a[1] * math.prod(b)  # as torch counts: all pairs of channels, whatever the groups
    return forward * needed[0] + of_weight * needed[1]


class FlopCounterMode:
    """Counts the operations of its block, in all and for each module that runs; shows a table at the end.

    The backward pass counts when it runs inside the block.

    Args:
        mods: not needed.
        depth: how deep modules are shown.
        display: show the table.
        custom_mapping: further formulas.

    Limits: the gradient of a gradient is not counted; attention counts as torch's kernels for GPUs do.
    """

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: dict[Any, Any] | None = None) -> None:
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth = depth
        self.display = display
        own = {key: f if getattr(f, "_get_raw", False) else _on_shapes(f) for key, f in (custom_mapping or {}).items()}
        self.flop_registry: dict[Any, Callable] = {**flop_registry, **own}
        self.mod_tracker = ModuleTracker()
        self.mode: _Counting | None = None

    def get_total_flops(self) -> int:
        """The operations of the block."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """The operations of each module (``Global``: all) and operator."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """A table of modules and operators."""
        depth = depth or self.depth or 999999
        total = self.get_total_flops()
        power = max(0, min(4, (len(str(total)) - 2) // 3))

        def row(title: str, flops: int) -> tuple[str, str, str]:
            share = f"{flops / total:.2%}" if total else "0%"
            return title, f"{flops / 1000**power:.3f}{'?KMBT'[power]}" if power else str(flops), share

        def rows_of(module: str, indent: int) -> list[tuple[str, str, str]]:
            counts = self.flop_counts[module]
            padding = " " * indent
            return [row(padding + module, sum(counts.values())), *(row(f"{padding} - {name}", n) for name, n in counts.items())]

        shown = [m for m in sorted(self.flop_counts) if m != "Global" and m.count(".") < depth]
        rows = [r for m in shown for r in rows_of(m, m.count("."))]
        if "Global" in self.flop_counts and not any(sum(self.flop_counts[m].values()) >= total for m in shown):
            rows = [*rows_of("Global", 0), *((" " + title, flops, share) for title, flops, share in rows)]
        rows = rows or [("Global", "0", "0%")]
        header = ("Module", "FLOP", "% Total")
        widths = [max(len(r[k]) + (2 if r is header else 0) for r in [header, *rows]) for k in range(3)]
        lines = [header, tuple("-" * w for w in widths), *rows]
        return "\n".join(f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}".rstrip() for a, b, c in lines)

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode = _Counting(self)
        self.mode.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        assert self.mode is not None
        self.mode.__exit__(*error)
        self.mode = None
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def _count(self, modules: set[str], name: Any, flops: int) -> None:
        if flops:
            for module in modules:
                self.flop_counts[module][name] += flops


class _Counting(TorchDispatchMode):
    def __init__(self, counter: FlopCounterMode) -> None:
        self.counter = counter

    def __torch_dispatch__(self, func: Any, types: Sequence[type], args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        counter, packet = self.counter, func.overloadpacket
        formula = counter.flop_registry.get(packet)
        if formula is None:
            return out
        flops, modules = formula(*args, **kwargs, out_val=out), set(counter.mod_tracker.parents)
        if formula is not flop_registry.get(packet) or packet not in _OWN:
            counter._count(modules, packet, flops)
            return out
        forward, backward = _names(packet, args, out)
        counter._count(modules, forward, flops)
        if out.grad_fn is not None:
            later = _backward_flop(packet, args, out.shape, flops)

            def on_backward(_: Any) -> None:
                if counter.mode is self:
                    counter._count(modules, backward, later)

            out.grad_fn.register_prehook(on_backward)
        return out


_OWN = frozenset(flop_registry)
