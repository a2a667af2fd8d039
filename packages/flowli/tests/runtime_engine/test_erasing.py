from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from flowli.domain.entries import (
    ExecutionArchived,
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionErased,
    ExecutionFailed,
    ExecutionPaused,
    ExecutionStarted,
    ExecutionUnpaused,
    FrameCompleted,
    FrameFailed,
    FrameStarted,
    JournalEntry,
    OperatorActed,
    StatusChanged,
    UnknownBody,
)
from flowli.domain.errors import DispatchConflict, NotAllowed, UnknownExecution, UsageError
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import Eid
from flowli.domain.provenance import Actor, ActorKind
from flowli.domain.tasks import Task, TaskKind
from flowli.runtime.context import Context
from flowli.runtime.engine import Engine
from flowli.runtime.registry import Registry
from flowli.runtime.scrub import scrub_entry
from flowli.testing.strategies import journal_entries

if TYPE_CHECKING:
    from .conftest import Bench

DAY = 86_400.0
SECRET = "Ada-Lovelace"

registry = Registry()


def look_up(name: str) -> dict[str, str]:
    return {"person": name}


@registry.workflow
async def enrol(ctx: Context, name: str) -> Any:
    found = await ctx.step(look_up, name)
    await ctx.publish("who", name)
    await ctx.broadcast("greetings", f"hello {name}")
    await ctx.enqueue("letters", {"to": name})
    answer = await ctx.receive("answers", correlation=name, scope="global")
    return [found, answer]


async def enrolled(bench: Bench) -> Eid:
    """An execution that has ended, with the secret in every corner."""
    eid = await bench.engine.start("enrol", SECRET, version="1", key="course:1")
    await bench.engine.signal(eid, "never-received", SECRET)
    await bench.work(registry=registry)
    await bench.engine.broadcast("answers", "for all")
    await bench.engine.broadcast("answers", f"yes, {SECRET}", correlation=SECRET)
    await bench.work(registry=registry)
    await bench.ports.evidence.put(eid, "root.1.1/log", SECRET.encode())
    assert (await bench.engine.status(eid)).status is ExecutionStatus.COMPLETED
    return eid


async def remains(bench: Bench, eid: Eid) -> list[str]:
    """Where the secret can still be read."""
    ports = bench.ports
    found = {
        "record": await ports.executions.get(eid),
        "journal": (await ports.journal.read(eid)).entries,
        "archive": await ports.archive.get(eid),
        "shown": await bench.engine.journal(eid),
        "evidence": [await ports.evidence.get(eid, name) for name in await ports.evidence.list(eid)],
        "tasks": [await ports.queue.list(queue) for queue in await ports.queue.queues()],
        "dead": [await ports.queue.dead(queue) for queue in await ports.queue.queues()],
        "lease": await ports.ownership.read(eid),
    }
    for channel in (f"{eid}.never-received", f"{eid}._published-who", "greetings", "answers"):
        found[channel] = [message.payload for message in (await ports.channel.read(channel)).messages]
    return [where for where, what in found.items() if SECRET in repr(what)]


async def test_nothing_of_the_payloads_remains(bench: Bench) -> None:
    """RET-9."""
    eid = await enrolled(bench)
    assert len(await remains(bench, eid)) > 6
    actor = Actor(ActorKind.HUMAN, "dpo")
    await bench.engine.erase(eid, "request 17", actor=actor)
    assert await remains(bench, eid) == []
    view = await bench.engine.status(eid)
    assert (view.status, view.erased, view.value) == (ExecutionStatus.COMPLETED, True, None)
    assert view.execution.workflow == "enrol"
    journal = await bench.engine.journal(eid)
    assert journal[-1].body == ExecutionErased("request 17")
    assert journal[-1].by.actor == actor
    assert not (await bench.engine.frames(eid)).anomalies
    assert [entry.seq for entry in journal] == list(range(1, len(journal) + 1))
    with pytest.raises(NotAllowed, match="was erased"):
        await bench.engine.result(eid)


async def test_what_others_sent_to_all_stays(bench: Bench) -> None:
    eid = await enrolled(bench)
    await bench.engine.erase(eid)
    answers = (await bench.ports.channel.read("answers")).messages
    assert [message.payload for message in answers] == ["for all", None]
    assert [message.payload for message in (await bench.ports.channel.read("greetings")).messages] == [None]


async def test_observers_are_told(bench: Bench) -> None:
    eid = await enrolled(bench)
    await bench.engine.erase(eid, "request 17", key="k")
    control = await bench.control()
    assert OperatorActed("erase", eid, "request 17", "k", control[-1].digest) == control[-1]  # type: ignore[union-attr]
    twin = next(body for body in control if isinstance(body, StatusChanged) and body.entry == ExecutionErased.tag)
    assert (twin.status, twin.journal_seq) == (ExecutionStatus.COMPLETED, len(await bench.engine.journal(eid)))
    assert [body.eid for body in control if isinstance(body, ExecutionArchived)] == [eid]
    sweeper = bench.engine.sweeper()
    await sweeper.sweep_once()
    assert (await sweeper.sweep_once()).idle


async def test_an_archived_execution_is_erased_in_its_archive(bench: Bench) -> None:
    eid = await enrolled(bench)
    await bench.engine.retention(0).run_once()
    await bench.clock.advance(2 * DAY)
    assert (await bench.engine.retention(0).run_once()).purged == 1
    assert "archive" in await remains(bench, eid)
    await bench.engine.erase(eid)
    assert await remains(bench, eid) == []
    journal = await bench.engine.journal(eid)
    assert isinstance(journal[-1].body, ExecutionErased)
    epochs = [entry.by.site.epoch for entry in journal]
    assert epochs == sorted(epochs)


