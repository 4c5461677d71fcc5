"""``torch.utils.serialization``: the settings of saving and loading."""

from . import config

__all__ = ["config"]
