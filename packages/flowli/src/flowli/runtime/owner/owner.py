"""``Owner``: one process's ownership of one execution.

It is a loop over events. Each round: due instants and matched messages are delivered, one at a time with a slice of
code after each; frames whose barrier is durable are launched; what must be durable is committed; then it waits for
the next event, or suspends when every live frame waits.

Between two ownerships of one process the owner is warm: it keeps the coroutine, and goes on if the next epoch is its
own + 1.
"""

from __future__ import annotations

import asyncio
import platform
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, TypeVar

import structlog

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.entries import (
    ExecutionMigrated,
    ExecutionPaused,
    ExecutionStarted,
    ExecutionSuspended,
    JournalBody,
    JournalEntry,
    Position,
)
from flowli.domain.execution import Execution
from flowli.domain.frames import FrameKind, FrameStatus
from flowli.domain.ids import child_eid
from flowli.domain.memo import JournalFold
from flowli.domain.provenance import Actor, ActorKind, Code, Provenance
from flowli.domain.waits import OnChild, OnOperator, OnStep
from flowli.runtime.context import Context
from flowli.runtime.effects import Effects
from flowli.runtime.limits import check_size
from flowli.runtime.owner.alarm import Alarm
from flowli.runtime.owner.channels import ChannelReader
from flowli.runtime.owner.commits import Commits
from flowli.runtime.owner.events import Event, Lost, Nudged
from flowli.runtime.owner.launcher import Launcher
from flowli.runtime.owner.listener import Listener
from flowli.runtime.owner.patience import patiently
from flowli.runtime.owner.slices import outside_tasks, run_slices
from flowli.runtime.owner.steps import StepRunner
from flowli.runtime.owner.traces import Traces
from flowli.runtime.owner.waits import Waits
from flowli.runtime.protocols.causes import request_of, was_held
from flowli.runtime.protocols.finish import finish
from flowli.runtime.protocols.suspend import mark, release, suspend
from flowli.runtime.registry import Workflow
from flowli.runtime.replay.calls import LiveFrame, ReceiveMessage, StartChild, WaitUntil
from flowli.runtime.replay.session import Session
from flowli.runtime.services import Services
from flowli.runtime.worker.renewal import LeaseGuard
from flowli.timestamp import Timestamp

__all__ = ["Owner", "Release"]

T = TypeVar("T")

_log = structlog.get_logger("flowli.owner")
_PYTHON = ".".join(platform.python_version_tuple()[:2])


class Release(Enum):
    """How an ownership ended."""

    SUSPENDED = "suspended"
    ENDED = "ended"
    HANDED_OVER = "handed_over"


