"""The view of the control log that lists and prefixes of ids are read from: a small file for each bucket, in the cache.

It is a cache: brought up to date each time, built anew when it is of another bucket, and deleted without loss.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from flowli.domain.entries import Announced, ControlEntry
from flowli.domain.execution import ExecutionStatus
from flowli.runtime.signs import WORKER_TOPIC

if TYPE_CHECKING:
    from flowli.adapters.projection import ExecutionRow, WorkflowProjection
    from flowli.cli.session import Session

__all__ = ["Index", "opened", "worker_announcements"]

_PAGE = 500


class Index:
    """All executions of one bucket.

    Args:
        projection: None for a bucket in which nothing was ever started.
    """

    def __init__(self, projection: WorkflowProjection | None) -> None:
        self._projection = projection

    async def rows(
        self, *, statuses: Collection[ExecutionStatus] = (), workflow: str | None = None, limit: int
    ) -> list[ExecutionRow]:
        """The newest executions that fit; at most ``limit``."""
        if self._projection is None:
            return []
        page = await self._projection.executions(status=statuses or None, workflow=workflow, limit=limit)
        return list(page.rows)

    async def beginning_with(self, prefix: str, *, limit: int) -> list[ExecutionRow]:
        """Executions whose id begins with ``prefix``; at most ``limit``."""
        found: list[ExecutionRow] = []
        cursor: str | None = None
        while self._projection is not None and len(found) < limit:
            page = await self._projection.executions(text=prefix, limit=_PAGE, cursor=cursor)
            found += [row for row in page.rows if str(row.eid).startswith(prefix)]
            cursor = page.next_cursor
            if cursor is None:
                break
        return found[:limit]

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
