"""What happens in a bucket, as a stream of events for the live view.

The control log says which executions there are and when one changed; the journals of those that changed, and of those
that run, say what happened in them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from flowli.cli.dev.events import Event, control_event, journal_event, status_text
from flowli.domain.entries import START, ControlEntry, ExecutionCreated, Position, StatusChanged
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import Eid
from flowli.domain.ports import Ports
from flowli.timestamp import Timestamp

__all__ = ["Feed", "Seen"]

_RUNNING_READ = 20
"""How many running executions are looked at in one round; the others follow when their status changes."""


@dataclass(slots=True)
class Seen:
    """One execution as the feed knows it; ``created`` tells whether it was said who asked for it."""

    eid: Eid
    workflow: str
    created_at: Timestamp
    status: ExecutionStatus = ExecutionStatus.PENDING
    created: bool = False
    changed_at: Timestamp | None = None
    detail: str = ""
    read_to: Position = START
    started: dict[str, Timestamp] = field(default_factory=dict)


class Feed:
    """Follows one bucket.

    Attributes:
        executions: every execution met, in the order of their creation.
    """

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._position = START
        self.executions: dict[Eid, Seen] = {}

    async def skip_history(self) -> None:
        """Take in what happened before, without events for it."""
        changed, _ = await self._control()
        for seen in changed.values():
            if not seen.status.terminal:
                seen.read_to = (await self._ports.journal.read(seen.eid)).position

    async def round(self) -> list[Event]:
        """What happened since the last call, in order."""
        changed, events = await self._control()
        running = [one for one in self.executions.values() if one.status is ExecutionStatus.RUNNING]
        for seen in [*changed.values(), *running[-_RUNNING_READ:]]:
            events += await self._journal(seen)
        return sorted(events, key=lambda event: event.at)

    async def _control(self) -> tuple[dict[Eid, Seen], list[Event]]:
        changed: dict[Eid, Seen] = {}
        events: list[Event] = []
        while True:
            found = await self._ports.control.read(after=self._position)
            self._position = found.position
            for entry in found.entries:
                if isinstance(entry.body, ExecutionCreated) and self._was_created(entry.body.eid):
                    continue  # said again by a writer that was in doubt
                seen = self._fold(entry)
                if seen is not None and isinstance(entry.body, StatusChanged):
                    changed[seen.eid] = seen
                event = control_event(entry, seen.workflow if seen else "")
                events += [event] if event else []
            if found.caught_up:
                return changed, events

    def _was_created(self, eid: Eid) -> bool:
        seen = self.executions.get(eid)
        return seen is not None and seen.created

    def _fold(self, entry: ControlEntry) -> Seen | None:
        match entry.body:
            case ExecutionCreated(eid, workflow):
                seen = self.executions.setdefault(eid, Seen(eid, workflow, entry.body.created_at))
                # a worker may have begun, and said so, before who asked for it could
                seen.workflow, seen.created_at, seen.created = workflow, entry.body.created_at, True
                return seen
            case StatusChanged(eid, status):
                seen = self.executions.setdefault(eid, Seen(eid, "?", entry.at))
                if not seen.status.terminal:
                    seen.status, seen.changed_at = status, entry.at
                    seen.detail = status_text(entry.body)
                return seen
            case body:
                about = getattr(body, "eid", None)
                return None if about is None else self.executions.get(about)

    async def _journal(self, seen: Seen) -> list[Event]:
        found = await self._ports.journal.read(seen.eid, after=seen.read_to)
        seen.read_to = found.position
        events = []
        for entry in found.entries:
            event = journal_event(seen.eid, seen.workflow, entry, seen.started)
            if event is not None:
                events.append(event)
                seen.detail, seen.changed_at = event.text, event.at
        return events
