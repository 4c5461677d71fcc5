"""`TorchVersion`, the string that ``torch.__version__`` is: it compares as a version with strings and tuples."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["TorchVersion"]

_FORM = re.compile(
    r"\s*v?(?P<release>\d+(?:\.\d+)*)(?:[-_.]?(?P<pre>a|b|c|rc|alpha|beta|pre|preview)[-_.]?(?P<pre_number>\d*))?"
    r"(?:[-_.]?post[-_.]?(?P<post>\d+))?(?:[-_.]?dev[-_.]?(?P<dev>\d*))?(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*",
    re.IGNORECASE,
)
_LETTER = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}


def _order(text: str) -> tuple | None:
    """The sort key of a version by PEP 440; None if the text is no version."""
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    release = [int(n) for n in found["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    letter = found["pre"] and _LETTER.get(found["pre"].lower(), found["pre"].lower())
    if letter:
        pre: tuple = (0, letter, int(found["pre_number"] or 0))
    else:  # a development release without a and b stands before all pre-releases
        pre = (-1,) if found["dev"] is not None and found["post"] is None else (1,)
    post = -1 if found["post"] is None else int(found["post"])
    dev = float("inf") if found["dev"] is None else int(found["dev"] or 0)
    local = (
        tuple((1, int(p), "") if p.isdigit() else (0, 0, p.lower()) for p in re.split("[-_.]", found["local"])) if found["local"] else ()
    )
    return tuple(release), pre, post, dev, local


def _text(other: Any) -> str | None:
    if isinstance(other, str):
        return other
    if isinstance(other, (tuple, list)):
        return ".".join(map(str, other))
    if type(other).__name__ == "Version":  # packaging's, which need not be installed
        return str(other)
    return None


class TorchVersion(str):
    """A version string: ``TorchVersion("2.13.0") >= (2, 1)``, ``> "2.9"``; what is no version compares as text."""

    __module__ = "torch.torch_version"

    def _compare(self, other: Any) -> int | None:
        text = _text(other)
        if text is None:
            return None
        mine, theirs = _order(str(self)), _order(text)
        if mine is None or theirs is None:
            return (str(self) > text) - (str(self) < text)
        return (mine > theirs) - (mine < theirs)

    def __eq__(self, other: object) -> bool:
        order = self._compare(other)
        return NotImplemented if order is None else order == 0

    def __ne__(self, other: object) -> bool:
        order = self._compare(other)
        return NotImplemented if order is None else order != 0

    def __lt__(self, other: Any) -> bool:
        order = self._compare(other)
        return NotImplemented if order is None else order < 0

    def __le__(self, other: Any) -> bool:
        order = self._compare(other)
        return NotImplemented if order is None else order <= 0

    def __gt__(self, other: Any) -> bool:
        order = self._compare(other)
        return NotImplemented if order is None else order > 0

    def __ge__(self, other: Any) -> bool:
        order = self._compare(other)
        return NotImplemented if order is None else order >= 0

    __hash__ = str.__hash__
