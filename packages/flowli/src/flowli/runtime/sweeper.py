"""``Sweeper``: makes happen what nothing else in a bucket does by itself.

It has no lease. Each of its actions may be done twice, so that any number of sweepers can run. A pass costs what is
due and what has changed; beside it, each waiting execution is audited once per ``audit_period_s``, spread over the
passes.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypeVar

import structlog

from flowli.domain.entries import ControlEntry
from flowli.domain.errors import BackendError, ValueUnreadable
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import Eid
from flowli.domain.provenance import ActorKind, Provenance
from flowli.domain.timers import Timer
from flowli.domain.waits import OnChannel
from flowli.runtime.control_fold import ControlFold, Known
from flowli.runtime.observe.events import Standing, Swept
from flowli.runtime.protocols.audit import audit
from flowli.runtime.protocols.fire import fire
from flowli.runtime.protocols.last_look import last_look
from flowli.runtime.protocols.recover import Recovery, recover_pending, recover_running, vacant
from flowli.runtime.protocols.start import created
from flowli.runtime.protocols.try_code import try_code, untried
from flowli.runtime.schedule import Schedule
from flowli.runtime.signs import SWEEPER, Sign
from flowli.runtime.sweep_jobs import Follower, SweepJob, plugin_jobs

if TYPE_CHECKING:
    from flowli.runtime.engine.engine import Engine

__all__ = ["SweepJob", "SweepReport", "Sweeper"]

T = TypeVar("T")

_log = structlog.get_logger("flowli.sweeper")
_AT_ONCE = 32
_TIMERS_A_PAGE = 1000
_KEPT_S = 10.0
_COUNT_S = 60.0


@dataclass(slots=True)
class SweepReport:
    """What one pass did.

    Attributes:
        timers: timers fired.
        promoted: delayed tasks made ready.
        resumed: RESUME tasks put for executions whose owner vanished.
        restarted: START tasks put again.
        twins: executions whose missing control entries were posted.
        audited: waiting executions looked at.
        woken: RESUME tasks put by the audit.
        tried: RESUME tasks put for workers whose code has not tried a parked execution yet.
        markers: wait markers cleared.
        jobs: further jobs done.
    """

    timers: int = 0
    promoted: int = 0
    resumed: int = 0
    restarted: int = 0
    twins: int = 0
    audited: int = 0
    woken: int = 0
    tried: int = 0
    markers: int = 0
    jobs: int = 0

    @property
    def idle(self) -> bool:
        """Whether there was nothing to do but further jobs."""
        return not self.actions

    @property
    def actions(self) -> dict[str, int]:
        """How often it did what, without further jobs; only what it did."""
        done = {field.name: int(getattr(self, field.name)) for field in fields(self) if field.name != "jobs"}
        return {name: times for name, times in done.items() if times}


class Sweeper:
    """Fires timers, promotes delayed tasks, recovers executions, repairs the control log, audits what waits.

    Args:
        jobs: further work of each pass, beside that of the installed plugins.
    """

    def __init__(self, engine: Engine, *, jobs: Sequence[SweepJob] = ()) -> None:
        self._engine = engine
        self._services = engine.services
        self._given = tuple(jobs)
        self._jobs: tuple[SweepJob, ...] | None = None
        self._followers: tuple[Follower, ...] = ()
        self._sign = Sign(engine.services, [SWEEPER])
        self._fold = ControlFold()
        self._checks = Schedule()
        self._delays: dict[Eid, float] = {}
        self._ended: list[Known] = []
        self._last_looks: deque[tuple[float, Eid]] = deque()
        self._kept: dict[str, float] = {}
        self._count_at_s = 0.0
        self._stop = asyncio.Event()

    async def run(self, *, interval_s: float | None = None) -> None:
        """Sweep until ``stop``; a pass that the backend fails is tried again.

        Args:
            interval_s: pause between two passes; None leaves it to the backend.
        """
        pause_s = self._services.ports.poll_hint_s if interval_s is None else interval_s
        while not self._stop.is_set():
            try:
                await self.sweep_once()
            except BackendError as error:  # a refusal too: rights and disks are repaired while processes run
                _log.warning("pass given up; the next one goes on", error=str(error))
            await self._pause(pause_s)

    def stop(self) -> None:
        """End ``run`` after the pass under way."""
        self._stop.set()

    async def sweep_once(self) -> SweepReport:
        """Do one pass."""
        report = SweepReport()
        if self._jobs is None:
            self._jobs = (*self._given, *plugin_jobs())
            self._followers = tuple(job for job in self._jobs if isinstance(job, Follower))
        await self._fire_timers(report)
        await self._promote(report)
        await self._follow(report)
        await self._check(report)
        await self._run_jobs(report)
        await self._sign.beat()
        actions = report.actions
        if actions:
            self._services.observers.tell(Swept(self._services.world.now(), actions))
        self._count_standing()
        return report

    def _count_standing(self) -> None:
        """Tell observers, about once a minute, how many executions have not ended."""
        services = self._services
        now_s = services.world.monotonic_s()
        if not services.observers.active or now_s < self._count_at_s:
            return
        self._count_at_s = now_s + _COUNT_S
        found = (known for known in self._fold.executions.values() if not known.status.terminal)
        counts = Counter((known.workflow, known.status.value) for known in found)
        services.observers.tell(Standing(services.world.now(), counts))

    async def _pause(self, seconds: float) -> None:
        stopped = asyncio.ensure_future(self._stop.wait())
        timer = asyncio.ensure_future(self._services.world.sleep(seconds))
        try:
            await asyncio.wait((stopped, timer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
            timer.cancel()

    def _by(self) -> Provenance:
        return self._services.provenance(kind=ActorKind.SYSTEM)

    async def _fire_timers(self, report: SweepReport) -> None:
        while True:
            due = await self._services.ports.timers.due(self._services.world.now(), limit=_TIMERS_A_PAGE)
            self._kept = {one.timer_id: self._kept[one.timer_id] for one in due if one.timer_id in self._kept}
            before = report.timers
            await _each([timer for timer in due if self._worth_firing(timer)], lambda timer: self._fire(timer, report))
            if len(due) < _TIMERS_A_PAGE or report.timers == before:
                return

    async def _fire(self, timer: Timer, report: SweepReport) -> None:
        if await fire(self._services, timer, self._by()):
            report.timers += 1
        else:
            self._kept[timer.timer_id] = self._services.world.monotonic_s()

    def _worth_firing(self, timer: Timer) -> bool:
        """One that was kept, for an execution that is still to be started, is looked at now and then."""
        kept_s = self._kept.get(timer.timer_id)
        return kept_s is None or self._services.world.monotonic_s() - kept_s >= _KEPT_S

    async def _promote(self, report: SweepReport) -> None:
        ports = self._services.ports
        for queue in await ports.queue.queues():
            promoted = await ports.queue.promote(queue, self._services.world.now())
            report.promoted += promoted
            if promoted:
                self._services.hub.wake_queue(queue)

    async def _follow(self, report: SweepReport) -> None:
        changed = await self._fold.catch_up(self._services.ports.control, self._followers)
        await self._try_codes(changed, report)
        for known in changed.values():
            self._delays.pop(known.eid, None)
            if not known.workflow:
                report.twins += await self._announce(known)
            if known.archived or known.status.terminal:
                self._fold.forget(known.eid)
                self._checks.drop(known.eid)
                self._ended.append(known)
                if known.epoch > 1:
                    later_s = self._services.world.monotonic_s() + self._services.config.audit_period_s
                    self._last_looks.append((later_s, known.eid))
            else:
                self._checks.set(known.eid, self._services.world.monotonic_s() + self._first_delay(known))
        while self._ended:
            report.markers += await self._clear_markers(self._ended[-1])
            self._ended.pop()
        while self._last_looks and self._last_looks[0][0] <= self._services.world.monotonic_s():
            report.markers += await last_look(self._services.ports, self._last_looks[0][1])
            self._last_looks.popleft()

    async def _try_codes(self, changed: dict[Eid, Known], report: SweepReport) -> None:
        """What was parked just now, or what workers with new code may go on with."""
        fold, parked = self._fold, list(changed.values())
        if fold.codes.fresh:
            fresh, fold.codes.fresh = fold.codes.fresh, set()
            parked = [known for known in fold.executions.values() if (known.workflow, known.version) in fresh]
        for known in parked:
            refs = untried(fold, known)
            if refs:
                report.tried += await try_code(self._services, known, refs, self._by())

    async def _announce(self, known: Known) -> bool:
        """Who asked for this execution died before its ``execution.created`` was durable."""
        try:
            record = await self._services.ports.executions.get(known.eid)
        except ValueUnreadable:  # told in the log; a sweeper that has the key does it
            return False
        if record is None:
            return False
        await self._services.announcer.post([ControlEntry(created(record), record.created_by)])
        return True

    def _first_delay(self, known: Known) -> float:
        config = self._services.config
        match known.status:
            case ExecutionStatus.PENDING:
                return config.exec_ttl_s
            case ExecutionStatus.RUNNING:
                return 0.0
            case _:
                return config.audit_period_s * self._services.world.random().random()

    async def _clear_markers(self, known: Known) -> int:
        """The markers of an execution that has ended: senders must learn that nobody receives any more."""
        if known.archived:
            return 0
        channel = self._services.ports.channel
        named = sorted(on.channel for on in known.waited_on if isinstance(on, OnChannel))
        return sum([await channel.unmark(name, known.eid, up_to_epoch=known.epoch) for name in named])

    async def _check(self, report: SweepReport) -> None:
        now_s = self._services.world.monotonic_s()
        due = self._checks.pop(now_s)
        for eid in due:  # looked at again, should this look fail
            self._checks.set(eid, now_s + self._services.config.exec_ttl_s)
        await _each([self._fold.executions[eid] for eid in due], lambda known: self._check_one(known, report))

    async def _check_one(self, known: Known, report: SweepReport) -> None:
        config = self._services.config
        match known.status:
            case ExecutionStatus.PENDING:
                done = await recover_pending(self._services, known.eid, known_seq=known.journal_seq, by=self._by())
                again_s = self._longer(known, config.exec_ttl_s)
            case ExecutionStatus.RUNNING:
                done, again_s = await self._check_running(known)
            case _:
                refs = untried(self._fold, known)
                if refs:  # a worker with another code may have taken them for its own
                    report.tried += await try_code(self._services, known, refs, self._by())
                found = await audit(self._services, known.eid, known_seq=known.journal_seq, by=self._by())
                report.audited += 1
                report.woken += found.woken
                report.markers += found.markers
                done = Recovery.TWINS_POSTED if found.twins else Recovery.NOTHING
                again_s = config.audit_period_s
        report.resumed += done is Recovery.RESUMED
        report.restarted += done is Recovery.RESTARTED
        report.twins += done is Recovery.TWINS_POSTED
        self._checks.set(known.eid, self._services.world.monotonic_s() + again_s)

    async def _check_running(self, known: Known) -> tuple[Recovery, float]:
        """Recover it if its lease is vacant; else look again when the lease, unchanged, would have expired."""
        lease = await self._services.ports.ownership.read(known.eid)
        if lease is not None and not vacant(lease):
            self._delays.pop(known.eid, None)
            return Recovery.NOTHING, max(lease.ttl_s - lease.idle_s, lease.ttl_s / 10)
        done = await recover_running(self._services, known.eid, lease, known_seq=known.journal_seq, by=self._by())
        return done, self._longer(known, self._services.config.exec_ttl_s)

    def _longer(self, known: Known, first_s: float) -> float:
        """Twice as long each time nothing has changed: the task that was put may wait in a long queue."""
        delay_s = self._delays.get(known.eid, first_s)
        self._delays[known.eid] = min(2 * delay_s, self._services.config.audit_period_s)
        return delay_s

    async def _run_jobs(self, report: SweepReport) -> None:
        for job in self._jobs or ():
            try:
                await job(self._engine)
                report.jobs += 1
            except Exception as error:
                _log.exception("a sweep job failed; the others go on", job=repr(job), error=str(error))


async def _each(items: Iterable[T], act: Callable[[T], Awaitable[None]]) -> int:
    """Act on all items, some at once; the first error ends it after those under way. Returns on how many.

    One that this process cannot read (it lacks a key, which the log tells) holds up no other.
    """
    free = asyncio.Semaphore(_AT_ONCE)

    async def one(item: T) -> None:
        async with free:
            await act(item)

    done = await asyncio.gather(*map(one, items), return_exceptions=True)
    for error in done:
        if isinstance(error, BaseException) and not isinstance(error, ValueUnreadable):
            raise error
    return sum(error is None for error in done)
