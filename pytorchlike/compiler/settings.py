"""What may be set about compilation: `config`, and the stance."""

from __future__ import annotations

__all__ = ["Config", "config", "exporting", "stance"]


class Config:
    """torch._dynamo.config, as far as it means something here.

    Attributes:
        cache_size_limit: captured calls a function may have for the same dynamic sizes; more run without compilation.
        accumulated_recompile_limit: captured calls a function may have at all.
        automatic_dynamic_shapes: a size that was seen to vary is dynamic from then on (compiler/sizes.py).
        error_on_recompile: raise where a function would be captured again.
        suppress_errors: accepted; capturing never fails a call that works without it.
    """

    def __init__(self) -> None:
        self.cache_size_limit = 8
        self.accumulated_recompile_limit = 256
        self.automatic_dynamic_shapes = True
        self.error_on_recompile = False
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

    @property
    def accumulated_cache_size_limit(self) -> int:
        """torch's older name of ``accumulated_recompile_limit``."""
        return self.accumulated_recompile_limit

    @accumulated_cache_size_limit.setter
    def accumulated_cache_size_limit(self, value: int) -> None:
        self.accumulated_recompile_limit = value


config = Config()
#: default, force_eager, eager_on_recompile or fail_on_recompile; see `compiler.set_stance`.
stance = "default"
#: Whether what ends a graph is an error; see `torch._dynamo.error_on_graph_break`.
error_on_graph_break = False
#: How many exports (export/recording.py) are under way.
exporting = 0
