"""A number that was trimmed away is never acknowledged again."""

import asyncio

import pytest

from flowli.cairn.boundary import LogBoundary
from flowli.cairn.commit import commit_key
from flowli.cairn.database import Cairn
from flowli.cairn.errors import LogFenced, LogTrimmed, OutcomeUnknown, StoreDamaged, StorePermission
from flowli.cairn.log import START, Appended, Log, Position
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.stores import CountingStore, Fault, FaultStore, Hold, Refuse

HOUR_S = 3600.0


async def filled(cairn: Cairn, count: int = 10) -> Log:
    log = cairn.log("wf", trimmable=True)
    for n in range(count):
        await log.append_next([{"n": n}, {"n": n}], "w")
    return log


async def test_trim_is_durable_before_anything_is_deleted(cairn: Cairn, store: CountingStore) -> None:
    log = await filled(cairn)
    mark = store.snapshot()
    assert await log.trim(Position(6, 12)) == Position(6, 12)
    assert [(one.verb, one.key) for one in store.requests[mark:]] == [("put", "logs/wf/snapshots/boundary")]
    assert await log.drop_trimmed(4) == 4
    assert await log.drop_trimmed() == 2
    assert await log.drop_trimmed() == 0
    assert [one.key for one in (await store.list("logs/wf/log/")).items] == [commit_key("wf", n) for n in range(7, 11)]


async def test_boundary_never_moves_back(cairn: Cairn) -> None:
    log = await filled(cairn)
    await log.trim(Position(6, 12))
    assert await log.trim(Position(4, 8)) == Position(6, 12)
    assert await log.trim(Position(8, 16)) == Position(8, 16)


async def test_log_that_cannot_be_trimmed_says_so(cairn: Cairn) -> None:
    with pytest.raises(ValueError, match="trimmable"):
        await cairn.log("j").trim(START)


async def test_new_reader_and_new_writer_start_from_the_boundary(cairn: Cairn) -> None:
    log = await filled(cairn)
    await log.trim(Position(10, 20))
    await log.drop_trimmed()
    other = cairn.fork().log("wf", trimmable=True)
    with pytest.raises(LogTrimmed, match="trimmed up to commit 10; what follows 0 was asked for"):
        await other.read()
    assert await other.append_next([{"n": 10}], "x") == Position(11, 21)
    assert [c.number for c in (await other.read(Position(10, 20))).commits] == [11]


async def test_writer_that_slept_through_the_grace_is_fenced(
    cairn: Cairn, clock: ManualClock, store: CountingStore
) -> None:
    """RET-3."""
    writer = Cairn(store, ManualWorld(clock, name="slept")).log("wf", trimmable=True)
    log = await filled(cairn)
    tail = (await writer.read()).position
    await log.append_next([{"n": "last"}], "w")
    await log.trim(Position(11, 21))
    await clock.advance(25 * HOUR_S)
    await log.drop_trimmed()
    with pytest.raises(LogFenced, match="below its boundary"):
        await writer.append([{"late": True}], after=tail, writer="slept")
    assert (await store.list("logs/wf/log/")).items == ()
    assert await writer.append_next([{"n": "next"}], "slept") == Position(12, 22)


async def test_writer_whose_request_took_longer_than_the_grace_is_fenced(clock: ManualClock) -> None:
    inner = MemoryStore(world=ManualWorld(clock))
    hold = Hold()
    slow = Cairn(FaultStore(inner, [Fault(hold, key="logs/*", nth=2)]), ManualWorld(clock)).log("wf", trimmable=True)
    quick = Cairn(inner, ManualWorld(clock, name="quick")).log("wf", trimmable=True)
    end = await slow.append_next([{}], "slow")

    async def overtake() -> None:
        await hold.reached.wait()
        await quick.trim(await quick.append_next([{}], "quick"))
        await clock.sleep(25 * HOUR_S)
        await quick.drop_trimmed()
        hold.gate.set()

    async def both() -> None:
        late, _ = await asyncio.gather(slow.append([{}], after=end, writer="slow"), overtake(), return_exceptions=True)
        assert isinstance(late, LogFenced)

    await clock.run(both(), limit_s=30 * HOUR_S)
    assert (await inner.list("logs/wf/log/")).items == ()


