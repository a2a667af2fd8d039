"""``Owner``: one process's ownership of one execution.

It is a loop over events. Each round: due instants and matched messages are delivered, one at a time with a slice of
code after each; frames whose barrier is durable are launched; what must be durable is committed; then it waits for
the next event, or suspends when every live frame waits.

Between two ownerships of one process the owner is warm: it keeps the coroutine, and goes on if the next epoch is its
own + 1.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import structlog

from flowli.domain.entries import ExecutionSuspended, JournalEntry, Position
from flowli.domain.execution import Execution
from flowli.domain.frames import FrameKind, FrameStatus
from flowli.domain.ids import child_eid
from flowli.domain.memo import JournalFold
from flowli.domain.provenance import Provenance
from flowli.domain.waits import OnChild, OnOperator, OnStep
from flowli.runtime.owner.author import Author
from flowli.runtime.owner.channels import ChannelReader
from flowli.runtime.owner.commits import Commits
from flowli.runtime.owner.events import Event, Lost, Nudged
from flowli.runtime.owner.inbox import Inbox
from flowli.runtime.owner.launcher import Launcher
from flowli.runtime.owner.listener import Listener
from flowli.runtime.owner.lull import Lull, later
from flowli.runtime.owner.patience import patiently
from flowli.runtime.owner.release import Release
from flowli.runtime.owner.slices import outside_tasks, run_slices
from flowli.runtime.owner.steps import StepRunner
from flowli.runtime.owner.traces import Traces
from flowli.runtime.owner.waits import Waits
from flowli.runtime.protocols.causes import request_of, was_held
from flowli.runtime.protocols.finish import finish
from flowli.runtime.protocols.hand_over import hand_over, park
from flowli.runtime.protocols.suspend import suspend
from flowli.runtime.registry import Workflow
from flowli.runtime.replay.calls import LiveFrame, ReceiveMessage, StartChild, WaitUntil
from flowli.runtime.replay.session import Session
from flowli.runtime.services import Services
from flowli.runtime.worker.renewal import LeaseGuard
from flowli.timestamp import Timestamp

__all__ = ["Owner"]

T = TypeVar("T")

_log = structlog.get_logger("flowli.owner")


class Owner:
    """See the module's docstring.

    Args:
        execution: the record.
        workflow: the code that runs it.
        entries: the journal, to be replayed, which ends at ``position``.
        committed: told each commit that became durable.

    Attributes:
        inbox: what it is told.
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
        self.durable_requests = {request for entry in entries if (request := request_of(entry)) is not None}
        self.sealed = False
        self._committed = committed
        self._recorded = entries
        self.inbox = Inbox()
        self._lull = Lull(self)
        self._author = Author(services, execution, workflow, lambda: self.session.fold.at)
        last = entries[-1].body if entries else None
        self._orderly = not entries or (isinstance(last, ExecutionSuspended) and bool(last.on))
        self._was_held = was_held(entries)
        self.traces = Traces(JournalFold(entries))
        self.session = Session(
            execution,
            start=self._author.start,
            encode_result=self._author.encode,
            entry=self._author.entry,
            code=workflow.fn,
        )
        self.session.load(entries)
        self.commits = Commits(services, self.session, position, landed=self._landed, failed=self._failed)
        self.waits = Waits(services.ports.channel, self.session.fold, self.now)
        self.launcher = Launcher(services, runner, execution, lambda: self.session.fold, self.commits, self.tell)
        self.channels = ChannelReader(services, self.waits, self.tell)
        self.listener = Listener(self)

    @property
    def guard(self) -> LeaseGuard:
        """The lease under which it acts."""
        assert self.commits.guard is not None
        return self.commits.guard

    def has_fired(self, instant: Timestamp) -> None:
        """An instant has fired, here or elsewhere: it has passed, whatever this clock says."""
        self._author.floor = max(self._author.floor, instant)

    def by(self, attempt: int = 0) -> Provenance:
        """This owner, now: never before the entry that precedes it, nor before an instant that has fired elsewhere."""
        return self._author.by(attempt)

    def now(self) -> Timestamp:
        """The present; an instant that has fired elsewhere has passed here as well."""
        return self._author.now()

    def tell(self, event: Event) -> None:
        """Put an event into the inbox."""
        self.inbox.tell(event)

    async def patiently(self, request: Callable[[], Awaitable[T]]) -> T:
        """Make a request that is safe to repeat, until it is answered or the lease may be over."""
        return await patiently(self.services, self.guard, request)

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
        self._author.act_under(guard.epoch)
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
            self._lull.stop()
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
            return await park(self, why)
        if listener.stopping or listener.migrate is not None or listener.pause is not None:
            if listener.stop_now or not (self.launcher.running or self.inbox.unheard):
                return await hand_over(self)
        elif self.launcher.launch():
            self.commits.begin()
        self._lull.flush()
        if self.inbox:
            return None
        if self.quiet and not listener.stopping:
            return Release.SUSPENDED if await suspend(self) else None
        self.channels.begin()
        await self._lull.wait()
        return None

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
        for event in self.inbox.take():
            self.listener.handle(event)
            await self.advance()

    async def _deliver(self) -> None:
        """Deliver what has come while owned, one at a time, each followed by the code that it lets go on."""
        while self.runs:
            if not self.listener.deliver_next(self.now()):
                return
            await self.advance()

    @property
    def runs(self) -> bool:
        """Whether the code may go on."""
        held = self.listener.pause is not None or self.listener.migrate is not None
        return self.session.divergence is None and self.session.ending is None and not held

    @property
    def quiet(self) -> bool:
        """Every live frame waits, and none for so short a time that it is not worth suspending."""
        if not (self.session.settled and self.launcher.idle and self.channels.idle):
            return False
        due = self.waits.next_due()
        return due is None or due > later(self.services.world.now(), self.services.config.hold_s)

    def something_came(self) -> bool:
        """Whether the execution has something to do after all."""
        due = self.waits.next_due()
        return self.inbox.unheard or self.waits.has_match() or (due is not None and due <= self.now())

    async def close(self) -> None:
        """Drop the coroutine: nothing that it does while it is dropped has any effect."""
        await outside_tasks(self.session.loop.drop)
