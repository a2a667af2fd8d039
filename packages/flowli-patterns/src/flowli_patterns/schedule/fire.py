"""Carrying a decision about slots out, once in the whole fleet, whoever dies.

1. Claim the decision under the schedule, its revision and the instant up to which slots were decided before. All
   sweepers that see the same log ask for the same key, and all learn the decision that stands. *Crash after it*:
   nothing is started; another sweeper meets the claim, and after ten seconds goes on with step 2.
2. Start an execution for each slot under the slot's key. *Crash after it*, or between two of them: whoever goes on
   joins those that were started.
3. Append ``schedule.decided`` to the control log: the slots are decided, and the next decision has another key.

Under two definitions at once (a sweeper has not yet read the newer one) both may decide about one slot; the key of the
slot still leads to one execution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from flowli import Engine
from flowli.domain.control_entries import Announced, ControlEntry
from flowli.domain.data import Data
from flowli.domain.errors import DispatchConflict, UsageError
from flowli.domain.ids import Eid
from flowli.domain.provenance import Actor, ActorKind, Provenance
from flowli.timestamp import Timestamp
from flowli_patterns.schedule.book import DECIDED
from flowli_patterns.schedule.decide import Decision
from flowli_patterns.schedule.model import Schedule

__all__ = ["Claimed", "carry_out", "claim", "start_slot"]

_log = structlog.get_logger("flowli.schedules")


@dataclass(frozen=True, slots=True)
class Claimed:
    """The decision that stands; ``mine`` if this call made it."""

    decision: Decision
    mine: bool


async def claim(engine: Engine, schedule: Schedule, revision: int, upto: Timestamp, decision: Decision) -> Claimed:
    """Step 1."""
    key = f"schedule:{schedule.id}:{revision}:{upto.us}"
    stands = await engine.ports.dispatch.claim(key, decision.to_data())
    found: Any = stands.value
    return Claimed(Decision.from_data(found), stands.won)


async def carry_out(engine: Engine, schedule: Schedule, decision: Decision) -> dict[Timestamp, Eid]:
    """Steps 2 and 3; doing it twice is doing it once."""
    started: dict[Timestamp, Eid] = {}
    failed = ""
    for slot in decision.start:
        try:
            started[slot] = await start_slot(engine, schedule, slot)
        except UsageError as error:
            # nothing that is tried again: the next slot may fare better, and the operator is told
            failed = f"{slot} could not be started: {error}"
            _log.error("a slot could not be started", schedule=schedule.id, slot=str(slot), error=str(error))
    missing = len(decision.start) - len(started)
    data: dict[str, Data] = {
        "id": schedule.id,
        "upto": str(decision.upto),
        "started": [[str(slot), str(eid)] for slot, eid in started.items()],
        "left_out": decision.left_out + missing,
        "why": failed or decision.why,
    }
    await engine.ports.control.append([ControlEntry(Announced(DECIDED, data), _by(engine, schedule))])
    return started


async def start_slot(
    engine: Engine, schedule: Schedule, slot: Timestamp, *, queue: str | None = None, asked_by: Actor | None = None
) -> Eid:
    """Start the execution of a slot, or find the one that it has led to.

    Args:
        queue: in the place of the schedule's own.
        asked_by: on whose behalf the schedule starts it, if anybody asked.

    Raises:
        UsageError: the workflow is not known, or does not take these arguments.
    """
    kwargs: Mapping[str, Data] = schedule.kwargs
    if schedule.slot_argument is not None:
        kwargs = {**kwargs, schedule.slot_argument: str(slot)}
    key = schedule.key(slot)
    try:
        result = await engine.start_args(
            schedule.workflow,
            schedule.args,
            kwargs,
            key=key,
            queue=queue or schedule.queue,
            priority=schedule.priority,
            version=schedule.version,
            timeout=schedule.timeout_s,
            actor=Actor(ActorKind.SCHEDULE, schedule.id, None if asked_by is None else asked_by.id),
            request=key,
        )
    except DispatchConflict:
        # it was started under another definition of the schedule
        stands = await engine.ports.dispatch.read_start(key)
        if stands is None:
            raise
        return stands.eid
    return result.eid


def _by(engine: Engine, schedule: Schedule) -> Provenance:
    return Provenance(Actor(ActorKind.SCHEDULE, schedule.id), engine.site, engine.world.now())
