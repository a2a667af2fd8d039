"""``KnownCode``: which workflows, in which versions, the workers of a fleet have announced."""

from __future__ import annotations

from collections.abc import Iterable

from flowli.domain.entries import START, Announced, ControlEntry
from flowli.domain.ports import ControlLog
from flowli.runtime.signs import codes_of

__all__ = ["KnownCode"]


class KnownCode:
    """Follows the control log, and reads only what is new each time it is asked.

    Who has a projection of the log need not read it again: ``told`` takes its announcements.
    """

    def __init__(self) -> None:
        self._position = START
        self._known: set[tuple[str, str]] = set()
        self._told = False

    def told(self, announced: Iterable[Announced]) -> None:
        """Take these announcements for all that there are, and read no log."""
        self._told = True
        for one in announced:
            self._known.update(codes_of(one))

    async def knows(self, control: ControlLog, workflow: str, version: str) -> bool | None:
        """Whether some worker has announced that version; None if no worker has ever announced anything."""
        while not self._told:
            found = await control.read(after=self._position)
            self._position = found.position
            for entry in found.entries:
                self._add(entry)
            if found.caught_up:
                break
        return (workflow, version) in self._known if self._known else None

    def _add(self, entry: ControlEntry) -> None:
        if isinstance(entry.body, Announced):
            self._known.update(codes_of(entry.body))
