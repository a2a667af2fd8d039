"""``Generators``: the async generators of one coroutine that were begun and are not at their end.

They are held strongly. When one is left early, ordinary asyncio closes it whenever the garbage collector comes by; here
that is never, and ``unfinished`` are closed in the order in which they began, once the function has ended.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

__all__ = ["Generators"]

_FIRST_LOOK = 64


class Generators:
    """See the module's docstring."""

    def __init__(self) -> None:
        self._begun: dict[int, AsyncGenerator[Any, Any]] = {}
        self._look_at = _FIRST_LOOK

    def began(self, generator: AsyncGenerator[Any, Any]) -> None:
        """Hook of the interpreter: it is iterated for the first time."""
        self._begun[id(generator)] = generator
        if len(self._begun) >= self._look_at:
            self._forget_ended()
            self._look_at = max(_FIRST_LOOK, 2 * len(self._begun))

    def dropped(self, generator: AsyncGenerator[Any, Any]) -> None:
        """Hook of the interpreter: the garbage collector found it. Its code is not run."""

    def take_unfinished(self) -> list[AsyncGenerator[Any, Any]]:
        """Those that are not at their end, in the order in which they began; they are forgotten here."""
        self._forget_ended()
        found = list(self._begun.values())
        self._begun.clear()
        return found

    def _forget_ended(self) -> None:
        self._begun = {key: one for key, one in self._begun.items() if getattr(one, "ag_frame", None) is not None}
