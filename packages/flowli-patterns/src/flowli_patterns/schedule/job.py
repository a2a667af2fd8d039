"""What every sweeper does for schedules in each pass. It reads nothing of its own: it follows its sweeper's log.

Missed slots are made up for at a bounded rate, ``RATE`` a second after a first ``BURST``; slots that are due now are
not held back.
"""

from __future__ import annotations

import structlog

from flowli import Engine
from flowli.domain.control_entries import ControlEntry
from flowli.domain.errors import UnknownExecution
from flowli.domain.ids import Eid
from flowli.domain.provenance import Actor, ActorKind
from flowli_patterns.schedule.book import Book, Standing
from flowli_patterns.schedule.decide import CancelFirst, Decision, NotYet, decide
from flowli_patterns.schedule.declare import declared, put_declared
from flowli_patterns.schedule.fire import carry_out, claim
from flowli_patterns.schedule.model import Overlap, Schedule

__all__ = ["BURST", "RATE", "ScheduleJob"]

BURST = 10
"""Missed slots that one sweeper makes up for at once."""

RATE = 1.0
"""Missed slots a second that one sweeper makes up for afterwards."""

_OTHERS_TURN_S = 10.0
_LOOK_S = 5.0
_log = structlog.get_logger("flowli.schedules")


class ScheduleJob:
    """One sweeper's view of the schedules."""

    def __init__(self) -> None:
        self._book = Book()
        self._tokens = float(BURST)
        self._filled_s: float | None = None
        self._next: dict[str, tuple[int, float]] = {}
        self._met: dict[tuple[str, int, int], float] = {}
        self._looked: dict[str, float] = {}
        self._cancelled: set[Eid] = set()
        self._told: dict[str, int] = {}
        self._declared = False

    def take(self, entry: ControlEntry) -> None:
        """The next entry of the control log."""
        self._book.take(entry)

    async def __call__(self, engine: Engine) -> None:
        """Start what is due."""
        if not self._declared:
            await put_declared(engine, self._book, declared(engine.registry))
            self._declared = True
        self._fill(engine.world.monotonic_s())
        for name, standing in list(self._book.standings.items()):
            if standing.schedule is None:
                self._tell_once(name, standing, standing.unreadable)
            elif standing.schedule.version is None and engine.registry.find(standing.schedule.workflow) is None:
                why = f"no version is given, and the application here has no workflow '{standing.schedule.workflow}'"
                self._tell_once(name, standing, why)
            elif self._worth_a_look(name, standing, engine):
                try:
                    await self._one(engine, standing.schedule, standing)
                except Exception as error:
                    _log.exception("a schedule could not be looked at", schedule=name, error=str(error))

    async def _one(self, engine: Engine, schedule: Schedule, standing: Standing) -> None:
        now = engine.world.now()
        busy = await self._busy(engine, schedule, standing)
        found = decide(schedule, standing.upto, now, busy=busy, room=int(self._tokens))
        match found:
            case NotYet(at):
                wait_s = 0.0 if at is None else max(0.0, (at - now).total_seconds())
                self._next[schedule.id] = (standing.revision, engine.world.monotonic_s() + wait_s)
            case CancelFirst():
                for eid in [one for one in standing.running if one not in self._cancelled]:
                    self._cancelled.add(eid)
                    await engine.cancel(
                        eid,
                        f"the next slot of schedule '{schedule.id}' is due",
                        key=f"schedule:{schedule.id}:{eid}",
                        actor=Actor(ActorKind.SCHEDULE, schedule.id),
                    )
            case Decision():
                await self._settle(engine, schedule, standing, found)

    async def _settle(self, engine: Engine, schedule: Schedule, standing: Standing, found: Decision) -> None:
        now_s = engine.world.monotonic_s()
        mark = (schedule.id, standing.revision, standing.upto.us)
        met_s = self._met.get(mark)
        if met_s is not None and now_s - met_s < _OTHERS_TURN_S:
            return  # another sweeper is at it
        claimed = await claim(engine, schedule, standing.revision, standing.upto, found)
        if not claimed.mine and met_s is None:
            self._met[mark] = now_s
            return
        self._met.pop(mark, None)
        self._tokens -= found.late
        await carry_out(engine, schedule, claimed.decision)

    async def _busy(self, engine: Engine, schedule: Schedule, standing: Standing) -> bool:
        """Whether a run has not ended; looked up now and then, since the log may tell of an end late."""
        if schedule.overlap is Overlap.ALLOW:
            return False
        now_s = engine.world.monotonic_s()
        if standing.running and now_s - self._looked.get(schedule.id, -_LOOK_S) >= _LOOK_S:
            self._looked[schedule.id] = now_s
            for eid in list(standing.running):
                if await _has_ended(engine, eid):
                    self._book.ended(eid)
                    self._cancelled.discard(eid)
        return bool(standing.running)

    def _worth_a_look(self, name: str, standing: Standing, engine: Engine) -> bool:
        revision, at_s = self._next.get(name, (-1, 0.0))
        return revision != standing.revision or at_s <= engine.world.monotonic_s()

    def _fill(self, now_s: float) -> None:
        passed_s = 0.0 if self._filled_s is None else now_s - self._filled_s
        self._filled_s = now_s
        self._tokens = min(float(BURST), self._tokens + passed_s * RATE)

    def _tell_once(self, name: str, standing: Standing, why: str) -> None:
        """Another sweeper may be able to: nothing is decided here."""
        if self._told.get(name) != standing.revision:
            self._told[name] = standing.revision
            _log.warning("a schedule is left to other sweepers", schedule=name, why=why)


async def _has_ended(engine: Engine, eid: Eid) -> bool:
    try:
        return (await engine.status(eid)).status.terminal
    except UnknownExecution:
        return True
