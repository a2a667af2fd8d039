import asyncio

import pytest

from flowli.cairn.database import Cairn
from flowli.cairn.errors import NotStorable, OutcomeUnknown, StorePermission
from flowli.cairn.log import START, Log, Position
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.stores import CountingStore, DropReply, Fault, FaultStore, Hold, Refuse


def opened(
    clock: ManualClock, *faults: Fault, linger_s: float = 0.0, max_linger_s: float = 2.0
) -> tuple[Log, FaultStore]:
    world = ManualWorld(clock)
    store = FaultStore(MemoryStore(world=world), faults)
    return Cairn(store, world).log("s", linger_s=linger_s, max_linger_s=max_linger_s), store


async def records(log: Log) -> list[object]:
    chunk = await log.read()
    assert [c.first for c in chunk.commits] == [
        1 + sum(len(c.records) for c in chunk.commits[:n]) for n in range(len(chunk.commits))
    ]
    return [record["n"] for commit in chunk.commits for record in commit.records]


async def test_concurrent_appends_share_commits_with_one_in_flight(clock: ManualClock) -> None:
    """JRN-12."""
    hold = Hold()
    log, store = opened(clock, Fault(hold))
    first = asyncio.ensure_future(log.append_next([{"n": 0}], "w"))
    await hold.reached.wait()
    rest = [asyncio.ensure_future(log.append_next([{"n": n}, {"n": n}], "w")) for n in range(1, 50)]
    await asyncio.sleep(0)
    assert store.since().put == 0
    hold.gate.set()
    assert await first == Position(1, 1)
    assert await asyncio.gather(*rest) == [Position(2, 1 + 2 * n) for n in range(1, 50)]
    assert store.since().put == 2
    assert await records(log) == [0, *(n for n in range(1, 50) for _ in range(2))]


async def test_lone_append_is_one_write_without_read_or_list(clock: ManualClock) -> None:
    """JRN-1."""
    log, store = opened(clock)
    for n in range(5):
        await log.append_next([{"n": n}], "w")
    assert [one.verb for one in store.requests] == ["put"] * 5


async def test_linger_gathers_before_the_write(clock: ManualClock) -> None:
    log, store = opened(clock, linger_s=0.05)

    async def staggered(n: int) -> Position:
        await clock.sleep(n * 0.01)
        return await log.append_next([{"n": n}], "w")

    async def all_of_them() -> list[Position]:
        return list(await asyncio.gather(*map(staggered, range(5))))

    assert await clock.run(all_of_them()) == [Position(1, n + 1) for n in range(5)]
    assert store.since().put == 1


async def test_record_that_cannot_be_stored_fails_only_its_caller(clock: ManualClock) -> None:
    log, store = opened(clock)
    outcomes = await asyncio.gather(
        log.append_next([{"n": 1}], "w"),
        log.append_next([{"n": object()}], "w"),  # type: ignore[dict-item]
        log.append_next([{"n": 2}], "w"),
        return_exceptions=True,
    )
    assert isinstance(outcomes[1], NotStorable)
    assert await records(log) == [1, 2]
    assert store.since().put <= 2


async def test_cancelled_leader_hands_over_and_nothing_is_lost(clock: ManualClock) -> None:
    hold = Hold()
    log, _ = opened(clock, Fault(hold))
    leader, second, third = (asyncio.ensure_future(log.append_next([{"n": n}], "w")) for n in range(3))
    await hold.reached.wait()
    leader.cancel()
    await asyncio.gather(leader, return_exceptions=True)
    assert leader.cancelled()
    late = asyncio.ensure_future(log.append_next([{"n": 3}], "w"))
    await asyncio.sleep(0)
    hold.gate.set()
    await asyncio.gather(second, third, late)
    assert sorted(map(str, await records(log))) == ["0", "1", "2", "3"]


async def test_successor_cancelled_in_the_same_moment_hands_over_again(clock: ManualClock) -> None:
    hold = Hold()
    log, _ = opened(clock, Fault(hold))
    tasks = [asyncio.ensure_future(log.append_next([{"n": n}], "w")) for n in range(4)]
    await hold.reached.wait()
    tasks[0].cancel()
    await asyncio.sleep(0)  # the lead has gone to the next, which has not run yet
    tasks[1].cancel()
    tasks[2].cancel()
    hold.gate.set()
    assert (await tasks[3]).commit == 1
    assert await records(log) == [0, 1, 2, 3]


async def test_append_cancelled_before_it_was_sealed_is_not_written(clock: ManualClock) -> None:
    log, _ = opened(clock, linger_s=0.05)
    kept, dropped = (asyncio.ensure_future(log.append_next([{"n": n}], "w")) for n in range(2))
    await asyncio.sleep(0)
    dropped.cancel()
    await clock.advance(0.1)
    await kept
    assert await records(log) == [0]


