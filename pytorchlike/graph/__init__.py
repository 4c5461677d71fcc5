"""Recording operators in a trace and running it as one XLA program; `explain` tells what was traced, compiled and why it ran."""

from .counters import explain, reset_counters
from .recorder import flush_all, forget_programs

__all__ = ["explain", "flush_all", "forget_programs", "reset_counters"]
