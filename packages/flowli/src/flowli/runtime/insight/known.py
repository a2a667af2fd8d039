"""``KnownCode``: which workflows, in which versions, the workers of a fleet have announced."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from flowli.domain.entries import START, Announced
from flowli.domain.ports import ControlLog
from flowli.runtime.signs import codes_of

__all__ = ["KnownCode"]


class KnownCode:
    """Follows the control log, and reads only what is new each time it is asked.

    Attributes:
        elsewhere: gives the announcements in the place of the log: who has a projection of it need not read it again.
    """

    def __init__(self) -> None:
        self.elsewhere: Callable[[], Awaitable[Iterable[Announced]]] | None = None
        self._position = START
        self._known: set[tuple[str, str]] = set()

    async def knows(self, control: ControlLog, workflow: str, version: str) -> bool | None:
        """Whether some worker has announced that version; None if no worker has ever announced anything."""
        if self.elsewhere is not None:
            self._add(await self.elsewhere())
        else:
            await self._follow(control)
        return (workflow, version) in self._known if self._known else None

    async def _follow(self, control: ControlLog) -> None:
        caught_up = False
        while not caught_up:
            found = await control.read(after=self._position)
            self._position, caught_up = found.position, found.caught_up
            self._add(entry.body for entry in found.entries if isinstance(entry.body, Announced))

    def _add(self, announced: Iterable[Announced]) -> None:
        for one in announced:
            self._known.update(codes_of(one))
