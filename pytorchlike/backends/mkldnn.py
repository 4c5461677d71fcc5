"""``torch.backends.mkldnn``: switches are kept; XLA chooses its CPU kernels itself."""

from __future__ import annotations

import sys

from .switches import SwitchModule

enabled = True
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Always False."""
    return False


class _Mkldnn(SwitchModule):
    SWITCHES = ("enabled", "deterministic", "allow_tf32")


sys.modules[__name__].__class__ = _Mkldnn
