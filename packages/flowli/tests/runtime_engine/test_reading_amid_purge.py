"""Retention overtakes a reader: what is left of a journal is never taken for that of a running execution."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from flowli.adapters.cairndb import CairnBackend
from flowli.domain.entries import ExecutionResumed, ExecutionSuspended
from flowli.domain.errors import NotAllowed
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import Eid
from flowli.domain.ports import Ports
from flowli.domain.provenance import Site
from flowli.domain.waits import OnChannel
from flowli.runtime.engine import Engine
from flowli.runtime.protocols.deliver import check_receiver
from flowli.runtime.protocols.retire import purge
from flowli.runtime.protocols.run import Verdict, look
from flowli.runtime.protocols.standing import read_standing
from flowli.runtime.protocols.wake import MessageCause, resume_task
from flowli.runtime.registry import Registry
from flowli.stores.memory import MemoryStore

from .conftest import Bench, Unhurried


class Overtaken:
    """A store of which the second commit of a journal is read only after something else has been done."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.before: Callable[[], Awaitable[object]] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def fork(self) -> Overtaken:
        return self

    async def get(self, key: str) -> Any:
        if self.before is not None and key.startswith("logs/wf.exec.") and int(key.partition("/log/")[2][:-8]) == 2:
            act, self.before = self.before, None
            await act()
        return await self._store.get(key)


class Scene:
    """An execution that has ended and was folded away; retention is about to delete it."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.bench = Bench(lambda clock: self._ports(clock, self.store))
        self.overtaken = Overtaken(self.store)
        self.ports = self._ports(self.bench.clock, self.overtaken)

    @staticmethod
    def _ports(clock: Any, store: Any) -> Ports:
        world = Unhurried(clock, name="bucket")
        return CairnBackend(store, world=world).ports

    async def folded_away(self) -> Eid:
        bench = self.bench
        eid = await bench.engine.start("sign", "contract")
        await bench.drain()
        owner = await bench.own(eid)
        await owner.append(ExecutionResumed(1))
        await owner.append(ExecutionSuspended((OnChannel(f"{eid}.signature"),), 1))
        owner = await bench.own(eid)
        await owner.append(ExecutionResumed(2))
        await owner.complete(True)
        assert (await bench.engine.retention(0).run_once()).archived == [eid]
        self.overtaken.before = lambda: purge(bench.ports, eid)
        return eid


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_a_reader_sees_the_end(scene: Scene) -> None:
    eid = await scene.folded_away()
    standing = await read_standing(scene.ports, eid)
    assert scene.overtaken.before is None
    assert standing.ended
    assert standing.fold.status is ExecutionStatus.COMPLETED
    assert standing.archived_at is not None


async def test_a_message_is_refused(scene: Scene) -> None:
    eid = await scene.folded_away()
    with pytest.raises(NotAllowed, match="has ended"):
        await check_receiver(scene.ports, eid, f"{eid}.signature")
    assert scene.overtaken.before is None


async def test_a_worker_with_a_task_that_was_left_runs_and_writes_nothing(scene: Scene) -> None:
    bench, ran, registry = scene.bench, [], Registry()

    @registry.workflow(name="sign", version="2")
    async def sign(ctx: Any, document: str) -> None:
        ran.append(document)

    eid = await scene.folded_away()
    message = MessageCause(f"{eid}.signature", 1)
    await bench.ports.queue.enqueue(
        resume_task(queue="default", priority=0, eid=eid, cause=message, at=bench.world.now(), by=bench.by)
    )
    world = bench.new_engine(name="worker").world
    worker = Engine(scene.ports, Site("worker"), registry=registry, world=world).worker()
    await bench.clock.run(worker.run_until_idle())
    await bench.clock.run(worker.drain())
    assert scene.overtaken.before is None
    assert ran == []
    assert not (await bench.ports.journal.read(eid)).entries
    assert await bench.ports.ownership.read(eid) is None
    (left,) = await bench.tasks()
    assert (await look(scene.ports, left, {})).verdict is Verdict.NOTHING
