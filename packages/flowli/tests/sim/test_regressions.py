"""Cases that once violated something, each the smallest of its kind. Their operations shift as the engine changes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from flowli.adapters.memory import MemoryBackend
from flowli.domain.ids import ROOT
from flowli.domain.provenance import Site
from flowli.domain.timers import Timer
from flowli.runtime import Engine
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.sim.modes import Case, run_case

KEPT = {
    "receive:1:ttl:one-host:0:slow-long@182": "a takeover appended after an end that landed meanwhile",
    "send:1:ttl:hosts:0:die-after@225": "a message was sent again to a receiver that it had ended",
    "cancel:1:always-replay:hosts:0:freeze-between@99": "a cancel was delivered and never run",
    "pause:1:always-replay:hosts:0:freeze-between@110": "a pause that was overtaken stayed unanswered",
    "timeouts:195:exec-first:one-host:195:": "a wake-up shared the fate of another and was acked unread",
    "send:117:always-replay:one-host:117:": "the task that carried an execution was acked unread",
    "send:772:exec-first:one-host:772:": "an owner appended below the epoch that it had read",
    "receive:1:ttl:hosts:0:die-after@124": "the marker of an owner that died was left",
    "retention:20261130:ttl:one-host:0:freeze-long@686": "a START was run again after its execution was retired",
    "detached:12793761:patient:one-host:12793761:": "a warm coroutine took the outcome of a later run for an old one",
    "erase:12793761:always-replay:hosts:12793761:": "a send that nobody waited for landed after the second pass",
    "named:12793752:ttl:one-host:0:die-before@231": "a timer was fired for nothing right before the judge came",
    "facts:20261130:always-replay:hosts:0:suspend-between@132": "attributes of an owner that had been replaced counted",
    "deadline:8339938:task-first:one-host:8339938:": "a timeout was due before its start was durable, and lost",
}


@pytest.mark.parametrize("line", KEPT, ids=list(KEPT.values()))
def test_what_once_went_wrong_goes_right(line: str) -> None:
    outcome, _ = run_case(Case.parse(line))
    assert outcome.problems == []


async def test_a_timeout_that_is_due_before_its_start_is_durable_is_kept_for_an_hour() -> None:
    world = ManualWorld(clock := ManualClock())
    engine = Engine(MemoryBackend(world).ports, Site("w", "h", 1), world=world)
    timer = Timer(world.now() + timedelta(seconds=5), world.uuid7(), ROOT)
    await engine.ports.timers.set(timer)
    sweeper = engine.sweeper()
    for after_s, left in ((4, 1), (2, 1), (3500, 1), (200, 0)):
        await clock.advance(after_s)
        await sweeper.sweep_once()
        assert len(await engine.ports.timers.pending()) == left
