"""``Feed``: one look at the control log for all who follow the lists of a process.

Every ``poll_s`` one pass reads what is new and asks the projection for the rows of the executions it is about; all
streams are given the same rows. While nobody follows, nothing is asked. A follower that comes with the id of an earlier
event is told first what has changed since, read from the log for it alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from flowli.domain.entries import START, ControlEntry, Position
from flowli.domain.errors import BackendError
from flowli.domain.ids import Eid
from flowli_api.problems import Problem

if TYPE_CHECKING:
    from flowli.adapters.projection import ExecutionRow
    from flowli_api.service import Service

__all__ = ["Feed", "Round", "parse_place"]

_log = structlog.get_logger("flowli.api.feed")
_MOST_ROWS = 500
_BEHIND = 64


@dataclass(frozen=True, slots=True)
class Round:
    """What one pass found.

    Attributes:
        rows: the executions that changed, as they stand now.
        before, after: from where to where the log was read.
        reset: so much changed that whoever follows had better read the list anew.
    """

    rows: tuple[ExecutionRow, ...]
    before: Position
    after: Position
    reset: bool = False

    @property
    def id(self) -> str:
        """Where to go on behind it."""
        return f"{self.after.commit}.{self.after.seq}"


class Feed:
    """See the module's docstring."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._followers: set[asyncio.Queue[Round | None]] = set()
        self._work: asyncio.Task[None] | None = None
        self._position = START

    async def follow(self, since: Position | None) -> AsyncGenerator[Round, None]:
        """The rounds from now on, or since the end of an earlier one. The first one tells where it begins.

        Args:
            since: of the id of an event that was received.
        """
        mine: asyncio.Queue[Round | None] = asyncio.Queue(_BEHIND)
        self._followers.add(mine)
        try:
            end = await self._service.projection.catch_up()
            if self._work is None:
                self._position = end
                self._work = asyncio.ensure_future(self._run())
            start = end if since is None or since > end else since
            first = await self._missed(start)
            yield first
            while True:
                found = await mine.get()
                if found is None:  # it was too slow to be told everything
                    yield Round((), first.after, self._position, reset=True)
                elif found.after > first.after:
                    yield found
        finally:
            self._followers.discard(mine)
            if not self._followers and self._work is not None:
                self._work.cancel()
                self._work = None

    async def _run(self) -> None:
        world, poll_s = self._service.world, self._service.config.poll_s
        while True:
            await world.sleep(poll_s)
            try:
                found = await self._missed(self._position)
            except BackendError as error:
                _log.warning("the control log cannot be read now", error=str(error))
                continue
            self._position = found.after
            if found.after != found.before:
                for follower in self._followers:
                    _offer(follower, found)

    async def _missed(self, before: Position) -> Round:
        eids: dict[Eid, None] = {}
        position, caught_up = before, False
        while not caught_up and len(eids) <= _MOST_ROWS:
            found = await self._service.engine.ports.control.read(after=position)
            eids.update(dict.fromkeys(_about(found.entries)))
            position, caught_up = found.position, found.caught_up
        projection = self._service.projection
        reached = await projection.catch_up()
        if len(eids) > _MOST_ROWS:
            return Round((), before, max(position, reached), reset=True)
        rows = [await projection.execution(eid) for eid in eids]
        return Round(tuple(row for row in rows if row is not None), before, position)


def parse_place(text: str | None) -> Position | None:
    """The place that the id of an event names.

    Raises:
        Problem: ``invalid``: no event had that id.
    """
    if not text:
        return None
    commit, dot, seq = text.partition(".")
    if not (dot and commit.isascii() and commit.isdigit() and seq.isascii() and seq.isdigit() and len(text) <= 32):
        raise Problem("invalid", "Last-Event-ID: no event of this stream has that id; begin without one.")
    return Position(int(commit), int(seq))


def _about(entries: Iterable[ControlEntry]) -> Iterable[Eid]:
    for entry in entries:
        eid = getattr(entry.body, "eid", None)
        if isinstance(eid, Eid):
            yield eid


def _offer(follower: asyncio.Queue[Round | None], found: Round) -> None:
    if follower.full():  # it cannot keep up: one word in the place of all that waits
        while not follower.empty():
            follower.get_nowait()
        follower.put_nowait(None)
        return
    follower.put_nowait(found)
