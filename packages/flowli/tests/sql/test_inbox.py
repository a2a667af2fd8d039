"""The inbox: each change stands once in the host's database, with what the host writes because of it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sqlalchemy import Connection, select

from flowli.domain.data import Data
from flowli.runtime import Subscription
from flowli.runtime.observe.events import Change
from flowli.sql import Inbox
from flowli.testing.clock import ManualWorld

from .host import Host
from .test_outbox import orders


async def ended(url: str) -> Host:
    host = Host(url)
    orders(host)
    await host.carry_out()
    await host.work()
    return host


async def test_each_change_is_taken_in_once_with_what_follows_from_it(url: str) -> None:
    host = await ended(url)

    def apply(connection: Connection, event: Mapping[str, Data]) -> None:
        connection.execute(host.totals.insert().values(what=str(event["type"]).split(".")[2]))

    inbox = Inbox(host.database, host.tables, apply, source="/shop", world=ManualWorld(host.clock))
    for name in ("first", "again"):  # a second subscription gives everything a second time
        subscription = Subscription(name, inbox, workflows=["buy"], changes=[Change.CREATED, Change.COMPLETED])
        assert await host.clock.run(subscription.deliver(host.engine(name))) == 2
    with host.database.connect() as connection:
        assert [*connection.execute(select(host.totals.c.what)).scalars()] == ["created", "completed"]
        created, completed = connection.execute(select(host.tables.inbox).order_by("time")).mappings().all()
    event = json.loads(completed["event"])
    assert (event["source"], event["type"], event["specversion"]) == ("/shop", "flowli.execution.completed.v1", "1.0")
    assert completed["subject"] == event["subject"] == created["subject"]
    assert (completed["id"], completed["time"]) == (event["id"], event["time"])
    await inbox.close()


async def test_what_cannot_be_applied_is_given_again(url: str) -> None:
    host, tries = await ended(url), list[str]()

    def apply(connection: Connection, event: Mapping[str, Data]) -> None:
        connection.execute(host.totals.insert().values(what="x"))
        tries.append(str(event["id"]))
        if len(tries) == 1:
            raise OSError("not yet")

    inbox = Inbox(host.database, host.tables, apply, world=ManualWorld(host.clock))
    subscription = Subscription("ended", inbox, changes=[Change.COMPLETED])
    await host.clock.run(subscription.deliver(host.engine("s")))
    assert tries == [tries[0]] * 2
    assert host.count(host.totals) == host.count(host.tables.inbox) == 1


async def test_without_a_function_it_only_keeps_them() -> None:
    host = await ended("sqlite://")
    inbox = Inbox(host.database, host.tables, world=ManualWorld(host.clock))
    await host.clock.run(Subscription("all", inbox).deliver(host.engine("s")))
    assert host.count(host.tables.inbox) > 3
