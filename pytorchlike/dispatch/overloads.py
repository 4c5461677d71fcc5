"""Operators as ``torch.ops.aten`` names them: packets (``aten.add``) of overloads (``aten.add.Tensor``)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from . import registry
from .registry import Composite, Operator, ViewOperator
from .schema import Schema

__all__ = ["OpOverload", "OpOverloadPacket", "forget", "overload_of", "packet_of"]

#: (operator, form) -> function of the operator's arguments; generate.py and forms.py fill it.
callers: dict[str, Callable] = {}


class OpOverload:
    """One overload of an operator: ``torch.ops.aten.add.Tensor``.

    Args:
        declared: the operator.
        form: ``""``, ``"_"`` for the in-place form, ``"out"`` for the one that writes into ``out=``.
    """

    tags: Sequence = ()
    #: What a call does, as far as it can change, is told to captured calls (`library.operators.Kernels.changed`): they need not look into it.
    captured_by_identity = True

    def __init__(self, declared: Operator | ViewOperator | Composite, form: str = "") -> None:
        self.declared = declared
        self.form = form
        self.namespace = declared.name.rpartition("::")[0] or "aten"
        self._opname = _own_name(declared) + ("_" if form == "_" else "")
        overload = "" if declared.schema.overload in _DEFAULTS else declared.schema.overload
        for prefix in _PREFIXED:  # ``qr.linalg`` is ``linalg_qr``, ``norm.linalg_ord_str`` is ``linalg_norm.ord_str``
            if self._opname.startswith(f"{prefix}_"):
                overload = overload.removeprefix(prefix).removeprefix("_")
        self._overloadname = ("out" if form == "out" else overload) or "default"
        self.__name__ = f"{self._opname}.{self._overloadname}"
        self.__qualname__ = self.__name__
        self.__module__ = f"torch._ops.{self.namespace}"

    @property
    def _schema(self) -> Schema:
        return self.declared.schema

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """The packet this overload belongs to."""
        return packet_of(self.namespace, self._opname)

    @property
    def is_view(self) -> bool:
        """Whether the result shares the input's memory."""
        return isinstance(self.declared, ViewOperator)

    @property
    def _name(self) -> str:
        return self.name()

    def name(self) -> str:
        """The qualified name, ``aten::add.Tensor``."""
        overload = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self.namespace}::{self._opname}{overload}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.form == "_":
            return callers["_"](self.declared)(*args, **kwargs)
        if self.form == "out":
            args, kwargs = self._with_out(args, kwargs)
            if registry.OUT not in self.declared.forms:
                return callers["out"](self.declared, args, kwargs)
        return self._returned(self.declared.function(*args, **kwargs))

    def _returned(self, result: Any) -> Any:
        """What aten's operator returns of what the public function does: lists instead of tuples, nothing if the schema says so."""
        returns = self.declared.schema.returns
        return None if not returns else list(result) if returns[0] == "Tensor[]" and isinstance(result, tuple) else result

    def _with_out(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """The arguments with the targets, which aten names one by one (``values=``, ``indices=``), as ``out=``."""
        names = {a.name for a in self.declared.schema.arguments} | {"out", "input"}
        targets = tuple([value for name, value in kwargs.items() if name not in names])
        if not targets:
            return args, kwargs
        rest = {name: value for name, value in kwargs.items() if name in names}
        return args, {**rest, "out": targets if len(targets) > 1 else targets[0]}

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    def __reduce__(self) -> tuple:
        return overload_of, (self.declared, self.form)

    def __deepcopy__(self, memo: dict) -> OpOverload:
        return self


def overload_of(declared: Operator | ViewOperator | Composite, form: str = "") -> OpOverload:
    """The one `OpOverload` of an operator's form."""
    return _overload_of(declared, form)


@functools.cache
def _overload_of(declared: Operator | ViewOperator | Composite, form: str) -> OpOverload:
    return (declared.overload_class or OpOverload)(declared, form)


class OpOverloadPacket:
    """The overloads of one name: ``torch.ops.aten.add``; calling it picks the overload that the arguments fit."""

    captured_by_identity = True

    def __init__(self, namespace: str, name: str, found: dict[str, OpOverload]) -> None:
        self._qualified_op_name = f"{namespace}::{name}"
        self.__name__ = name
        self.__module__ = f"torch._ops.{namespace}"
        self._namespace = namespace
        self._found = found

    def refresh(self) -> None:
        """Look for its overloads again, after one was declared."""
        self._found.update(_overloads(self._namespace, self.__name__))

    def overloads(self) -> list[str]:
        """The overloads' names."""
        return list(self._found)

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__"):
            raise AttributeError(name)
        found = self._found.get(name) or self._served_by(name)
        if found is None:
            raise AttributeError(f"The underlying op of '{self._namespace}.{self.__name__}' has no overload name '{name}'")
        return found

    def _served_by(self, name: str) -> OpOverload | None:
        """The overload that does the work of one which torch declares apart."""
        computing = {n: o for n, o in self._found.items() if o.form != "out"}
        base: OpOverload | None
        if name in _WITH_TARGETS:
            base = computing.get(_WITH_TARGETS[name]) or next(iter(computing.values()))
            return None if base.is_view or base.form else overload_of(base.declared, "out")
        if name == "out" or name.endswith("_out"):
            base = self._found.get(name.removesuffix("_out")) if name != "out" else None
            base = base or next(iter(computing.values()))
            return None if base.is_view or base.form else overload_of(base.declared, "out")
        if name not in _SAME_DECLARATION:
            return None
        if len(computing) == 1 or name == "Scalar":
            return next(iter(computing.values()))
        parts = name.replace("ScalarOpt", "Scalar").split("_")  # ``low_generator`` is ``low`` with one more argument
        return next((computing[n] for k in range(len(parts), 0, -1) if (n := "_".join(parts[:k])) in computing), computing.get("default"))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        overloads = [o for o in self._found.values() if o.form != "out"]
        if overloads and overloads[0].declared.overload_class is not None:
            return callers["users"](self.__name__, overloads, args, kwargs)
        if len(overloads) == 1:
            return overloads[0](*args, **kwargs)
        return overloads[0]._returned(callers["packet"](self.__name__, overloads)(*args, **kwargs))

    def __dir__(self) -> list[str]:
        return ["overloads", *self._found]

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._namespace}.{self.__name__}')>"

    def __str__(self) -> str:
        return f"{self._namespace}.{self.__name__}"


