"""``torch._dynamo.exc``: the errors of compilation."""

from ..compiler.compiled import BackendCompilerFailed, FailOnRecompileLimitHit, RecompileError, Unsupported
from ..export.errors import UserError, UserErrorType

__all__ = [
    "BackendCompilerFailed", "FailOnRecompileLimitHit", "InternalTorchDynamoError", "RecompileError", "TorchDynamoException", "TorchRuntimeError", "UncapturedHigherOrderOpError", "Unsupported", "UserError", "UserErrorType",
]  # fmt: skip

#: Every error of compilation.
TorchDynamoException = Unsupported


class InternalTorchDynamoError(Unsupported):
    """torch's error inside its compiler; nothing raises it here."""


class TorchRuntimeError(Unsupported):
    """torch's error of an operator while it is compiled; nothing raises it here."""


class UncapturedHigherOrderOpError(Unsupported):
    """Control flow whose parts cannot be made one program."""
