"""``torch.return_types``: the classes of results with names, made when they are asked for."""

from __future__ import annotations

from .dispatch.call import named_results
from .dispatch.overloads import packet_of
from .dispatch.registry import OPERATORS
from .dispatch.schema import Schema

__all__: list[str] = []


def __getattr__(name: str) -> type:
    try:
        packet = packet_of("aten", name)
    except AttributeError:
        packet = None
    for overload in packet.overloads() if packet is not None else ():
        schema = getattr(packet, overload)._schema
        if schema.result_names:
            return named_results(schema)
    raise AttributeError(f"module 'torch.return_types' has no attribute '{name}'")


def __dir__() -> list[str]:
    ours = [o for o in OPERATORS.values() if isinstance(o.schema, Schema)]  # users' operators have torch's schemas
    return sorted({*__all__, *(o.name for o in ours if not o.name.startswith("_") and o.schema.result_names)})
