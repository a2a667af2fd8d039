"""``Lull``: how an owner that has nothing to do waits, and what falls due meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowli.runtime.owner.alarm import Alarm
from flowli.runtime.protocols.suspend import mark
from flowli.timestamp import Timestamp

if TYPE_CHECKING:
    from flowli.runtime.owner.owner import Owner

__all__ = ["Lull", "later"]


class Lull:
    """Waits for the next event, for the next instant that is due, and for two that the owner sets itself: what nothing
    forces out is committed after ``flush_s``, and a receive that has waited for ``hold_s`` gets its marker.
    """

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._world, self._config = owner.services.world, owner.services.config
        self._alarm = Alarm(self._world, owner.inbox.signal.set)
        self._flush_at: Timestamp | None = None

    def flush(self) -> None:
        """What nothing forces out is committed after ``flush_s``, so that operators see it."""
        owner = self._owner
        if not owner.session.buffered:
            self._flush_at = None
            return
        now = self._world.now()
        if self._flush_at is None:
            self._flush_at = later(now, self._config.flush_s)
        elif now >= self._flush_at:
            owner.commits.begin()
            self._flush_at = None

    async def wait(self) -> None:
        """Return when something has come or is due, or for no reason."""
        owner = self._owner
        mark_at = self._mark_at()
        awaits_read = owner.waits.unread_deadline(owner.now()) is not None
        due = owner.waits.next_due() if owner.runs and not awaits_read else None
        instants = [at for at in (due, self._flush_at, mark_at) if at is not None]
        if instants:
            self._alarm.set(min(instants))
        await owner.inbox.signal.wait()
        if mark_at is not None and self._world.now() >= mark_at:
            # a receive that waits while others run gets its marker too, so that senders wake this owner
            await owner.patiently(lambda: mark(owner))
            for channel in owner.waits.channels:
                owner.channels.want(channel, news=True)

    def stop(self) -> None:
        """Wait for no instant any more."""
        self._alarm.stop()

    def _mark_at(self) -> Timestamp | None:
        owner = self._owner
        since = [
            frame.waiting_since
            for channel in owner.traces.unmarked(owner.waits.channels)
            for frame in owner.waits.receivers(channel)[:1]
            if frame.waiting_since is not None
        ]
        return later(min(since), self._config.hold_s) if since else None


def later(at: Timestamp, seconds: float) -> Timestamp:
    """So much later."""
    return Timestamp(at.us + round(seconds * 1_000_000))