#: Overloads that torch declares apart and one declaration of ours serves: a number stands for a tensor, a dim list for a dim, an argument
#: (a generator, say) is optional.
_SAME_DECLARATION = frozenset(
    "default Tensor Scalar dim dim_IntList int Tensor_Scalar Tensor_Tensor Scalar_Tensor Scalar_Other Scalar_Self IntList "
    "ScalarOpt_dim ScalarOpt_dim_dtype ScalarOpt_dtype TensorList_bins array beta bin_ct bins_tensor center correction decimals dtype generator indexing int_Scalar int_bins low_dtype "
    "low_generator low_generator_dtype m memory_format n_scalar other_scalar padding_idx periodic periodic_alpha periodic_alpha_beta "
    "scalararray scalarint scalarrayarray scalarrayint self_scalar stable start step sublist tensorarray tensorarrayint x_scalar".split()
)
#: Names of overloads that write into targets, mostly that of the first, and the overload that computes the same.
_WITH_TARGETS = {
    "dim_values": "dim", "dim_max": "dim", "dim_min": "dim", "out_mode": "Tensor_mode", "out_tol_tensor": "tol_tensor", "out_rcond_tensor": "rcond_tensor",
    "OutTensor": "Tensor", "OutScalar_Self": "Scalar_Self", "OutScalar_Other": "Scalar_Other",
    **dict.fromkeys(
        ("values", "values_stable", "U", "Q", "X", "L", "a", "eigvals", "eigenvalues", "inverse", "sign", "result", "output", "grad_input"), "default"
    ),
}  # fmt: skip
#: Overloads that are aten's default where a function of ``nn.functional`` has the name, but other arguments.
_DEFAULTS = frozenset({"native", "rows", "both"})
#: Public namespaces whose operators aten knows by names with a prefix, and those it does not know.
_PREFIXED = ("linalg", "special", "fft")
_UNKNOWN = frozenset({"masked", "signal.windows"})


def _own_name(declared: Any) -> str:
    """The name aten has for an operator: ``linalg_qr`` for what is public as ``linalg.qr`` only."""
    name = declared.name.rpartition("::")[2]
    return f"{declared.namespaces[0]}_{name}" if declared.namespaces and declared.namespaces[0] in _PREFIXED else name


def _aten_names(declared: Any) -> set[str]:
    """All names by which ``torch.ops.aten`` finds an operator."""
    names = {declared.name} if not declared.namespaces else set()
    for public in (declared.name, *[a for a in declared.aliases if "." not in a]):
        names |= {f"{n}_{public}" if n in _PREFIXED else public for n in declared.namespaces if n not in _UNKNOWN}
    for alias in declared.aliases:
        namespace, _, public = alias.rpartition(".")
        if namespace in _PREFIXED:
            names.add(f"{namespace}_{public}")
    return names


_packets: dict[tuple[str, str], OpOverloadPacket] = {}


def packet_of(namespace: str, name: str) -> OpOverloadPacket:
    """The packet ``torch.ops.namespace.name``.

    Raises:
        AttributeError: no operator has this name.
    """
    known = _packets.get((namespace, name))
    if known is not None:
        return known
    found = _overloads(namespace, name)
    if not found:
        raise AttributeError(f"'_OpNamespace' '{namespace}' object has no attribute '{name}'")
    return _packets.setdefault((namespace, name), OpOverloadPacket(namespace, name, found))


def forget(namespace: str, name: str) -> None:
    """Make no use of a packet any more, one of whose operators is gone."""
    _packets.pop((namespace, name), None)


def _overloads(namespace: str, name: str) -> dict[str, OpOverload]:
    """The overloads of a name, by their own names."""
    own = name if namespace == "aten" else f"{namespace}::{name}"
    forms = [("", own), *([("_", own[:-1])] if own.endswith("_") else [])]
    found: dict[str, OpOverload] = {}
    if namespace == "aten":  # these come first, so that they are what ``default`` means
        for default in sorted(_DEFAULTS):
            if (known := registry.OPERATORS.get(f"{own}.{default}")) is not None:
                found["default"] = overload_of(known)
    for form, wanted in forms:
        for declared in registry.OPERATORS.values():
            if wanted not in (_aten_names(declared) if namespace == "aten" else (declared.name,)):
                continue
            if form == "_" and registry.INPLACE not in declared.forms:
                continue
            overload = overload_of(declared, form)
            found.setdefault(overload._overloadname, overload)
            if form == "" and registry.OUT in declared.forms:
                found.setdefault("out", overload_of(declared, "out"))
    return found
