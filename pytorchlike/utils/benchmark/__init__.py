"""``torch.utils.benchmark``: how long statements take."""

from .compare import Colorize, Compare
from .measurement import Measurement, TaskSpec, select_unit, trim_sigfig, unit_to_english
from .timer import Language, Timer, timer

__all__ = ["Colorize", "Compare", "Language", "Measurement", "TaskSpec", "Timer", "select_unit", "timer", "trim_sigfig", "unit_to_english"]
