"""A worker dies at each of its requests, one after another, and another one goes on: nothing is lost, nothing is
done twice that is remembered, nothing is left behind.

The scenario touches steps, a retry, a child, a message, a timeout, a short and a long sleep, a claim, a send, a
cancelled child.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from flowli import Context, RetryPolicy, step_info
from flowli.cairn.errors import StoreThrottled, StoreUnavailable
from flowli.cairn.store import ObjectStore
from flowli.domain.entries import FrameCompleted
from flowli.domain.ids import Eid, child_eid
from flowli.testing.stores import ApplyLater, DropReply, Fault, FaultStore, LoseRequest, Refuse

from .fleet import Died, Fleet, Process

# a process that dies leaves coroutines that wait for ever
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

SETTINGS = {"exec_ttl_s": 6.0, "task_ttl_s": 6.0, "grace_s": 5.0, "audit_period_s": 60.0, "poll_s": 1.0}


class Story:
    """The scenario and what its steps did."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.ran: list[str] = []
        self.again: list[str] = []
        self.failed_once: set[str] = set()
        registry = fleet.registry

        @registry.workflow
        async def leaf(ctx: Context, n: int) -> int:
            return await ctx.step(self.note, n)

        @registry.workflow
        async def endless(ctx: Context) -> None:
            await ctx.receive("never")

        @registry.workflow
        async def listener(ctx: Context) -> Any:
            return await ctx.receive("in")

        @registry.workflow
        async def story(ctx: Context, other: str) -> list[Any]:
            found: list[Any] = [await ctx.step(self.note, 1)]
            found.append(await ctx.step(self.flaky, 2, retry=RetryPolicy(2, backoff=timedelta(seconds=4))))
            found += await ctx.gather(ctx.child(leaf, 3), ctx.step(self.note, 4), ctx.sleep(1))
            try:
                async with asyncio.timeout(3):
                    await ctx.child(endless)
            except TimeoutError:
                found.append("timeout")
            found.append(await ctx.receive("go"))
            found.append(await ctx.claim("chair", "mine"))
            from uuid import UUID

            found.append(await ctx.send(UUID(other), "in", "hello"))
            await ctx.sleep(5)
            found.append(await ctx.step(self.note, 5))
            return found

    async def note(self, n: int) -> int:
        await self._record()
        return n

    async def flaky(self, n: int) -> int:
        await self._record()
        info = step_info()
        if info.attempt == 1:
            raise OSError("once")
        return n

    async def _record(self) -> None:
        info = step_info()
        entries = await self.fleet.entries(info.eid)
        if any(isinstance(entry.body, FrameCompleted) and entry.body.fid == info.fid for entry in entries):
            self.again.append(info.fid)
        self.ran.append(info.fid)

    async def begin(self) -> tuple[Eid, Eid]:
        """Start the listener and the story, and send the message that it will wait for."""
        engine = self.fleet.engine
        other = await engine.start("listener")
        eid = await engine.start("story", str(other))
        return eid, other

    async def end(self, eid: Eid, other: Eid) -> None:
        """Everything has ended as it must, and nothing is left."""
        assert await self.fleet.value(eid) == [1, 2, 3, 4, None, "timeout", "on", "mine", 1, 5]
        assert await self.fleet.value(other) == "hello"
        await self.fleet.check(child_eid(eid, "root/leaf#1"))
        given_up = child_eid(eid, "root/endless#1")
        # an owner that died before it put the child's START may be followed by one that gives the child up unstarted
        if await self.fleet.ports.executions.get(given_up) is not None:
            await self.fleet.until_status(given_up, "cancelled")
            await self.fleet.check(given_up)
        assert self.again == []
        assert await self.fleet.tasks() == []
        assert await self.fleet.ports.timers.pending() == []
        for process in self.fleet.processes:
            assert not [call for call in process.calls if call == "queue.bury"]


async def tell(fleet: Fleet, story: Story, eid: Eid) -> None:
    """Send the message as soon as the story waits for it."""

    async def waits() -> bool:
        fold = await fleet.fold(eid)
        return any(frame.name == "go" and not frame.status.ended for frame in fold.frames.values())

    await fleet.until(waits)
    await fleet.engine.signal(eid, "go", "on", key="once")


