"""``TORCH_LOGS``: what compilation tells about itself, each artifact a logger of its own below ``torch._dynamo``."""

from __future__ import annotations

import logging
import os

__all__ = ["ARTIFACTS", "log", "set_logs"]

ARTIFACTS = ("recompiles", "graph_breaks", "guards", "graph_code")
_on: set[str] = set()


def set_logs(**artifacts: bool) -> None:
    """Switch artifacts on or off: ``recompiles``, ``graph_breaks``, ``guards``, ``graph_code``.

    Raises:
        ValueError: there is no such artifact.
    """
    for name, on in artifacts.items():
        if name not in ARTIFACTS:
            raise ValueError(f"unknown log artifact {name!r}; known are {', '.join(ARTIFACTS)}")
        (_on.add if on else _on.discard)(name)
        if on and not logging.getLogger("torch._dynamo").handlers:
            handler = logging.StreamHandler()
            handler.setFormatter(logging.Formatter("%(levelname).1s [%(name)s] %(message)s"))
            logging.getLogger("torch._dynamo").addHandler(handler)
            logging.getLogger("torch._dynamo").setLevel(logging.DEBUG)


def log(artifact: str, message: str, *arguments: object) -> None:
    """Tell something, if the artifact is on."""
    if artifact in _on:
        logging.getLogger(f"torch._dynamo.__{artifact}").debug(message, *arguments)


set_logs(**{name: True for name in os.environ.get("TORCH_LOGS", "").replace("+", "").split(",") if name in ARTIFACTS})
