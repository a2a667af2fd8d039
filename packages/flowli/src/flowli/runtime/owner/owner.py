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
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

import structlog

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.entries import ExecutionPaused, ExecutionStarted, JournalBody, JournalEntry, Position
from flowli.domain.errors import BackendError, LeaseLost
from flowli.domain.execution import Execution
from flowli.domain.memo import JournalFold
from flowli.domain.provenance import Actor, ActorKind, Code, Provenance
from flowli.domain.waits import OnChild, OnOperator
from flowli.runtime.context import Context
from flowli.runtime.effects import Effects
from flowli.runtime.owner.channels import ChannelReader
from flowli.runtime.owner.commits import Commits
from flowli.runtime.owner.events import Event, Lost, Nudged
from flowli.runtime.owner.launcher import Launcher
from flowli.runtime.owner.listener import Listener
from flowli.runtime.owner.steps import StepRunner
from flowli.runtime.owner.waits import Waits
from flowli.runtime.protocols.finish import finish
from flowli.runtime.protocols.suspend import mark, release, suspend
from flowli.runtime.registry import Workflow
from flowli.runtime.replay.calls import LiveFrame, ReceiveMessage, StartChild, WaitUntil
from flowli.runtime.replay.session import Session
from flowli.runtime.services import Services
from flowli.runtime.worker.renewal import LeaseGuard
from flowli.timestamp import Timestamp

__all__ = ["Owner", "Release"]

