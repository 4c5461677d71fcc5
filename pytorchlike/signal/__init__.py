"""torch.signal: signal processing."""

from . import windows
