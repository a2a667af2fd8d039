"""``Book``: what the control log says of all schedules, kept up to date by reading only what is new.

Announcements on two topics: ``schedule`` defines or removes one; ``schedule.decided`` tells what was decided about its
slots up to an instant. The last definition in the order of the log counts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flowli.domain.control_entries import Announced, ControlEntry, ExecutionCreated, StatusChanged
from flowli.domain.data import Data
from flowli.domain.entries import START, Position
from flowli.domain.errors import UsageError
from flowli.domain.ids import Eid, parse_eid
from flowli.domain.ports import ControlLog
from flowli.timestamp import Timestamp
from flowli_patterns.schedule.model import Schedule

__all__ = ["DECIDED", "DEFINED", "Book", "Run", "Standing"]

DEFINED = "schedule"
"""Topic of definitions: ``{"id", "put": …}`` or ``{"id", "removed": true}``."""

DECIDED = "schedule.decided"
"""Topic of decisions: ``{"id", "upto", "started": [[slot, eid], …], "left_out", "why"}``."""

_RUNS = 10


@dataclass(frozen=True, slots=True)
class Run:
    """An execution that a slot has led to."""

    slot: Timestamp
    eid: Eid


@dataclass(slots=True)
class Standing:
    """One schedule as the log has it.

    Attributes:
        schedule: its definition; None if the log has one of a form that this release does not know.
        revision: number of the entry that defined it.
        upto: all slots up to this instant are decided.
        runs: the latest ones, the newest last.
        running: executions of its slots that have not ended, as far as the log tells.
        left_out: how many slots were left out so far.
        why: the last reason for leaving one out.
    """

    schedule: Schedule | None
    revision: int
    upto: Timestamp
    runs: deque[Run] = field(default_factory=lambda: deque(maxlen=_RUNS))
    running: dict[Eid, None] = field(default_factory=dict)
    left_out: int = 0
    why: str = ""
    unreadable: str = ""


class Book:
    """Follows the control log from its beginning.

    Attributes:
        standings: by the id of the schedule.
        declarations: the digest of what the code of an application last declared, also of one that was removed since.
        position: up to where it has read.
    """

    def __init__(self) -> None:
        self.standings: dict[str, Standing] = {}
        self.declarations: dict[str, str] = {}
        self.position: Position = START
        self._ended: deque[Eid] = deque(maxlen=10_000)
        self._owners: dict[Eid, str] = {}

    async def catch_up(self, control: ControlLog) -> None:
        """Read what is new."""
        while True:
            found = await control.read(after=self.position)
            for entry in found.entries:
                self.take(entry)
            self.position = found.position
            if found.caught_up:
                return

    def take(self, entry: ControlEntry) -> None:
        """The next entry of the log."""
        match entry.body:
            case Announced(topic="schedule", data=dict(data)):
                self._defined(data, entry)
            case Announced(topic="schedule.decided", data=dict(data)):
                self._decided(data)
            case ExecutionCreated(eid=eid, dispatch_key=str(key)) if key.startswith("schedule:"):
                self._runs(key.split(":")[1], eid)
            case StatusChanged(eid=eid, status=status) if status.terminal:
                owner = self._owners.pop(eid, None)
                if owner is None:
                    self._ended.append(eid)  # it may be of a schedule, told of later
                elif owner in self.standings:
                    self.standings[owner].running.pop(eid, None)
            case _:
                return

    def _defined(self, data: Mapping[str, Data], entry: ControlEntry) -> None:
        name = str(data.get("id"))
        if isinstance(data.get("declared"), str):
            self.declarations[name] = str(data["declared"])
        put, known = data.get("put"), self.standings.get(name)
        if not isinstance(put, dict):
            self.standings.pop(name, None)
            return
        schedule, unreadable = None, ""
        try:
            schedule = Schedule.from_data(put)
        except UsageError as error:
            unreadable = str(error)
        if known is None:
            self.standings[name] = Standing(schedule, entry.seq, entry.at, unreadable=unreadable)
            return
        # what was due under the former definition, or while it was paused, is past
        known.schedule, known.revision, known.unreadable = schedule, entry.seq, unreadable
        known.upto = max(known.upto, entry.at)

    def _decided(self, data: Mapping[str, Any]) -> None:
        known = self.standings.get(str(data.get("id")))
        if known is None:
            return
        upto = Timestamp.parse(data["upto"])
        if upto <= known.upto:
            return  # told twice, or overtaken by another definition
        known.upto = upto
        known.left_out += int(data.get("left_out", 0))
        known.why = str(data.get("why") or known.why)
        for slot, eid in data.get("started", ()):
            known.runs.append(Run(Timestamp.parse(slot), parse_eid(eid)))
            self._runs(str(data["id"]), parse_eid(eid))

    def _runs(self, name: str, eid: Eid) -> None:
        if name not in self.standings or eid in self._owners:
            return
        if eid in self._ended:
            return
        self._owners[eid] = name
        self.standings[name].running[eid] = None

    def ended(self, eid: Eid) -> None:
        """Somebody has looked: the execution has ended, whatever the log tells so far."""
        owner = self._owners.pop(eid, None)
        self._ended.append(eid)
        if owner is not None and owner in self.standings:
            self.standings[owner].running.pop(eid, None)
