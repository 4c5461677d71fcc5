"""torch.utils.collect_env: what to state in a bug report.  ``python -m pytorchlike -m torch.utils.collect_env`` prints it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys

__all__ = ["get_env_info", "get_pretty_env_info", "main"]

_PACKAGES = ("jax", "jaxlib", "jax-cuda12-plugin", "jax-cuda13-plugin", "numpy", "ml_dtypes", "optax", "flax", "scipy")


def get_env_info() -> dict[str, str]:
    """Versions, operating system, processor and JAX's devices, by name."""
    import jax

    found = {
        "pytorchlike version": importlib.metadata.version("pytorchlike"), "OS": platform.platform(),
        "Python version": sys.version.replace("\n", " "), "CPU": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores",
        "JAX devices": ", ".join(f"{d.platform}:{d.id} {d.device_kind}" for d in jax.devices()),
    }  # fmt: skip
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found | {name: value for name, value in sorted(os.environ.items()) if name.startswith(("PYTORCHLIKE_", "JAX_", "XLA_"))}


def get_pretty_env_info() -> str:
    """The same as text."""
    return "\n".join(f"{name}: {value}" for name, value in get_env_info().items())


def main() -> None:
    """Print it."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