class Owner:
    """See the module's docstring.

    Args:
        execution: the record.
        workflow: the code that runs it.
        entries: the journal, to be replayed, which ends at ``position``.
        committed: told each commit that became durable.

    Attributes:
        floor: no entry is stamped before it: the greatest instant that has fired anywhere.
        traces: what it has left outside the journal.
        durable_requests: ids of the requests whose entries are durable.
        sealed: the release is under way; what is told now is for the next owner.
    """

    def __init__(
        self,
        services: Services,
        runner: StepRunner,
        execution: Execution,
        workflow: Workflow,
        entries: Sequence[JournalEntry],
        position: Position,
        *,
        committed: Callable[[Sequence[JournalEntry]], None],
    ) -> None:
        self.services = services
        self.execution = execution
        self.workflow = workflow
        self.floor = execution.created_at
        self.durable_requests = {request for entry in entries if (request := request_of(entry)) is not None}
        self.sealed = False
        self._committed = committed
        self._code = Code(execution.workflow, workflow.version, code_ref=workflow.code_ref, python=_PYTHON)
        self._site = services.site
        self._actor = Actor(ActorKind.WORKER, services.site.worker_id)
        self._recorded = entries
        self._flush_at: Timestamp | None = None
        self._inbox: deque[Event] = deque()
        self._signal = asyncio.Event()
        self._alarm = Alarm(services.world, self._signal.set)
        last = entries[-1].body if entries else None
        self._orderly = not entries or (isinstance(last, ExecutionSuspended) and bool(last.on))
        self._was_held = was_held(entries)
        self.traces = Traces(JournalFold(entries))
        self.session = Session(
            execution, start=self._start, encode_result=self._encode, entry=self._entry, code=workflow.fn
        )
        self.session.load(entries)
        self.commits = Commits(services, self.session, position, landed=self._landed, failed=self._failed)
        self.waits = Waits(services.ports.channel, self.session.fold, self._now)
        self.launcher = Launcher(services, runner, execution, lambda: self.session.fold, self.commits, self.tell)
        self.channels = ChannelReader(services, self.waits, self.tell)
        self.listener = Listener(self)

    @property
    def guard(self) -> LeaseGuard:
        """The lease under which it acts."""
        assert self.commits.guard is not None
        return self.commits.guard

    def by(self, attempt: int = 0) -> Provenance:
        """This owner, now: never before the entry that precedes it, nor before an instant that has fired elsewhere."""
        at = max(self.services.world.now(), self.floor, self.session.fold.at or self.floor)
        return Provenance(self._actor, self._site, at, self._code, attempt)

    def _entry(self, body: JournalBody, attempt: int, seq: int) -> JournalEntry:
        by = self.by(attempt)
        if isinstance(body, ExecutionStarted):
            # what the code sees as the present before its first outcome, live and replayed
            by = replace(by, at=self.execution.created_at)
        return JournalEntry(body, by, seq)

    async def _start(self, session: Session) -> Any:
        context = Context(session, Effects(self.services, self.execution, self.by))
        args, kwargs = codec.load_arguments(self.workflow.fn, self.execution.args, skip_first=True)
        return await self.workflow.fn(context, *args, **kwargs)

    def _encode(self, value: Any) -> Data:
        data = codec.to_data(value, codec.return_hint(self.workflow.fn), path="result")
        check_size("the result of the workflow", data, self.services.config.max_value_bytes, verb="return")
        return data

    def tell(self, event: Event) -> None:
        """Put an event into the inbox."""
        self._inbox.append(event)
        self._signal.set()

    async def patiently(self, request: Callable[[], Awaitable[T]]) -> T:
        """Make a request that is safe to repeat, until it is answered or the lease may be over."""
        return await patiently(self.services, self.guard, request)

    @property
    def unheard(self) -> bool:
        """Whether something was told that this owner has not dealt with."""
        return any(not isinstance(event, Nudged) for event in self._inbox)

    def _landed(self, entries: Sequence[JournalEntry]) -> None:
        for entry in entries:
            request = request_of(entry)
            if request is not None:
                self.durable_requests.add(request)
                self.guard.done_with(request)
        self._committed(entries)
        self.tell(Nudged())

    def _failed(self, error: BaseException) -> None:
        self.tell(Lost(error))

    async def own(self, guard: LeaseGuard) -> Release:
        """Run under a lease until the execution is released.

        Raises:
            LeaseLost: it is owned by somebody else now; nothing more was written.
            BackendError: the storage cannot be written.
        """
        warm = self.session.started
        self.sealed = False
        self.commits.adopt(guard)
        self._site = self.services.site.at_epoch(guard.epoch)
        self.listener.listen(guard)
        try:
            if not warm:
                await self._replay()
            self.listener.take_requests(guard.lease.requests)
            while True:
                released = await self._round()
                if released is not None:
                    return released
        finally:
            self.sealed = True
            self.services.hub.disowned(self.execution.eid)
            self.traces.forget()
            self._alarm.stop()
            await self.channels.stop()
            await self.launcher.stop()

    async def _replay(self) -> None:
        if not self.session.replaying:
            self.session.begin()
        await self.advance()
        if self.session.divergence is not None and self.session.replaying:
            # what follows the difference counts for the journal, though no code is led through it
            self.session.fold = JournalFold(self._recorded)
        self._recorded = ()
        if not self._orderly:
            # the former owner may have done what it could not journal any more, the start of the frame included
            for frame in self.session.frames.values():
                frame.relaunched = True
        for frame in list(self.session.frames.values()):
            if not frame.launched:
                self._admit(frame)
        if self._was_held:
            self.listener.look_at_all()
        if not self._orderly:
            # the former owner may have died before it asked the children that its code gave up to cancel
            for fid, known in self.session.fold.frames.items():
                if known.kind is FrameKind.CHILD and known.status is FrameStatus.CANCELLED:
                    self.launcher.cancel_child(child_eid(self.execution.eid, fid))

    async def _round(self) -> Release | None:
        await self._handle_inbox()
        # a request may have been delivered by who looked at the lease
        await self.advance()
        await self._deliver()
        session, listener = self.session, self.listener
        if session.ending is not None:
            await finish(self)
            return Release.ENDED
        if session.divergence is not None and listener.migrate is None:
            why = OnOperator("nondeterminism", str(session.divergence), self.workflow.code_ref)
            _log.error("execution parked", eid=str(self.execution.eid), reason=why.reason)
            return await self._wait_for_operator(why)
        if listener.stopping or listener.migrate is not None or listener.pause is not None:
            if listener.stop_now or not (self.launcher.running or self.unheard):
                return await self._give_up()
        elif self.launcher.launch():
            self.commits.begin()
        self._flush()
        if self._inbox:
            return None
        if self._quiet() and not listener.stopping:
            return Release.SUSPENDED if await suspend(self) else None
        self.channels.begin()
        await self._wait()
        return None

    async def _give_up(self) -> Release | None:
        """Nothing runs any more: do what the operator or the worker asked for."""
        listener = self.listener
        if listener.migrate is not None:
            asked, version = listener.migrate, str(listener.migrate.data["version"])
            self.session.append(ExecutionMigrated(self.workflow.version, version, asked.reason, asked.id))
        elif listener.pause is not None:
            reason, request = listener.pause
            self.session.append(ExecutionPaused(reason, request))
            return await self._wait_for_operator(OnOperator("paused", reason))
        elif self._quiet():
            return Release.SUSPENDED if await suspend(self) else None
        # the next owner launches again what was under way
        await self.launcher.stop()
        await release(self, ())
        return Release.HANDED_OVER

    async def _wait_for_operator(self, why: OnOperator) -> Release:
        await release(self, (why,))
        return Release.SUSPENDED

    async def advance(self) -> None:
        """Let the code run until nothing is ready: outside every task, giving way to the worker every 10 ms."""
        session = self.session
        await run_slices(session, self.services.world)
        for frame in session.abandoned:
            self.waits.drop(frame)
            self.launcher.give_up(frame, session.fold.seq)
        session.abandoned.clear()
        while session.launches:
            self._admit(session.launches.popleft())
        for context in session.loop.unhandled:
            problem = str(context.get("exception") or context.get("message"))
            _log.warning("nobody awaited a failed task", eid=str(self.execution.eid), problem=problem)
        session.loop.unhandled.clear()

    def _admit(self, frame: LiveFrame) -> None:
        """A frame begins to wait, or is held until it may be launched."""
        if frame.retry_at is not None or isinstance(frame.action, WaitUntil):
            frame.launched = True
            self.waits.add(frame)
        elif isinstance(frame.action, ReceiveMessage):
            frame.launched = True
            frame.waiting_since = self.services.world.now()
            self.waits.add(frame)
            self.channels.want(frame.action.channel)
        elif isinstance(frame.action, StartChild) and isinstance(frame.waits_on, OnChild):
            frame.launched = True
            self.listener.child_waits(frame, frame.action.eid)
        elif frame.detached and isinstance(frame.waits_on, OnStep):
            frame.launched = True
            self.listener.step_waits(frame)
        else:
            self.launcher.hold(frame)

    async def _handle_inbox(self) -> None:
        self._signal.clear()
        while self._inbox:
            self.listener.handle(self._inbox.popleft())
            await self.advance()

    async def _deliver(self) -> None:
        """Deliver what has come while owned, one at a time, each followed by the code that it lets go on."""
        while self._runs:
            if not self.listener.deliver_next(self._now()):
                return
            await self.advance()

    @property
    def _runs(self) -> bool:
        """Whether the code may go on."""
        held = self.listener.pause is not None or self.listener.migrate is not None
        return self.session.divergence is None and self.session.ending is None and not held

    def _flush(self) -> None:
        """What nothing forces out is committed after ``flush_s``, so that operators see it."""
        if not self.session.buffered:
            self._flush_at = None
            return
        now = self.services.world.now()
        if self._flush_at is None:
            self._flush_at = _later(now, self.services.config.flush_s)
        elif now >= self._flush_at:
            self.commits.begin()
            self._flush_at = None

    def _quiet(self) -> bool:
        """Every live frame waits, and none for so short a time that it is not worth suspending."""
        if not (self.session.settled and self.launcher.idle and self.channels.idle):
            return False
        due = self.waits.next_due()
        return due is None or due > _later(self.services.world.now(), self.services.config.hold_s)

    def something_came(self) -> bool:
        """Whether the execution has something to do after all."""
        due = self.waits.next_due()
        return self.unheard or self.waits.has_match() or (due is not None and due <= self._now())

    def _now(self) -> Timestamp:
        """The present; an instant that has fired elsewhere has passed here as well."""
        return max(self.services.world.now(), self.floor)

    async def _wait(self) -> None:
        mark_at = self._mark_at()
        awaits_read = self.waits.unread_deadline(self._now()) is not None
        due = self.waits.next_due() if self._runs and not awaits_read else None
        instants = [at for at in (due, self._flush_at, mark_at) if at is not None]
        if instants:
            self._alarm.set(min(instants))
        await self._signal.wait()
        if mark_at is not None and self.services.world.now() >= mark_at:
            # a receive that waits while others run gets its marker too, so that senders wake this owner
            await self.patiently(lambda: mark(self))
            for channel in self.waits.channels:
                self.channels.want(channel, news=True)

    def _mark_at(self) -> Timestamp | None:
        since = [
            frame.waiting_since
            for channel in self.traces.unmarked(self.waits.channels)
            for frame in self.waits.receivers(channel)[:1]
            if frame.waiting_since is not None
        ]
        return _later(min(since), self.services.config.hold_s) if since else None

    async def close(self) -> None:
        """Drop the coroutine: nothing that it does while it is dropped has any effect."""
        await outside_tasks(self.session.loop.drop)


def _later(at: Timestamp, seconds: float) -> Timestamp:
    return Timestamp(at.us + round(seconds * 1_000_000))
