"""Repairs: what a sweeper, a sender or an owner would have done. Each may be done twice, and beside running processes.

Nothing that a repair writes says anything new: entries are posted from the journal, tasks only wake, and what is
deleted is a cache or speaks of an execution that has ended. A journal or an archive is never touched.
"""

from __future__ import annotations

from collections.abc import Iterable

from flowli.adapters.cairndb import CairnBackend
from flowli.cairn.errors import CairnError
from flowli.cli.check.examine import Examined
from flowli.cli.check.executions import Looked
from flowli.cli.check.finding import Finding, Repair
from flowli.domain.entries import ControlEntry
from flowli.domain.errors import BackendRefused
from flowli.domain.ids import Eid, parse_eid
from flowli.domain.provenance import Actor, Provenance
from flowli.runtime import Engine
from flowli.runtime.protocols.recover import recover_pending
from flowli.runtime.protocols.start import created
from flowli.runtime.protocols.twins import twins
from flowli.runtime.protocols.wake import AuditCause, resume_task

__all__ = ["Repairs"]


class Repairs:
    """Repairs what can be repaired.

    Args:
        actor: who asked for it; it stands in what is written.
    """

    def __init__(self, backend: CairnBackend, engine: Engine, actor: Actor, examined: Examined) -> None:
        self._backend = backend
        self._engine = engine
        self._examined = examined
        self._by = Provenance(actor, engine.site, engine.world.now())

    async def run(self, findings: Iterable[Finding]) -> list[Finding]:
        """Repair them; returns those that were repaired."""
        repaired = [finding for finding in findings if finding.repair and await self._tried(finding)]
        await self._engine.announcer.drain()
        return repaired

    async def _tried(self, finding: Finding) -> bool:
        try:
            return await self._repair(finding)
        except (BackendRefused, CairnError):  # what would have to be read or replaced is damaged itself
            return False

    async def _repair(self, finding: Finding) -> bool:
        match finding.repair:
            case Repair.SEGMENT:
                await self._backend.store.delete_many([finding.subject])
                return True
            case Repair.UNMARK:
                return await self._unmark(finding.subject)
        looked = self._examined.executions.get(parse_eid(finding.subject))
        if looked is None or not looked.whole:
            return False
        return await self._repair_execution(finding.repair, looked)

    async def _repair_execution(self, repair: Repair, looked: Looked) -> bool:
        ports, services = self._backend.ports, self._engine.services
        match repair:
            case Repair.ANNOUNCE:
                missing = [ControlEntry(created(looked.record), looked.record.created_by)] if looked.record else []
                services.announcer.post([*missing, *twins(looked.entries, looked.eid)])
            case Repair.RECORD:
                assert looked.fold.execution is not None
                await ports.executions.put(looked.fold.execution)
            case Repair.START:
                await recover_pending(services, looked.eid, known_seq=0, by=self._by)
            case Repair.RESUME:
                await self._wake(looked)
            case Repair.TIMER:
                for timer in looked.fold.timers():
                    await ports.timers.set(timer)
            case Repair.WITHDRAW:
                await self._withdraw(looked.eid)
        return True

    async def _wake(self, looked: Looked) -> None:
        execution = looked.record or looked.fold.execution
        assert execution is not None
        cause, at = AuditCause(looked.fold.seq), looked.fold.at or execution.created_at
        task = resume_task(
            queue=execution.queue, priority=execution.priority, eid=looked.eid, cause=cause, at=at, by=self._by
        )
        await self._backend.ports.queue.enqueue(task)

    async def _unmark(self, key: str) -> bool:
        channel, _, eid = key.removeprefix("wf/waits/").partition("/")
        looked = self._examined.executions[parse_eid(eid)]
        lease_epoch = looked.lease.epoch if looked.lease is not None else 0
        up_to = max(looked.fold.epoch, lease_epoch)
        return await self._backend.ports.channel.unmark(channel, looked.eid, up_to_epoch=up_to)

    async def _withdraw(self, eid: Eid) -> None:
        queue = self._backend.ports.queue
        for name in await queue.queues():
            for view in await queue.find(name, eid, limit=1_000_000):
                if view.holder is None:
                    await queue.withdraw(view.task)
