"""What the programs of these tests compute with: few shapes, so that little is compiled."""

from __future__ import annotations

from typing import Any

ROWS = [[1.8, 0.4, -1.0, 2.2], [-0.5, -1.0, 0.9, -0.2], [-0.1, 0.5, 0.1, 1.5]]
OTHERS = [[0.8, 0.1, 0.4, 0.3], [1.5, -0.2, 0.3, -0.9], [-2.6, 0.7, 0.9, -0.7]]
VECTOR = [2.3, -1.5, 0.1, -0.2]


def rows(torch: Any) -> Any:
    return torch.tensor(ROWS)


def others(torch: Any) -> Any:
    return torch.tensor(OTHERS)


def vector(torch: Any) -> Any:
    return torch.tensor(VECTOR)


def wave(x: Any) -> Any:
    """A function of one number with derivatives of all orders."""
    return (x.sin() * x * x).sum()
