"""``Listener``: turns what an owner is told into deliveries to its session."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, assert_never

import structlog

from flowli.domain.entries import ExecutionCancelled, ExecutionPaused, ExecutionUnpaused
from flowli.domain.errors import BackendUnavailable, LeaseLost
from flowli.domain.ids import Eid
from flowli.domain.ports import LeaseRequest
from flowli.domain.tasks import Task
from flowli.domain.waits import OnTimer
from flowli.runtime.observe.spans import trace_receipt
from flowli.runtime.owner.detached import detach
from flowli.runtime.owner.events import (
    AttemptEnded,
    ChildSeen,
    EffectDone,
    Event,
    Lost,
    Nudged,
    Requested,
    StepSeen,
    Stop,
    Woken,
)
from flowli.runtime.owner.steps import Returned
from flowli.runtime.owner.waits import due_at, waits_on
from flowli.runtime.protocols.causes import is_answered
from flowli.runtime.protocols.complete_child import ChildEnd, from_payload, read_child_end
from flowli.runtime.protocols.detached import StepRun, run_of
from flowli.runtime.protocols.retry import Deferred, Failed
from flowli.runtime.protocols.step_end import StepEnd, judge_end
from flowli.runtime.protocols.wake import ChildCause, MessageCause, RequestCause, StepCause
from flowli.runtime.replay.calls import LiveFrame, RunStep, StartChild
from flowli.runtime.worker.renewal import LeaseGuard
from flowli.timestamp import Timestamp

if TYPE_CHECKING:
    from flowli.runtime.owner.owner import Owner

__all__ = ["Listener"]

_log = structlog.get_logger("flowli.owner")


class Listener:
    """See the module's docstring.

    Attributes:
        pause: reason and request id of a pause that is to take effect when nothing runs any more.
        migrate: a request to be run by another version, from the same point on.
        stopping: the worker goes down; ``stop_now``: at once.
    """

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._session = owner.session
        self._waits = owner.waits
        self._ends: dict[Eid, ChildEnd] = {}
        self._step_ends: dict[str, StepEnd] = {}
        self._requests: set[str] = set()
        self.pause: tuple[str, str] | None = None
        self.migrate: LeaseRequest | None = None
        self.stopping = False
        self.stop_now = False

    def listen(self, guard: LeaseGuard) -> None:
        """Take wake-ups and requests from now on."""
        owner = self._owner
        guard.on_lost = lambda: owner.tell(Lost(LeaseLost("the lease was taken over, or could not be renewed")))
        guard.on_requests = lambda requests: owner.tell(Requested(requests))
        owner.services.hub.owned(owner.execution.eid, lambda cause: owner.tell(Woken(cause)))
        self.pause = self.migrate = None
        self.stopping = self.stop_now = False
        self._requests.clear()

    def take_resume(self, task: Task) -> None:
        """A RESUME was dequeued for this execution."""
        self._owner.traces.told(task.key)
        if task.reason == "timer":
            # a timer that fired counts as due here too, whatever this clock says
            self._owner.has_fired(task.cause_at)
        end = from_payload(task.payload) if task.reason == ChildCause.reason else None
        if end is not None:
            self._owner.tell(ChildSeen(Eid(task.key.removeprefix("child:")), end))
        elif task.reason == StepCause.reason and task.payload is not None:
            self._owner.tell(StepSeen(task.key, StepEnd.from_data(task.payload)))
        else:
            self._owner.tell(Woken(task.key))

    def handle(self, event: Event) -> None:
        """Deal with one event.

        Raises:
            LeaseLost, BackendError: the event was ``Lost``.
        """
        match event:
            case AttemptEnded(frame, outcome):
                if self._owner.launcher.ended(frame):
                    self._attempt_ended(frame, outcome)
            case EffectDone(frame, outcome):
                if self._owner.launcher.ended(frame):
                    self._effect_done(frame, outcome)
            case ChildSeen(eid, end):
                self._ends[eid] = end
                self._match_child(eid)
            case StepSeen(cause, end):
                self._step_ends[cause] = end
                self._match_step(cause)
            case Woken(cause):
                self._woken(cause)
            case Requested(requests):
                self.take_requests(requests)
            case Stop(now):
                self.stopping = True
                self.stop_now |= now
            case Lost(error):
                raise error
            case Nudged():
                pass
            case _:
                assert_never(event)

    def _attempt_ended(self, frame: LiveFrame, outcome: Returned | Failed | Deferred) -> None:
        match outcome:
            case Returned(value):
                self._session.complete(frame, value)
            case Failed(error, retryable, retry_at):
                self._session.fail(frame, error, retryable=retryable, retry_at=retry_at)
            case Deferred(until):
                self._session.defer(frame, until)
        if frame.retry_at is not None:
            self._waits.add(frame)
        else:
            self._owner.guard.step_ended(frame.fid)

    def child_waits(self, frame: LiveFrame, eid: Eid) -> None:
        """``frame`` waits for a child that was started before."""
        self._waits.add(frame)
        self._match_child(eid)

    def step_waits(self, frame: LiveFrame) -> None:
        """``frame`` waits for a detached step that was put before."""
        cause = self._run_of(frame).cause.key
        self._waits.add_step(cause, frame)
        self._match_step(cause)

    def _run_of(self, frame: LiveFrame) -> StepRun:
        return run_of(self._owner.execution.eid, self._session.fold.frames[frame.fid])

    def _effect_done(self, frame: LiveFrame, outcome: Returned | Failed) -> None:
        if isinstance(outcome, Failed):
            self._session.fail(frame, outcome.error, retryable=False)
        elif isinstance(frame.action, StartChild):
            self.child_waits(frame, frame.action.eid)
        elif isinstance(frame.action, RunStep):
            if outcome.value is not None:
                self._step_ends[self._run_of(frame).cause.key] = StepEnd.from_data(outcome.value)
            self.step_waits(frame)
        else:
            self._session.complete(frame, outcome.value)

    def _match_child(self, eid: Eid) -> None:
        frame, end = self._waits.child_frame(eid), self._ends.get(eid)
        if frame is None or end is None or frame.ended:
            return
        del self._ends[eid]
        self._waits.drop(frame)
        if end.error is not None:
            self._session.fail(frame, end.error, retryable=False)
        else:
            self._session.fulfil(frame, waits_on(frame), end.value)

    def _match_step(self, cause: str) -> None:
        frame, end = self._waits.step_frame(cause), self._step_ends.get(cause)
        if frame is None or end is None or frame.ended:
            return
        assert isinstance(frame.action, RunStep)
        del self._step_ends[cause]
        on = waits_on(frame)
        self._waits.drop(frame)
        outcome = judge_end(end, frame.action.retry, frame.attempt, self._owner.services.world)
        if outcome is None:
            self._session.fulfil(frame, on, end.value)
        else:
            self._attempt_ended(frame, outcome)

    def look_at_all(self) -> None:
        """Look at everything that is waited on: wake-ups may have been acked while nobody was to go on."""
        launcher = self._owner.launcher
        for eid in self._waits.children:
            launcher.beside(self._look_at_child(eid))
        for frame in self._waits.steps:
            launcher.beside(self._look_at_step(frame))
        for channel in self._waits.channels:
            self._owner.channels.want(channel, news=True)

    def _woken(self, cause: str) -> None:
        kind, _, rest = cause.partition(":")
        launcher = self._owner.launcher
        match kind:
            case "child":
                launcher.beside(self._look_at_child(Eid(rest)))
            case "request":
                launcher.beside(self._look_at_lease())
            case "message":
                self._owner.channels.want(rest.rpartition(":")[0], news=True)
            case "step":
                frame = self._waits.step_frame(cause)
                if frame is not None:
                    launcher.beside(self._look_at_step(frame))
            case "audit" | "expired" | "code":
                self.look_at_all()

    async def _look_at_child(self, eid: Eid) -> None:
        """Its RESUME is acked when this execution is let go, so that it is looked at until it is seen."""
        ports = self._owner.services.ports
        end = await self._owner.patiently(lambda: read_child_end(ports, eid))
        if end is not None:
            self._owner.tell(ChildSeen(eid, end))

    async def _look_at_step(self, frame: LiveFrame) -> None:
        """Look for its outcome; without one its task is put again, should it have been lost."""
        assert isinstance(frame.action, RunStep)
        assert frame.action.queue is not None
        owner, action, queue, run = self._owner, frame.action, frame.action.queue, self._run_of(frame)
        services, execution, epoch = owner.services, owner.execution, owner.guard.epoch
        found = await owner.patiently(lambda: detach(services, execution, run, action, queue, epoch, again=True))
        if found is not None:
            owner.tell(StepSeen(run.cause.key, StepEnd.from_data(found)))

    async def _look_at_lease(self) -> None:
        with contextlib.suppress(BackendUnavailable):
            lease = await self._owner.services.ports.ownership.read(self._owner.execution.eid)
            if lease is not None and lease.requests:
                self._owner.tell(Requested(lease.requests))

    def deliver_next(self, now: Timestamp) -> bool:
        """Deliver one message that has come or one instant that is due; False if there is none."""
        matched = self._waits.match()
        if matched is not None:
            frame, message = matched
            self._waits.drop(frame)
            seq, commit = message.seq, message.commit or None
            self._owner.traces.took(MessageCause(message.channel, seq), message.sent_by)
            self._session.fulfil(frame, waits_on(frame), message.payload, message_seq=seq, message_commit=commit)
            tracer = self._owner.services.observers.tracer
            trace_receipt(tracer, self._owner.execution, frame.fid, message, frame.started_at, now)
            return True
        unread = self._waits.unread_deadline(now)
        if unread is not None:
            self._owner.channels.want(unread)
            return False
        due = self._waits.pop_due(now)
        if due is None:
            return False
        instant = due_at(due)
        assert instant is not None
        self._owner.has_fired(instant)
        if isinstance(due.action, RunStep):
            self._session.try_again(due, due.attempt if due.deferred else due.attempt + 1)
        else:
            self._waits.drop(due)
            self._session.fulfil(due, OnTimer(instant), None)
        return True

    def take_requests(self, requests: tuple[LeaseRequest, ...]) -> bool:
        """Apply the requests that are new; True if there were any."""
        fresh = False
        for request in requests:
            if request.id in self._owner.durable_requests:
                self._owner.guard.done_with(request.id)
            elif request.id not in self._session.fold.applied and request.id not in self._requests:
                self._requests.add(request.id)
                if request.verb != "wake":
                    self._owner.traces.took(RequestCause(request.id), request.by)
                fresh = True
                self._apply(request)
        return fresh

    def _apply(self, request: LeaseRequest) -> None:
        match request.verb:
            case "cancel":
                self._answer_pause()
                if self._session.fold.paused is not None:
                    self._session.append(ExecutionUnpaused("it is cancelled"))
                if self._session.divergence is None:
                    self._session.request_cancel(request.reason, request.id)
                else:  # there is no code that could be told
                    self._session.ending = ExecutionCancelled(request.reason, request.id)
            case "pause":
                self._answer_pause()
                self.pause = (request.reason, request.id)
            case "unpause":
                self._answer_pause()
                self._session.append(ExecutionUnpaused(request.reason, request.id))
            case "terminate":
                self._session.ending = ExecutionCancelled(request.reason, request.id)
            case "migrate":
                self.migrate = request
            case "wake":
                cause = str(request.data.get("cause", ""))
                if not is_answered(cause, self._session.fold):
                    self._woken(cause)
                self._owner.guard.done_with(request.id)
            case verb:
                _log.info("a request is left to who made it", eid=str(self._owner.execution.eid), verb=verb)

    def _answer_pause(self) -> None:
        """A pause that did not take effect has its entry all the same: no later owner may find it unanswered."""
        if self.pause is not None:
            self._session.append(ExecutionPaused(*self.pause))
            self.pause = None
