"""What every sweeper does for votes in each pass: announce, once in the fleet, that one of them ends within a day."""

from __future__ import annotations

from datetime import timedelta

from flowli import Engine
from flowli.domain.control_entries import Announced, ControlEntry
from flowli.domain.provenance import Actor, ActorKind, Provenance
from flowli_pattern_vote.box import Ballot, Box

__all__ = ["Reminders"]

_BEFORE = timedelta(days=1)


class Reminders:
    """One sweeper's view of the votes. It asks the bucket for nothing: its sweeper shows it the log."""

    def __init__(self) -> None:
        self._box = Box()
        self._done: set[tuple[object, str]] = set()

    def take(self, entry: ControlEntry) -> None:
        """The next entry of the control log."""
        self._box.take(entry)

    async def __call__(self, engine: Engine) -> None:
        """Announce what is due."""
        now = engine.world.now()
        for key, ballot in list(self._box.open.items()):
            if key not in self._done and ballot.end <= now + _BEFORE:
                await self._remind(engine, ballot)
                self._done.add(key)

    async def _remind(self, engine: Engine, ballot: Ballot) -> None:
        # several sweepers come here at once: the claim names one of them
        name = f"vote-reminder:{ballot.eid}:{ballot.channel}"
        if not (await engine.ports.dispatch.claim(name, engine.site.worker_id)).won:
            return
        by = Provenance(Actor(ActorKind.SYSTEM, engine.site.worker_id), engine.site, engine.world.now())
        told = Announced("ballot-reminder", {"subject": ballot.subject, "end": str(ballot.end)}, ballot.eid)
        await engine.ports.control.append([ControlEntry(told, by)])
