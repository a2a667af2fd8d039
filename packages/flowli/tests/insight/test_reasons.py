"""Each reason, made by a real run: what it says, what proves it, and that the command it gives moves the execution."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import pytest

from flowli import Context, Defer, NonRetryableError, Registry, RetryPolicy
from flowli.domain.entries import ExecutionSuspended, FrameCompleted, JournalBody, JournalEntry
from flowli.domain.ids import Eid
from flowli.domain.ports import Holder
from flowli.domain.provenance import Actor, ActorKind, Site
from flowli.domain.waits import OnOperator
from flowli.runtime.insight import Explanation, Moves

from ..running.fleet import Died, Process
from .conftest import Stage

ADA = Actor(ActorKind.HUMAN, "ada")
T0 = "2026-01-01T00:00:0"


async def told(stage: Stage, eid: Eid, reason: str, sentence: str, moves: str) -> Explanation:
    """The explanation, which is the one expected, and whose evidence is there."""
    found = await stage.explain(eid)
    assert (found.reason, found.sentence, found.moves) == (reason, sentence, Moves(moves))
    await stage.check_evidence(found)
    return found


async def moved(stage: Stage, found: Explanation, command: str, *more: str, code: int = 0, **fill: str) -> str:
    """Type the first command of an explanation; returns why the execution stands where it stands then."""
    first = found.actions[0]
    assert first.command == command
    assert set(first.fill) == set(fill)
    for word, value in fill.items():
        command = command.replace(word, value)
    await stage.type(command, *more, code=code)
    await stage.advance(3)
    return (await stage.explain(found.eid)).reason


@pytest.fixture
def waits(stage: Stage) -> Stage:
    @stage.fleet.registry.workflow
    async def asks(ctx: Context) -> Any:
        return await ctx.receive("approval")

    return stage


# in the queue


async def test_no_worker_has_ever_listened(waits: Stage) -> None:
    """OPR-13."""
    eid = await waits.fleet.engine.start("asks")
    text = f"No worker has ever listened on queue 'default', and its START waits in queue 'default' since {T0}0Z."
    found = await told(waits, eid, "no_worker", text, "operator")
    assert await moved(waits, found, "flowli worker --queue default", "--until-idle") == "waiting_message"


async def test_the_last_worker_has_gone(waits: Stage) -> None:
    """OPR-13."""
    worker = waits.worker()
    await waits.advance(1)
    worker.kill()
    eid = await waits.fleet.engine.start("asks")
    await waits.advance(100)
    text = f"No worker listens on queue 'default' since {T0}0Z, and its START waits in queue 'default' since {T0}1Z."
    found = await told(waits, eid, "no_worker", text, "operator")
    assert await moved(waits, found, "flowli worker --queue default", "--until-idle") == "waiting_message"


async def test_a_queue_is_paused(waits: Stage) -> None:
    waits.worker()
    await waits.fleet.engine.pause_queue("default", "the bank is closed", actor=ADA)
    await waits.advance(30)
    eid = await waits.fleet.engine.start("asks")
    await waits.advance(1)
    at = "2026-01-01T00:00:30Z"
    text = f"Queue 'default' is paused (the bank is closed), and its START waits in queue 'default' since {at}."
    found = await told(waits, eid, "queue_paused", text, "operator")
    assert await moved(waits, found, "flowli queues resume default") == "waiting_message"


async def test_no_worker_knows_the_workflow(waits: Stage) -> None:
    fleet, known = waits.fleet, waits.fleet.registry
    fleet.registry = Registry()
    fleet.registry.add(_other, name="other")
    worker = waits.worker()
    await waits.advance(1)
    fleet.registry = known
    eid = await fleet.engine.start("asks")
    await waits.advance(1)
    found = await waits.explain(eid)
    if found.reason == "task_taken":  # the worker looks at it right now
        await waits.advance(1)
        found = await waits.explain(eid)
    assert (found.reason, found.moves) == ("unknown_workflow", "operator")
    assert found.sentence == (
        "No worker that has announced itself knows workflow 'asks' version '1', and its START waits in queue "
        f"'default' since {T0}1Z."
    )
    await waits.check_evidence(found)
    await fleet.run(worker.stop())
    await waits.advance(7)
    assert await moved(waits, found, "flowli worker --queue default", "--until-idle") == "waiting_message"


async def _other(ctx: Context) -> None: ...


async def test_as_many_tasks_as_may_be_are_worked_on(stage: Stage) -> None:
    clock = stage.fleet.clock

    async def long() -> None:
        await clock.sleep(20)

    @stage.fleet.registry.workflow
    async def works(ctx: Context) -> None:
        await ctx.step(long)

    await stage.fleet.engine.limit_queue("default", concurrency=1)
    stage.worker()
    first = await stage.fleet.engine.start("works")
    await stage.advance(1)
    second = await stage.fleet.engine.start("works")
    await stage.advance(1)
    text = (
        "1 task of queue 'default' are worked on and no more than 1 may be, and its START waits in queue 'default' "
        f"since {T0}1Z."
    )
    found = await told(stage, second, "queue_full", text, "itself")
    assert await moved(stage, found, "flowli queues limit default --none") == "running_step"
    assert (await stage.explain(first)).reason == "running_step"


async def test_a_start_waits_for_a_worker_that_listens(waits: Stage) -> None:
    worker = waits.worker(concurrency=1)
    await waits.advance(1)
    assert worker.worker is not None
    worker.worker.stop()
    await waits.advance(1)
    eid = await waits.fleet.engine.start("asks")
    text = f"Its START waits in queue 'default' since {T0}2Z; worker w listens there."
    found = await told(waits, eid, "start_waiting", text, "itself")
    assert await moved(waits, found, "flowli worker --queue default", "--until-idle") == "waiting_message"


async def test_a_message_waits_for_a_worker(waits: Stage) -> None:
    worker = waits.worker()
    eid = await waits.fleet.engine.start("asks")
    await waits.advance(1)
    assert worker.worker is not None
    worker.worker.stop()
    await waits.advance(1)
    await waits.type(f"flowli signal {eid} approval --json true")
    found = await waits.explain(eid)
    assert (found.reason, found.moves) == ("result_waiting", "itself")
    assert found.sentence == (
        f"Its RESUME (a message has come) waits in queue 'default' since {T0}2Z; worker w listens there."
    )
    await waits.check_evidence(found)
    assert await moved(waits, found, "flowli worker --queue default", "--until-idle") == "completed"


async def test_a_worker_died_with_the_task_in_its_hands(waits: Stage) -> None:
    worker = waits.worker()
    await waits.advance(1)

    async def die() -> None:
        worker.kill()

    worker.trouble["ownership.acquire"] = die
    eid = await waits.fleet.engine.start("asks")
    await waits.advance(2)
    found = await waits.explain(eid)
    assert (found.reason, found.moves) == ("task_taken", "itself")
    assert found.sentence == (
        "Worker w has taken its START from queue 'default' and has not begun; if it died, another worker takes over "
        "when its hold expires."
    )
    await waits.check_evidence(found)
    await waits.advance(10)
    assert await moved(waits, found, "flowli worker --queue default", "--until-idle") in (
        "waiting_message",
        "task_taken",
    )


# in good order


async def test_it_waits_for_a_message(waits: Stage) -> None:
    waits.worker()
    eid = await waits.fleet.engine.start("asks")
    await waits.advance(1)
    text = f"It waits for a message on channel 'approval' since {T0}0Z."
    found = await told(waits, eid, "waiting_message", text, "outside")
    command = f"flowli signal {eid} approval --json PAYLOAD"
    assert await moved(waits, found, command, PAYLOAD="true") == "completed"


async def test_it_waits_for_a_message_to_all(stage: Stage) -> None:
    @stage.fleet.registry.workflow
    async def listens(ctx: Context) -> Any:
        return await ctx.receive("news", scope="global", correlation="today", timeout=600)

    stage.worker()
    eid = await stage.fleet.engine.start("listens")
    await stage.advance(1)
    text = (
        f"It waits for a message with correlation 'today' on the global channel 'news' since {T0}0Z, "
        "until 2026-01-01T00:10:00Z."
    )
    found = await told(stage, eid, "waiting_message", text, "outside")
    command = "flowli broadcast news --json PAYLOAD --correlation today"
    assert await moved(stage, found, command, PAYLOAD="1") == "completed"


async def test_it_waits_for_an_update(stage: Stage) -> None:
    @stage.fleet.registry.workflow
    async def updated(ctx: Context) -> None:
        update = await ctx.next_update("address")
        assert update is not None
        await update.reply()

    stage.worker()
    eid = await stage.fleet.engine.start("updated")
    await stage.advance(1)
    found = await told(stage, eid, "waiting_update", f"It waits for an update 'address' since {T0}0Z.", "outside")
    await stage.fleet.engine.update(eid, "address", "Elm Street")
    assert await moved(stage, found, f"flowli watch {eid}") == "completed"


async def test_it_waits_for_a_lease(stage: Stage) -> None:
    @stage.fleet.registry.workflow
    async def holds(ctx: Context) -> None:
        async with ctx.lease("printer"):
            await ctx.receive("go")

    stage.worker()
    first = await stage.fleet.engine.start("holds")
    await stage.advance(1)
    second = await stage.fleet.engine.start("holds")
    await stage.advance(1)
    text = f"Another one holds the lease 'printer' for which it waits since {T0}1Z."
    found = await told(stage, second, "waiting_lease", text, "outside")
    await stage.type(f"flowli signal {first} go")
    await stage.advance(3)
    assert (await stage.explain(second)).reason == "waiting_message"
    assert found.actions[-1].command == f"flowli cancel {second}"


async def test_it_waits_for_a_child(waits: Stage) -> None:
    asks = next(iter(waits.fleet.registry)).fn

    @waits.fleet.registry.workflow
    async def parent(ctx: Context) -> Any:
        return await ctx.child(asks)

    waits.worker()
    eid = await waits.fleet.engine.start("parent")
    await waits.advance(1)
    seen = await waits.fleet.run(waits.cli.engine.inspect(eid))
    child = seen.children[0].eid
    text = f"It waits for child {child} of workflow 'asks', which is suspended, since {T0}0Z."
    found = await told(waits, eid, "waiting_child", text, "outside")
    assert found.actions[0].command == f"flowli explain {child}"
    answer = await waits.type(found.actions[0].command)
    assert f"flowli signal {child} approval --json PAYLOAD" in answer
    await waits.type(f"flowli signal {child} approval")
    await waits.advance(3)
    assert (await waits.explain(eid)).reason == "completed"


async def test_it_sleeps_and_nobody_would_wake_it(stage: Stage) -> None:
    """OPR-13."""

    @stage.fleet.registry.workflow
    async def naps(ctx: Context) -> None:
        await ctx.sleep(60)

    stage.worker()
    eid = await stage.fleet.engine.start("naps")
    await stage.advance(1)
    found = await told(stage, eid, "sleeping", "It sleeps until 2026-01-01T00:01:00Z.", "itself")
    (beside,) = found.others
    assert beside.reason == "no_sweeper"
    assert beside.sentence == (
        "No sweeper has been seen so far, and nothing else fires its timer of 2026-01-01T00:01:00Z."
    )
    await stage.check_evidence(beside)
    await stage.advance(90)
    text = (
        "Its timer of 2026-01-01T00:01:00Z is due and was not fired: no sweeper has been seen so far, 1 timer is due."
    )
    found = await told(stage, eid, "timer_due", text, "operator")
    assert await moved(stage, found, "flowli sweeper --once") == "completed"


async def test_a_step_is_tried_again_later(stage: Stage) -> None:
    tries: list[int] = []

    def flaky() -> None:
        tries.append(1)
        if len(tries) < 2:
            raise ValueError("not yet")

    @stage.fleet.registry.workflow
    async def tries_again(ctx: Context) -> None:
        await ctx.step(flaky, retry=RetryPolicy(max_attempts=2, backoff=timedelta(seconds=60), jitter=0))

    worker = stage.worker()
    worker.sweep()
    eid = await stage.fleet.engine.start("tries_again")
    await stage.advance(1)
    text = "Step root/flaky#1 failed (ValueError: not yet) and is tried again at 2026-01-01T00:01:00Z, attempt 2."
    found = await told(stage, eid, "waiting_retry", text, "itself")
    await stage.advance(60)
    assert await moved(stage, found, f"flowli watch {eid}") == "completed"


async def test_a_step_has_deferred_itself(stage: Stage) -> None:
    runs: list[int] = []

    def later() -> None:
        runs.append(1)
        if len(runs) < 2:
            raise Defer(until=60)

    @stage.fleet.registry.workflow
    async def defers(ctx: Context) -> None:
        await ctx.step(later)

    stage.worker().sweep()
    eid = await stage.fleet.engine.start("defers")
    await stage.advance(1)
    text = "Step root/later#1 asked to be run again at 2026-01-01T00:01:00Z."
    found = await told(stage, eid, "deferred", text, "itself")
    await stage.advance(60)
    assert await moved(stage, found, f"flowli watch {eid}") == "completed"


# owned


async def test_a_step_is_under_way(stage: Stage) -> None:
    clock = stage.fleet.clock

    async def long() -> None:
        await clock.sleep(20)

    @stage.fleet.registry.workflow
    async def works(ctx: Context) -> None:
        await ctx.step(long)

    stage.worker()
    eid = await stage.fleet.engine.start("works")
    await stage.advance(1)
    text = f"Step root/long#1 is under way on worker w since {T0}0Z, attempt 1."
    found = await told(stage, eid, "running_step", text, "itself")
    assert await moved(stage, found, f"flowli watch {eid}") == "completed"


async def test_its_code_cleans_up_after_a_cancel(stage: Stage) -> None:
    clock = stage.fleet.clock

    async def refund() -> None:
        await clock.sleep(20)

    @stage.fleet.registry.workflow
    async def cleans(ctx: Context) -> None:
        try:
            await ctx.receive("never")
        finally:
            await ctx.step(refund)

    stage.worker()
    eid = await stage.fleet.engine.start("cleans")
    await stage.advance(1)
    await stage.type(f"flowli cancel {eid}", "--reason", "not wanted")
    await stage.advance(1)
    found = await stage.explain(eid)
    assert found.reason == "cancelling"
    assert found.sentence.startswith("Its code was told to stop at 2026-01-01T00:00:0")
    assert found.sentence.endswith("and cleans up: root/refund#1 is under way on worker w.")
    await stage.check_evidence(found)
    assert await moved(stage, found, f"flowli watch {eid}", code=1) == "cancelled"


async def test_its_owner_was_lost(stage: Stage) -> None:
    clock = stage.fleet.clock

    async def long() -> None:
        await clock.sleep(20)

    @stage.fleet.registry.workflow
    async def works(ctx: Context) -> None:
        await ctx.step(long)

    worker = stage.worker()
    eid = await stage.fleet.engine.start("works")
    await stage.advance(1)
    worker.kill()
    await stage.advance(10)
    found = await stage.explain(eid)
    assert (found.reason, found.moves) == ("owner_lost", "itself")
    assert found.sentence == (
        f"Worker w owns it and has not renewed its lease; its journal ends at {T0}0Z, and its task in queue 'default' "
        "has the next worker take it over."
    )
    await stage.check_evidence(found)
    await stage.advance(5)
    stage.worker("w2")
    await stage.advance(25)
    assert await moved(stage, found, "flowli worker --queue default", "--until-idle") == "completed"


async def test_its_owner_and_its_task_were_lost(stage: Stage) -> None:
    clock = stage.fleet.clock

    async def long() -> None:
        await clock.sleep(20)

    @stage.fleet.registry.workflow
    async def works(ctx: Context) -> None:
        await ctx.step(long)

    worker = stage.worker()
    eid = await stage.fleet.engine.start("works")
    await stage.advance(1)
    worker.kill()
    await stage.advance(10)
    queue = stage.cli.ports.queue
    for _ in range(3):  # a worker without the code takes it and loses it for good
        for lease in await stage.fleet.run(queue.dequeue("default", "clumsy", 1.0)):
            await stage.fleet.run(queue.ack([lease]))
        await stage.advance(5)
    found = await stage.explain(eid)
    assert (found.reason, found.moves) == ("owner_lost", "operator")
    assert found.sentence.endswith("and no task that has it taken over is in queue 'default'.")
    await stage.check_evidence(found)
    stage.worker("w2")
    await moved(stage, found, f"flowli sweeper --eid {eid}")
    await stage.advance(25)
    assert (await stage.explain(eid)).reason == "completed"


async def test_its_owner_cannot_write(waits: Stage) -> None:
    worker, clock = waits.worker(), waits.fleet.clock

    async def stall() -> None:
        await clock.sleep(30)

    worker.trouble["journal.append"] = stall
    eid = await waits.fleet.engine.start("asks")
    await waits.advance(2)
    text = f"Worker w runs its code; its last entry is of {T0}0Z."
    found = await told(waits, eid, "running_code", text, "itself")
    worker.trouble.clear()
    await waits.advance(40)
    assert (await waits.explain(eid)).reason == "waiting_message"
    assert found.actions[0].command == f"flowli watch {eid}"


# what only an operator moves


async def test_it_is_paused(waits: Stage) -> None:
    waits.worker()
    eid = await waits.fleet.engine.start("asks")
    await waits.advance(1)
    await waits.type(f"flowli pause {eid}", "--reason", "audit")
    await waits.advance(1)
    found = await waits.explain(eid)
    assert (found.reason, found.moves) == ("paused", "operator")
    assert found.sentence.startswith("It was paused at 2026-01-01T00:00:0")
    assert found.sentence.endswith("Z: audit.")
    await waits.check_evidence(found)
    assert await moved(waits, found, f"flowli resume {eid}") == "waiting_message"


async def test_a_request_waits_for_a_worker(waits: Stage) -> None:
    worker = waits.worker()
    eid = await waits.fleet.engine.start("asks")
    await waits.advance(1)
    assert worker.worker is not None
    worker.worker.stop()
    await waits.advance(1)
    await waits.type(f"flowli cancel {eid}")
    found = await waits.explain(eid)
    assert found.reason == "request_waiting"
    assert found.sentence.startswith("Its RESUME (an operator has asked for something) waits in queue 'default' since")
    assert found.details[0].startswith("human ada asked for cancel at ")
    await waits.check_evidence(found)
    assert await moved(waits, found, "flowli worker --queue default", "--until-idle") == "cancelled"


async def test_the_code_no_longer_repeats_what_it_did(stage: Stage) -> None:
    registry = stage.fleet.registry

    async def before(ctx: Context) -> None:
        await ctx.step(_one)
        await ctx.receive("go")

    async def after(ctx: Context) -> None:
        await ctx.step(_two)
        await ctx.receive("go")

    registry.add(before, name="changes")
    worker = stage.worker()
    eid = await stage.fleet.engine.start("changes")
    await stage.advance(1)
    await stage.fleet.run(worker.stop())
    registry._workflows["changes"].clear()
    registry.add(after, name="changes")
    registry.add(before, name="changes", version="old")
    stage.worker("w2")
    await stage.type(f"flowli signal {eid} go")
    await stage.advance(2)
    found = await stage.explain(eid)
    assert (found.reason, found.moves) == ("code_changed", "operator")
    assert found.sentence.startswith("Workflow 'changes' version '1' no longer repeats what it did (code ")
    assert found.details[0].startswith("The first difference: the code no longer matches the journal at entry 2")
    await stage.check_evidence(found)
    command = f"flowli migrate {eid} --version VERSION"
    assert await moved(stage, found, command, VERSION="old") == "completed"


def _one() -> None: ...


def _two() -> None: ...


async def test_a_task_of_it_was_set_aside(stage: Stage) -> None:
    clock, process = stage.fleet.clock, None

    async def bite() -> None:
        await clock.sleep(0.5)
        if process is not None:
            process.kill()
            await clock.sleep(10_000)

    @stage.fleet.registry.workflow
    async def deadly(ctx: Context) -> None:
        await ctx.step(bite)

    eid = await stage.fleet.engine.start("deadly")
    for n in range(8):
        process = stage.worker(f"w-{n}")
        await stage.advance(10)
    found = await stage.explain(eid)
    assert (found.reason, found.moves) == ("dead_letter", "operator")
    assert found.sentence.startswith(f"Its task START:{eid} was set aside on queue 'default' at 2026-01-01T00:0")
    assert "5 workers in a row vanished" in found.sentence
    assert found.details == ("5 workers died of it.",)
    await stage.check_evidence(found)
    assert str(eid) in await stage.type("flowli dead-letters")
    process = None
    assert await moved(stage, found, f"flowli dead-letters retry {eid}") == "completed"


async def test_a_reason_to_wait_that_this_version_does_not_know(waits: Stage) -> None:
    waits.worker()
    eid = await waits.fleet.engine.start("asks")
    await waits.advance(1)
    await _append(waits, eid, ExecutionSuspended((OnOperator("frozen", "a court asked for it"),), 2), 2)
    text = f"It waits for an operator since {T0}1Z (frozen): a court asked for it."
    found = await told(waits, eid, "parked", text, "operator")
    assert await moved(waits, found, f"flowli resume {eid}") == "waiting_message"


async def _append(stage: Stage, eid: Eid, body: JournalBody, epoch: int) -> None:
    """Write into a journal as another version, or a faulty one, would."""
    ports, holder = stage.cli.ports, Holder("other", Site("other"))
    read = await stage.fleet.run(ports.journal.read(eid))
    await stage.fleet.run(ports.ownership.acquire(eid, holder, 1.0, free_epoch=epoch - 1))
    by = stage.cli.engine.services.provenance(epoch=epoch)
    entries = [JournalEntry(body, by)]
    await stage.fleet.run(ports.journal.append(eid, entries, after=read.position, epoch=epoch, writer="other"))


# left half done


async def test_a_start_is_nowhere(waits: Stage) -> None:
    waits.worker(queues=("elsewhere",))
    eid = await waits.fleet.engine.start("asks")
    for lease in await waits.fleet.run(waits.cli.ports.queue.dequeue("default", "clumsy", 1.0)):
        await waits.fleet.run(waits.cli.ports.queue.ack([lease]))
    await waits.advance(40)
    text = f"It was asked for at {T0}0Z, and no START of it is in queue 'default'."
    found = await told(waits, eid, "start_lost", text, "operator")
    assert await moved(waits, found, f"flowli sweeper --eid {eid}") == "no_worker"


async def test_who_asked_for_a_cancel_died_before_telling_a_worker(waits: Stage) -> None:
    waits.worker()
    eid = await waits.fleet.engine.start("asks")
    await waits.advance(1)
    await _dies_before(waits, "queue.enqueue", lambda process: process.engine.cancel(eid, key="k-1"))
    text = f"System clumsy asked for cancel at {T0}1Z, and no task that tells a worker is in queue 'default'."
    found = await told(waits, eid, "request_lost", text, "operator")
    assert found.actions[1].command == f"flowli cancel {eid} --key k-1"
    assert await moved(waits, found, f"flowli sweeper --eid {eid}") == "cancelled"


async def test_who_sent_a_message_died_before_telling_a_worker(waits: Stage) -> None:
    waits.worker()
    eid = await waits.fleet.engine.start("asks")
    await waits.advance(1)
    await _dies_before(waits, "queue.enqueue", lambda process: process.engine.signal(eid, "approval", 1))
    text = f"Message 1 on channel 'approval' came at {T0}1Z, and no task that has it taken up is in queue 'default'."
    found = await told(waits, eid, "wakeup_lost", text, "operator")
    assert await moved(waits, found, f"flowli sweeper --eid {eid}") == "completed"


async def _dies_before(stage: Stage, call: str, act: Callable[[Process], Coroutine[Any, Any, Any]]) -> None:
    process = stage.fleet.process("clumsy")

    async def die() -> None:
        process.kill()
        raise Died

    process.trouble[call] = die

    async def acting() -> None:
        with contextlib.suppress(Died):
            await act(process)

    await stage.fleet.run(acting())


async def test_a_journal_that_does_not_fit_is_told_beside(waits: Stage) -> None:
    waits.worker()
    eid = await waits.fleet.engine.start("asks")
    await waits.advance(1)
    await _append(waits, eid, FrameCompleted("root/ghost#1", 1, None), 2)
    await waits.advance(5)
    found = await waits.explain(eid)
    beside = next(one for one in found.others if one.reason == "anomaly")
    assert "frame.completed of root/ghost#1, which never started" in beside.sentence
    await waits.check_evidence(beside)
    assert "ghost" in await waits.type(beside.actions[0].command)


# ended


async def test_it_completed_and_can_be_replayed(waits: Stage) -> None:
    waits.worker()
    eid = await waits.fleet.engine.start("asks")
    await waits.type(f"flowli signal {eid} approval")
    await waits.advance(2)
    found = await told(waits, eid, "completed", f"It completed at {T0}0Z.", "nobody")
    assert [one.command for one in found.actions] == [f"flowli show {eid} --values", f"flowli replay {eid}"]
    made = Eid((await waits.type(found.actions[1].command)).strip())
    await waits.advance(2)
    assert (await waits.explain(made)).reason == "waiting_message"


@pytest.mark.parametrize(
    ("workflow", "reason", "sentence"),
    [
        ("raises", "failed", f"Its own code raised at {T0}0Z: RuntimeError: no way."),
        (
            "refused",
            "step_failed",
            (
                f"Step root/never#1 failed and may not be tried again, and so it failed at {T0}0Z: "
                "NonRetryableError: no card."
            ),
        ),
        (
            "exhausted",
            "retries_exhausted",
            f"Step root/broken#1 failed 2 times, the last one allowed at {T0}0Z: ValueError: out of order.",
        ),
    ],
)
async def test_it_failed_and_can_be_retried(stage: Stage, workflow: str, reason: str, sentence: str) -> None:
    def never() -> None:
        raise NonRetryableError("no card")

    def broken() -> None:
        raise ValueError("out of order")

    @stage.fleet.registry.workflow
    async def raises(ctx: Context) -> None:
        raise RuntimeError("no way")

    @stage.fleet.registry.workflow
    async def refused(ctx: Context) -> None:
        await ctx.step(never)

    @stage.fleet.registry.workflow
    async def exhausted(ctx: Context) -> None:
        await ctx.step(broken, retry=RetryPolicy(max_attempts=2, backoff=timedelta(0)))

    stage.worker()
    eid = await stage.fleet.engine.start(workflow)
    await stage.advance(2)
    found = await told(stage, eid, reason, sentence, "nobody")
    assert found.actions[0].command == f"flowli retry {eid}"
    made = Eid((await stage.type(found.actions[0].command)).strip())
    await stage.advance(2)
    assert made != eid
    assert (await stage.explain(made)).reason == reason


async def test_a_child_failed(stage: Stage) -> None:
    @stage.fleet.registry.workflow
    async def raises(ctx: Context) -> None:
        raise RuntimeError("no way")

    @stage.fleet.registry.workflow
    async def parent(ctx: Context) -> None:
        await ctx.child(raises)

    stage.worker()
    eid = await stage.fleet.engine.start("parent")
    await stage.advance(2)
    found = await stage.explain(eid)
    assert found.reason == "child_failed"
    assert found.sentence.endswith(f"and so it failed at {T0}0Z: RuntimeError: no way.")
    await stage.check_evidence(found)
    assert "Its own code raised" in await stage.type(found.actions[0].command)


async def test_it_was_cancelled(waits: Stage) -> None:
    waits.worker()
    eid = await waits.fleet.engine.start("asks")
    await waits.advance(1)
    await waits.type(f"flowli cancel {eid}", "--reason", "not wanted")
    await waits.advance(2)
    found = await waits.explain(eid)
    assert (found.reason, found.moves) == ("cancelled", "nobody")
    assert found.sentence.startswith("It was cancelled at 2026-01-01T00:00:0")
    assert found.sentence.endswith(": not wanted.")
    await waits.check_evidence(found)
    made = Eid((await waits.type(found.actions[0].command)).strip())
    await waits.advance(5)
    assert (await waits.explain(made)).reason == "waiting_message"


async def test_it_was_terminated_and_erased(waits: Stage) -> None:
    eid = await waits.fleet.engine.start("asks")
    await waits.type(f"flowli terminate {eid}", "--reason", "not wanted")
    found = await waits.explain(eid)
    assert (found.reason, found.moves) == ("terminated", "nobody")
    assert found.sentence.startswith("Human ada terminated it at 2026-01-01T00:00:0")
    await waits.check_evidence(found)
    await waits.type(f"flowli erase {eid}", "--yes")
    found = await waits.explain(eid)
    assert found.reason == "erased"
    assert found.sentence.startswith("Human ada erased its payloads at 2026-01-01T00:00:0")
    await waits.check_evidence(found)
    assert "erased" in await waits.type(f"flowli timeline {eid}")


async def test_two_that_ask_at_once_are_told_the_same(waits: Stage) -> None:
    """OPR-12."""
    eid = await waits.fleet.engine.start("asks")
    one, other = await waits.fleet.run(_both(waits, eid))
    assert one == other


async def _both(stage: Stage, eid: Eid) -> list[Explanation]:
    return await asyncio.gather(stage.cli.engine.explain(eid), stage.fleet.app.engine.explain(eid))