_log = structlog.get_logger("flowli.owner")
_SLICE_S = 0.01


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
        marked: the channels on which a marker of this owner stands.
        unclean: an owner that vanished may have left markers that no entry tells of.
        timers: the timers that this owner has set.
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
        fold = JournalFold(entries)
        self.marked = fold.markers()
        self.unclean = fold.seq > 0 and fold.suspended is None
        self.timers = fold.timers()
        self.sealed = False
        self._committed = committed
        self._code = Code(execution.workflow, workflow.version, code_ref=workflow.code_ref, python=_PYTHON)
        self._actor = Actor(ActorKind.WORKER, services.site.worker_id)
        self._flush_at: Timestamp | None = None
        self._inbox: deque[Event] = deque()
        self._signal = asyncio.Event()
        self.session = Session(execution, start=self._start, encode_result=self._encode, entry=self._entry)
        self.session.load(entries)
        self.commits = Commits(services, self.session, position, landed=self._landed, failed=self._failed)
        self.waits = Waits(services.ports.channel, self.session.fold)
        self.launcher = Launcher(services, runner, execution, self.commits, self.tell)
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
        guard = self.commits.guard
        site = self.services.site.at_epoch(guard.epoch if guard is not None else 0)
        return Provenance(self._actor, site, at, self._code, attempt)

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
        return codec.to_data(value, codec.return_hint(self.workflow.fn), path="result")

    def tell(self, event: Event) -> None:
        """Put an event into the inbox."""
        self._inbox.append(event)
        self._signal.set()

    @property
    def unheard(self) -> bool:
        """Whether something was told that this owner has not dealt with."""
        return any(not isinstance(event, Nudged) for event in self._inbox)

    def _landed(self, entries: Sequence[JournalEntry]) -> None:
        self._committed(entries)
        self.tell(Nudged())

    def _failed(self, error: LeaseLost | BackendError) -> None:
        self.tell(Lost(error))

    async def own(self, guard: LeaseGuard) -> Release:
        """Run under a lease until the execution is released.

        Raises:
            LeaseLost: it is owned by somebody else now; nothing more was written.
            BackendError: the storage cannot be written.
        """
        warm = self.session.started
        self.listener.stopping = self.listener.stop_now = False
        self.sealed = False
        self.commits.adopt(guard)
        self.listener.listen(guard)
        try:
            if not warm and not self.session.replaying:
                self.session.begin()
            await self.advance()
            if not warm:
                for frame in list(self.session.frames.values()):
                    if not frame.launched:
                        self._admit(frame)
            self.listener.take_requests(guard.lease.requests)
            while True:
                released = await self._round()
                if released is not None:
                    return released
        finally:
            self.services.hub.disowned(self.execution.eid)
            await self.channels.stop()
            await self.launcher.stop()

    async def _round(self) -> Release | None:
        await self._handle_inbox()
        await self._deliver()
        session = self.session
        if session.divergence is not None:
            why = OnOperator("nondeterminism", str(session.divergence), self.workflow.code_ref)
            _log.error("execution parked", eid=str(self.execution.eid), reason=why.reason)
            return await self._wait_for_operator(why)
        if session.ending is not None:
            await finish(self)
            return Release.ENDED
        if self.listener.stopping:
            if self.listener.stop_now or not (self.launcher.running or self.unheard):
                return await self._hand_over()
        elif self.listener.pause is not None:
            if not self.launcher.running and not self.unheard:
                reason, request = self.listener.pause
                session.append(ExecutionPaused(reason, request))
                return await self._wait_for_operator(OnOperator("paused", reason))
        elif self.launcher.launch():
            self.commits.begin()
        self.channels.begin()
        self._flush()
        if self._inbox:
            return None
        if self._quiet() and not self.listener.stopping:
            return Release.SUSPENDED if await suspend(self) else None
        await self._wait()
        return None

    async def _wait_for_operator(self, why: OnOperator) -> Release:
        await release(self, (why,))
        return Release.SUSPENDED

    async def _hand_over(self) -> Release | None:
        """Release the execution although it has something to do: the next owner launches again what was under way."""
        if self._quiet():
            return Release.SUSPENDED if await suspend(self) else None
        await self.launcher.stop()
        await release(self, ())
        return Release.HANDED_OVER

    async def advance(self) -> None:
        """Let the code run until nothing is ready: outside every task, giving way to the worker every 10 ms."""
        world = self.services.world
        while not self.session.settled and self.session.divergence is None:
            loop = asyncio.get_running_loop()
            done: asyncio.Future[None] = loop.create_future()
            until_s = world.monotonic_s() + _SLICE_S
            loop.call_soon(self._slice, done, lambda until_s=until_s: world.monotonic_s() >= until_s)
            await done
        session = self.session
        for frame in session.abandoned:
            self.waits.drop(frame)
            self.launcher.give_up(frame)
        session.abandoned.clear()
        while session.launches:
            self._admit(session.launches.popleft())
        for context in session.loop.unhandled:
            problem = str(context.get("exception") or context.get("message"))
            _log.warning("nobody awaited a failed task", eid=str(self.execution.eid), problem=problem)
        session.loop.unhandled.clear()

    def _slice(self, done: asyncio.Future[None], passed: Callable[[], bool]) -> None:
        try:
            self.session.advance(passed)
        except BaseException as error:
            if not done.cancelled():
                done.set_exception(error)
        else:
            if not done.cancelled():
                done.set_result(None)

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
        else:
            self.launcher.hold(frame)

    async def _handle_inbox(self) -> None:
        self._signal.clear()
        while self._inbox and self.session.divergence is None:
            self.listener.handle(self._inbox.popleft())
            await self.advance()

    async def _deliver(self) -> None:
        """Deliver what has come while owned, one at a time, each followed by the code that it lets go on."""
        while self.session.divergence is None and self.session.ending is None and self.listener.pause is None:
            if not self.listener.deliver_next(max(self.services.world.now(), self.floor)):
                return
            await self.advance()

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
        if not self.launcher.idle or not self.channels.idle:
            return False
        due = self.waits.next_due()
        return due is None or due > _later(self.services.world.now(), self.services.config.hold_s)

    def something_came(self) -> bool:
        """Whether the execution has something to do after all."""
        now = max(self.services.world.now(), self.floor)
        due = self.waits.next_due()
        return self.unheard or self.waits.has_match() or (due is not None and due <= now)

    async def _wait(self) -> None:
        mark_at = self._mark_at()
        instants = [at for at in (self.waits.next_due(), self._flush_at, mark_at) if at is not None]
        world = self.services.world
        if not instants:
            await self._signal.wait()
        else:
            delay_s = max(0.0, (min(instants).us - world.now().us) / 1_000_000)
            signal, alarm = asyncio.ensure_future(self._signal.wait()), asyncio.ensure_future(world.sleep(delay_s))
            try:
                await asyncio.wait((signal, alarm), return_when=asyncio.FIRST_COMPLETED)
            finally:
                signal.cancel()
                alarm.cancel()
        if mark_at is not None and world.now() >= mark_at:
            # a receive that waits while others run gets its marker too, so that senders wake this owner
            await mark(self)
            for channel in self.waits.channels:
                self.channels.want(channel)

    def _mark_at(self) -> Timestamp | None:
        since = [
            frame.waiting_since
            for channel in self.waits.channels
            if channel not in self.marked
            for frame in self.waits.receivers(channel)[:1]
            if frame.waiting_since is not None
        ]
        return _later(min(since), self.services.config.hold_s) if since else None

    async def close(self) -> None:
        """Drop the coroutine: nothing that it does while it is dropped has any effect."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def drop() -> None:
            self.session.loop.drop()
            if not done.cancelled():
                done.set_result(None)

        loop.call_soon(drop)
        await done


_PYTHON = ".".join(platform.python_version_tuple()[:2])


def _later(at: Timestamp, seconds: float) -> Timestamp:
    return Timestamp(at.us + round(seconds * 1_000_000))
