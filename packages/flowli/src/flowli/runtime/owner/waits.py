"""``Waits``: what the live frames of one execution wait on, while it is owned.

Instants stand in a heap. Channels are read from where this execution last consumed; messages go to the receives in
the order in which those were started, and no two get the same one. Children tell of their end by themselves.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

from flowli.domain.channels import Message
from flowli.domain.entries import START, Position
from flowli.domain.ids import Eid
from flowli.domain.memo import JournalFold
from flowli.domain.ports import Channel
from flowli.domain.waits import On, OnChannel, OnChild, OnStep, OnTimer
from flowli.runtime.replay.calls import LiveFrame, ReceiveMessage, RunStep, StartChild, WaitUntil
from flowli.timestamp import Timestamp

__all__ = ["Waits", "due_at", "is_waiting", "waits_on"]


def due_at(frame: LiveFrame) -> Timestamp | None:
    """The instant at which the frame goes on by itself, if there is one."""
    if frame.retry_at is not None:
        return frame.retry_at
    match frame.action:
        case WaitUntil(due):
            return due
        case ReceiveMessage(_, deadline):
            return deadline
        case _:
            return None


def is_waiting(frame: LiveFrame) -> bool:
    """Whether a launched frame waits for something, rather than run."""
    if frame.retry_at is not None or frame.detached:
        return True
    return isinstance(frame.action, WaitUntil | ReceiveMessage | StartChild)


def waits_on(frame: LiveFrame) -> On:
    """What a frame of a quiet execution waits on."""
    if frame.retry_at is not None:
        return OnTimer(frame.retry_at)
    match frame.action:
        case WaitUntil(due):
            return OnTimer(due)
        case ReceiveMessage(channel):
            return OnChannel(channel)
        case StartChild(eid):
            return OnChild(eid)
        case RunStep(queue=str()):
            return OnStep(frame.fid, frame.attempt)
        case _:
            raise AssertionError(f"{frame.describe()} does not wait")


def _fits(frame: LiveFrame, message: Message) -> bool:
    assert isinstance(frame.action, ReceiveMessage)
    return message.seq > frame.action.after.seq and frame.action.correlation in (None, message.correlation)


@dataclass(slots=True)
class _ChannelView:
    """What this owner has read of one channel, up to ``position``; its last read began at ``looked_at``.

    With ``begin`` it has left out messages before that, which the receives so far cannot have.
    """

    position: Position
    begin: Position | None = None
    looked_at: Timestamp | None = None
    unread: list[Message] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    waiting: list[LiveFrame] = field(default_factory=list)


class Waits:
    """See the module's docstring."""

    def __init__(self, channel: Channel, fold: JournalFold, now: Callable[[], Timestamp]) -> None:
        self._channel = channel
        self._now = now
        self._fold = fold
        self._alarms: list[tuple[Timestamp, int, LiveFrame]] = []
        self._armed = 0
        self._views: dict[str, _ChannelView] = {}
        self._children: dict[Eid, LiveFrame] = {}
        self._steps: dict[str, LiveFrame] = {}

    def add(self, frame: LiveFrame) -> None:
        """``frame`` begins to wait."""
        due = due_at(frame)
        if due is not None:
            self._armed += 1
            heapq.heappush(self._alarms, (due, self._armed, frame))
        match frame.action:
            case ReceiveMessage(channel):
                self._view(channel, frame.action).waiting.append(frame)
            case StartChild(eid):
                self._children[eid] = frame

    def add_step(self, cause: str, frame: LiveFrame) -> None:
        """``frame`` begins to wait for a detached step; ``cause`` is the key of the RESUME that tells of its end."""
        self._steps[cause] = frame

    def drop(self, frame: LiveFrame) -> None:
        """``frame`` waits no more."""
        match frame.action:
            case ReceiveMessage(channel):
                view = self._views.get(channel)
                if view is not None and frame in view.waiting:
                    view.waiting.remove(frame)
            case StartChild(eid):
                self._children.pop(eid, None)
            case RunStep(queue=str()):
                self._steps = {cause: other for cause, other in self._steps.items() if other is not frame}

    def _view(self, channel: str, action: ReceiveMessage) -> _ChannelView:
        """The view of a channel, begun anew if this receive may have a message that lies before it."""
        after, view = Position(max(0, action.after.commit - 1), 0), self._views.get(channel)
        if view is None or (view.begin is not None and after < view.begin):
            cursor = self._cursor(channel)
            begin, waiting = (after if after > cursor else None), [] if view is None else view.waiting
            view = self._views[channel] = _ChannelView(max(cursor, after), begin, waiting=waiting)
        return view

    def _cursor(self, channel: str) -> Position:
        """Where to begin to read: at the commit of the last message consumed, unless some may lie before it unread."""
        consumed = self._fold.consumed.get(channel)
        last = self._fold.last_consumed.get(channel)
        if not consumed or last is None or last[1] < 1 or len(consumed) != last[0]:
            # a receive with a correlation may have passed over earlier messages
            return START
        return Position(last[1] - 1, 0)

    def _alarm(self) -> tuple[Timestamp, int, LiveFrame] | None:
        while self._alarms:
            due, _, frame = self._alarms[0]
            if not frame.ended and due_at(frame) == due:
                return self._alarms[0]
            heapq.heappop(self._alarms)
        return None

    def next_due(self) -> Timestamp | None:
        """The earliest instant at which something goes on by itself."""
        alarm = self._alarm()
        return None if alarm is None else alarm[0]

    def next_due_frame(self) -> LiveFrame | None:
        """The frame of that instant; of several the one that sorts first, so that every owner names the same."""
        due = self.next_due()
        same = [frame for at, _, frame in self._alarms if at == due and not frame.ended and due_at(frame) == due]
        return min(same, key=lambda frame: frame.fid, default=None)

    def unread_deadline(self, now: Timestamp) -> str | None:
        """The channel that must be read before the next deadline that has passed may end a receive.

        A message that came in time wins, however late a worker takes it up.
        """
        alarm = self._alarm()
        if alarm is None or alarm[0] > now or not isinstance(alarm[2].action, ReceiveMessage):
            return None
        channel = alarm[2].action.channel
        looked_at = self._views[channel].looked_at
        return channel if looked_at is None or looked_at < alarm[0] else None

    def pop_due(self, now: Timestamp) -> LiveFrame | None:
        """The next frame whose instant has come."""
        alarm = self._alarm()
        if alarm is None or alarm[0] > now:
            return None
        heapq.heappop(self._alarms)
        return alarm[2]

    @property
    def channels(self) -> list[str]:
        """The channels on which some frame waits."""
        return [name for name, view in self._views.items() if view.waiting]

    @property
    def known_channels(self) -> list[str]:
        """The channels on which some frame has waited."""
        return list(self._views)

    def receivers(self, channel: str) -> list[LiveFrame]:
        """The frames that wait on a channel, in the order of their start."""
        view = self._views.get(channel)
        return list(view.waiting) if view is not None else []

    async def read(self, channel: str) -> None:
        """Read a channel until every frame that waits on it can have a message, or its end is reached."""
        began = self._now()
        limit: int | None = 1  # mostly one message has come, or none
        while self.wants(channel) and await self._read(channel, limit):
            limit = None
        self._views[channel].looked_at = began

    def wants(self, channel: str) -> bool:
        """Whether some frame waits on a channel for a message that was not read yet."""
        view = self._views.get(channel)
        if view is None:
            return False
        unread = list(view.unread)
        for frame in view.waiting:
            message = next((one for one in unread if _fits(frame, one)), None)
            if message is None:
                return True
            unread.remove(message)
        return False

    async def _read(self, channel: str, limit: int | None) -> bool:
        """Read what is new on a channel; False if that is nothing."""
        view = self._views[channel]
        found = await self._channel.read(channel, after=view.position, limit=limit)
        consumed = self._fold.consumed.get(channel, set())
        for message in found.messages:
            if message.id not in view.seen:
                view.seen.add(message.id)
                if message.seq not in consumed:
                    view.unread.append(message)
        view.position = max(view.position, found.position)
        return bool(found.messages)

    def match(self) -> tuple[LiveFrame, Message] | None:
        """The next message that a waiting frame can have; it is then no longer unread."""
        found = self._match()
        if found is None:
            return None
        view, frame, n = found
        return frame, view.unread.pop(n)

    def has_match(self) -> bool:
        """Whether a waiting frame can have a message."""
        return self._match() is not None

    def _match(self) -> tuple[_ChannelView, LiveFrame, int] | None:
        for view in self._views.values():
            for frame in view.waiting if view.unread else ():
                for n, message in enumerate(view.unread):
                    if _fits(frame, message):
                        return view, frame, n
        return None

    @property
    def children(self) -> list[Eid]:
        """The children that some frame waits for."""
        return list(self._children)

    @property
    def steps(self) -> list[LiveFrame]:
        """The frames that wait for a detached step."""
        return list(self._steps.values())

    def step_frame(self, cause: str) -> LiveFrame | None:
        """The frame that waits for the detached step whose end has this cause."""
        return self._steps.get(cause)

    def child_frame(self, eid: Eid) -> LiveFrame | None:
        """The frame that waits for a child."""
        return self._children.get(eid)
