"""What several files of programs share."""

from __future__ import annotations

from collections.abc import Callable


def collected() -> tuple[list[Callable], Callable]:
    """The list of a file's programs, and the decorator that puts one in."""
    programs: list[Callable] = []

    def program(function):
        programs.append(function)
        return function

    return programs, program


def leaf(torch, *numbers, **options):
    return torch.tensor(numbers or (1.0, 2.0), requires_grad=True, **options)


def function_of(torch, forward, backward, **members):
    """A Function class of two functions."""
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)} | members
    return type("Custom", (torch.autograd.Function,), members)
