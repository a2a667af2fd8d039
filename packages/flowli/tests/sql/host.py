"""A host with a database and a bucket, on virtual time, whose processes can die at any step."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from sqlalchemy import Column, Integer, String, Table, create_engine, func, select
from sqlalchemy.pool import StaticPool

from flowli.adapters.cairndb import CairnBackend
from flowli.domain.ports import Ports
from flowli.domain.provenance import Site
from flowli.runtime import Context, Engine, EngineConfig, Registry
from flowli.sql import Outbox, Relay, Tables
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock, ManualWorld

registry = Registry()
runs: list[str] = []


def note(order: str) -> None:
    runs.append(order)


@registry.workflow
async def buy(ctx: Context, order: str) -> list[Any]:
    await ctx.step(note, order)
    said = [await ctx.receive("news", timeout=60) for _ in range(3)]
    return [one for one in said if one is not None]


class Unhurried(ManualWorld):
    """The backend's world: what it waits for passes at once."""

    async def sleep(self, seconds: float) -> None:
        for _ in range(3):
            await asyncio.sleep(0)


class Died(BaseException):
    """The process is no more."""


class Life:
    """Counts what a process does; it dies with its n-th step: before that has an effect, or right after it."""

    def __init__(self, steps: int | None, *, after: bool = False) -> None:
        self.left, self._after = steps, after

    @property
    def over(self) -> bool:
        return self.left is not None and self.left <= 0

    def before(self) -> None:
        if self.left is None:
            return
        self.left -= 1
        if self.left < 0 or (self.left == 0 and not self._after):
            raise Died

    def after(self) -> None:
        if self.over:
            raise Died


class MortalStore:
    """A store whose requests are steps of a life."""

    def __init__(self, store: Any, life: Life) -> None:
        self.store, self._life = store, life

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.store, name)
        if name not in ("get", "put", "delete", "delete_many", "list"):
            return found

        async def request(*args: Any, **options: Any) -> Any:
            try:
                self._life.before()
                answer = await found(*args, **options)
                self._life.after()
            except Died:
                await asyncio.Event().wait()
            return answer

        return request

    def fork(self) -> Any:
        return self


class MortalPool(Executor):
    """Transactions as steps of a life: each is whole or was never begun."""

    def __init__(self, life: Life) -> None:
        self._life = life

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            self._life.before()
            answer = fn(*args, **kwargs)
            self._life.after()
            future.set_result(answer)
        except Died:
            pass  # nobody is there to be told
        except BaseException as error:
            future.set_exception(error)
        return future


class MortalWorld(ManualWorld):
    """A world whose threads die with their process."""

    def __init__(self, clock: ManualClock, life: Life, *, name: str) -> None:
        super().__init__(clock, name=name)
        self._life = life

    def pool(self, name: str, threads: int) -> Executor:
        return MortalPool(self._life)


class Host:
    """See the module's docstring."""

    def __init__(self, url: str) -> None:
        runs.clear()
        self.clock = ManualClock()
        self.store = MemoryStore(world=Unhurried(self.clock, name="bucket"))
        self.tables = Tables()
        self.orders = Table("orders", self.tables.metadata, Column("id", String(20), primary_key=True))
        self.totals = Table(
            "totals", self.tables.metadata, Column("n", Integer, primary_key=True), Column("what", String(20))
        )
        memory = url == "sqlite://"
        self.database = create_engine(url, poolclass=StaticPool) if memory else create_engine(url)
        self.tables.metadata.create_all(self.database)
        self.outbox = Outbox(self.tables, registry=registry, world=ManualWorld(self.clock, name="host"))

    def ports(self, life: Life | None = None, name: str = "p") -> Ports:
        store: Any = self.store if life is None else MortalStore(self.store, life)
        return CairnBackend(store, world=Unhurried(self.clock, name=name)).ports

    def engine(self, name: str = "e", life: Life | None = None, *, known: bool = True) -> Engine:
        world = MortalWorld(self.clock, life or Life(None), name=name)
        config = EngineConfig(hold_s=0.0)
        site = Site(name)
        mine = registry if known else None
        return Engine(self.ports(life, name), site, registry=mine, config=config, world=world)

    def relay(self, name: str = "relay", life: Life | None = None, *, known: bool = True) -> Relay:
        return Relay(self.engine(name, life, known=known), self.database, self.tables)

    async def carry_out(self, name: str = "relay") -> int:
        return await self.clock.run(self.relay(name).relay_once())

    async def work(self) -> None:
        """Whatever has been started runs to its end."""
        engine = self.engine("worker")
        worker, sweeper = engine.worker(), engine.sweeper()
        for _ in range(4):
            await self.clock.run(worker.run_until_idle())
            await self.clock.advance(61)
            await self.clock.run(sweeper.sweep_once())
        await self.clock.run(worker.run_until_idle())
        await self.clock.run(worker.drain())
        await self.clock.run(engine.close())

    async def result_of(self, key: str) -> Any:
        engine = self.engine("asker")
        claim = await engine.ports.dispatch.read_start(key)
        assert claim is not None
        return await self.clock.run(engine.result(claim.eid))

    def count(self, table: Table) -> int:
        with self.database.connect() as connection:
            return int(connection.execute(select(func.count()).select_from(table)).scalar_one())
