"""``Engine``: what applications and operators hold in their hands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING

from flowli.domain.execution import ExecutionStatus
from flowli.runtime.engine.erasing import EraseVerbs
from flowli.runtime.engine.extending import ExtensionVerbs
from flowli.runtime.engine.forking import ForkVerbs
from flowli.runtime.engine.insight import InsightVerbs
from flowli.runtime.engine.queues import QueueVerbs
from flowli.runtime.engine.reading import ReadVerbs
from flowli.runtime.engine.roles import RoleVerbs
from flowli.runtime.engine.showing import ShowVerbs
from flowli.runtime.engine.updating import UpdateVerbs

if TYPE_CHECKING:
    from flowli.runtime.retention import Retention
    from flowli.runtime.sweeper import Sweeper, SweepJob
    from flowli.runtime.worker.worker import Worker

__all__ = ["Engine"]


class Engine(
    ReadVerbs, InsightVerbs, UpdateVerbs, ShowVerbs, ForkVerbs, QueueVerbs, EraseVerbs, RoleVerbs, ExtensionVerbs
):
    """Starts executions, sends them messages, waits for them, looks at them and moves them.

    It holds no state of an execution: any number of engines can work on one bucket, in any number of processes. Its
    methods check names and arguments first; an error in them means that nothing was stored.

    Example:
        >>> engine = Engine(backend.ports, Site.local("w-1"), registry=registry)
        >>> eid = await engine.start(greet, "Ada")
        >>> await engine.result(eid)
        'hello Ada'
    """

    def worker(self, queues: Sequence[str] = ("default",), *, concurrency: int = 50, sweeper: bool = False) -> Worker:
        """A worker for ``queues``.

        Args:
            concurrency: executions that it runs at once.
            sweeper: it sweeps as well.
        """
        from flowli.runtime.worker.worker import Worker

        return Worker(self, queues=tuple(queues), concurrency=concurrency, sweeper=sweeper)

    def sweeper(self, *, jobs: Sequence[SweepJob] = ()) -> Sweeper:
        """A sweeper; ``jobs`` are done in each pass beside its own work."""
        from flowli.runtime.sweeper import Sweeper

        return Sweeper(self, jobs=jobs)

    def retention(
        self,
        older_than: float | timedelta,
        *,
        workflow: str | None = None,
        statuses: Iterable[ExecutionStatus] | None = None,
        dry_run: bool = False,
    ) -> Retention:
        """A retention for executions that ended at least ``older_than`` (seconds) ago.

        Args:
            workflow: only executions of this workflow.
            statuses: only executions that ended so.
            dry_run: only tell what would be archived.
        """
        from flowli.runtime.retention import Retention

        return Retention(self, older_than, workflow=workflow, statuses=statuses, dry_run=dry_run)

    async def close(self) -> None:
        """Wait until all that this engine announced is durable; then tell its observers the rest, for up to 5 s."""
        await self.announcer.drain()
        await self.observers.drain()

    async def __aenter__(self) -> Engine:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
