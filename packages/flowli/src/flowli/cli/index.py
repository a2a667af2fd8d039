"""The view of the control log that lists and prefixes of ids are read from: a small file for each bucket, in the cache.

It is a cache: brought up to date each time, built anew when it is of another bucket, and deleted without loss.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from flowli.domain.entries import Announced, ControlEntry
from flowli.domain.execution import ExecutionStatus
from flowli.runtime.signs import WORKER_TOPIC

if TYPE_CHECKING:
    from flowli.adapters.projection import ExecutionRow, Page, WorkflowProjection
    from flowli.cli.filters import Chosen
    from flowli.cli.session import Session
    from flowli.timestamp import Timestamp

__all__ = ["Index", "opened", "worker_announcements"]

_PAGE = 500


class Index:
    """All executions of one bucket.

    Args:
        projection: None for a bucket in which nothing was ever started.
    """

    def __init__(self, projection: WorkflowProjection | None) -> None:
        self._projection = projection

    @property
    def projection(self) -> WorkflowProjection | None:
        """The rows themselves, up to date; None if nothing was ever started."""
        return self._projection

    async def rows(self, chosen: Chosen, now: Timestamp, *, limit: int, after: str | None = None) -> Page:
        """The newest executions that fit, at most ``limit``.

        Args:
            now: durations count back from it.
            after: ``next_cursor`` of the page before.

        Raises:
            InvalidValue: no page gave that cursor.
            CommandFailed: the parent is a prefix of no execution, or of several.
            InvalidName: it cannot begin an id.
        """
        from flowli.adapters.projection import Page
        from flowli.cli.ids import resolve

        if self._projection is None:
            return Page(())
        return await self._projection.executions(
            status=[ExecutionStatus(one) for one in chosen.statuses],
            workflow=chosen.workflow,
            version=chosen.of_version,
            queue=chosen.of_queue,
            parent=None if chosen.parent is None else await resolve(self, chosen.parent, now),
            key=chosen.of_key,
            attributes=chosen.scalars(),
            created_after=chosen.instant("created_after", now),
            created_before=chosen.instant("created_before", now),
            updated_after=chosen.instant("updated_after", now),
            updated_before=chosen.instant("updated_before", now),
            waiting_on=chosen.waiting_on,
            text=chosen.text,
            limit=limit,
            cursor=after,
        )

    async def beginning_with(self, prefix: str, *, limit: int) -> list[ExecutionRow]:
        """Executions whose id begins with ``prefix``; at most ``limit``."""
        if self._projection is None:
            return []
        return list((await self._projection.executions(prefix=prefix, limit=limit)).rows)

    async def announced(self, topic: str) -> list[Announced]:
        """All announcements of a topic, in order."""
        found: list[Announced] = []
        after = 0
        while self._projection is not None:
            page = await self._projection.announcements(topic, after_seq=after, limit=_PAGE)
            found += [Announced(one.topic, one.data, one.eid, one.fid) for one in page]
            if len(page) < _PAGE:
                break
            after = page[-1].seq
        return found


@asynccontextmanager
async def opened(session: Session) -> AsyncIterator[Index]:
    """The index of the session's bucket, up to date."""
    from flowli.adapters.projection import WorkflowProjection

    control, world = session.engine.ports.control, session.engine.world
    first = (await control.read(limit=1)).entries
    if not first:
        yield Index(None)
        return
    with _file(session.storage) as path:
        source = f"{session.storage} {_identity(first[0])}"
        projection = WorkflowProjection(path, control, source=source, world=world)
        try:
            await projection.catch_up()
            yield Index(projection)
        finally:
            await projection.close()


async def worker_announcements(session: Session) -> list[Announced]:
    """What workers have said of themselves, the oldest first."""
    async with opened(session) as index:
        return await index.announced(WORKER_TOPIC)


def _identity(first: ControlEntry) -> str:
    """Tells a bucket from one that was made anew at the same place."""
    return f"{first.at} {getattr(first.body, 'eid', '')}"


@contextmanager
def _file(storage: str | None) -> Iterator[str]:
    """The file of a bucket; one that is gone with the command where there is no place to keep it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "flowli")
    try:
        if storage is None or storage.startswith("memory:"):
            raise OSError("nothing to keep")
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache):
            pass
    except (OSError, RuntimeError):  # RuntimeError: a user without a home
        with tempfile.TemporaryDirectory(prefix="flowli-") as folder:
            yield f"{folder}/index.db"
        return
    yield str(cache / f"{hashlib.sha256(storage.encode()).hexdigest()[:32]}.db")
