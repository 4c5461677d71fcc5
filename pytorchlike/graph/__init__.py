"""Recording operators in a trace and running it as one XLA program; `explain` tells what was traced, compiled and why it ran."""

from .counters import explain, reset_counters
from .recorder import flush_all

__all__ = ["explain", "flush_all", "reset_counters"]
