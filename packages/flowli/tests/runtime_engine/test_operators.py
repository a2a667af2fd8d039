from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from flowli.domain.entries import (
    ExecutionCancelled,
    ExecutionCancelRequested,
    ExecutionMigrated,
    ExecutionPaused,
    ExecutionResumed,
    ExecutionStarted,
    ExecutionSuspended,
    FrameCompleted,
    FrameStarted,
    JournalEntry,
    OperatorActed,
    Position,
)
from flowli.domain.errors import (
    DispatchConflict,
    InvalidName,
    NotAllowed,
    UnknownExecution,
    UnknownWorkflow,
)
from flowli.domain.execution import Execution, ExecutionStatus
from flowli.domain.frames import FrameKind
from flowli.domain.ids import FrameRef, child_eid
from flowli.domain.ports import Appended, Overtaken
from flowli.domain.provenance import Actor, ActorKind
from flowli.domain.waits import OnChannel, OnOperator
from flowli.runtime.config import EngineConfig
from flowli.runtime.protocols.start import put_start

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from .conftest import Bench, Owner

ADA = Actor(ActorKind.HUMAN, "ada")


async def test_a_cancel_is_a_request_in_the_lease_a_resume_and_a_receipt(bench: Bench) -> None:
    """OPR-7."""
    eid = await bench.engine.start("sign", "contract")
    await bench.drain()
    await (await bench.own(eid)).suspend(OnChannel(f"{eid}.signature"))
    await bench.engine.cancel(eid, "no longer needed", key="c1", actor=ADA)
    lease = await bench.ports.ownership.read(eid)
    assert lease is not None
    (request,) = lease.requests
    assert (request.id, request.verb, request.reason, request.by.actor) == ("c1", "cancel", "no longer needed", ADA)
    (task,) = await bench.tasks()
    assert (task.key, task.cause_at) == ("request:c1", request.by.at)
    acted = [body for body in await bench.control() if isinstance(body, OperatorActed)]
    assert [(body.verb, body.eid, body.reason, body.key) for body in acted] == [
        ("cancel", eid, "no longer needed", "c1")
    ]


async def test_no_verb_appends_to_the_journal_of_a_living_owner(bench: Bench) -> None:
    """OWN-1."""
    eid = await bench.engine.start("sign", "contract")
    await (await bench.own(eid)).append(ExecutionResumed(1))
    before = await bench.engine.journal(eid)
    await bench.engine.cancel(eid)
    await bench.engine.pause(eid)
    await bench.engine.resume(eid)
    assert await bench.engine.journal(eid) == before
    lease = await bench.ports.ownership.read(eid)
    assert lease is not None
    assert [request.verb for request in lease.requests] == ["cancel", "pause", "unpause"]


async def test_a_request_to_an_execution_without_a_lease_makes_one_that_nobody_holds(bench: Bench) -> None:
    """OWN-17."""
    eid = await bench.engine.start("greet", "Ada")
    await bench.engine.cancel(eid)
    lease = await bench.ports.ownership.read(eid)
    assert lease is not None
    assert (lease.epoch, lease.holder) == (0, None)
    assert (await bench.own(eid)).lease.requests == lease.requests


async def test_a_key_makes_a_verb_once_only(bench: Bench) -> None:
    """OPR-7."""
    eid = await bench.engine.start("sign", "contract")
    await bench.drain()
    await bench.engine.pause(eid, "audit", key="p")
    await bench.clock.advance(9)
    await bench.engine.pause(eid, "audit", key="p")
    assert len(await bench.tasks()) == 1
    with pytest.raises(DispatchConflict, match="'p'"):
        await bench.engine.pause(eid, "another reason", key="p")
    with pytest.raises(DispatchConflict, match="'p'"):
        await bench.engine.cancel(eid, "audit", key="p")


async def test_a_journaled_request_is_not_left_again(bench: Bench) -> None:
    """OWN-16."""
    eid = await bench.engine.start("sign", "contract")
    await bench.drain()
    owner = await bench.own(eid)
    await owner.append(ExecutionPaused("audit", "p"), ExecutionSuspended((OnOperator("paused", "audit"),), 1))
    await bench.engine.pause(eid, "audit", key="p")
    assert await bench.tasks() == []
    with pytest.raises(DispatchConflict):
        await bench.engine.pause(eid, "other", key="p")


async def test_a_repeated_cancel_that_led_to_the_end_is_no_error(bench: Bench) -> None:
    eid = await bench.engine.start("sign", "contract")
    owner = await bench.own(eid)
    await owner.append(ExecutionCancelRequested("stop", "c"), ExecutionCancelled("stop"))
    await bench.engine.cancel(eid, "stop", key="c")
    with pytest.raises(NotAllowed, match="cancelled"):
        await bench.engine.cancel(eid, "stop", key="c2")


