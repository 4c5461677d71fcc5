"""``torch._dynamo.exc``: the errors of compilation."""

from ..compiler.compiled import BackendCompilerFailed, FailOnRecompileLimitHit, RecompileError, Unsupported

__all__ = [
    "BackendCompilerFailed", "FailOnRecompileLimitHit", "InternalTorchDynamoError", "RecompileError", "TorchDynamoException", "TorchRuntimeError", "UncapturedHigherOrderOpError", "Unsupported", "UserError",
]  # fmt: skip

#: Every error of compilation.
TorchDynamoException = Unsupported


class InternalTorchDynamoError(Unsupported):
    """torch's error inside its compiler; nothing raises it here."""


class TorchRuntimeError(Unsupported):
    """torch's error of an operator while it is compiled; nothing raises it here."""


class UserError(Unsupported):
    """A compiled or exported function was used in a way that cannot be."""


class UncapturedHigherOrderOpError(Unsupported):
    """Control flow whose parts cannot be made one program."""
