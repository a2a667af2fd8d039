"""Effects: what a step writes to the host's database is there once, however often the step runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from sqlalchemy import Connection, Engine, MetaData, create_engine, func, select
from sqlalchemy.orm import Session

from flowli.domain.errors import InvalidValue, UsageError
from flowli.domain.retry import RetryPolicy
from flowli.runtime import Context, Registry, step_info
from flowli.sql import Effects, Tables
from flowli.testing.clock import ManualWorld

from .host import Host


@dataclass(frozen=True)
class Booked:
    """What was written."""

    n: int
    what: str


class Ledger:
    """A table of the host, to which steps write."""

    def __init__(self, url: str) -> None:
        self.host = Host(url)
        self.database: Engine = self.host.database
        self.effects = Effects(self.host.tables, world=ManualWorld(self.host.clock, name="steps"))

    def book(self, connection: Connection | Session) -> Booked:
        """One more line."""
        n = connection.execute(select(func.count()).select_from(self.host.totals)).scalar_one() + 1
        connection.execute(self.host.totals.insert().values(n=n, what="booked"))
        return Booked(n, "booked")

    def lines(self) -> int:
        return self.host.count(self.host.totals)


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    made = Ledger(url)
    yield made
    made.database.dispose()


def test_the_second_time_gives_what_the_first_one_gave(ledger: Ledger) -> None:
    first = ledger.effects.once(ledger.database, ledger.book, key="order-7")
    assert first == Booked(1, "booked")
    assert ledger.effects.once(ledger.database, ledger.book, key="order-7") == first
    assert ledger.lines() == 1
    assert ledger.effects.once(ledger.database, ledger.book, key="x" * 1000) == Booked(2, "booked")
    assert ledger.effects.once(ledger.database, ledger.book, key="x" * 1000) == Booked(2, "booked")


def test_what_fails_leaves_nothing_and_can_be_done_again(ledger: Ledger) -> None:
    def fails(connection: Connection) -> Booked:
        ledger.book(connection)
        raise OSError("no more paper")

    def unrecordable(connection: Connection) -> object:
        ledger.book(connection)
        return object()

    with pytest.raises(OSError, match="no more paper"):
        ledger.effects.once(ledger.database, fails, key="order-7")
    with pytest.raises(InvalidValue):
        ledger.effects.once(ledger.database, unrecordable, key="order-7")
    assert ledger.lines() == 0
    assert ledger.effects.once(ledger.database, ledger.book, key="order-7").n == 1


def test_in_a_transaction_of_the_host_it_is_committed_and_rolled_back_with_it(ledger: Ledger) -> None:
    with Session(ledger.database) as session:
        ledger.effects.within(session, ledger.book, key="order-7")
        session.rollback()
    assert ledger.lines() == 0
    with Session(ledger.database) as session, session.begin():
        ledger.effects.within(session, ledger.book, key="order-7")
    with Session(ledger.database) as session, session.begin():
        assert ledger.effects.within(session, ledger.book, key="order-7").n == 1
    assert ledger.lines() == 1


def test_who_commits_after_a_failure_has_not_marked_it_as_done(ledger: Ledger) -> None:
    def fails(connection: Connection) -> Booked:
        raise OSError("no more paper")

    with ledger.database.begin() as connection, pytest.raises(OSError, match="no more paper"):
        ledger.effects.within(connection, fails, key="order-7")
    assert ledger.effects.once(ledger.database, ledger.book, key="order-7").n == 1


def test_two_attempts_at_once_write_once(ledger: Ledger) -> None:
    both, found, failed = threading.Barrier(2), list[Booked](), list[Exception]()

    def attempt() -> None:
        both.wait(60)
        try:
            found.append(ledger.effects.once(ledger.database, ledger.book, key="order-7"))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=attempt) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert found == [Booked(1, "booked")] * 2
    assert ledger.lines() == 1


def test_outside_a_step_it_needs_a_key(ledger: Ledger) -> None:
    with pytest.raises(UsageError, match="outside a step"):
        ledger.effects.once(ledger.database, ledger.book)
    assert ledger.lines() == 0


async def test_a_step_that_dies_after_its_commit_has_written_once() -> None:
    ledger, tries = Ledger("sqlite://"), list[str]()
    mine = Registry()

    def step() -> int:
        booked = ledger.effects.once(ledger.database, ledger.book)
        other = ledger.effects.once(ledger.database, ledger.book, key="second")
        tries.append(step_info().idempotency_key)
        if len(tries) == 1:
            raise OSError("the connection broke after the commit")
        return 10 * booked.n + other.n

    @mine.workflow
    async def books(ctx: Context) -> int:
        return await ctx.step(step, retry=RetryPolicy(max_attempts=2))

    engine = ledger.host.engine("w")
    engine.registry.add(books)
    eid = await ledger.host.clock.run(engine.start(books))
    await ledger.host.work()
    assert await ledger.host.clock.run(engine.result(eid)) == 12
    assert len(tries) == 2
    assert ledger.lines() == 2


def test_the_tables_stand_in_the_metadata_of_the_host() -> None:
    metadata = MetaData()
    Tables(metadata, prefix="x_")
    assert sorted(metadata.tables) == ["x_effects", "x_inbox", "x_outbox"]
    database = create_engine("sqlite://")
    metadata.create_all(database)
