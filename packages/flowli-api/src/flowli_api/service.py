"""``Service``: what all routes work with. It holds no state of an execution."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import structlog

from flowli import Engine, ExecutionStatus, WorkflowProjection
from flowli.domain.entries import Announced, ControlEntry, OperatorActed
from flowli.domain.errors import UnknownExecution
from flowli.domain.ids import Eid
from flowli.domain.provenance import Provenance
from flowli.runtime.signs import WORKER_TOPIC
from flowli_api.auth.guard import Guard
from flowli_api.auth.identity import Authenticator, Identity
from flowli_api.bill import Bill
from flowli_api.config import ApiConfig
from flowli_api.live.feed import Feed
from flowli_api.live.journals import Journals
from flowli_api.problems import Problem
from flowli_api.worker.seal import Seal

if TYPE_CHECKING:
    from flowli.adapters.projection import Announcement, ExecutionRow

__all__ = ["Service"]

_audit = structlog.get_logger("flowli.api.audit")


class Service:
    """One service over one bucket.

    Args:
        engine: every write goes through it.
        projection: lists come from it; None makes one in a temporary folder.
        authenticator: tells who calls.
        config: settings.
        bill: what this process asks of the bucket; None if nobody counts it.
    """

    def __init__(
        self,
        engine: Engine,
        projection: WorkflowProjection | None,
        authenticator: Authenticator,
        config: ApiConfig,
        bill: Bill | None = None,
    ) -> None:
        self.engine = engine
        self.bill = bill
        self.config = config
        self.world = engine.world
        self.guard = Guard(authenticator, config, engine.world)
        self.closing = asyncio.Event()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if projection is None:
            self._folder = tempfile.TemporaryDirectory(prefix="flowli-api-")
            path = f"{self._folder.name}/executions.db"
            projection = WorkflowProjection(path, engine.ports.control, world=engine.world)
        self.projection = projection
        self._fresh_at_s = float("-inf")
        self._announced_seq = 0
        if engine.known_code.elsewhere is None:
            engine.known_code.elsewhere = self._announced
        self.streams = 0
        self.feed = Feed(self)
        self.seal = Seal(engine.ports, engine.world, config.secret)
        self.journals = Journals(self)
        self.answered: Counter[int] = Counter()
        self.plugins: tuple[str, ...] = ()

    async def _announced(self) -> list[Announced]:
        """What workers have newly said of themselves, from the projection instead of the whole control log."""
        found = [one async for one in self._new_announcements()]
        return [Announced(one.topic, one.data) for one in found if one.eid is None]

    async def _new_announcements(self) -> AsyncIterator[Announcement]:
        projection = await self.fresh()
        while page := await projection.announcements(WORKER_TOPIC, after_seq=self._announced_seq):
            self._announced_seq = page[-1].seq
            for one in page:
                yield one

    async def fresh(self, after_seq: int | None = None) -> WorkflowProjection:
        """The projection, with all that was durable ``fresh_s`` ago.

        Args:
            after_seq: a control sequence that the caller was given by a write, here or at another process.

        Raises:
            Problem: ``behind``: that sequence did not come into sight in time.
        """
        now_s = self.world.monotonic_s()
        if after_seq is not None:
            if not await self.projection.wait_for(after_seq, timeout_s=min(5.0, self.config.max_wait_s)):
                raise Problem("behind", f"Control sequence {after_seq} is not in sight yet; try again.")
        elif now_s - self._fresh_at_s >= self.config.fresh_s:
            await self.projection.catch_up()
            self._fresh_at_s = now_s
        return self.projection

    async def control_seq(self) -> int:
        """Up to where the control log certainly reaches now: what a write hands out for reading it back."""
        return (await self.projection.catch_up()).seq

    async def row(self, caller: Identity, eid: Eid) -> ExecutionRow:
        """An execution by the projection, if the caller may see it.

        Raises:
            UnknownExecution: there is none, or it is out of the caller's reach.
        """
        row = await (await self.fresh()).execution(eid)
        if row is None:
            row = await (await self.fresh(await self.control_seq())).execution(eid)
        if row is None or not caller.sees(row.workflow):
            raise UnknownExecution(eid)
        return row

    async def reach(self, caller: Identity, *eids: Eid) -> None:
        """Make sure that a caller may see each of some executions.

        Raises:
            UnknownExecution: one is out of reach.
        """
        if caller.workflows is not None:
            for eid in eids:
                await self.row(caller, eid)

    async def visible(self, caller: Identity, eid: Eid) -> bool:
        """Whether a caller may know of an execution."""
        try:
            await self.reach(caller, eid)
        except UnknownExecution:
            return False
        return True

    async def counts(
        self, caller: Identity, workflow: str | None = None, after_seq: int | None = None
    ) -> dict[ExecutionStatus, int]:
        """How many executions have each status, as far as a caller may see."""
        projection = await self.fresh(after_seq)
        names = [workflow] if workflow is not None or caller.workflows is None else sorted(caller.workflows)
        found = dict.fromkeys(ExecutionStatus, 0)
        for name in names:
            if name is None or caller.sees(name):
                for status, number in (await projection.counts(workflow=name)).items():
                    found[status] += number
        return found

    def by(self, caller: Identity) -> Provenance:
        """This process, now, acting for a caller."""
        return Provenance(caller.actor, self.engine.site, self.world.now())

    async def acted(
        self, caller: Identity, verb: str, eid: Eid | None, reason: str = "", key: str | None = None
    ) -> int:
        """Leave an audit entry for a write of which the engine leaves none; returns its control sequence."""
        entry = ControlEntry(OperatorActed(verb, eid, reason, key), self.by(caller))
        self.logged(caller, verb, eid)
        return await asyncio.shield(self.engine.announcer.post([entry]))

    def logged(self, caller: Identity, verb: str, eid: Eid | None = None, **more: str) -> None:
        """Say in the log who wrote."""
        _audit.info("write", verb=verb, eid=None if eid is None else str(eid), actor=caller.actor.id, **more)

    async def close(self) -> None:
        """Let go of what the service opened itself."""
        self.closing.set()
        if self.engine.known_code.elsewhere == self._announced:
            self.engine.known_code.elsewhere = None
        if self._folder is not None:
            await self.projection.close()
            self._folder.cleanup()
            self._folder = None
