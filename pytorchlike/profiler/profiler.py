"""``torch.profiler.profile``: a profiler that follows a schedule, and hands what it saw to a function."""

from __future__ import annotations

import contextlib
import enum
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from ..autograd.profiler import Recording, warn_of_ignored
from ..autograd.profiler_util import EventList

__all__ = ["ProfilerAction", "ProfilerActivity", "profile", "schedule", "supported_activities", "tensorboard_trace_handler"]


class ProfilerActivity(enum.Enum):
    """What is watched; all of it always is, wherever it runs."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """What can be watched here."""
    import jax

    found = {ProfilerActivity.CPU}
    if any(d.platform in ("gpu", "cuda", "rocm") for d in jax.devices()):
        found.add(ProfilerActivity.CUDA)
    return found


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0) -> Callable[[int], ProfilerAction]:
    """A function from steps to actions: ``skip_first`` steps of nothing, then cycles of waiting, warming up and recording.

    Args:
        repeat: how many cycles; 0 for all time.
        skip_first_wait: whether (1) the first cycle begins with warming up.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError("Invalid profiler schedule arguments")
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step = step - skip_first + (wait if skip_first_wait else 0)
        length = wait + warmup + active
        if repeat > 0 and step // length >= repeat:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False) -> Callable:
    """A function for ``on_trace_ready`` that keeps the timeline of JAX's profiler in a folder where TensorBoard finds it.

    Args:
        worker_name: a folder below that for this process.
    """

    def handle(profiler: profile) -> None:
        profiler.keep_timeline(os.path.join(dir_name, worker_name) if worker_name else dir_name)

    handle.needs_timeline = True  # type: ignore[attr-defined]
    return handle


_INEFFECTIVE = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")


class profile:  # noqa: N801 - torch's name
    """A profiler: notes programs and operators while it records, and lets a function see them at the end of each cycle.

    Args:
        activities: accepted; everything is watched.
        schedule: what to do in which step, from `schedule`; by default all is recorded.
        on_trace_ready: called with the profiler when a recording is complete; `tensorboard_trace_handler` makes one.
        record_shapes, profile_memory, with_stack, with_flops, with_modules: have no effect; a warning says so.
    """

    __module__ = "torch.profiler.profiler"

    def __init__(self, *, activities: Iterable[Any] | None = None, schedule: Callable[[int], ProfilerAction] | None = None,
                 on_trace_ready: Callable[[profile], Any] | None = None, acc_events: bool = False, use_cuda: bool | None = None,
                 experimental_config: Any = None, execution_trace_observer: Any = None, **options: Any) -> None:  # fmt: skip
        if execution_trace_observer is not None:
            raise NotImplementedError("torch.profiler.profile: execution_trace_observer is not supported")
        unknown = [name for name in options if name not in _INEFFECTIVE]
        if unknown:
            raise TypeError(f"profile.__init__() got an unexpected keyword argument '{unknown[0]}'")
        warn_of_ignored("torch.profiler.profile", options)
        self.activities = set(activities or ())
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = ProfilerAction.NONE
        self.recording: Recording | None = None
        self._timeline: str | None = None
        self._step_block: Any = None

    # -------------------------------------------------------------------------------------------------------- running
    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with the first step."""
        self._change_to(self.schedule(self.step_num))

    def step(self) -> None:
        """The next step begins."""
        previous, self.step_num = self.current_action, self.step_num + 1
        if previous is ProfilerAction.RECORD_AND_SAVE:
            self._complete()
        self._change_to(self.schedule(self.step_num))

    def stop(self) -> None:
        """End; a recording that is under way is complete now."""
        if self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._complete()
        elif self.recording is not None:
            self.recording.stop()
        self.current_action = ProfilerAction.NONE

    def _change_to(self, action: ProfilerAction) -> None:
        records = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if action in records and self.current_action not in records or action in records and self.current_action is ProfilerAction.RECORD_AND_SAVE:
            if self.recording is not None:
                self.recording.stop()
            if getattr(self.on_trace_ready, "needs_timeline", False):
                import jax

                self._timeline = tempfile.mkdtemp(prefix="pytorchlike-profile-")
                jax.profiler.start_trace(self._timeline)
            self.recording = Recording()
            self.recording.start()
        elif action is ProfilerAction.WARMUP:  # programs are cut as they will be while recording
            self.recording = Recording()
            self.recording.start()
        self.current_action = action

    def _complete(self) -> None:
        assert self.recording is not None
        self.recording.stop()
        if self._timeline is not None:
            import jax

            jax.profiler.stop_trace()
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)
        if self._timeline is not None:
            shutil.rmtree(self._timeline, ignore_errors=True)
            self._timeline = None

    # -------------------------------------------------------------------------------------------------------- what was seen
    def keep_timeline(self, folder: str) -> None:
        """Copy JAX's timeline into a folder.

        Raises:
            RuntimeError: none was made: it needs a handler of `tensorboard_trace_handler`.
        """
        if self._timeline is None:
            raise RuntimeError("there is no timeline: pass on_trace_ready=torch.profiler.tensorboard_trace_handler(folder)")
        with contextlib.suppress(FileExistsError):
            os.makedirs(folder)
        shutil.copytree(self._timeline, folder, dirs_exist_ok=True)

    def events(self) -> EventList:
        """What ran.

        Raises:
            AssertionError: nothing was recorded.
        """
        if self.recording is None:
            raise AssertionError("Profiler must be initialized before getting events")
        return self.recording.events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False) -> EventList:
        """The sums by name."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a file for ``chrome://tracing``."""
        self.events().export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Raises:
        NotImplementedError: stacks are not recorded.
        """
        raise NotImplementedError("torch.profiler.profile.export_stacks: stacks are not recorded")