@pytest.mark.parametrize("verb", ["cancel", "pause", "resume", "terminate"])
async def test_unknown_and_ended_executions_are_refused_and_nothing_is_stored(bench: Bench, verb: str) -> None:
    """OPR-8."""
    nobody = bench.world.uuid7()
    with pytest.raises(UnknownExecution):
        await getattr(bench.engine, verb)(nobody)
    assert await bench.ports.ownership.read(nobody) is None
    with pytest.raises(InvalidName):
        await getattr(bench.engine, verb)("not an id")
    eid = await bench.engine.start("greet", "Ada")
    await bench.drain()
    await (await bench.own(eid)).complete()
    with pytest.raises(NotAllowed, match="completed"):
        await getattr(bench.engine, verb)(eid)
    assert await bench.tasks() == []


async def test_only_what_is_held_back_can_be_resumed(bench: Bench) -> None:
    eid = await bench.engine.start("sign", "contract")
    owner = await bench.own(eid)
    with pytest.raises(NotAllowed, match="not paused"):
        await bench.engine.resume(eid)
    await owner.suspend(OnOperator("nondeterminism", "step b became step c"))
    await bench.engine.resume(eid)
    assert "request" in await bench.reasons()


async def test_a_waiting_execution_is_terminated_at_once(bench: Bench) -> None:
    eid = await bench.engine.start("sign", "contract")
    await bench.drain()
    await (await bench.own(eid)).suspend(OnChannel(f"{eid}.signature"))
    before = bench.world.now()
    await bench.engine.terminate(eid, "wrong contract", key="t", actor=ADA)
    assert bench.world.now() == before
    entry = (await bench.engine.journal(eid))[-1]
    assert entry.body == ExecutionCancelled("wrong contract", "t")
    assert (entry.by.actor, entry.by.site.epoch) == (ADA, 2)
    assert [twin.status for twin in await bench.statuses(eid)][-1] is ExecutionStatus.CANCELLED
    assert await bench.tasks() == []
    await bench.engine.terminate(eid, "wrong contract", key="t")
    assert (await bench.engine.journal(eid))[-1] == entry


async def test_an_execution_that_never_ran_is_terminated_with_a_whole_journal(bench: Bench) -> None:
    eid = await bench.engine.start("greet", "Ada")
    await bench.clock.advance(5)
    await bench.engine.terminate(eid)
    first, last = await bench.engine.journal(eid)
    record = await bench.ports.executions.get(eid)
    assert record is not None
    assert first.body == ExecutionStarted(record)
    assert (first.at, last.at) == (record.created_at, bench.world.now())
    assert isinstance(last.body, ExecutionCancelled)
    assert not (await bench.engine.frames(eid)).anomalies


async def test_an_owner_that_does_not_answer_is_fenced_after_its_grace(bench: Bench) -> None:
    """OPR-3."""
    engine = bench.new_engine(config=EngineConfig(grace_s=12))
    eid = await bench.engine.start("sign", "contract")
    owner = await bench.own(eid, ttl_s=1000)
    await owner.append(ExecutionResumed(1))
    await bench.clock.run(engine.terminate(eid))
    assert 12 <= bench.world.monotonic_s() < 14
    result = await bench.ports.journal.append(
        eid,
        [(await bench.engine.journal(eid))[1]],
        after=Position(1, 2),
        epoch=1,
        writer="w",
    )
    assert isinstance(result, Overtaken)
    assert result.epoch == 2


async def test_an_owner_that_answers_ends_it_itself(bench: Bench) -> None:
    eid = await bench.engine.start("sign", "contract")
    owner = await bench.own(eid, ttl_s=1000)
    await owner.append(ExecutionResumed(1))

    async def answer() -> None:
        while not (lease := await bench.ports.ownership.read(eid)) or not lease.requests:
            await bench.world.sleep(0.5)
        (request,) = lease.requests
        await owner.append(ExecutionCancelled(request.reason, request.id))

    await bench.clock.run(_both(bench.engine.terminate(eid, "enough"), answer()))
    assert bench.world.monotonic_s() < 10
    entry = (await bench.engine.journal(eid))[-1]
    assert isinstance(entry.body, ExecutionCancelled)
    assert (entry.body.reason, entry.by.site.epoch) == ("enough", 1)


async def test_an_execution_that_completes_before_its_termination_stays_completed(bench: Bench) -> None:
    eid = await bench.engine.start("sign", "contract")
    owner = await bench.own(eid, ttl_s=1000)
    await owner.append(ExecutionResumed(1))

    async def finish() -> None:
        await bench.world.sleep(3)
        await owner.complete(True)

    with pytest.raises(NotAllowed, match="completed"):
        await bench.clock.run(_both(bench.engine.terminate(eid), finish()))


async def test_a_commit_of_the_fenced_owner_that_landed_first_is_kept(bench: Bench) -> None:
    eid = await bench.engine.start("sign", "contract")
    owner = await bench.own(eid)
    await owner.suspend()
    real = bench.ports.journal.append
    landed: list[object] = []

    async def append(eid, entries, *, after, epoch, writer):  # type: ignore[no-untyped-def]
        if not landed:
            landed.append(await real(eid, [_late(owner)], after=after, epoch=1, writer="late"))
        return await real(eid, entries, after=after, epoch=epoch, writer=writer)

    bench.ports.journal.append = append  # type: ignore[method-assign]
    await bench.engine.terminate(eid)
    assert isinstance(landed[0], Appended)
    bodies = [entry.body for entry in await bench.engine.journal(eid)]
    assert [type(body) for body in bodies[-2:]] == [FrameStarted, ExecutionCancelled]


