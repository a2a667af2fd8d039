"""What the verbs cost on a bucket."""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import timedelta
from typing import Any

import pytest

from flowli.adapters.cairndb import CairnBackend
from flowli.codec import dump
from flowli.domain.waits import OnChannel
from flowli.runtime.protocols.receipt import forget_old_receipts, forget_receipts
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock
from flowli.testing.stores import CountingStore

from .conftest import Bench, Unhurried


class Counted(Bench):
    """A bench whose bucket counts its requests; those of the control log, which are shared, apart."""

    def __init__(self) -> None:
        super().__init__(self._open)

    def _open(self, clock: ManualClock) -> Any:
        world = Unhurried(clock, name="bucket")
        self.store = CountingStore(MemoryStore(world=world))
        return CairnBackend(self.store, world=world).ports

    async def cost(self, work: Awaitable[object]) -> dict[str, int]:
        before = len(self.store.requests)
        await work
        await self.engine.announcer.drain()
        made = [one for one in self.store.requests[before:] if not one.key.startswith("logs/wf/")]
        return {verb: count for verb in ("put", "get", "list") if (count := sum(one.verb == verb for one in made))}


@pytest.fixture
async def counted() -> Counted:
    bench = Counted()
    await bench.engine.start("greet", "the first use checks the bucket")
    await bench.engine.announcer.drain()
    return bench


async def test_a_start_is_two_writes(counted: Counted) -> None:
    assert await counted.cost(counted.engine.start("greet", "Ada")) == {"put": 2}


async def test_a_keyed_start_is_three_writes(counted: Counted) -> None:
    """STA-1."""
    assert await counted.cost(counted.engine.start("greet", "Ada", key="k")) == {"put": 3}


async def test_a_signal_to_who_waits_is_two_writes_and_one_read(counted: Counted) -> None:
    eid = await counted.engine.start("sign", "contract")
    await counted.drain()
    await (await counted.own(eid)).suspend(OnChannel(f"{eid}.signature"))
    await counted.engine.signal(eid, "signature", 0)
    assert await counted.cost(counted.engine.signal(eid, "signature", 1)) == {"put": 2, "get": 1}


async def test_a_pass_with_nothing_to_do_writes_nothing(counted: Counted) -> None:
    """SWP-6."""
    await counted.engine.start("sign", "contract")
    sweeper = counted.engine.sweeper()
    await sweeper.sweep_once()
    idle = await counted.cost(sweeper.sweep_once())
    assert idle.get("put", 0) == 0
    assert idle.get("get", 0) <= 1


async def test_forgetting_receipts_is_a_listing_and_a_read_for_each(counted: Counted) -> None:
    """BUD-9: beside the deletions, which cost nothing."""
    for n in range(70):
        await counted.ports.dispatch.claim(f"command:queue:q:{n:02}", {"by": dump(counted.by)})
    eid = await counted.engine.start("greet", "Ada")
    for n in range(3):
        await counted.ports.dispatch.claim(f"command:{eid}:{n}", {"by": dump(counted.by)})
    assert await counted.cost(forget_receipts(counted.ports, eid)) == {"list": 2, "get": 3}, "the second one is empty"
    now = counted.world.now()
    assert await counted.cost(forget_old_receipts(counted.ports, now, "")) == {"list": 1, "get": 70}
    assert await forget_old_receipts(counted.ports, now + timedelta(1), "") == (70, "command:queue:q:69")
    assert await counted.cost(forget_old_receipts(counted.ports, now, "")) == {"list": 1}


async def test_a_run_of_retention_looks_at_a_thousand_receipts_of_queues(counted: Counted) -> None:
    """BUD-9: whatever there is."""
    for n in range(1010):
        await counted.ports.dispatch.claim(f"command:queue:q:{n:04}", {"by": dump(counted.by)})
    await counted.engine.retention(0).run_once()
    before = len(counted.store.requests)
    await counted.engine.retention(0).run_once()
    reads = [one for one in counted.store.requests[before:] if one.key.startswith("wf/claims/")]
    assert sum(one.verb == "list" for one in reads) == 1
    assert sum(one.verb == "get" for one in reads) == 10
    before = len(counted.store.requests)
    await counted.engine.retention(0).run_once()
    reads = [one for one in counted.store.requests[before:] if one.key.startswith("wf/claims/")]
    assert sum(one.verb == "list" for one in reads) == 2, "the first ones have their turn again"
    assert sum(one.verb == "get" for one in reads) == 1000
