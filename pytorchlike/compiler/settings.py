"""What may be set about compilation: `config`, and the stance."""

from __future__ import annotations

__all__ = ["Config", "config", "exporting", "stance"]


class Config:
    """torch._dynamo.config, as far as it means something here.

    Attributes:
        cache_size_limit: captured calls a function may have; more run without compilation.
        suppress_errors: accepted; capturing never fails a call that works without it.
    """

    def __init__(self) -> None:
        self.cache_size_limit = 8
        self.suppress_errors = False
        self.verbose = False
        self.disable = False

    @property
    def recompile_limit(self) -> int:
        """torch's newer name of ``cache_size_limit``."""
        return self.cache_size_limit

    @recompile_limit.setter
    def recompile_limit(self, value: int) -> None:
        self.cache_size_limit = value


config = Config()
#: default, force_eager, eager_on_recompile or fail_on_recompile; see `compiler.set_stance`.
stance = "default"
#: How many exports (export/recording.py) are under way.
exporting = 0
