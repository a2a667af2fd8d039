"""The outbox: what the host commits is carried out once, whatever dies; what it rolls back is not."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy.orm import Session

from flowli.domain.errors import BadArguments, InvalidName, InvalidValue, UnknownWorkflow, UsageError
from flowli.runtime.observe.trace_context import carried
from flowli.sql import Outbox

from .host import Host, Life, buy, registry, runs

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def orders(host: Host) -> str:
    """One transaction of the host: an order, the start that belongs to it, and two messages."""
    with Session(host.database) as session, session.begin():
        session.execute(host.orders.insert().values(id="7"))
        key = host.outbox.start(session, buy, "7")
        host.outbox.signal_key(session, key, "news", 1)
        host.outbox.signal_key(session, key, "news", 2)
    return key


async def test_what_is_committed_is_carried_out_once(url: str) -> None:
    host = Host(url)
    key = orders(host)
    assert await host.carry_out() == 3
    assert await host.carry_out() == 0
    await host.work()
    assert await host.result_of(key) == [1, 2]
    assert runs == ["7"]
    assert host.count(host.tables.outbox) == 0


async def test_what_is_rolled_back_is_not(url: str) -> None:
    host = Host(url)
    with Session(host.database) as session:
        session.execute(host.orders.insert().values(id="7"))
        host.outbox.start(session, buy, "7")
        session.rollback()
    assert (host.count(host.orders), await host.carry_out()) == (0, 0)


@pytest.mark.parametrize("after", [False, True])
async def test_whatever_step_the_relay_dies_at_nothing_is_lost_or_doubled(after: bool) -> None:
    for steps in range(1, 200):
        host = Host("sqlite://")
        key, life = orders(host), Life(steps, after=after)
        died = await until_death(host, life)
        await host.carry_out("second")
        assert await asked_for(host, key) == [1, 2], f"died at step {steps}"
        assert host.count(host.tables.outbox) == 0
        if not died:
            await host.work()
            assert await host.result_of(key) == [1, 2], f"died at step {steps}"
            assert runs == ["7"], f"died at step {steps}"
        if not died:
            break
    else:
        raise AssertionError("the sweep did not come to its end")
    assert steps > 15


async def until_death(host: Host, life: Life) -> bool:
    """Let a relay work as long as it lives; whether it died of that."""
    others = asyncio.all_tasks()
    acting = asyncio.create_task(host.relay("first", life).relay_once())
    while not acting.done() and not life.over:
        await host.clock.settle()
        await host.clock.advance(1)
    await host.clock.settle()
    died = not acting.done()
    while left := asyncio.all_tasks() - others:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=0)
    return died


async def asked_for(host: Host, key: str) -> list[object]:
    """The messages to the one execution that was started, each once."""
    ports = host.ports()
    claim = await ports.dispatch.read_start(key)
    assert claim is not None
    assert [view.task.task_id for view in await ports.queue.list("default")] == [f"START:{claim.eid}"]
    found = await ports.channel.read(f"{claim.eid}.news")
    return [*{message.id: message.payload for message in reversed(found.messages)}.values()][::-1]


async def test_two_relays_at_once_do_it_once(url: str) -> None:
    host = Host(url)
    keys = [orders_of(host, n) for n in range(5)]
    relays = [host.relay(name) for name in ("a", "b")]
    await host.clock.run(_all(*(relay.relay_once() for relay in relays)))
    await host.work()
    assert [await host.result_of(key) for key in keys] == [[n] for n in range(5)]
    assert sorted(runs) == [str(n) for n in range(5)]


def orders_of(host: Host, n: int) -> str:
    with host.database.begin() as connection:
        key = host.outbox.start(connection, buy, str(n), key=f"order-{n}")
        host.outbox.signal_key(connection, key, "news", n)
    return key


async def _all(*work: object) -> None:
    await asyncio.gather(*work)


async def test_a_running_relay_is_followed_by_another_one(url: str) -> None:
    host = Host(url)
    first, second = host.relay("first"), host.relay("second")
    running = [asyncio.create_task(first.run()), asyncio.create_task(second.run())]
    await host.clock.advance(5)
    key = orders(host)
    await host.clock.advance(5)
    assert host.count(host.tables.outbox) == 0
    first.stop()
    await host.clock.advance(40)
    with host.database.begin() as connection:
        host.outbox.signal_key(connection, key, "news", 3)
    second.nudge()
    await host.clock.advance(40)
    assert host.count(host.tables.outbox) == 0
    second.stop()
    await host.clock.run(_all(*running))
    await host.work()
    assert await host.result_of(key) == [1, 2, 3]


async def test_what_can_never_be_carried_out_is_set_aside_and_the_rest_goes_on(url: str) -> None:
    host = Host(url)
    with host.database.begin() as connection:
        lost = host.outbox.signal_key(connection, "nobody", "news", 1)
        host.outbox.start(connection, buy, "1", key="order-1")
        host.outbox.start(connection, buy, "2", key="order-1", on_conflict="reject")
    assert await host.carry_out() == 1
    with host.database.begin() as connection:
        first, second = host.outbox.rows(connection, refused=True)
        assert first.refused == "no execution was started under key 'nobody'; start it before it is signalled"
        assert "is taken by execution" in str(second.refused)
        host.outbox.start(connection, buy, "3", key="nobody")
        assert host.outbox.retry(connection, lost)
        assert host.outbox.done(connection, second.id)
        assert not host.outbox.done(connection, second.id)
        assert host.outbox.waiting(connection) == 2
    # the row that was refused is older than the start that it lacked
    assert await host.carry_out() == 1
    with host.database.begin() as connection:
        assert host.outbox.retry(connection, lost)
    assert await host.carry_out() == 1
    await host.work()
    assert await host.result_of("nobody") == [1]


async def test_a_relay_that_does_not_know_the_workflow_starts_it_by_name(url: str) -> None:
    host = Host(url)
    with host.database.begin() as connection:
        key = host.outbox.start(connection, buy, "7", queue="default", timeout=7200)
    await host.clock.run(host.relay(known=False).relay_once())
    await host.work()
    assert await host.result_of(key) == []
    assert runs == ["7"]


async def test_the_trace_of_the_transaction_goes_along(url: str) -> None:
    host = Host(url)
    with carried(PARENT):
        key = orders(host)
    await host.carry_out()
    claim = await host.ports().dispatch.read_start(key)
    assert claim is not None
    assert claim.created_by.trace == PARENT


async def test_a_row_of_a_later_format_waits_for_an_upgrade(url: str) -> None:
    host = Host(url)
    orders(host)
    with host.database.begin() as connection:
        row = host.outbox.rows(connection)[0]
        table = host.tables.outbox
        connection.execute(table.update().where(table.c.id == row.id).values(body='{"format":2}'))
    await host.carry_out()
    with host.database.begin() as connection:
        assert "is not known to this version" in str(host.outbox.rows(connection, refused=True)[0].refused)


async def test_what_is_wrong_is_refused_before_it_is_written(tmp_path) -> None:
    host = Host(f"sqlite:///{tmp_path}/host.db")
    other = Outbox(host.tables)
    with host.database.begin() as connection:
        with pytest.raises(BadArguments):
            host.outbox.start(connection, buy)
        with pytest.raises(InvalidValue):
            host.outbox.start(connection, buy, object())
        with pytest.raises(InvalidName):
            host.outbox.start(connection, buy, "7", key="two words")
        with pytest.raises(UnknownWorkflow):
            other.start(connection, buy, "7")
        with pytest.raises(UsageError, match="give its version"):
            other.start(connection, "buy", "7")
        with pytest.raises(UsageError, match="an outbox knows 'join' and 'reject'"):
            host.outbox.start(connection, buy, "7", on_conflict="replace")
        with pytest.raises(InvalidName):
            host.outbox.signal(connection, "no id", "news")
        assert host.outbox.waiting(connection) == 0
        other.start(connection, "buy", "7", version=registry.get("buy").version)
        assert host.outbox.waiting(connection) == 1