async def test_writer_that_knows_of_an_ended_lease_reads_the_boundary(cairn: Cairn, store: CountingStore) -> None:
    log = await filled(cairn)
    mark = store.snapshot()
    outcome = await log.append([{}], after=Position(10, 20), writer="w", verify=True)
    assert isinstance(outcome, Appended)
    assert [one.key for one in store.requests[mark:]] == [commit_key("wf", 11), "logs/wf/snapshots/boundary"]


async def test_fresh_writer_pays_nothing_for_the_boundary(cairn: Cairn, store: CountingStore) -> None:
    log = await filled(cairn)
    mark = store.snapshot()
    await log.append_next([{}], "w")
    assert [one.verb for one in store.requests[mark:]] == ["put"]


async def test_win_that_cannot_be_verified_is_not_acknowledged(world: ManualWorld) -> None:
    refused = Refuse(StorePermission("No", "Ask"))
    store = FaultStore(MemoryStore(world=world), [Fault(refused, verb="get", key="*/boundary", nth=2, times=9)])
    log = await filled(Cairn(store, world))
    with pytest.raises(OutcomeUnknown):
        await log.append([{}], after=Position(10, 20), writer="w", verify=True)


async def test_loser_whose_winner_is_trimmed_already_is_fenced(clock: ManualClock) -> None:
    inner = MemoryStore(world=ManualWorld(clock))
    hold = Hold()
    slow = Cairn(FaultStore(inner, [Fault(hold, verb="get", key=commit_key("wf", 1))]), ManualWorld(clock)).log("wf")
    quick = Cairn(inner, ManualWorld(clock, name="quick")).log("wf")
    await quick.append_next([{}], "quick")

    async def delete() -> None:
        await hold.reached.wait()
        await inner.delete(commit_key("wf", 1))
        hold.gate.set()

    async def both() -> None:
        lost, _ = await asyncio.gather(slow.append([{}], after=START, writer="s"), delete(), return_exceptions=True)
        assert isinstance(lost, LogFenced)

    await clock.run(both())


async def test_journal_bound_by_its_archive_is_fenced_by_it(cairn: Cairn, store: CountingStore) -> None:
    """RET-3."""

    class Archive:
        async def read(self) -> Position | None:
            return Position(3, 3)

    log = cairn.log("wf.exec.1", boundary=Archive())
    with pytest.raises(LogFenced):
        await log.append([{}], after=START, writer="w", verify=True)
    assert (await store.list("logs/")).items == ()


async def test_position_from_elsewhere_below_the_boundary_is_no_tail(cairn: Cairn, store: CountingStore) -> None:
    """A projection file that was left alone for days, say: nothing may pass for its tail but the tail."""
    log = await filled(cairn)
    await log.trim(Position(6, 12))
    await log.drop_trimmed()
    other = cairn.fork().log("wf", trimmable=True)
    with pytest.raises(LogTrimmed) as caught:
        await other.read(Position(3, 6))
    assert (caught.value.commit, caught.value.seq) == (6, 12)
    with pytest.raises(LogFenced):
        await other.append([{}], after=Position(3, 6), writer="x")
    with pytest.raises(LogFenced):
        await other.append([{}], after=START, writer="x")
    assert len((await other.read(Position(6, 12))).commits) == 4
    mark = store.snapshot()
    assert (await other.read(Position(10, 20))).caught_up
    assert [one.verb for one in store.requests[mark:]] == ["get"]


async def test_read_in_the_middle_of_a_deletion_takes_no_gap_for_the_tail(cairn: Cairn, store: CountingStore) -> None:
    log = await filled(cairn)
    await log.trim(Position(6, 12))
    await store.delete(commit_key("wf", 3))
    with pytest.raises(LogTrimmed):
        await cairn.fork().log("wf", trimmable=True).read()


async def test_new_log_is_begun_without_reading_when_the_caller_knows_it_is_new(
    cairn: Cairn, store: CountingStore
) -> None:
    log = cairn.log("wf.exec.1", trimmable=True)
    assert isinstance(await log.append([{}], after=START, writer="w", verify=False), Appended)
    assert [one.verb for one in store.requests] == ["put"]


async def test_damaged_boundary_is_named(cairn: Cairn) -> None:
    await cairn.documents.create("logs/wf/snapshots/boundary", {"commit": "x"})
    with pytest.raises(StoreDamaged, match="boundary"):
        await LogBoundary(cairn.documents, "wf").read()
