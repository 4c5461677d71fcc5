"""A line search for the strong Wolfe conditions (Nocedal and Wright, Numerical Optimization, algorithms 3.5 and 3.6) with cubic interpolation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Point", "strong_wolfe"]


class Point(NamedTuple):
    """A step along the direction: its size, the loss there, the gradient, the slope of the loss along the direction."""

    step: float
    loss: float
    gradient: Any
    slope: float


def _cubic_minimum(a: Point, b: Point, low: float, high: float) -> float:
    """Where the cubic through two points with these slopes is smallest, between two bounds; their middle if it has no minimum."""
    left, right = (a, b) if a.step <= b.step else (b, a)
    middle = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.step - b.step)
    square = middle**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2
    root = math.sqrt(square)
    curvature = right.slope - left.slope + 2 * root
    if curvature == 0:
        return (low + high) / 2
    return min(max(right.step - (right.step - left.step) * ((right.slope + root - middle) / curvature), low), high)


def _bracket(evaluate: Callable, start: Point, step: float, max_evaluations: int, c1: float, c2: float) -> tuple[list[Point], bool, int]:
    """Grow the step until a minimum along the direction is between two points, or one point will do.

    Returns:
        the points, whether the search is done, how many rounds it took.
    """
    previous, new = start, evaluate(step)
    rounds = 0
    while rounds < max_evaluations:
        if new.loss > start.loss + c1 * new.step * start.slope or (rounds > 1 and new.loss >= previous.loss):
            return [previous, new], False, rounds
        if abs(new.slope) <= -c2 * start.slope:
            return [new], True, rounds
        if new.slope >= 0:
            return [previous, new], False, rounds
        least, most = new.step + 0.01 * (new.step - previous.step), new.step * 10
        previous, new = new, evaluate(_cubic_minimum(previous, new, least, most))
        rounds += 1
    return [start, new], False, rounds


def strong_wolfe(
    evaluate: Callable[[float], Point], start: Point, step: float, largest: float, max_evaluations: int, c1: float = 1e-4, c2: float = 0.9,
    tolerance_change: float = 1e-9,
) -> tuple[Point, int]:  # fmt: skip
    """A point along the direction that satisfies the strong Wolfe conditions, or the best one found.

    Args:
        evaluate: the point for a step size.
        start: the point of step 0.
        step: the first size to try.
        largest: the direction's largest component.
        max_evaluations: how often the loss may be computed anew.

    Returns:
        The point, and how often the loss was computed.
    """
    points, done, rounds = _bracket(evaluate, start, step, max_evaluations, c1, c2)
    evaluations = 1 + rounds
    low = 0 if points[0].loss <= points[-1].loss else 1
    stalled = False
    while not done and rounds < max_evaluations:
        sizes = points[0].step, points[1].step
        if abs(sizes[1] - sizes[0]) * largest < tolerance_change:
            break
        smallest, biggest = min(sizes), max(sizes)
        at = _cubic_minimum(points[0], points[1], smallest, biggest)
        margin = 0.1 * (biggest - smallest)
        if min(biggest - at, at - smallest) < margin:  # too near an end: allowed once, then moved inwards
            if stalled or at >= biggest or at <= smallest:
                at = biggest - margin if abs(at - biggest) < abs(at - smallest) else smallest + margin
                stalled = False
            else:
                stalled = True
        else:
            stalled = False
        new = evaluate(at)
        evaluations += 1
        rounds += 1
        if new.loss > start.loss + c1 * new.step * start.slope or new.loss >= points[low].loss:
            points[1 - low] = new
            low = 0 if points[0].loss <= points[1].loss else 1
            continue
        if abs(new.slope) <= -c2 * start.slope:
            done = True
        elif new.slope * (points[1 - low].step - points[low].step) >= 0:
            points[1 - low] = points[low]
        points[low] = new
    return points[low], evaluations
