"""Durable subscriptions: at least once, in order per execution, one process of a group, whatever dies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from flowli.adapters.cairndb import CairnBackend
from flowli.adapters.memory import MemoryBackend
from flowli.domain.errors import InvalidName, UsageError
from flowli.domain.ids import Eid
from flowli.domain.ports import Ports
from flowli.domain.provenance import Site
from flowli.domain.retry import RetryPolicy
from flowli.runtime import Context, Engine, EngineConfig, Registry
from flowli.runtime.observe.events import Change
from flowli.runtime.observe.listing import list_subscriptions, remove_subscription
from flowli.runtime.observe.subscription import Delivered, Subscription
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock, ManualWorld

registry = Registry()


@registry.workflow
async def asks(ctx: Context) -> None:
    await ctx.receive("answer")


@registry.workflow
async def falls(ctx: Context) -> None:
    raise ValueError("it fell")


class Unhurried(ManualWorld):
    """The backend's world: what it waits for passes at once."""

    async def sleep(self, seconds: float) -> None:
        for _ in range(3):
            await asyncio.sleep(0)


class Mortal:
    """A store whose process dies with the n-th request: before it has an effect, or right after it."""

    def __init__(self, store: Any, requests: int, *, after: bool) -> None:
        self.store, self.left, self._after = store, requests, after

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.store, name)
        if name not in ("get", "put", "delete", "delete_many", "list"):
            return found

        async def request(*args: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left < 0 or (self.left == 0 and not self._after):
                await asyncio.Event().wait()
            answer = await found(*args, **options)
            if self.left == 0:
                await asyncio.Event().wait()
            return answer

        return request

    def fork(self) -> Any:
        return self


class Bench:
    def __init__(self, ports: Callable[[ManualClock], Ports]) -> None:
        self.clock = ManualClock()
        self.ports = ports(self.clock)
        self.engine = self.new("w")

    def new(self, name: str, ports: Ports | None = None) -> Engine:
        world, config = ManualWorld(self.clock, name=name), EngineConfig(hold_s=0.0)
        return Engine(ports or self.ports, Site(name), registry=registry, config=config, world=world)

    async def work(self) -> None:
        worker = self.new("worker").worker()
        await self.clock.run(worker.run_until_idle())
        await self.clock.run(worker.drain())

    async def lives(self) -> list[Eid]:
        """Three executions that have done different things."""
        eids = [await self.clock.run(self.engine.start(one)) for one in (asks, asks, falls)]
        await self.work()
        await self.clock.run(self.engine.signal(eids[0], "answer"))
        await self.work()
        await self.clock.run(self.engine.close())
        return eids

    async def deliver(self, subscription: Subscription, name: str = "s") -> int | None:
        return await self.clock.run(subscription.deliver(self.new(name)))


def memory(clock: ManualClock) -> Ports:
    return MemoryBackend(ManualWorld(clock)).ports


@pytest.fixture
def bench() -> Bench:
    return Bench(memory)


class Inbox:
    def __init__(self) -> None:
        self.got: list[Delivered] = []

    async def take(self, one: Delivered) -> None:
        self.got.append(one)

    def of(self, eid: Eid) -> list[Change]:
        return [one.change.change for one in self.got if one.change.eid == eid]


LIFE = [Change.CREATED, Change.STARTED, Change.SUSPENDED, Change.COMPLETED]


async def test_each_change_is_delivered_once_and_the_cursor_is_kept(bench: Bench) -> None:
    answered, waits, fell = await bench.lives()
    inbox = Inbox()
    assert await bench.deliver(Subscription("all", inbox.take)) == len(inbox.got)
    assert inbox.of(answered) == LIFE
    assert inbox.of(waits) == LIFE[:3]
    assert inbox.of(fell) == [Change.CREATED, Change.STARTED, Change.FAILED]
    assert {one.change.workflow for one in inbox.got} == {"asks", "falls"}
    assert await bench.deliver(Subscription("all", inbox.take)) == 0
    await bench.clock.run(bench.engine.signal(waits, "answer"))
    await bench.work()
    later = Inbox()
    await bench.deliver(Subscription("all", later.take))
    assert later.of(waits)[-1] is Change.COMPLETED
    assert {one.change.eid for one in later.got} == {waits}
    assert {one.change.workflow for one in later.got} == {"asks"}


async def test_filters(bench: Bench) -> None:
    _, _, fell = await bench.lives()
    inbox = Inbox()
    await bench.deliver(
        Subscription("failures", inbox.take, changes=[Change.FAILED, Change.CREATED], workflows=["falls"])
    )
    assert [(one.change.eid, one.change.change) for one in inbox.got] == [(fell, Change.CREATED), (fell, Change.FAILED)]
    error = inbox.got[-1].change.error
    assert error is not None
    assert error.message == "it fell"


async def test_a_refused_change_is_tried_again_before_the_next_one_of_its_execution(bench: Bench) -> None:
    eid = await bench.clock.run(bench.engine.start(falls))
    await bench.work()
    inbox = Inbox()

    async def sometimes(one: Delivered) -> None:
        await inbox.take(one)
        if one.change.change is Change.STARTED and one.attempt < 3:
            raise OSError("nobody answers")

    await bench.deliver(Subscription("s", sometimes))
    assert inbox.of(eid) == [Change.CREATED, Change.STARTED, Change.STARTED, Change.STARTED, Change.FAILED]
    assert bench.clock.elapsed_us >= 2_000_000


async def test_what_is_refused_to_the_end_is_a_dead_letter_and_the_rest_goes_on(bench: Bench) -> None:
    eid = await bench.clock.run(bench.engine.start(falls))
    await bench.work()
    inbox = Inbox()

    async def never(one: Delivered) -> None:
        await inbox.take(one)
        if one.change.change is Change.STARTED:
            raise OSError("nobody answers")

    retry = RetryPolicy(max_attempts=2, backoff=timedelta(seconds=1))
    await bench.deliver(Subscription("s", never, retry=retry))
    assert inbox.of(eid)[-1] is Change.FAILED
    (view,) = await list_subscriptions(bench.engine.services)
    (dead,) = view.dead
    assert (dead["eid"], dead["change"], dead["attempts"]) == (str(eid), "started", 2)
    assert "nobody answers" in str(dead["error"])
    assert view.name == "s"


async def test_one_process_of_a_group_delivers_and_another_follows_it(bench: Bench) -> None:
    await bench.lives()
    inbox, entered = Inbox(), asyncio.Event()

    async def hangs(one: Delivered) -> None:
        entered.set()
        await asyncio.Event().wait()

    first = asyncio.create_task(Subscription("s", hangs).run(bench.new("first")))
    await bench.clock.settle()
    assert entered.is_set()
    assert await bench.deliver(Subscription("s", inbox.take), "second") is None
    await bench.clock.advance(300)  # it lives and renews: nobody else takes over
    assert await bench.deliver(Subscription("s", inbox.take), "second") is None
    first.cancel()
    await bench.clock.advance(31)
    assert await bench.deliver(Subscription("s", inbox.take), "second")


async def test_a_running_subscription_delivers_what_happens_and_stops_when_asked(bench: Bench) -> None:
    inbox = Inbox()
    subscription = Subscription("s", inbox.take)
    running = asyncio.create_task(subscription.run(bench.new("s"), poll_s=1.0))
    await bench.clock.advance(3)
    eid = await bench.clock.run(bench.engine.start(falls))
    await bench.work()
    await bench.clock.advance(3)
    assert inbox.of(eid) == [Change.CREATED, Change.STARTED, Change.FAILED]
    subscription.stop()
    await bench.clock.run(asyncio.wait_for(running, None))
    (view,) = await list_subscriptions(bench.engine.services)
    assert (view.holder, view.behind) == (None, 0)


async def dies(bench: Bench, store: Any, requests: int, after: bool, handler: Any) -> bool:
    """Let a process deliver until it has made so many requests; whether it died of that."""
    mortal, others = Mortal(store, requests, after=after), asyncio.all_tasks()
    world = Unhurried(bench.clock, name=f"dying-{requests}-{after}")
    ports = CairnBackend(mortal, world=world).ports
    acting = asyncio.create_task(
        Subscription("s", handler, concurrency=2).deliver(bench.new(f"dying-{requests}", ports))
    )
    for _ in range(5):
        await bench.clock.settle()
        if acting.done() or mortal.left <= 0:
            break
        await bench.clock.advance(1)
    died = not acting.done()
    while left := asyncio.all_tasks() - others:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=0)
    return died


