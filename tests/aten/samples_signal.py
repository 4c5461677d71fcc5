"""Calls of signal windows, compared with torch's."""

from .sample import Sample

_TWO = ("hann", "hamming", "blackman", "nuttall", "bartlett", "cosine", "exponential", "gaussian", "kaiser")

SAMPLES = [
    *[Sample(f"signal.windows.{name}", 6) for name in _TWO],
    *[Sample(f"signal.windows.{name}", 5, sym=False, dtype="float64") for name in _TWO],
    *[Sample(f"signal.windows.{name}", 0) for name in _TWO],
    Sample("signal.windows.general_cosine", 6, a=[0.1, 0.4, 0.3]),
    Sample("signal.windows.general_cosine", 6, a=[]),
    Sample("signal.windows.general_cosine", 6, a=2),
    Sample("signal.windows.general_hamming", 6, alpha=0.3, sym=False),
    Sample("signal.windows.exponential", 6, tau=0.5, center=1.0, sym=False),
    Sample("signal.windows.exponential", 6, center=1.0),
    Sample("signal.windows.gaussian", 6, std=-1.0),
    Sample("signal.windows.kaiser", 6, beta=-1.0),
    Sample("signal.windows.hann", -1),
    Sample("signal.windows.hann", 3, dtype="int64"),
]
