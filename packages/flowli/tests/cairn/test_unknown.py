"""Each write of each construct, disturbed in each way, ends like an undisturbed one."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest

from flowli.cairn.boundary import LogBoundary
from flowli.cairn.claim import Claimed
from flowli.cairn.database import Cairn
from flowli.cairn.errors import OutcomeUnknown, StorePermission, StoreThrottled, StoreUnavailable
from flowli.cairn.lease import LeaseDoc
from flowli.cairn.log import START, Appended, Position
from flowli.cairn.objects import Created, Swapped
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.stores import Action, ApplyLater, DropReply, Fault, FaultStore, LoseRequest, Refuse

Scenario: TypeAlias = Callable[[Cairn], Awaitable[object]]


async def create(cairn: Cairn) -> object:
    return isinstance(await cairn.documents.create("k", {"a": 1}), Created)


async def swap_and_remove(cairn: Cairn) -> object:
    made = await cairn.documents.create("k", {"a": 1})
    swapped = await cairn.documents.swap(made.doc, {"a": 2})
    assert isinstance(swapped, Swapped)
    again = await cairn.documents.swap(swapped.doc, {"a": 3})
    assert isinstance(again, Swapped)
    return await cairn.documents.remove(again.doc)


async def plain_bytes(cairn: Cairn) -> object:
    made = await cairn.documents.create_bytes("k", b"one")
    assert isinstance(made, Created)
    swapped = await cairn.documents.swap_bytes(made.doc, b"two")
    assert isinstance(swapped, Swapped)
    return await cairn.documents.remove(swapped.doc)


async def claim(cairn: Cairn) -> object:
    first = await cairn.claims.claim("c", 1)
    assert first == Claimed(1, True)
    return await cairn.claims.claim("c", 2)


async def lease(cairn: Cairn) -> object:
    held = await cairn.leases.acquire("l", {"w": 1}, 10, expect_absent=True)
    assert isinstance(held, LeaseDoc)
    await cairn.leases.request("l", {"id": "r"})
    held = await cairn.leases.renew(held, state={"n": 1})
    await cairn.leases.release(held)
    taken = await cairn.leases.acquire("l", {"w": 2}, 10)
    assert isinstance(taken, LeaseDoc)
    return taken.epoch, taken.requests, taken.state, taken.deaths


async def append(cairn: Cairn) -> object:
    log, position = cairn.log("j"), START
    for n in range(3):
        outcome = await log.append([{"n": n}, {"n": n}], after=position, writer="w", epoch=4)
        assert isinstance(outcome, Appended)
        position = outcome.position
    return [(c.number, c.first, c.epoch, c.records) for c in (await log.read()).commits]


async def append_next(cairn: Cairn) -> object:
    log = cairn.log("s", linger_s=0.05)
    ends = [await log.append_next([{"n": n}], "w") for n in range(3)]
    return ends, [(c.number, c.first, c.records) for c in (await log.read()).commits]


async def boundary(cairn: Cairn) -> object:
    kept = LogBoundary(cairn.documents, "s")
    await kept.advance(Position(3, 3))
    await kept.advance(Position(5, 9))
    await kept.delete()
    return await kept.read(), await kept.delete()


SCENARIOS: list[Scenario] = [create, swap_and_remove, plain_bytes, claim, lease, append, append_next, boundary]
REMOVING = (swap_and_remove, plain_bytes)
ACTIONS: dict[str, Action] = {
    "answer lost": DropReply(),
    "request lost": LoseRequest(),
    "request late": ApplyLater(),
    "throttled": Refuse(StoreThrottled("Too much", "Wait")),
    "away": Refuse(StoreUnavailable("Away", "Wait")),
}


def faults() -> list[object]:
    return [
        pytest.param(scenario, name, times, id=f"{scenario.__name__}-{name}-{times}")
        for scenario in SCENARIOS
        for name in ACTIONS
        for times in (1, 3)
    ]


async def contents(store: MemoryStore) -> list[str]:
    return [one.key for one in (await store.list("")).items]


@pytest.mark.parametrize(("scenario", "name", "times"), faults())
async def test_disturbed_write_ends_like_an_undisturbed_one(
    clock: ManualClock, scenario: Scenario, name: str, times: int
) -> None:
    """STO-4."""
    calm = MemoryStore(world=ManualWorld(clock))
    counted = FaultStore(calm)
    expected = await clock.run(_awaited(scenario(Cairn(counted, ManualWorld(clock)))))
    keys, writes = await contents(calm), counted.since().put + counted.since().delete
    assert writes > 0
    for nth in range(1, writes + 1):
        for verb in ("put", "delete"):
            inner = MemoryStore(world=ManualWorld(clock))
            store = FaultStore(inner, [Fault(ACTIONS[name], verb=verb, nth=nth, times=times)])
            got = await clock.run(_awaited(scenario(Cairn(store, ManualWorld(clock)))))
            assert got == expected, (verb, nth)
            assert await contents(inner) == keys
            # What arrives late finds its condition broken; only a name that was freed meanwhile can be created again.
            before = {key: await inner.get(key) for key in keys}
            await store.land()
            after = {key: await inner.get(key) for key in keys}
            assert {k: v and v.version for k, v in before.items()} == {k: v and v.version for k, v in after.items()}
            assert scenario in REMOVING or await contents(inner) == keys


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
async def test_write_that_cannot_be_settled_is_outcome_unknown(clock: ManualClock, scenario: Scenario) -> None:
    """STO-4."""
    for action in (LoseRequest(), DropReply()):
        script = [
            Fault(action, times=10_000),
            Fault(Refuse(StorePermission("Not for you", "Ask")), verb="get", times=10_000),
        ]
        store = FaultStore(MemoryStore(world=ManualWorld(clock)), script)
        with pytest.raises(OutcomeUnknown):
            await clock.run(_awaited(scenario(Cairn(store, ManualWorld(clock)))))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
async def test_refusal_before_anything_was_applied_is_passed_on(clock: ManualClock, scenario: Scenario) -> None:
    refused = Refuse(StorePermission("Not for you", "Ask"))
    store = FaultStore(MemoryStore(world=ManualWorld(clock)), [Fault(refused, times=10_000)])
    with pytest.raises(StorePermission):
        await clock.run(_awaited(scenario(Cairn(store, ManualWorld(clock)))))
    assert store.since().put == 0


async def _awaited(work: Awaitable[object]) -> object:
    return await work