@pytest.mark.parametrize("after", [False, True])
async def test_whatever_request_the_process_dies_at_each_change_is_delivered_in_order(after: bool) -> None:
    ended = False
    for requests in range(1, 60):
        stores: list[MemoryStore] = []

        def cairn(clock: ManualClock, made: list[MemoryStore] = stores) -> Ports:
            made.append(MemoryStore(world=Unhurried(clock, name="bucket")))
            return CairnBackend(made[0], world=Unhurried(clock, name="bucket")).ports

        bench, inbox = Bench(cairn), Inbox()
        eids = await bench.lives()
        died = await dies(bench, stores[0], requests, after, inbox.take)
        await bench.clock.advance(31)
        assert await bench.deliver(Subscription("s", inbox.take), "next") is not None
        expected = Inbox()
        await bench.deliver(Subscription("witness", expected.take), "witness")
        for eid in eids:
            seen, wanted = inbox.of(eid), expected.of(eid)
            cut = len(seen) - len(wanted)
            assert cut >= 0, f"died at request {requests}: only {seen}"
            assert seen[cut:] == wanted, f"died at request {requests}"
            assert seen[:cut] == wanted[:cut], f"died at request {requests}"
        if not died:
            ended = True
            break
    assert ended, "the sweep did not come to its end"
    assert requests > 5


async def test_subscriptions_are_listed_with_how_far_behind_they_are_and_removed(bench: Bench) -> None:
    await bench.deliver(Subscription("empty", Inbox().take))
    await bench.lives()
    (view,) = await list_subscriptions(bench.engine.services)
    assert (view.name, view.holder, view.dead) == ("empty", None, ())
    assert view.behind > 5
    by = bench.engine.services.provenance()
    await remove_subscription(bench.engine.services, "empty", by)
    assert await list_subscriptions(bench.engine.services) == []
    with pytest.raises(UsageError, match="there is no subscription 'empty'"):
        await remove_subscription(bench.engine.services, "empty", by)


async def test_what_cannot_work_is_refused() -> None:
    async def handler(one: Delivered) -> None:
        return None

    with pytest.raises(InvalidName):
        Subscription("two words", handler)
    with pytest.raises(UsageError, match="both must be positive"):
        Subscription("s", handler, ttl_s=0)
