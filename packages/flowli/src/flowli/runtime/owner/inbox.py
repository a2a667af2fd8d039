"""``Inbox``: what an owner is told, and that it was told something."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator

from flowli.runtime.owner.events import Event, Nudged

__all__ = ["Inbox"]


class Inbox:
    """Events in the order in which they came.

    Attributes:
        signal: set when one comes, or when an instant has come that the owner waits for.
    """

    def __init__(self) -> None:
        self.signal = asyncio.Event()
        self._events: deque[Event] = deque()

    def __bool__(self) -> bool:
        return bool(self._events)

    @property
    def unheard(self) -> bool:
        """Whether something was told that has not been dealt with."""
        return any(not isinstance(event, Nudged) for event in self._events)

    def tell(self, event: Event) -> None:
        """Put one in."""
        self._events.append(event)
        self.signal.set()

    def take(self) -> Iterator[Event]:
        """Take them out one by one, those as well that come meanwhile."""
        self.signal.clear()
        while self._events:
            yield self._events.popleft()
