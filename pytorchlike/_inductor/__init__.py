"""``torch._inductor``: XLA compiles, so there is only its `config`, to which programs assign."""

from . import config

__all__ = ["config"]