async def test_flight_that_nobody_waits_for_is_cancelled(clock: ManualClock) -> None:
    hold = Hold()
    log, store = opened(clock, Fault(hold))
    tasks = [asyncio.ensure_future(log.append_next([{"n": n}], "w")) for n in range(3)]
    await hold.reached.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert store.since().put == 0
    assert await log.append_next([{"n": 9}], "w") == Position(1, 1)


async def test_refusal_reaches_everybody_in_the_batch_and_the_next_append_works(clock: ManualClock) -> None:
    log, _ = opened(clock, Fault(Refuse(StorePermission("No", "Ask")), times=1))
    outcomes = await asyncio.gather(*(log.append_next([{"n": n}], "w") for n in range(3)), return_exceptions=True)
    assert all(isinstance(one, StorePermission) for one in outcomes)
    assert await log.append_next([{"n": 7}], "w") == Position(1, 1)


async def test_fate_that_stays_unknown_reaches_everybody_and_the_tail_is_found_again(clock: ManualClock) -> None:
    refused = Refuse(StorePermission("No", "Ask"))
    log, _ = opened(clock, Fault(DropReply()), Fault(refused, verb="get"))
    outcomes = await asyncio.gather(*(log.append_next([{"n": n}], "w") for n in range(3)), return_exceptions=True)
    assert all(isinstance(one, OutcomeUnknown) for one in outcomes)
    assert await log.append_next([{"n": 7}], "w") == Position(2, 4)
    assert await records(log) == [0, 1, 2, 7]


async def test_writers_in_several_processes_lose_nothing_and_number_densely(clock: ManualClock) -> None:
    """JRN-2."""
    inner = MemoryStore(world=ManualWorld(clock))
    logs = [
        Cairn(CountingStore(inner), ManualWorld(clock, name=f"p{n}")).log("wf", trimmable=True, linger_s=0.05)
        for n in range(4)
    ]

    async def write(n: int) -> list[Position]:
        ends = []
        for turn in range(10):
            ends.append(await logs[n].append_next([{"n": f"{n}.{turn}"}], f"p{n}"))
            await clock.sleep(0.01 * n)
        return ends

    async def everybody() -> list[list[Position]]:
        return list(await asyncio.gather(*map(write, range(4))))

    ends = await clock.run(everybody())
    assert all(sorted(some) == some for some in ends)
    assert sorted(end.seq for some in ends for end in some) == list(range(1, 41))
    assert sorted(map(str, await records(logs[0]))) == sorted(f"{n}.{t}" for n in range(4) for t in range(10))


async def test_linger_doubles_with_each_lost_commit_and_falls_back(clock: ManualClock) -> None:
    log, _ = opened(clock, linger_s=0.05, max_linger_s=0.2)
    other = Log(log._documents, "s", ManualWorld(clock, name="other"))
    position = START

    async def overtaken(times: int) -> float:
        """How long an append takes that loses so many times first."""
        nonlocal position
        began_s, put, losses = clock.elapsed_us / 1e6, log._put, 0

        async def lose_first(*args: object, **options: object) -> object:
            nonlocal losses
            if losses < times:
                losses += 1
                await other.append_next([{"n": "other"}], "other")
            return await put(*args, **options)  # type: ignore[arg-type]

        log._put = lose_first  # type: ignore[method-assign, assignment]
        try:
            await clock.run(log.append_next([{"n": 1}], "w"))
        finally:
            log._put = put  # type: ignore[method-assign]
        return clock.elapsed_us / 1e6 - began_s

    assert await overtaken(0) == pytest.approx(0.05)
    assert 0.05 + 0.05 <= await overtaken(1) <= 0.05 + 0.1
    assert 0.05 + 0.05 + 0.1 + 3 * 0.1 <= await overtaken(5) <= 0.05 + 0.1 + 4 * 0.2
    assert await overtaken(0) == pytest.approx(0.05)


async def test_lost_commit_costs_two_reads_and_one_write_more(clock: ManualClock) -> None:
    log, store = opened(clock)
    await log.append_next([{"n": 0}], "w")
    await Log(log._documents, "s", ManualWorld(clock, name="other")).append_next([{"n": 1}], "other")
    mark = store.snapshot()
    assert await log.append_next([{"n": 2}], "w") == Position(3, 3)
    assert [one.verb for one in store.requests[mark:]] == ["put", "get", "get", "put"]


async def test_commit_is_cut_at_its_limits_and_by_writer(clock: ManualClock) -> None:
    hold = Hold()
    log, _ = opened(clock, Fault(hold))
    big = "x" * 3_000_000
    tasks = [asyncio.ensure_future(log.append_next([{"n": big}], "w")) for _ in range(3)]
    tasks += [asyncio.ensure_future(log.append_next([{"n": n}], f"w{n}")) for n in range(2)]
    await hold.reached.wait()
    hold.gate.set()
    ends = await asyncio.gather(*tasks)
    assert [end.seq for end in ends] == [1, 2, 3, 4, 5]
    assert len({end.commit for end in ends}) == 5
    assert [c.writer for c in (await log.read()).commits] == ["w", "w", "w", "w0", "w1"]
