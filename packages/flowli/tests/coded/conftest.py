"""A codec of every kind around both backends."""

from __future__ import annotations

import asyncio

import pytest

from flowli.adapters.cairndb import CairnBackend
from flowli.adapters.coded import Encryption, KeyRing, ValueCodec
from flowli.adapters.memory import MemoryBackend
from flowli.domain.ports import Ports
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock, ManualWorld


class FlowingWorld(ManualWorld):
    """Time moves by itself for whoever sleeps, and by hand otherwise."""

    async def sleep(self, seconds: float) -> None:
        due_us = self.clock.elapsed_us + round(seconds * 1_000_000)
        for _ in range(3):
            await asyncio.sleep(0)
        self.clock.elapsed_us = max(self.clock.elapsed_us, due_us)


OLD, NEW = b"o" * 32, b"n" * 32


def encryption(world: ManualWorld, **keys: bytes) -> Encryption:
    return Encryption(KeyRing(keys or {"k1": OLD}), world=world)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def world(clock: ManualClock) -> ManualWorld:
    return FlowingWorld(clock)


@pytest.fixture
def store(world: ManualWorld) -> MemoryStore:
    return MemoryStore(world=world)


@pytest.fixture(params=["memory", "cairn"])
def plain(request: pytest.FixtureRequest, world: ManualWorld, store: MemoryStore) -> Ports:
    """The ports of a backend that knows nothing of codecs."""
    if request.param == "memory":
        return MemoryBackend(world).ports
    return CairnBackend(store, world=world).ports


@pytest.fixture
def codec(world: ManualWorld) -> ValueCodec:
    return ValueCodec(["zlib", encryption(world)], inline_bytes=600)


@pytest.fixture
def ports(plain: Ports, codec: ValueCodec, world: ManualWorld) -> Ports:
    return codec.wrap(plain, world=world)
