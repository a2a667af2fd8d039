"""``Inspection``: everything that a bucket says of one execution, read at one instant. Plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flowli.domain.channels import Message
from flowli.domain.entries import START, JournalEntry, Position
from flowli.domain.execution import Execution, ExecutionStatus
from flowli.domain.frames import FrameStatus
from flowli.domain.ids import Eid, Fid
from flowli.domain.memo import Anomaly, Frame, JournalFold
from flowli.domain.ports import Lease, LeaseRequest
from flowli.domain.tasks import DeadTask, QueueSettings, TaskView
from flowli.domain.timers import Timer
from flowli.domain.waits import On, OnChannel, OnChild, OnOperator, OnStep, OnTimer
from flowli.runtime.progress import Progress
from flowli.runtime.protocols.detached import detached_queue
from flowli.runtime.signs import Seen
from flowli.timestamp import Timestamp

__all__ = ["TIMERS_LOOKED_AT", "ChannelView", "ChildView", "Inspection", "QueueView", "StepView", "Wait"]


TIMERS_LOOKED_AT = 100
"""How many of the first timers of a bucket are looked at."""


@dataclass(frozen=True, slots=True)
class Wait:
    """One thing that a live frame waits on.

    Attributes:
        since: when the wait began.
        seq: of the journal entry that tells of it.
        deadline: when the wait ends without it.
    """

    fid: Fid
    on: On
    since: Timestamp
    seq: int
    deadline: Timestamp | None = None


@dataclass(frozen=True, slots=True)
class ChannelView:
    """A channel that the execution has received on, or waits on.

    Attributes:
        name: the full name.
        unread: the messages that it has not consumed, in order; repeated ones are left out.
        marked: the epoch of its wait marker; None without one.
    """

    name: str
    unread: tuple[Message, ...] = ()
    marked: int | None = None


@dataclass(frozen=True, slots=True)
class ChildView:
    """A child that some frame waits for.

    Attributes:
        status: where it stands; None if no such execution is known (yet).
    """

    fid: Fid
    eid: Eid
    workflow: str
    status: ExecutionStatus | None = None


@dataclass(frozen=True, slots=True)
class StepView:
    """A detached step that it waits for.

    Attributes:
        queue: where its task stands.
        holder: who works on it; None if nobody does.
        paused: why its queue is paused.
        worker: the last sign of life of a worker of that queue.
        ended: its outcome is there, and not in the journal.
    """

    fid: Fid
    attempt: int
    queue: str
    holder: str | None = None
    paused: str | None = None
    worker: Seen | None = None
    ended: bool = False


@dataclass(frozen=True, slots=True)
class QueueView:
    """The queue in which the execution's tasks stand.

    Attributes:
        worker: the last sign of life of a worker that takes from it; None if there never was one.
        ahead: how many of the tasks listed stand before the first one of this execution; None if it has none there.
        held: how many of the tasks listed are worked on.
        knows: whether some worker that has announced itself knows the workflow in this version; None if not asked.
    """

    name: str
    settings: QueueSettings
    worker: Seen | None = None
    ahead: int | None = None
    held: int = 0
    knows: bool | None = None


@dataclass(frozen=True, slots=True)
class Inspection:
    """See the module's docstring.

    Attributes:
        at: the instant, by the clock of who looked.
        steady: the journal was the same before and after; False if it kept on growing while it was looked at.
        fold: of ``entries``; its ``anomalies`` are what does not fit in the journal.
        position: the end of the journal.
        lease: as it was read; None if there never was one or the execution is archived.
        tasks: its tasks in ``queue``, ready ones before delayed ones.
        dead: its tasks that were set aside, if that is why it waits for an operator.
        timers: its timers, if they are among the first hundred of the bucket.
        channels: those it has received on or waits on.
        children: those it waits for.
        steps: the detached ones it waits for.
        progress: what steps without an outcome said last by ``flowli.heartbeat``.
        due_timers: how many timers of the whole bucket are due and not fired, a hundred at most; None if it counts on
            none.
        sweeper: the last sign of life of a sweeper.
    """

    at: Timestamp
    execution: Execution
    entries: tuple[JournalEntry, ...]
    fold: JournalFold
    position: Position = START
    steady: bool = True
    archived_at: Timestamp | None = None
    lease: Lease | None = None
    tasks: tuple[TaskView, ...] = ()
    dead: tuple[DeadTask, ...] = ()
    timers: tuple[Timer, ...] = ()
    channels: tuple[ChannelView, ...] = ()
    children: tuple[ChildView, ...] = ()
    queue: QueueView = field(default_factory=lambda: QueueView("default", QueueSettings()))
    steps: tuple[StepView, ...] = ()
    progress: Mapping[Fid, Progress] = field(default_factory=dict)
    due_timers: int | None = None
    sweeper: Seen | None = None

    @property
    def eid(self) -> Eid:
        """The execution."""
        return self.execution.eid

    @property
    def version(self) -> str:
        """The version that runs it now."""
        return self.fold.version or self.execution.version

    @property
    def anomalies(self) -> tuple[Anomaly, ...]:
        """What does not fit in the journal."""
        return tuple(self.fold.anomalies)

    @property
    def owned(self) -> bool:
        """Whether somebody holds the lease and the journal has not released it."""
        lease, released = self.lease, self.fold.released_epoch
        held = lease is not None and lease.holder is not None and lease.epoch > 0
        return held and self.fold.end is None and (released is None or (lease is not None and lease.epoch > released))

    @property
    def expired(self) -> bool:
        """Whether the owner has not renewed its lease for its ttl."""
        return self.owned and self.lease is not None and self.lease.idle_s >= self.lease.ttl_s

    @property
    def armed(self) -> tuple[Timer, ...]:
        """Its timers: those that were found, or those that must be farther on in the bucket than was looked."""
        unseen = self.due_timers is not None and self.due_timers >= TIMERS_LOOKED_AT and self.fold.end is None
        return self.timers or (tuple(self.fold.timers()) if unseen else ())

    @property
    def requests(self) -> tuple[LeaseRequest, ...]:
        """What operators asked for and no owner has applied yet."""
        found = self.lease.requests if self.lease is not None and self.fold.end is None else ()
        return tuple(one for one in found if one.verb != "wake" and one.id not in self.fold.applied)

    @property
    def waits(self) -> tuple[Wait, ...]:
        """What its live frames wait on, by frame; on the operator instead, while it is paused or parked."""
        parked = self.fold.parked
        if parked is not None:
            seq = self.fold.lifecycle_seq
            return (Wait("root", parked, self.entries[seq - 1].at, seq),)
        return tuple(wait for frame in self.fold.live_frames() if (wait := self._wait(frame)) is not None)

    def _wait(self, frame: Frame) -> Wait | None:
        told = _last_told(self.entries, frame.fid)
        at = next((entry.at for entry in self.entries[told - 1 : told]), frame.started_at)
        on = frame.waits_on if frame.status is FrameStatus.WAITING else None
        if on is None:
            on = self._implied(frame, self.entries[told - 1])
        if on is None:
            return None
        return Wait(frame.fid, on, at, told, frame.due_at or _instant(frame.metadata.get("deadline")))

    def _implied(self, frame: Frame, last: JournalEntry) -> On | None:
        """What a frame waits on that no ``frame.suspended`` tells of: its owner holds it, or was lost."""
        body = last.body
        retry_at = getattr(body, "retry_at", None) or getattr(body, "until", None)
        if isinstance(retry_at, Timestamp):
            return OnTimer(retry_at)
        if detached_queue(frame) is not None:
            return OnStep(frame.fid, frame.attempt)
        match frame.metadata:
            case {"due_at": str(due_at)}:
                return OnTimer(Timestamp.parse(due_at))
            case {"eid": str(eid)} if frame.kind == "child":
                return OnChild(Eid(eid))
            case {"channel": str(channel)} if frame.kind == "receive":
                return OnChannel(channel)
            case _:
                return None

    def channel(self, name: str) -> ChannelView:
        """The view of one channel."""
        return next((one for one in self.channels if one.name == name), ChannelView(name))

    def child(self, eid: Eid) -> ChildView | None:
        """The view of one child that it waits for."""
        return next((one for one in self.children if one.eid == eid), None)

    def step(self, fid: Fid) -> StepView | None:
        """The view of one detached step that it waits for."""
        return next((one for one in self.steps if one.fid == fid), None)

    def seq_of(self, *tags: str) -> tuple[int, ...]:
        """Sequence number of the last entry with one of these tags; empty if there is none."""
        return next(((entry.seq,) for entry in reversed(self.entries) if entry.body.tag in tags), ())

    def has_come(self, wait: Wait) -> bool:
        """Whether what a frame waits on is there."""
        if wait.deadline is not None and wait.deadline <= self.at:
            return True
        match wait.on:
            case OnTimer(due_at):
                return due_at <= self.at
            case OnChannel(channel):
                return any(self.fits(wait.fid, one) for one in self.channel(channel).unread)
            case OnChild(eid):
                child = self.child(eid)
                return child is not None and child.status is not None and child.status.terminal
            case OnStep(fid):
                return any(step.fid == fid and step.ended for step in self.steps)
            case OnOperator():
                return False

    def fits(self, fid: Fid, message: Message) -> bool:
        """Whether a frame that receives can have a message."""
        frame = self.fold.frames.get(fid)
        wanted = frame.metadata.get("correlation") if frame is not None else None
        after = frame.metadata.get("after") if frame is not None else None
        first = int(after.rpartition(".")[2]) if isinstance(after, str) else 0
        return message.seq > first and wanted in (None, message.correlation)


def _last_told(entries: tuple[JournalEntry, ...], fid: Fid) -> int:
    return next(entry.seq for entry in reversed(entries) if getattr(entry.body, "fid", None) == fid)


def _instant(text: object) -> Timestamp | None:
    return Timestamp.parse(text) if isinstance(text, str) else None
