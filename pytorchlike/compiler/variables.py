"""Floats in global variables and closures that change from call to call: a replay takes the one that it finds.

As with arguments (compiler/numbers.py), all code that ran must use the variable as an operand of ``+ - * /`` and nothing else, and each of these
operations must have put the float into the trace.  While the call is captured the variable holds a float object that nothing else is.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

from .numbers import Followed, operand_uses
from .varying import Varying

__all__ = ["FollowedVariable"]


class FollowedVariable(Varying):
    """One variable whose float varies, in one captured call.

    Args:
        holder: the dictionary of the globals, or the cell.
        key: the name in the dictionary; of a cell "cell_contents".
        name: as code calls it.
    """

    def __init__(self, holder: dict[str, Any] | types.CellType, key: str, name: str) -> None:
        self.holder, self.key, self.name = holder, key, name
        value = self._content()
        super().__init__({}, key, value)
        self.fails = type(value) is not float
        self.recognized = value if self.fails else value * 1.0
        if not self.fails:
            self._store(self.recognized)

    def _content(self) -> Any:
        return self.holder.get(self.key) if isinstance(self.holder, dict) else self.holder.cell_contents

    def _store(self, value: float) -> None:
        if isinstance(self.holder, dict):
            self.holder[self.key] = value
        else:
            self.holder.cell_contents = value

    def restore(self) -> None:
        """The call is over: the variable holds again what it held before."""
        if self._content() is self.recognized:
            self._store(self.value)

    def confirm(self, trace: Any, entered: Mapping[types.CodeType, dict[str, Any]]) -> None:
        """Keep it if each of its uses is found in what was recorded.

        Args:
            entered: the user's code that ran, and the globals of each.
        """
        if self.fails:
            return
        uses: list[int | None] = []
        for code, space in entered.items():
            if isinstance(self.holder, types.CellType):
                uses.append(operand_uses(code, self.name, "cell") if self.name in code.co_freevars else 0)
            else:
                found = operand_uses(code, self.name, "global")
                uses.append(found if found is None or space is self.holder else 0)
        followed = Followed({0: (self.recognized, sum(n or 0 for n in uses))})
        followed.confirm(trace.floats, trace.position, entered)
        self.fails = None in uses or not followed.places
        self.uses = [(self.recognized, "n")]
