"""``Retention``: keeps the bucket small by folding finished executions away and deleting what has had its time.

Two at once do no harm. What was deleted already is remembered in the state of the lease named ``flowli:retention``; a
run that finds the lease held works all the same, leaves that memory to the other, and trims no log.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from flowli.domain.data import Data
from flowli.domain.entries import Position
from flowli.domain.errors import LeaseLost, UsageError
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import Eid, role_eid
from flowli.domain.ports import Acquired, ControlSnapshots, Holder, Lease
from flowli.domain.provenance import ActorKind, Provenance
from flowli.domain.waits import OnChannel
from flowli.runtime.control_fold import ArchivedAt, ControlFold, Known
from flowli.runtime.protocols.compact import Declared, declare, drop
from flowli.runtime.protocols.receipt import forget_old_receipts, forget_receipts
from flowli.runtime.protocols.retire import blocked, fold_away, forget_key, purge
from flowli.runtime.protocols.standing import find_standing

if TYPE_CHECKING:
    from flowli.runtime.engine.engine import Engine

__all__ = ["Retention", "RetentionReport"]

_LEASE_TTL_S = 600.0
_PAGE = 1000
_LATE = 3
"""After so many times ``retire_grace_s`` what was erased is deleted once more."""


@dataclass(slots=True)
class RetentionReport:
    """What one run did, or would do.

    Attributes:
        archived: executions folded away; in a dry run, those that would be.
        blocked: those that were due and could not be, with the reason.
        purged: archived executions whose records, journals, channels and evidence were deleted.
        expired: archives deleted.
        keys: dispatch keys forgotten.
        receipts: receipts of keyed commands forgotten.
        dead: tasks that had been set aside, discarded.
        messages: messages on global channels that were declared unneeded.
        entries: entries of the control log that were declared unneeded.
    """

    dry_run: bool = False
    archived: list[Eid] = field(default_factory=list)
    blocked: dict[Eid, str] = field(default_factory=dict)
    purged: int = 0
    expired: int = 0
    keys: int = 0
    receipts: int = 0
    dead: int = 0
    messages: int = 0
    entries: int = 0


@dataclass(slots=True)
class _Done:
    """Sequence numbers of the ``execution.archived`` entries up to which each kind of deletion is done; what of the
    logs was declared unneeded; and the last receipt of a queue that was looked at.
    """

    purged: int = 0
    late: int = 0
    expired: int = 0
    keys: int = 0
    declared: Declared = field(default_factory=Declared)
    receipt: str = ""

    @classmethod
    def of(cls, state: Data) -> _Done:
        if not isinstance(state, dict):
            return cls()
        known = {name: number for name, number in state.items() if isinstance(number, int)}
        purged, late, expired, keys = (known.get(name, 0) for name in ("purged", "late", "expired", "keys"))
        declared, receipt = Declared.of(state.get("declared")), state.get("receipt")
        return cls(purged, late, expired, keys, declared, receipt if isinstance(receipt, str) else "")

    def to_data(self) -> Data:
        counts: dict[str, Data] = {"purged": self.purged, "late": self.late, "expired": self.expired, "keys": self.keys}
        return {**counts, "declared": self.declared.to_data(), "receipt": self.receipt}


class Retention:
    """Archives the executions that ended at least ``older_than`` ago, and deletes what is older than its time to live.

    Args:
        older_than: seconds or a timedelta.
        workflow: only executions of this workflow.
        statuses: only executions that ended so; all terminal ones if None.
        dry_run: write and delete nothing.
    """

    def __init__(
        self,
        engine: Engine,
        older_than: float | timedelta,
        *,
        workflow: str | None = None,
        statuses: Iterable[ExecutionStatus] | None = None,
        dry_run: bool = False,
    ) -> None:
        self._services = engine.services
        self._age = older_than if isinstance(older_than, timedelta) else timedelta(seconds=older_than)
        if self._age < timedelta(0):
            raise UsageError(f"older_than is {self._age.total_seconds():g} seconds; it must be at least 0")
        self._workflow = workflow
        self._statuses = frozenset(ExecutionStatus if statuses is None else statuses)
        self._dry_run = dry_run
        self._fold = ControlFold()

    @property
    def position(self) -> Position:
        """Up to where it has read the control log."""
        return self._fold.position

    async def run_once(self) -> RetentionReport:
        """Do all that is due now."""
        report = RetentionReport(self._dry_run)
        await self._fold.catch_up(self._services.ports.control)
        for known in sorted(filter(self._due, self._fold.executions.values()), key=lambda known: known.at):
            await self._archive(known, report)
        if not self._dry_run:
            await self._fold.catch_up(self._services.ports.control)
            await self._delete(report)
        return report

    def _due(self, known: Known) -> bool:
        return (
            known.status.terminal
            and not known.archived
            and known.status in self._statuses
            and self._workflow in (None, known.workflow)
            and known.at + self._age <= self._services.world.now()
        )

    def _by(self) -> Provenance:
        return self._services.provenance(kind=ActorKind.SYSTEM)

    async def _archive(self, known: Known, report: RetentionReport) -> None:
        standing = await find_standing(self._services.ports, known.eid)
        if standing is None:
            reason: str | None = "it has neither record nor archive"
        else:
            reason = await blocked(self._services.ports, standing)
        if reason is not None:
            report.blocked[known.eid] = reason
            return
        if standing is not None and not self._dry_run:
            await fold_away(self._services, standing, self._by())
        report.archived.append(known.eid)

    async def _delete(self, report: RetentionReport) -> None:
        holder = Holder(f"{self._services.site.worker_id}/{self._services.world.token()}", self._services.site)
        got = await self._services.ports.ownership.acquire(role_eid("flowli:retention"), holder, _LEASE_TTL_S)
        done = _Done.of(got.lease.state)
        try:
            await self._delete_due(done, report)
            report.dead = await self._discard()
            await self._forget_receipts(done, report)
            await self._drop_snapshot()
            if isinstance(got, Acquired):
                await self._trim(done, report)
        finally:
            if isinstance(got, Acquired):
                await self._remember(got.lease, done)

    async def _remember(self, lease: Lease, done: _Done) -> None:
        try:
            lease = await self._services.ports.ownership.renew(lease, state=done.to_data())
        except LeaseLost:  # it took longer than the lease lasts; the next run repeats some deletions
            return
        await self._services.ports.ownership.release(lease)

    async def _forget_receipts(self, done: _Done, report: RetentionReport) -> None:
        """Those of queues, a batch in each run; those of executions go with their keys."""
        old = self._services.world.now() + timedelta(seconds=-self._services.config.key_ttl_s)
        count, done.receipt = await forget_old_receipts(self._services.ports, old, done.receipt)
        report.receipts += count

    async def _drop_snapshot(self) -> None:
        """One that was put while an execution was erased, by who died before it could take it back."""
        control = self._services.ports.control
        if self._fold.erased_seq and isinstance(control, ControlSnapshots):
            await control.drop_snapshot(self._fold.erased_seq)

    async def _discard(self) -> int:
        """Tasks that were set aside longer ago than they are kept."""
        queue, count = self._services.ports.queue, 0
        old = self._services.world.now() + timedelta(seconds=-self._services.config.dead_ttl_s)
        for name in await queue.queues():
            expired = [dead for dead in await queue.dead(name, limit=_PAGE) if dead.died_at <= old]
            count += sum([await queue.discard(dead) for dead in expired])
        return count

    async def _trim(self, done: _Done, report: RetentionReport) -> None:
        """What only grows (``protocols.compact``): at most once in ``retire_grace_s``."""
        services, fold = self._services, self._fold
        now, grace = services.world.now(), timedelta(seconds=services.config.retire_grace_s)
        if done.declared.at is not None:
            if now < done.declared.at + grace:
                return
            await drop(services.ports, done.declared)
        names = {
            on.channel for known in fold.executions.values() for on in known.waited_on if isinstance(on, OnChannel)
        }
        last = {entry.eid: entry.seq for entry in fold.archived}
        gone = {eid: seq for eid, seq in last.items() if seq <= done.keys}
        shared = sorted(name for name in names if "." not in name)
        done.declared = await declare(services.ports, services.config, done.declared, shared, gone, now)
        report.entries, report.messages = done.declared.entries, done.declared.messages

    async def _delete_due(self, done: _Done, report: RetentionReport) -> None:
        config, ports = self._services.config, self._services.ports

        async def clear(entry: ArchivedAt) -> bool:
            return entry.erased and await purge(ports, entry.eid)

        async def expire(entry: ArchivedAt) -> bool:
            await ports.archive.delete(entry.eid)
            return True

        async def forget(entry: ArchivedAt) -> bool:
            report.receipts += await forget_receipts(ports, entry.eid)
            known = self._fold.executions.get(entry.eid)
            key = None if known is None else known.dispatch_key
            return key is not None and await forget_key(ports, key, entry.eid)

        done.purged, report.purged = await self._each(
            done.purged, config.retire_grace_s, lambda entry: purge(ports, entry.eid)
        )
        # a write that nobody waits for any more may land after that, and bring a payload back
        done.late, _ = await self._each(done.late, _LATE * config.retire_grace_s, clear, up_to=done.purged)
        kept_s = max(config.archive_ttl_s, config.retire_grace_s)
        done.expired, report.expired = await self._each(done.expired, kept_s, expire, up_to=done.purged)
        done.keys, report.keys = await self._each(done.keys, kept_s + config.key_ttl_s, forget, up_to=done.expired)

    async def _each(
        self,
        done: int,
        age_s: float,
        act: Callable[[ArchivedAt], Awaitable[bool]],
        *,
        up_to: int | None = None,
    ) -> tuple[int, int]:
        """Act on the archived executions after ``done`` that are old enough, in order; returns how far and how many."""
        now, age, count = self._services.world.now(), timedelta(seconds=age_s), 0
        for entry in self._fold.archived:
            if entry.seq <= done:
                continue
            if entry.at + age > now or (up_to is not None and entry.seq > up_to):
                break
            count += await act(entry)
            done = entry.seq
        return done, count
