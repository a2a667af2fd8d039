"""Any order of lease calls by several processes: one owner an epoch, no request lost, no stale write applied."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from flowli.cairn.database import Cairn
from flowli.cairn.errors import LeaseGone
from flowli.cairn.lease import LeaseDoc
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock, ManualWorld

TTL_S = 10
KEY = "lease"
steps = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["acquire", "renew", "release", "request", "drop", "wait", "state"])),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(steps)
def test_any_order_of_calls_keeps_the_rules(plan: list[tuple[int, str]]) -> None:
    """OWN-2."""
    asyncio.run(run(plan))


async def run(plan: list[tuple[int, str]]) -> None:
    clock = ManualClock()
    store = MemoryStore(world=ManualWorld(clock, name="store"))
    nodes = [Cairn(store, ManualWorld(clock, name=f"n{n}")) for n in range(3)]
    mine: list[LeaseDoc | None] = [None, None, None]
    owner_of: dict[int, int] = {}
    asked: set[str] = set()
    dropped: set[str] = set()
    epoch = 0
    for number, (who, verb) in enumerate(plan):
        leases, lease = nodes[who].leases, mine[who]
        current = lease is not None and lease.epoch == epoch and owner_of.get(epoch) == who
        try:
            match verb, lease:
                case "acquire", _:
                    got = await leases.acquire(KEY, {"node": who}, TTL_S)
                    if isinstance(got, LeaseDoc):
                        assert got.epoch == epoch + 1
                        epoch = got.epoch
                        owner_of[epoch] = who
                        mine[who] = got
                case "request", _:
                    await leases.request(KEY, {"id": str(number)})
                    asked.add(str(number))
                case "wait", _:
                    await clock.advance(TTL_S * 0.6)
                case "renew", LeaseDoc():
                    mine[who] = await leases.renew(lease)
                    assert current
                case "state", LeaseDoc():
                    mine[who] = await leases.renew(lease, state={"by": who, "epoch": lease.epoch})
                    assert current
                case "drop", LeaseDoc():
                    ids = {str(one["id"]) for one in lease.requests}
                    mine[who] = await leases.renew(lease, drop_requests=ids)
                    assert current
                    dropped |= ids
                case "release", LeaseDoc():
                    await leases.release(lease)
                    assert current
                    mine[who] = None
        except LeaseGone:
            assert not current
            mine[who] = None
        now = await nodes[0].leases.read(KEY)
        if now is not None:
            assert now.epoch == epoch
            assert {str(one["id"]) for one in now.requests} == asked - dropped
            assert now.holder in (None, {"node": owner_of.get(epoch)})
            assert not now.state or owner_of[int(str(now.state["epoch"]))] == now.state["by"]
