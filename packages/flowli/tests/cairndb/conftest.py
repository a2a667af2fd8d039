from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from pathlib import Path

import pytest

from flowli.adapters.cairndb import CairnBackend
from flowli.cairn.store import ObjectStore
from flowli.stores.filesystem import FilesystemStore
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.stores import CountingStore
from flowli.world import SYSTEM


class FlowingWorld(ManualWorld):
    """Time moves by itself for whoever sleeps, and by hand otherwise."""

    async def sleep(self, seconds: float) -> None:
        due_us = self.clock.elapsed_us + round(seconds * 1_000_000)
        for _ in range(3):
            await asyncio.sleep(0)
        self.clock.elapsed_us = max(self.clock.elapsed_us, due_us)

    def pool(self, name: str, threads: int) -> Executor:
        return SYSTEM.pool(name, threads)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def world(clock: ManualClock) -> FlowingWorld:
    return FlowingWorld(clock, name="host-a")


@pytest.fixture(params=["memory", "file"])
def inner(request: pytest.FixtureRequest, world: FlowingWorld, tmp_path: Path) -> ObjectStore:
    if request.param == "memory":
        return MemoryStore(world=world)
    return FilesystemStore.from_url(f"file:{tmp_path}/bucket?durability=os", world=world)


@pytest.fixture
async def store(inner: ObjectStore) -> AsyncIterator[CountingStore]:
    counting = CountingStore(inner)
    yield counting
    await counting.close()


@pytest.fixture
async def backend(store: CountingStore, world: FlowingWorld) -> CairnBackend:
    return CairnBackend(store, world=world)


@pytest.fixture
def another(store: CountingStore, clock: ManualClock) -> Callable[[str], CairnBackend]:
    """Another process on the same bucket, by the name of its host."""

    def make(name: str) -> CairnBackend:
        return CairnBackend(store, world=FlowingWorld(clock, name=name))

    return make