async def test_the_end_of_a_terminated_child_is_told_to_its_parent_and_to_its_children(bench: Bench) -> None:
    parent = await bench.engine.start("sign", "contract")
    owner = await bench.own(parent)
    child = child_eid(parent, "root/sign#1")
    record = Execution(child, "sign", "1", {}, bench.by, parent=FrameRef(parent, "root/sign#1"), parent_queue="parents")
    await put_start(bench.ports, record, bench.by)
    await owner.append(FrameStarted("root/sign#1", FrameKind.CHILD, "sign", ""))
    await owner.suspend()
    await bench.drain()
    await bench.engine.terminate(child, "bad")
    assert [(task.target, task.key) for task in await bench.tasks("parents")] == [(parent, f"child:{child}")]


async def test_children_of_a_terminated_parent_are_asked_to_cancel(bench: Bench) -> None:
    """CHD-4."""
    parent = await bench.engine.start("sign", "contract")
    owner = await bench.own(parent)
    child = child_eid(parent, "root/sign#1")
    await put_start(bench.ports, Execution(child, "sign", "1", {}, bench.by, parent=FrameRef(parent, "x")), bench.by)
    await owner.append(FrameStarted("root/sign#1", FrameKind.CHILD, "sign", ""))
    await owner.suspend()
    await bench.engine.terminate(parent)
    lease = await bench.ports.ownership.read(child)
    assert lease is not None
    assert [(request.verb, request.id) for request in lease.requests] == [("cancel", f"parent:{parent}")]


async def test_a_migrated_execution_goes_on_under_the_new_version(bench: Bench) -> None:
    eid = await bench.engine.start("sign", "contract", version="1")
    await bench.drain()
    owner = await bench.own(eid)
    waits = OnChannel(f"{eid}.signature")
    await owner.suspend(waits, OnOperator("nondeterminism", "other step"))
    await bench.engine.migrate(eid, "2", "fixed", key="m", actor=ADA)
    moved, released = (await bench.engine.journal(eid))[-2:]
    assert moved.body == ExecutionMigrated("1", "2", "fixed", "m")
    assert released.body == ExecutionSuspended((waits,), 2)
    assert (await bench.ports.executions.get(eid)).version == "2"  # type: ignore[union-attr]
    assert (await bench.engine.status(eid)).version == "2"
    (task,) = await bench.tasks()
    assert (task.reason, task.cause_at) == ("audit", released.at)
    twins = await bench.statuses(eid)
    assert [(twin.entry, twin.version) for twin in twins[-2:]] == [
        ("execution.migrated", "2"),
        ("execution.suspended", None),
    ]
    lease = await bench.ports.ownership.read(eid)
    assert lease is not None
    assert lease.requests == ()
    assert (await bench.own(eid)).lease.epoch == 3


async def test_a_paused_execution_stays_paused_when_migrated(bench: Bench) -> None:
    eid = await bench.engine.start("sign", "contract", version="1")
    owner = await bench.own(eid)
    paused = OnOperator("paused", "audit")
    await owner.append(ExecutionPaused("audit", "p"), ExecutionSuspended((paused,), 1))
    await bench.engine.migrate(eid, "2")
    view = await bench.engine.status(eid)
    assert (view.status, view.waits_on, view.version) == (ExecutionStatus.SUSPENDED, (paused,), "2")


async def test_migrating_to_a_version_that_does_not_exist_here_is_refused(bench: Bench) -> None:
    eid = await bench.engine.start("sign", "contract", version="1")
    with pytest.raises(UnknownWorkflow, match="'3'"):
        await bench.engine.migrate(eid, "3")
    assert await bench.ports.ownership.read(eid) is None


async def test_migrating_a_running_execution_fences_its_owner(bench: Bench) -> None:
    """OPR-6."""
    eid = await bench.engine.start("sign", "contract", version="1")
    owner = await bench.own(eid, ttl_s=1000)
    await owner.append(FrameStarted("root/a#1", FrameKind.STEP, "a", ""), FrameCompleted("root/a#1", 1, None))
    await bench.clock.run(bench.engine.migrate(eid, "2"))
    fold = await bench.engine.frames(eid)
    assert (fold.version, fold.epoch, fold.released_epoch, fold.anomalies) == ("2", 2, 2, [])


async def test_migrating_an_execution_that_never_ran(bench: Bench) -> None:
    eid = await bench.engine.start("sign", "contract", version="1")
    await bench.engine.migrate(eid, "2")
    fold = await bench.engine.frames(eid)
    assert (fold.version, fold.status, fold.anomalies) == ("2", ExecutionStatus.SUSPENDED, [])


async def _both(*work: Awaitable[object]) -> list[object]:
    return await asyncio.gather(*work)


def _late(owner: Owner) -> JournalEntry:
    return JournalEntry(FrameStarted("root/late#1", FrameKind.STEP, "late", ""), owner.by)
