"""``Traces``: what an execution has left in the bucket outside its journal, and what is to be removed again."""

from __future__ import annotations

from collections.abc import Iterable

from flowli.domain.memo import JournalFold
from flowli.domain.provenance import Provenance
from flowli.runtime.protocols.wake import AuditCause, Cause, MessageCause

__all__ = ["Traces"]


class Traces:
    """See the module's docstring. What an earlier owner left is told by the last suspension in the journal.

    Args:
        fold: the journal when this owner begins.

    Attributes:
        marked: the channels with a wait marker, and the epoch of the marker; 0 if it may stand and is not relied upon.
        timers: the timers that stand.
        unclean: an owner that vanished may have left markers that no entry tells of.
        consumed: causes, by the key of their RESUME, that this owner found by itself although a RESUME may have been
            put; with who brought them about and when.
    """

    def __init__(self, fold: JournalFold) -> None:
        self.unclean = fold.seq > 0 and fold.suspended is None
        self.marked = {channel: 0 if self.unclean else epoch for channel, epoch in fold.markers().items()}
        self.timers = fold.timers()
        self.consumed: dict[str, tuple[Cause, Provenance]] = {}
        self._told: set[str] = set()

    def unmarked(self, channels: Iterable[str]) -> list[str]:
        """Those of ``channels`` on which a marker is to be written."""
        return [channel for channel in channels if not self.marked.get(channel)]

    def told(self, cause: str) -> None:
        """A task with this key is in the worker's hands. What an audit missed may be a marker or the timer."""
        self._told.add(cause)
        self.consumed.pop(cause, None)
        if cause.startswith(f"{AuditCause.reason}:"):
            self.marked = dict.fromkeys(self.marked, 0)
            self.timers.clear()

    def took(self, cause: Cause, by: Provenance) -> None:
        """A cause had its effect. Without a marker no RESUME was put for a message."""
        if cause.key in self._told or (isinstance(cause, MessageCause) and cause.channel not in self.marked):
            return
        self.consumed[cause.key] = cause, by

    def forget(self) -> None:
        """An ownership has ended."""
        self._told.clear()
        self.consumed.clear()
