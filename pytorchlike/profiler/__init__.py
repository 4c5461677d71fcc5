"""torch.profiler: what runs, how often and how long; timelines by JAX's profiler."""

from ..autograd.profiler import record_function
from .profiler import ProfilerAction, ProfilerActivity, profile, schedule, supported_activities, tensorboard_trace_handler

__all__ = [
    "ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule", "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip
