"""The SQLite backend beyond the suites: who is dead, a host that was started anew, errors, forks."""

import sqlite3

import pytest

from flowli.domain.errors import BackendRefused, BackendUnavailable
from flowli.domain.ports import Acquired, Held, Holder
from flowli.domain.provenance import Site
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.suites.port_suite import new_eid
from flowli.testing.suites.queue_base import task_for
from flowli.world import SYSTEM
from flowli_backend_sqlite.backend import SqliteBackend


def holder(name):
    return Holder(name, Site(name))


@pytest.fixture
async def opened(tmp_path):
    backends = []

    def open_one(clock, name="node"):
        backends.append(SqliteBackend(f"{tmp_path}/flowli.db", ManualWorld(clock, name=name), "os"))
        return backends[-1].ports

    yield open_one
    for backend in backends:
        await backend.close()


async def test_a_dead_process_is_taken_over_at_once(opened):
    clock, eid = ManualClock(), new_eid()
    dying, other = opened(clock, "dying"), opened(clock, "other")
    await dying.ownership.acquire(eid, holder("dying"), 30)
    await dying.queue.enqueue(task_for())
    await dying.queue.dequeue("finance", "dying", 30)
    assert isinstance(await other.ownership.acquire(eid, holder("other"), 30), Held)
    assert not await other.queue.dequeue("finance", "other", 30)
    world = other.ownership._db.world
    world.dead.add(dying.ownership._db.world.process())
    taken = await other.ownership.acquire(eid, holder("other"), 30)
    assert isinstance(taken, Acquired)
    assert (taken.lease.epoch, taken.lease.deaths) == (2, 1)
    (lease,) = await other.queue.dequeue("finance", "other", 30)
    assert lease.deaths == 1


async def test_a_request_does_not_make_the_lease_that_of_its_writer(opened):
    from flowli.domain.ports import LeaseRequest
    from flowli.testing.suites.port_suite import by

    clock, eid = ManualClock(), new_eid()
    owner, asking = opened(clock, "owner"), opened(clock, "asking")
    await owner.ownership.acquire(eid, holder("owner"), 30)
    await asking.ownership.request(eid, LeaseRequest("r", "wake", by()))
    third = opened(clock, "third")
    third.ownership._db.world.dead.add(asking.ownership._db.world.process())
    assert isinstance(await third.ownership.acquire(eid, holder("third"), 30), Held)


async def test_what_was_held_before_the_host_was_started_anew_is_free(opened):
    long_up, eid = ManualClock(), new_eid()
    await long_up.advance(10_000)
    before = opened(long_up)
    await before.ownership.acquire(eid, holder("before"), 1e6)
    for key in ("held", "given back"):
        await before.queue.enqueue(task_for(key))
    leases = await before.queue.dequeue("finance", "before", 1e6, limit=2)
    await before.queue.nack(leases[1], delay_s=1e6)
    after = opened(ManualClock())
    assert isinstance(await after.ownership.acquire(eid, holder("after"), 30), Acquired)
    assert len(await after.queue.dequeue("finance", "after", 30, limit=2)) == 2


async def test_a_newer_layout_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / "new.db") as db:
        db.execute("PRAGMA user_version = 7")
    backend = SqliteBackend(f"{tmp_path}/new.db", SYSTEM)
    with pytest.raises(BackendRefused, match="has layout 7, this release knows 1"):
        await backend.ports.control.read()
    await backend.close()


async def test_errors_say_who_must_act(tmp_path):
    backend = SqliteBackend(f"{tmp_path}/no/such/folder.db", SYSTEM)
    with pytest.raises(BackendRefused, match="check the file, its folder"):
        await backend.ports.control.read()
    await backend.close()
    (tmp_path / "text.db").write_text("no database " * 1000)
    backend = SqliteBackend(f"{tmp_path}/text.db", SYSTEM)
    with pytest.raises(BackendRefused, match="not a database"):
        await backend.ports.control.read()
    await backend.close()


async def test_a_file_that_is_busy_for_too_long_may_be_tried_again(tmp_path, monkeypatch):
    monkeypatch.setattr("flowli_backend_sqlite.database._BUSY_S", 0.01)
    backend = SqliteBackend(f"{tmp_path}/flowli.db", ManualWorld())
    await backend.ports.control.read()
    with sqlite3.connect(tmp_path / "flowli.db", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(BackendUnavailable, match="try again"):
            await backend.ports.dispatch.claim("slot", 1)
        other.execute("ROLLBACK")
    assert (await backend.ports.dispatch.claim("slot", 1)).won
    await backend.close()


@pytest.mark.parametrize("url", ["rows:", "rows:?durability=os", "rows:./f.db?durability=no", "rows:./f.db?size=1"])
def test_a_wrong_url_is_refused_with_what_to_write(url):
    with pytest.raises(BackendRefused, match=r"write for example rows:\./flowli\.db"):
        SqliteBackend.from_url(url, world=SYSTEM)


async def test_a_fork_works_on_another_thread(tmp_path):
    import asyncio
    from concurrent.futures import Future

    backend = SqliteBackend.from_url(f"rows:{tmp_path}/flowli.db?durability=os", world=SYSTEM)
    fork, done = backend.ports.fork, Future()
    assert fork is not None

    async def claim():
        done.set_result((await fork().dispatch.claim("slot", "there")).won)

    SYSTEM.background("other", claim)
    assert await asyncio.wrap_future(done)
    assert (await backend.ports.dispatch.claim("slot", "here")).value == "there"
    await backend.close()
