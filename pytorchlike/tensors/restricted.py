"""Views that must not follow in-place writes on the tape, by how they were made; the flags of `Tensor` for them, and torch's texts.

torch calls it the creation meta: a view may be one of several results of one operator, or made under ``no_grad``, or returned by a user's
``autograd.Function``.  The latest of these in a chain of views decides.
"""

from __future__ import annotations

from .tape import Edge, short_name

__all__ = ["CUSTOM_VIEW", "INFERENCE", "MULTI_OUTPUT_VIEW", "NO_GRAD_VIEW", "RESTRICTED", "STALE_VIEW", "UNTRACKED", "VERSION_SHIFT", "refusal"]

#: ``Tensor._flags``: a view that is one of several results of one view operator; a view made under no_grad; writes are not tracked; made in
#: inference mode; a view that a user's Function returned; a restricted view whose base was written to.
MULTI_OUTPUT_VIEW, NO_GRAD_VIEW, UNTRACKED, INFERENCE, CUSTOM_VIEW, STALE_VIEW = 1, 2, 4, 8, 16, 32
RESTRICTED = MULTI_OUTPUT_VIEW | NO_GRAD_VIEW | CUSTOM_VIEW
#: Above the flags of a restricted view stands the storage's tracked version at which it was made.
VERSION_SHIFT = 8

_IN_NO_GRAD = (
    " no_grad mode and {what} modified inplace with grad mode enabled. Given that this use case is ambiguous and error-prone, it is forbidden. You "
    "can clarify your code by moving both the view and the inplace either both inside the no_grad block (if you don't want the inplace to be "
    "tracked) or both outside (if you want the inplace to be tracked)."
)
_OF_SEVERAL = (
    " This view is the output of a function that returns multiple views. Such functions do not allow the output views to be modified inplace. You "
    "should replace the inplace operation by an out-of-place one."
)
_OF_A_FUNCTION = (
    " This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to handle view+inplace would "
    "override the custom backward associated with the custom Function, leading to incorrect gradients. This behavior is forbidden. You can fix "
    "this by cloning the output of the custom Function."
)


def refusal(flags: int, edge: Edge | None, *, is_base: bool) -> str:
    """Why a write is refused, torch's text.

    Args:
        flags: of the view.
        edge: its place on the tape.
        is_base: it is the view's base (or another view of it) that was written to.
    """
    what = "its base or another view of its base has been" if is_base else "is being"
    output = "" if edge is None else f"Output {edge[1]} of {short_name(edge[0].name())} is a view"
    if flags & NO_GRAD_VIEW:
        return (f"{output} of a view which was created in" if output else "A view was created in") + _IN_NO_GRAD.format(what=what)
    reason = _OF_A_FUNCTION if flags & CUSTOM_VIEW else _OF_SEVERAL
    if not output:
        return f"A view was created in no_grad mode and {what} modified inplace with grad mode enabled.{reason}"
    return f"{output} and {what} modified inplace.{reason}"
