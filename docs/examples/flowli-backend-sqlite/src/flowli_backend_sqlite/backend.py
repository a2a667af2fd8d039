"""The backend: opening a file, and one object for each port over it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl

from flowli.domain.errors import BackendRefused
from flowli.domain.ports import Ports
from flowli.world import SYSTEM, World
from flowli_backend_sqlite.archive import SqliteArchive
from flowli_backend_sqlite.channel import SqliteChannel
from flowli_backend_sqlite.control import SqliteControlLog
from flowli_backend_sqlite.database import Database
from flowli_backend_sqlite.dispatch import SqliteDispatch
from flowli_backend_sqlite.evidence import SqliteEvidence
from flowli_backend_sqlite.executions import SqliteExecutionStore
from flowli_backend_sqlite.journal import SqliteJournal
from flowli_backend_sqlite.ownership import SqliteOwnership
from flowli_backend_sqlite.queue import SqliteQueue
from flowli_backend_sqlite.timers import SqliteTimers

_FORM = "write for example rows:./flowli.db or rows:./flowli.db?durability=os"


class SqliteBackend:
    """The ten ports over one SQLite file that the processes of one host share.

    Args:
        path: of the file.
        world: clock, chance and identity of this process.
        durability: ``full``, or ``os`` to leave it to the system when data reaches the disk (tests, throw-away).

    Attributes:
        ports: the ten ports.
    """

    def __init__(self, path: str, world: World = SYSTEM, durability: str = "full") -> None:
        self._database = database = Database(path, world, durable=durability != "os")
        self._durability = durability
        self._forks: list[SqliteBackend] = []
        self.ports = Ports(
            journal=SqliteJournal(database),
            control=SqliteControlLog(database),
            ownership=SqliteOwnership(database),
            dispatch=SqliteDispatch(database),
            queue=SqliteQueue(database),
            channel=SqliteChannel(database),
            timers=SqliteTimers(database),
            executions=SqliteExecutionStore(database),
            archive=SqliteArchive(database),
            evidence=SqliteEvidence(database),
            fork=self._fork,
            poll_hint_s=0.05,
        )

    @classmethod
    def from_url(cls, url: str, *, world: World) -> SqliteBackend:
        """Open ``rows:PATH``."""
        path, _, query = url.partition(":")[2].partition("?")
        return cls.from_config({"path": path, **dict(parse_qsl(query))}, world=world)

    @classmethod
    def from_config(cls, config: Mapping[str, object], *, world: World) -> SqliteBackend:
        """Open ``{"type": "rows", "path": …}``; ``durability`` may be given."""
        unknown = sorted(set(config) - {"type", "path", "durability"})
        if unknown:
            raise BackendRefused(f"a backend of rows has no setting {unknown[0]!r}; {_FORM}")
        path, durability = config.get("path"), config.get("durability", "full")
        if not isinstance(path, str) or not path or durability not in ("full", "os"):
            raise BackendRefused(f"a backend of rows needs a path, and a durability of full or os; {_FORM}")
        return cls(path, world, str(durability))

    @property
    def url(self) -> str:
        """Where the file is."""
        return f"rows:{self._database.path}"

    async def close(self) -> None:
        """Close the file, for forks as well; their work has ended before."""
        for one in (*self._forks, self):
            await one._database.close()

    def _fork(self) -> Ports:
        """The same file for another thread's event loop: with a connection and a thread of its own."""
        self._forks.append(SqliteBackend(self._database.path, self._database.world, self._durability))
        return self._forks[-1].ports
