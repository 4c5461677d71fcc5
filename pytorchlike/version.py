"""``torch.version``: the release whose behaviour is reproduced, and the toolkits behind the devices at hand."""

from __future__ import annotations

import re

from .torch_version import TorchVersion

__all__ = ["__version__", "debug", "git_version", "xpu"]

__version__ = TorchVersion("2.13.0+pytorchlike")
debug = False
git_version = "Unknown"
xpu = None


def _toolkit(name: str) -> str | None:
    """The version of CUDA or ROCm that JAX's GPU backend states, if it is that backend: ``cuda 12090`` -> ``12.9``."""
    from .core.device import device, device_count, jax_device

    if not device_count("cuda"):
        return None
    stated = re.search(rf"{name} (\d+)", jax_device(device("cuda", 0)).client.platform_version)
    if stated is None:
        return None
    number = int(stated[1])
    return f"{number // 1000}.{number % 1000 // 10}"


def __getattr__(name: str) -> str | None:
    # Asked for, not at import: the answer starts JAX's backends.
    if name in ("cuda", "hip"):
        return _toolkit({"cuda": "cuda", "hip": "rocm"}[name])
    raise AttributeError(f"module 'torch.version' has no attribute '{name}'")
