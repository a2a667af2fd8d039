import pytest

from flowli.cairn.database import Cairn
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.stores import CountingStore


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def world(clock: ManualClock) -> ManualWorld:
    return ManualWorld(clock)


@pytest.fixture
def store(world: ManualWorld) -> CountingStore:
    return CountingStore(MemoryStore(world=world))


@pytest.fixture
def cairn(store: CountingStore, world: ManualWorld) -> Cairn:
    return Cairn(store, world)
