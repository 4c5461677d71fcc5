"""``torch._dynamo.exc``: the errors of compilation."""

from typing import Any

from ..compiler.compiled import BackendCompilerFailed, FailOnRecompileLimitHit, RecompileError, Unsupported

__all__ = [
    "BackendCompilerFailed", "FailOnRecompileLimitHit", "InternalTorchDynamoError", "RecompileError", "TorchDynamoException", "TorchRuntimeError", "UncapturedHigherOrderOpError", "Unsupported", "UserError", "UserErrorType",  # noqa: F822 - below
]  # fmt: skip

#: Every error of compilation.
TorchDynamoException = Unsupported


class InternalTorchDynamoError(Unsupported):
    """torch's error inside its compiler; nothing raises it here."""


class TorchRuntimeError(Unsupported):
    """torch's error of an operator while it is compiled; nothing raises it here."""


class UncapturedHigherOrderOpError(Unsupported):
    """Control flow whose parts cannot be made one program."""


def __getattr__(name: str) -> Any:
    """``UserError`` and its kinds, which are those of `export`: a tenth of a second to import."""
    if name not in ("UserError", "UserErrorType"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ..export import errors

    return getattr(errors, name)