async def test_late_writes_are_removed_by_a_second_and_a_third_pass(bench: Bench) -> None:
    """RET-9."""
    eid = await enrolled(bench)
    await bench.engine.erase(eid)
    await bench.ports.evidence.put(eid, "root.1.1/late", SECRET.encode())
    late = Task("letters", TaskKind.DELEGATE, eid, bench.world.now(), bench.by, "late", payload=SECRET)
    await bench.ports.queue.enqueue(late)
    await bench.clock.advance(DAY)
    assert (await bench.engine.retention(0).run_once()).purged == 1
    assert await remains(bench, eid) == []
    await bench.ports.evidence.put(eid, "root.1.1/later", SECRET.encode())
    await bench.clock.advance(2 * DAY)
    await bench.engine.retention(0).run_once()
    assert await remains(bench, eid) == []


async def test_a_hook_decides_what_stays(bench: Bench) -> None:
    eid = await enrolled(bench)

    def keep_steps(entry: JournalEntry) -> JournalEntry:
        body = entry.body
        if isinstance(body, ExecutionStarted):
            return replace(entry, body=replace(body, execution=replace(body.execution, args={"args": ["someone"]})))
        if isinstance(body, ExecutionCompleted):
            return replace(entry, body=ExecutionCompleted("gone"))
        return entry

    await bench.engine.erase(eid, scrub=keep_steps)
    journal = await bench.engine.journal(eid)
    assert {"person": SECRET} in [entry.body.value for entry in journal if isinstance(entry.body, FrameCompleted)]
    archived = await bench.ports.archive.get(eid)
    assert archived is not None
    assert archived.execution.args == {"args": ["someone"]}


async def test_a_hook_that_makes_other_entries_is_refused_and_deletes_nothing(bench: Bench) -> None:
    eid = await enrolled(bench)
    with pytest.raises(UsageError, match="neither its kind"):
        await bench.engine.erase(eid, scrub=lambda entry: replace(entry, seq=entry.seq + 1))
    assert await bench.ports.executions.get(eid) is not None
    await bench.engine.erase(eid)
    assert await remains(bench, eid) == []


async def test_only_what_has_ended_is_erased(bench: Bench) -> None:
    """RET-9."""
    eid = await bench.engine.start("enrol", SECRET, version="1")
    with pytest.raises(NotAllowed, match="only when it has ended"):
        await bench.engine.erase(eid)
    with pytest.raises(UnknownExecution):
        await bench.engine.erase("0197a1b2-0000-7000-8000-000000000000")
    await bench.work(registry=registry)
    with pytest.raises(NotAllowed):
        await bench.engine.erase(eid)
    assert (await bench.engine.status(eid)).erased is False


async def test_an_erased_execution_cannot_be_made_anew(bench: Bench) -> None:
    """RET-10."""
    eid = await enrolled(bench)
    await bench.engine.erase(eid)
    for again in (bench.engine.fork(eid, "root/look_up#1"), bench.engine.replay(eid)):
        with pytest.raises(NotAllowed, match="was erased"):
            await again


async def test_erasing_twice_is_erasing_once_and_a_key_says_one_thing(bench: Bench) -> None:
    eid = await enrolled(bench)
    await bench.engine.erase(eid, "request 17", key="k")
    await bench.engine.erase(eid, "request 17", key="k")
    await bench.engine.erase(eid, "another request")
    with pytest.raises(DispatchConflict, match="another key"):
        await bench.engine.erase(eid, "request 18", key="k")
    marks = [entry for entry in await bench.engine.journal(eid) if isinstance(entry.body, ExecutionErased)]
    assert [mark.body for mark in marks] == [ExecutionErased("request 17")]
    claim = await bench.ports.dispatch.read_start("course:1")
    assert claim is not None
    assert claim.folded_at is not None


@pytest.mark.parametrize("archived", [False, True])
@pytest.mark.parametrize("writes", range(16))
async def test_a_crash_at_any_write_is_made_good_by_the_same_call(bench: Bench, writes: int, archived: bool) -> None:
    """RET-10."""
    eid = await enrolled(bench)
    if archived:
        await bench.engine.retention(0).run_once()

    async def erase(engine: Engine) -> None:
        await engine.erase(eid, "request 17", key="k")

    await bench.dies_after(writes, erase)
    await bench.clock.advance(5)
    assert (await bench.engine.status(eid)).status is ExecutionStatus.COMPLETED
    await bench.clock.run(erase(bench.engine))
    assert await remains(bench, eid) == []
    assert not (await bench.engine.frames(eid)).anomalies
    marks = [entry for entry in await bench.engine.journal(eid) if isinstance(entry.body, ExecutionErased)]
    assert len(marks) == 1


@given(journal_entries())
def test_every_entry_that_can_hold_a_value_is_scrubbed(entry: JournalEntry) -> None:
    kept = scrub_entry(entry)
    assert (kept.seq, kept.by, kept.body.tag) == (entry.seq, entry.by, entry.body.tag)
    assert scrub_entry(kept) == kept
    match kept.body:
        case ExecutionStarted(execution):
            assert execution.args == {}
        case FrameCompleted(value=value) | ExecutionCompleted(value):
            assert value is None
        case FrameFailed(error=error) | ExecutionFailed(error):
            assert (error.message, error.traceback) == ("", "")
        case FrameStarted(digest=digest, metadata=metadata):
            assert (digest, metadata) == ("", {})
        case ExecutionPaused(reason) | ExecutionUnpaused(reason) | ExecutionCancelled(reason):
            assert reason == ""
        case UnknownBody(data=data):
            assert data == {}
