"""``Recorded``: the entries of a journal that a replay has still to work off."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from flowli.domain.entries import (
    ExecutionErased,
    ExecutionMigrated,
    ExecutionPatched,
    ExecutionPaused,
    ExecutionResumed,
    ExecutionStarted,
    ExecutionSuspended,
    ExecutionUnpaused,
    JournalEntry,
    UnknownBody,
)

__all__ = ["Recorded"]

_NO_PROOF = frozenset(
    {
        ExecutionErased,
        ExecutionMigrated,
        ExecutionPatched,
        ExecutionPaused,
        ExecutionResumed,
        ExecutionStarted,
        ExecutionSuspended,
        ExecutionUnpaused,
        UnknownBody,
    }
)


class Recorded:
    """A queue of entries, and what must be known of those that are still ahead."""

    def __init__(self) -> None:
        self._entries: deque[JournalEntry] = deque()
        self._patches: dict[str, bool] = {}
        self._not_asked: set[str] = set()
        self._of_the_code = 0

    def __bool__(self) -> bool:
        return bool(self._entries)

    def extend(self, entries: Iterable[JournalEntry]) -> None:
        """Add entries at the end."""
        for entry in entries:
            self._entries.append(entry)
            self._of_the_code += type(entry.body) not in _NO_PROOF
            if isinstance(entry.body, ExecutionPatched):
                self._patches.setdefault(entry.body.change_id, entry.body.value)
                self._not_asked.add(entry.body.change_id)

    def pop(self) -> JournalEntry:
        """The next entry."""
        entry = self._entries.popleft()
        if type(entry.body) not in _NO_PROOF:
            self._of_the_code -= 1
        return entry

    @property
    def goes_on(self) -> bool:
        """Whether the code ran on after this point: something that it caused or was given is still ahead.

        What operators and takeovers have written since does not count.
        """
        return self._of_the_code > 0 or bool(self._not_asked)

    def patch(self, change_id: str) -> bool | None:
        """What the journal says of a change, wherever it says so; the code asks for it."""
        self._not_asked.discard(change_id)
        return self._patches.get(change_id)