async def play(fleet: Fleet, begin: Callable[[Process], None] | None = None, **options: Any) -> tuple[Process, Story]:
    """Run the story on a worker that may die, with another one beside it that begins later."""
    story = Story(fleet)
    first = fleet.process("w-1", **SETTINGS, **options)
    if begin is not None:
        begin(first)
    eid, other = await story.begin()
    first.work()

    async def later() -> None:
        await fleet.clock.sleep(3)
        fleet.process("w-2", **SETTINGS).work()

    second = asyncio.ensure_future(later())
    await tell(fleet, story, eid)
    await story.end(eid, other)
    await second
    return first, story


async def rehearse(fleet: Fleet) -> list[str]:
    """The port calls of the first worker when nothing happens."""
    first, _ = await play(fleet)
    return first.calls


HARMLESS = ("queue.dequeue", "queue.queues", "queue.promote", "timers.due", "control.read")
"""What an idle worker and sweeper do; a death there is one between two others."""


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("kind", "stride"), [("memory", 1), ("cairn", 3), ("files", 17)])
async def test_a_worker_that_dies_at_any_call_loses_nothing(
    tmp_path: Path, kind: str, stride: int, after: bool
) -> None:
    """JRN-14, WAI-7, K25."""
    quiet()

    def fresh(name: str) -> Fleet:
        folder = tmp_path / name
        folder.mkdir()
        return Fleet(kind, folder)

    seen = fresh("seen")
    calls = await rehearse(seen)
    await seen.close()
    sights = [n for n, call in enumerate(calls, 1) if call not in HARMLESS]
    assert len(sights) > 40
    for at in sights[after::stride]:
        fleet = fresh(f"call-{at}")

        def doom(process: Process, at: int = at) -> None:
            process.dies_at, process.dies_after = at, after

        try:
            _, story = await play(fleet, doom)
        except BaseException as error:
            raise AssertionError(f"died {'after' if after else 'before'} call {at}, {calls[at - 1]}") from error
        assert len(story.ran) <= 6 + 2, f"call {at}"
        await fleet.close()


def quiet() -> None:
    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), Died):
            loop.default_exception_handler(context)

    asyncio.get_running_loop().set_exception_handler(handle)


class Wire:
    """Puts one ``FaultStore`` around the store of each process that asks."""

    def __init__(self, script: list[Fault]) -> None:
        self.script = script
        self.store: FaultStore | None = None

    def wrap(self, store: ObjectStore) -> ObjectStore:
        self.store = FaultStore(store, self.script)
        return self.store


WRITES = {"dropped": DropReply(), "lost": LoseRequest(), "late": ApplyLater()}
REFUSALS = {
    "unavailable": Refuse(StoreUnavailable("the store does not answer", "Wait")),
    "throttled": Refuse(StoreThrottled("slow down", "Wait")),
}


async def count_writes(tmp_path: Path) -> int:
    fleet, wire = Fleet("cairn", tmp_path), Wire([])
    await play(fleet, wrap=wire.wrap)
    assert wire.store is not None
    count = sum(request.verb in ("put", "delete") for request in wire.store.requests)
    await fleet.close()
    return count


@pytest.mark.parametrize("offset", range(3))
async def test_any_write_whose_answer_is_lost(tmp_path: Path, offset: int) -> None:
    """Each write meets one of the three (OWN-22)."""
    quiet()
    for nth in range(1 + offset, await count_writes(tmp_path) + 1, 3):
        fault = list(WRITES)[(nth // 3 + offset) % 3]
        fleet = Fleet("cairn", tmp_path)
        wire = Wire([Fault(WRITES[fault], verb="put", nth=nth)])
        try:
            await play(fleet, wrap=wire.wrap)
        except BaseException as error:
            raise AssertionError(f"write {nth} {fault}") from error
        assert wire.store is not None
        await wire.store.land()
        await fleet.close()


@pytest.mark.parametrize("fault", REFUSALS)
async def test_any_request_that_is_refused_for_a_while(tmp_path: Path, fault: str) -> None:
    """JRN-10, OWN-22."""
    quiet()
    for nth in range(1, 120, 12):
        fleet = Fleet("cairn", tmp_path)
        wire = Wire([Fault(REFUSALS[fault], verb="*", nth=nth, times=6)])
        try:
            _, story = await play(fleet, wrap=wire.wrap)
        except BaseException as error:
            raise AssertionError(f"requests {nth} to {nth + 5} {fault}") from error
        assert len(story.ran) <= 6 + 2
        await fleet.close()
