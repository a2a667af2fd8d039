from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from flowli.domain.entries import OperatorActed
from flowli.domain.errors import DispatchConflict, InvalidName, UsageError
from flowli.domain.provenance import Actor, ActorKind
from flowli.domain.tasks import QueueSettings

if TYPE_CHECKING:
    from uuid import UUID

    from flowli.domain.tasks import DeadTask

    from .conftest import Bench

ADA = Actor(ActorKind.HUMAN, "ada")


async def set_aside(bench: Bench, cause: str = "5 workers vanished") -> tuple[UUID, DeadTask]:
    """A START among the dead."""
    eid = await bench.engine.start("greet", "Ada")
    (lease,) = await bench.ports.queue.dequeue("default", "w", 30.0)
    await bench.ports.queue.bury(lease, cause, bench.world.now())
    (dead,) = await bench.engine.dead_letters("default", eid=eid)
    return eid, dead


async def receipts(bench: Bench) -> list[OperatorActed]:
    return [body for body in await bench.control() if isinstance(body, OperatorActed)]


async def test_dead_letters_are_listed_with_their_cause_over_all_queues(bench: Bench) -> None:
    """QUE-13."""
    eid, dead = await set_aside(bench)
    assert (dead.cause, dead.task.target) == ("5 workers vanished", eid)
    assert await bench.engine.dead_letters() == [dead]
    assert await bench.engine.dead_letters(eid=str(eid)) == [dead]
    assert await bench.engine.dead_letters("other") == []
    assert await bench.engine.dead_letters(eid=bench.world.uuid7()) == []


async def test_a_retried_letter_runs_and_leaves_a_receipt(bench: Bench) -> None:
    """QUE-13, OPR-11."""
    eid, dead = await set_aside(bench)
    assert await bench.engine.retry_dead(dead, "memory doubled", actor=ADA)
    assert await bench.engine.dead_letters() == []
    await bench.work()
    assert await bench.engine.result(eid) == "hello Ada"
    assert not await bench.engine.retry_dead(dead)
    first = (await receipts(bench))[0]
    assert (first.verb, first.eid, first.reason) == ("retry_dead", eid, "memory doubled")


async def test_a_dropped_letter_is_gone_and_its_execution_waits_for_the_operator(bench: Bench) -> None:
    """QUE-13."""
    eid, dead = await set_aside(bench)
    assert await bench.engine.drop_dead(dead, "made by mistake")
    assert not await bench.engine.drop_dead(dead)
    await bench.work()
    assert (await bench.engine.status(eid)).status == "pending"
    assert {body.verb for body in await receipts(bench)} == {"drop_dead"}


async def test_a_paused_queue_gives_no_tasks_until_it_is_resumed(bench: Bench) -> None:
    eid = await bench.engine.start("greet", "Ada")
    await bench.engine.pause_queue("default", "the bank is closed", actor=ADA)
    assert (await bench.engine.queue_settings("default")).paused == "the bank is closed"
    await bench.work()
    assert (await bench.engine.status(eid)).status == "pending"
    await bench.engine.resume_queue("default", "it opened", actor=ADA)
    await bench.clock.advance(60)
    await bench.work()
    assert await bench.engine.result(eid) == "hello Ada"
    assert [(body.verb, body.eid) for body in await receipts(bench)] == [("pause_queue", None), ("resume_queue", None)]


async def test_limits_leave_a_pause_alone_and_replace_each_other(bench: Bench) -> None:
    """QUE-14."""
    await bench.engine.pause_queue("default", "audit")
    assert await bench.engine.limit_queue("default", concurrency=3, rate=5, rate_period_s=60) == QueueSettings(
        "audit", 3, 5, 60
    )
    assert await bench.engine.limit_queue("default", rate=2) == QueueSettings("audit", None, 2, 1.0)
    assert await bench.engine.resume_queue("default") == QueueSettings(None, None, 2, 1.0)


async def test_a_key_stands_for_one_command_on_a_queue(bench: Bench) -> None:
    """OPR-11."""
    await bench.engine.pause_queue("default", "audit", key="k1")
    await bench.engine.pause_queue("default", "audit", key="k1")
    with pytest.raises(DispatchConflict, match="key 'k1' was used on queue 'default'"):
        await bench.engine.pause_queue("default", "something else", key="k1")
    with pytest.raises(DispatchConflict):
        await bench.engine.resume_queue("default", "audit", key="k1")
    await bench.engine.pause_queue("other", "something else", key="k1")


@pytest.mark.parametrize("limits", [{"concurrency": 0}, {"rate": -1}, {"rate": 1, "rate_period_s": 0}])
async def test_limits_that_cannot_work_are_refused(bench: Bench, limits: dict[str, int]) -> None:
    """QUE-14."""
    with pytest.raises(UsageError, match="must be positive"):
        await bench.engine.limit_queue("default", **limits)
    with pytest.raises(UsageError, match="with a reason only"):
        await bench.engine.pause_queue("default", "")
    with pytest.raises(InvalidName):
        await bench.engine.pause_queue("no/queue", "why")
    assert await bench.is_empty()


async def test_a_retry_that_dies_after_each_of_its_writes_is_done_by_the_same_call(bench: Bench) -> None:
    """OPR-10, QUE-13."""
    for writes in range(5):
        eid, dead = await set_aside(bench)
        await bench.dies_after(writes, lambda engine, dead=dead: engine.retry_dead(dead, "again", key="r"))
        await bench.engine.retry_dead(dead, "again", key="r")
        assert await bench.engine.dead_letters() == []
        await bench.work()
        assert await bench.engine.result(eid) == "hello Ada"
        await asyncio.sleep(0)
