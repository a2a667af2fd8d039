"""A bucket in which a newer release works too: what this one does not know is kept, and waits for the operator."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from flowli.adapters.cairndb import CairnBackend
from flowli.cairn.values import from_json, from_msgpack, to_json, to_msgpack
from flowli.domain.channels import WaitMarker
from flowli.domain.entries import ExecutionStarted, UnknownBody
from flowli.domain.errors import BackendRefused, ExecutionCancelled
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ports import Ports
from flowli.domain.tasks import Task, TaskKind
from flowli.domain.waits import OnOperator
from flowli.runtime import EngineConfig
from flowli.stores.memory import MemoryStore
from flowli.testing.env import TestEnvironment
from flowli.testing.suites.port_suite import T0, by
from flowli.timestamp import Timestamp
from flowli.world import World

NEWER = {"colour": "red", "shape": {"sides": 4}}


class Bucket:
    """A bucket that can be written to behind the back of flowli."""

    def __init__(self) -> None:
        self.store = MemoryStore()

    def ports(self, world: World) -> Ports:
        return CairnBackend(self.store, world=world).ports

    def open(self, story: Any, *, check_replay: bool = True) -> TestEnvironment:
        config = EngineConfig(hold_s=0.0, retire_grace_s=0.0)
        return TestEnvironment(story.registry, ports=self.ports, config=config, check_replay=check_replay)

    async def keys(self, prefix: str) -> list[str]:
        return [item.key for item in (await self.store.list(prefix)).items]

    async def read(self, key: str) -> dict[str, Any]:
        found = await self.store.get(key)
        assert found is not None, key
        return from_msgpack(found.data, key) if key.endswith(".msgpack") else from_json(found.data, key)

    async def change(self, key: str, change: Callable[[dict[str, Any]], object]) -> None:
        """What a newer release would have written."""
        body = await self.read(key)
        change(body)
        data = to_msgpack(body) if key.endswith(".msgpack") else to_json(body)
        await self.store.put(key, data)


@pytest.fixture
def bucket() -> Bucket:
    return Bucket()


async def waiting(env: TestEnvironment, story: Any, **options: Any) -> UUID:
    eid = await env.start(story.approve, story.Order("A-1", Decimal(5)), **options)
    await env.settle()
    return eid


async def journal_key(bucket: Bucket, eid: UUID) -> str:
    return (await bucket.keys(f"logs/wf.exec.{eid}/log/"))[-1]


async def test_a_newer_layout_is_refused_naming_both_and_nothing_is_written(bucket: Bucket, story: Any) -> None:
    """UPG-1."""
    async with bucket.open(story) as env:
        await waiting(env, story)
    await bucket.change("wf/layout", lambda body: body.update(layout=7))
    before = {key: await bucket.read(key) for key in await bucket.keys("wf/")}
    env = bucket.open(story)
    with pytest.raises(BackendRefused, match=r"version 7 .* up to 1"):
        await env.start(story.approve, story.Order("A-2", Decimal(5)))
    assert {key: await bucket.read(key) for key in await bucket.keys("wf/")} == before


async def test_a_layout_with_more_formats_of_the_same_version_is_used(bucket: Bucket, story: Any) -> None:
    async with bucket.open(story) as env:
        await waiting(env, story)
    await bucket.change("wf/layout", lambda body: body.update(NEWER))
    async with bucket.open(story) as env:
        await waiting(env, story)
    assert (await bucket.read("wf/layout")).items() >= NEWER.items()


async def test_unknown_fields_of_every_document_survive_the_whole_life_of_an_execution(
    bucket: Bucket, story: Any
) -> None:
    """UPG-2."""
    async with bucket.open(story) as env:
        eid = await waiting(env, story, key="order:1")
        record, lease, claim = f"wf/exec/{eid}/meta", f"wf/exec/{eid}/lease", "wf/dispatch/order:1"
        for key in (record, lease, claim):
            await bucket.change(key, lambda body: body.update(NEWER))
        await bucket.change(record, lambda body: body["created_by"].update(tenant="acme"))
        await bucket.change(lease, lambda body: body.setdefault("state", {}).update(NEWER))

        await env.clock.drive(env.engine.pause(eid, "for a moment"))
        await env.settle()
        await env.clock.drive(env.engine.resume(eid))
        await env.signal(eid, "answer", "yes")
        await env.settle()
        read = await env.clock.drive(env.engine.ports.executions.get(eid))
        assert read is not None
        assert await env.clock.drive(env.engine.ports.executions.replace(read, read))
        for key in (record, lease):
            assert (await bucket.read(key)).items() >= NEWER.items(), key
        assert (await bucket.read(record))["created_by"]["tenant"] == "acme"
        assert (await bucket.read(lease))["state"].items() >= NEWER.items()

        await env.run_until_idle()
        await env.clock.drive(env.engine.retention(0).run_once())
        claimed = await bucket.read(claim)
        assert claimed.items() >= NEWER.items()
        assert claimed["folded_at"]


async def test_unknown_fields_of_entries_reach_the_archive(bucket: Bucket, story: Any) -> None:
    """UPG-2."""
    async with bucket.open(story) as env:
        eid = await waiting(env, story)

        def newer(commit: dict[str, Any]) -> None:
            commit["zone"] = "north"
            for record in commit["records"]:
                record["e"][2].update(NEWER)
            commit["records"][0]["e"][3]["tenant"] = "acme"

        await bucket.change(await journal_key(bucket, eid), newer)
        await env.restart()
        await env.signal(eid, "answer", "yes")
        await env.run_until_idle()
        assert (await env.status(eid)).status is ExecutionStatus.COMPLETED
        await env.clock.drive(env.engine.retention(0).run_once())
        archived = (await bucket.read(f"wf/archive/{eid}.msgpack"))["entries"]
        changed = [record for record in archived if NEWER.items() <= record[2].items()]
        assert {record[0] for record in changed} >= {"frame.started", "frame.completed", "execution.suspended"}
        assert archived[0][3]["tenant"] == "acme"


async def test_unknown_fields_of_tasks_survive_promotion_burial_and_revival(bucket: Bucket, story: Any) -> None:
    env = bucket.open(story)
    queue = env.engine.ports.queue
    task = Task("q", TaskKind.DELEGATE, UUID(int=7), T0, by(), key="k", not_before=T0 + timedelta(days=1))
    await env.clock.drive(queue.enqueue(task))
    (delayed,) = await bucket.keys("wf/queues/q/delayed/")
    await bucket.change(delayed, lambda body: body["task"].update(NEWER))
    await env.clock.drive(queue.promote("q", T0 + timedelta(days=2)))
    (lease,) = await env.clock.drive(queue.dequeue("q", "w", 30))
    await env.clock.drive(queue.nack(await env.clock.drive(queue.renew(lease))))
    (ready,) = await bucket.keys("wf/queues/q/ready/")
    assert (await bucket.read(ready))["task"].items() >= NEWER.items()
    (lease,) = await env.clock.drive(queue.dequeue("q", "w", 30))
    await env.clock.drive(queue.bury(lease, "because", Timestamp(T0.us)))
    (dead,) = await env.clock.drive(queue.dead("q"))
    assert await env.clock.drive(queue.revive(dead))
    (ready,) = await bucket.keys("wf/queues/q/ready/")
    assert (await bucket.read(ready))["task"].items() >= NEWER.items()


async def test_a_record_is_made_whole_from_a_start_of_a_newer_release(bucket: Bucket, story: Any) -> None:
    async with bucket.open(story) as env:
        eid = await env.start(story.approve, story.Order("A-1", Decimal(5)))
        (start,) = await bucket.keys("wf/queues/default/ready/")
        await bucket.change(start, lambda body: body["task"]["payload"].update(NEWER))
        await bucket.store.delete(f"wf/exec/{eid}/meta")
        await env.settle()
        assert (await bucket.read(f"wf/exec/{eid}/meta")).items() >= NEWER.items()
        first = (await env.journal(eid))[0].body
        assert isinstance(first, ExecutionStarted)
        assert first.execution.more == NEWER


async def test_an_unknown_entry_parks_its_execution_and_no_other(bucket: Bucket, story: Any) -> None:
    """UPG-3."""
    async with bucket.open(story, check_replay=False) as env:
        eid, other = await waiting(env, story), await waiting(env, story)
        unknown = ["frame.teleported", 0, {"fid": "root/charge#1", "to": "the moon"}]
        await bucket.change(await journal_key(bucket, eid), lambda commit: commit["records"].insert(-2, {"e": unknown}))
        await env.restart()
        for one in (eid, other):
            await env.signal(one, "answer", "yes")
        await env.run_until_idle()
        view = await env.status(eid)
        assert view.status is ExecutionStatus.SUSPENDED
        (on,) = view.waits_on
        assert isinstance(on, OnOperator)
        assert "frame.teleported" in on.reason
        assert "newer" in on.reason
        assert (await env.status(other)).status is ExecutionStatus.COMPLETED

        kept = [entry.body for entry in await env.journal(eid) if isinstance(entry.body, UnknownBody)]
        assert [[body.tag, 0, body.data] for body in kept] == [unknown]
        report = await env.clock.drive(env.engine.retention(0).run_once())
        assert eid not in report.archived
        await env.clock.drive(env.engine.terminate(eid, "it cannot go on here"))
        with pytest.raises(ExecutionCancelled):
            await env.result(eid)
        report = await env.clock.drive(env.engine.retention(0).run_once())
        assert "newer version of flowli" in report.blocked[eid]


async def test_a_newer_form_of_one_object_is_refused_and_leaves_the_others(bucket: Bucket, story: Any) -> None:
    """UPG-1."""
    async with bucket.open(story) as env:
        eid, other = await waiting(env, story), await waiting(env, story)
        await bucket.change(f"wf/exec/{eid}/meta", lambda body: body.update(v=9))
        await bucket.change(await journal_key(bucket, eid), lambda body: body.update(v=9))
        with pytest.raises(BackendRefused, match=r"format 9 and this release reads 1.*[Uu]pgrade"):
            await env.status(eid)
        await env.signal(other, "answer", "yes")
        await env.settle()
        assert (await env.status(other)).status is not ExecutionStatus.PENDING
        await bucket.change(f"wf/exec/{eid}/meta", lambda body: body.update(v=1))
        await bucket.change(await journal_key(bucket, eid), lambda body: body.update(v=1))
        assert (await env.status(eid)).status is ExecutionStatus.SUSPENDED


async def test_markers_and_control_entries_of_a_newer_release_are_read(bucket: Bucket, story: Any) -> None:
    async with bucket.open(story) as env:
        eid = await waiting(env, story)
        (marker,) = await bucket.keys(f"wf/waits/{eid}.answer/")
        await bucket.change(marker, lambda body: body.update(NEWER))
        found = await env.clock.drive(env.engine.ports.channel.marker(f"{eid}.answer", eid))
        assert isinstance(found, WaitMarker)
        (first, *_) = await bucket.keys("logs/wf/log/")
        unknown = {"e": ["fleet.greeted", 0, {"by": "all"}]}
        await bucket.change(first, lambda commit: commit["records"].append(unknown))
        told = await env.clock.drive(env.engine.ports.control.read())
        assert UnknownBody("fleet.greeted", {"by": "all"}) in [entry.body for entry in told.entries]
        await env.signal(eid, "answer", "yes")
        await env.run_until_idle()
        assert (await env.status(eid)).status is ExecutionStatus.COMPLETED
