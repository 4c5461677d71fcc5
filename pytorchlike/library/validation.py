"""What schemas of operators tagged ``torch.Tag.inplace`` and ``torch.Tag.out`` have to look like."""

from __future__ import annotations

from typing import NoReturn

from .schema import Argument, FunctionSchema

__all__ = ["validate_inplace_schema", "validate_out_schema"]


def validate_out_schema(schema: FunctionSchema) -> None:
    """An operator that writes into keyword arguments returns them.

    Raises:
        ValueError: it does not, torch's texts.
    """

    def refuse(what: str) -> NoReturn:
        raise ValueError(f"{what}. Got: {schema}")

    mutable = schema.mutated
    if not mutable:
        refuse("Schema tagged with torch.Tag.out must have at least one mutable argument")
    if positional := [a.name for a in mutable if not a.kwarg_only]:
        refuse(
            "Schema tagged with torch.Tag.out requires all mutable arguments to be keyword-only (after the *). Found mutable positional args: "
            f"{positional}"
        )
    if others := [a.name for a in mutable if a.type.plain != "Tensor"]:
        refuse(f"Schema tagged with torch.Tag.out only supports Tensor mutable arguments. Found unsupported mutable args: {others}")
    if len(schema.returns) != len(mutable):
        refuse(
            f"Schema tagged with torch.Tag.out must return all mutable arguments (got {len(mutable)} mutable args but {len(schema.returns)} returns)"
        )
    for number, (result, argument) in enumerate(zip(schema.returns, mutable)):
        start = f"Return {number} of schema tagged with torch.Tag.out must "
        assert argument.alias_info is not None
        if result.alias_info is None:
            refuse(f"{start}alias mutable arg '{argument.name}'")
        if not result.alias_info.is_write:
            refuse(f"{start}be a mutable alias (e.g., Tensor(a!), not Tensor(a)) of arg '{argument.name}'")
        before, own = set(result.alias_info.before_set), set(argument.alias_info.before_set)
        if before != own:
            refuse(f"{start}alias mutable arg '{argument.name}' (return aliases {before} but arg aliases {own})")


def validate_inplace_schema(schema: FunctionSchema) -> None:
    """An operator that works in place writes to its first argument, and returns it.

    Raises:
        ValueError: it does not, torch's texts.
    """

    def refuse(what: str) -> NoReturn:
        raise ValueError(f"Schema tagged with torch.Tag.inplace {what}. Got: {schema}")

    if not schema.arguments or schema.arguments[0].kwarg_only:
        refuse("must have at least one positional argument")
    first = schema.arguments[0]
    if first.alias_info is None or not first.alias_info.is_write:
        refuse("requires the first positional argument to be mutable (e.g., Tensor(a!))")
    if first.type.plain != "Tensor":
        refuse(f"requires the first positional argument to be a Tensor. Got type '{first.type}' for arg '{first.name}'")
    if len(schema.returns) != 1:
        refuse(f"must return exactly one value (the first argument). Got {len(schema.returns)} returns")
    result: Argument = schema.returns[0]
    start = "must return the first mutable argument (return "
    if result.type.plain != "Tensor":
        refuse(f"{start}must be a Tensor, got type '{result.type}')")
    if result.alias_info is None:
        refuse(f"{start}must alias the first argument)")
    if not result.alias_info.is_write:
        refuse(f"{start}must be a mutable alias, e.g., Tensor(a!))")
    if result.alias_info.before_set != first.alias_info.before_set:
        refuse(f"{start}aliases {set(result.alias_info.before_set)} but first arg aliases {set(first.alias_info.before_set)})")
    if others := [a.name for a in schema.mutated[1:]]:
        refuse(f"must only mutate the first positional argument. Found additional mutable args: {others}")
