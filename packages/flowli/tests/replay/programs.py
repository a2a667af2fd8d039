"""Random workflow programs: a small language whose every construct is ordinary asyncio over frames."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from hypothesis import strategies as st

from flowli.domain.errors import FlowliError, Outcome
from flowli.domain.retry import RetryPolicy
from flowli.runtime.context import Context
from flowli.runtime.registry import Registry

registry = Registry()


@registry.workflow
async def smaller(ctx: Context, n: int) -> int:
    return n


class Broken(Exception):
    """What a program raises itself."""


def value(n: int) -> int:
    return n


def fails(n: int) -> int:
    raise ValueError(f"broken {n}")


class Run:
    """One run of a program; ``trace`` is all that it observed, in order."""

    def __init__(self, ctx: Context, trace: list[Any]) -> None:
        self.ctx = ctx
        self.trace = trace
        self.last = 0
        self.left: list[asyncio.Task[int]] = []
        self.event = asyncio.Event()
        self.lock = asyncio.Lock()
        self.semaphore = asyncio.Semaphore(2)
        self.queue: asyncio.Queue[int] = asyncio.Queue(1)

    def see(self, what: str, value: object = None) -> None:
        """The program observes something."""
        if isinstance(value, int):
            self.last = value
        elif isinstance(value, dict):
            self.last = value["n"]
        self.trace.append((what, repr(value), str(self.ctx.now)))

    async def block(self, ops: list[Any]) -> int:
        """Do one after the other."""
        for op in ops:
            await getattr(self, f"do_{op[0]}")(*op[1:])
        return self.last

    async def do_step(self, n: int) -> None:
        self.see("step", await self.ctx.step(value, n))

    async def do_bad_step(self, n: int, attempts: int) -> None:
        try:
            self.see("bad step", await self.ctx.step(fails, n, retry=RetryPolicy(attempts)))
        except Outcome as error:
            self.see("step failed", str(error))

    async def do_sleep(self, seconds: int) -> None:
        await self.ctx.sleep(seconds)
        self.see("slept")

    async def do_asyncio_sleep(self, seconds: int) -> None:
        await asyncio.sleep(seconds)
        self.see("slept", round(asyncio.get_running_loop().time()))

    async def do_receive(self, channel: str, timeout: int | None) -> None:
        self.see("received", await self.ctx.receive(channel, timeout=timeout))

    async def do_effect(self, n: int) -> None:
        self.see("claimed", await self.ctx.claim(f"key-{n}", n))

    async def do_child(self, n: int) -> None:
        try:
            self.see("child", await self.ctx.child(smaller, n))
        except Outcome as error:
            self.see("child failed", str(error))

    async def do_gather(self, blocks: list[Any], return_exceptions: bool) -> None:
        found = await asyncio.gather(*map(self.block, blocks), return_exceptions=return_exceptions)
        self.see("gathered", [one if isinstance(one, int) else type(one).__name__ for one in found])

    async def do_frames(self, numbers: list[int]) -> None:
        self.see("frames", await self.ctx.gather(*(self.ctx.step(value, n) for n in numbers)))

    async def do_group(self, blocks: list[Any]) -> None:
        async with asyncio.TaskGroup() as group:
            for block in blocks:
                group.create_task(self.block(block))
            group.create_task(self.ctx.step(value, len(blocks)))
        self.see("group done")

    async def do_wait(self, blocks: list[Any], how: str, timeout: int | None, cancel: bool) -> None:
        tasks = {asyncio.create_task(self.block(block)) for block in blocks}
        if len(blocks) > 1:  # futures of gather stand in the set too
            tasks |= {asyncio.gather(self.block(blocks[0]), self.block(blocks[1]))}
        done, pending = await asyncio.wait(tasks, return_when=how, timeout=timeout)
        for one in done:  # in the order of the set
            self.see("done", "error" if one.cancelled() or one.exception() else str(one.result()))
        for one in pending:
            if cancel:
                one.cancel()
        if not cancel:
            await asyncio.gather(*pending, return_exceptions=True)

    async def do_as_completed(self, blocks: list[Any]) -> None:
        for next_one in asyncio.as_completed([asyncio.create_task(self.block(block)) for block in blocks]):
            self.see("completed", await next_one)

    async def do_timeout(self, seconds: int, block: list[Any]) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self.block(block)
        except TimeoutError:
            self.see("timed out")

    async def do_wait_for(self, seconds: int, block: list[Any]) -> None:
        try:
            await asyncio.wait_for(self.block(block), seconds)
        except TimeoutError:
            self.see("waited in vain")

    async def do_shield(self, seconds: int, block: list[Any]) -> None:
        inner = asyncio.create_task(self.block(block))
        try:
            async with asyncio.timeout(seconds):
                await asyncio.shield(inner)
        except TimeoutError:
            self.see("shielded", await inner)

    async def do_locked(self, blocks: list[Any]) -> None:
        async def one(block: list[Any]) -> None:
            async with self.semaphore:
                await self.ctx.step(value, 1)
            async with self.lock:
                self.see("has the lock")
                await self.block(block)

        async with asyncio.TaskGroup() as group:
            for block in blocks:
                group.create_task(one(block))

    async def do_queue(self, producers: int, consumers: int) -> None:
        async def produce(n: int) -> None:
            await self.queue.put(await self.ctx.step(value, n))

        async def consume() -> None:
            while True:
                self.see("from the queue", await self.queue.get())
                await self.ctx.step(value, 0)
                self.queue.task_done()

        workers = [asyncio.create_task(consume()) for _ in range(consumers)]
        await asyncio.gather(*map(produce, range(producers)))
        await self.queue.join()
        for one in workers:
            one.cancel()

    async def do_event(self, block: list[Any]) -> None:
        async def waiter() -> None:
            await self.event.wait()
            self.see("event")

        self.event.clear()
        waiters = [asyncio.create_task(waiter()) for _ in range(2)]
        await self.block(block)
        self.event.set()
        await asyncio.gather(*waiters)

    async def do_attempt(self, block: list[Any], cleanup: list[Any], swallow: bool) -> None:
        try:
            await self.block(block)
        except (Exception, ExceptionGroup) as error:
            self.see("caught", type(error).__name__)
        except asyncio.CancelledError:
            self.see("cancelled")
            await self.block(cleanup)
            if not swallow:
                raise
        finally:
            self.see("finally")

    async def do_raise(self) -> None:
        raise Broken("by itself")

    async def do_branch(self, odd: list[Any], even: list[Any]) -> None:
        await self.block(odd if self.last % 2 else even)

    async def do_loop(self, times: int, block: list[Any]) -> None:
        for _ in range(times + self.last % 2):
            await self.block(block)

    async def do_scope(self, block: list[Any]) -> None:
        with self.ctx.scope("part"):
            await self.block(block)

    async def do_patched(self, change: str, new: list[Any], old: list[Any]) -> None:
        patched = self.ctx.patched(change)
        self.see("patched", str(patched))
        await self.block(new if patched else old)

    async def do_draw(self) -> None:
        self.see("drawn", self.ctx.random.randrange(100))
        self.see("uuid", str(self.ctx.uuid()))

    async def do_spawn(self, block: list[Any]) -> None:
        self.left.append(asyncio.create_task(self.block(block)))

    async def do_generator(self, block: list[Any], leave: bool) -> None:
        async def numbers() -> AsyncIterator[int]:
            try:
                for n in range(3):
                    await self.block(block)
                    yield n
            finally:
                self.see("generator over")

        async for n in numbers():
            self.see("generated", n)
            if leave:
                break


SMALL = st.integers(0, 4)


def _leaves() -> st.SearchStrategy[list[Any]]:
    return st.one_of(
        st.tuples(st.just("step"), SMALL),
        st.tuples(st.just("bad_step"), SMALL, st.integers(1, 2)),
        st.tuples(st.just("sleep"), SMALL),
        st.tuples(st.just("asyncio_sleep"), SMALL),
        st.tuples(st.just("receive"), st.sampled_from(["a", "b"]), st.none() | SMALL),
        st.tuples(st.just("receive"), st.just("silent"), SMALL),
        st.tuples(st.just("effect"), SMALL),
        st.tuples(st.just("child"), SMALL),
        st.tuples(st.just("frames"), st.lists(SMALL, max_size=3)),
        st.tuples(st.just("queue"), st.integers(1, 3), st.integers(1, 2)),
        st.tuples(st.just("raise")),
        st.tuples(st.just("draw")),
    ).map(list)


def _nodes(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    block = st.lists(inner, max_size=2)
    blocks = st.lists(block, min_size=1, max_size=3)
    how = st.sampled_from(["FIRST_COMPLETED", "FIRST_EXCEPTION", "ALL_COMPLETED"])
    return st.one_of(
        st.tuples(st.just("gather"), blocks, st.booleans()),
        st.tuples(st.just("group"), blocks),
        st.tuples(st.just("wait"), blocks, how, st.none() | SMALL, st.booleans()),
        st.tuples(st.just("as_completed"), blocks),
        st.tuples(st.just("timeout"), SMALL, block),
        st.tuples(st.just("wait_for"), SMALL, block),
        st.tuples(st.just("shield"), SMALL, block),
        st.tuples(st.just("locked"), blocks),
        st.tuples(st.just("event"), block),
        st.tuples(st.just("attempt"), block, block, st.booleans()),
        st.tuples(st.just("branch"), block, block),
        st.tuples(st.just("loop"), st.integers(0, 2), block),
        st.tuples(st.just("scope"), block),
        st.tuples(st.just("patched"), st.sampled_from(["one", "two"]), block, block),
        st.tuples(st.just("spawn"), block),
        st.tuples(st.just("generator"), block, st.booleans()),
    ).map(list)


def programs() -> st.SearchStrategy[list[Any]]:
    """Programs of up to a few dozen operations."""
    return st.lists(st.recursive(_leaves(), _nodes, max_leaves=10), min_size=1, max_size=4)


def workflow(trace: list[Any]) -> Any:
    """The workflow that runs a program and notes what it observes."""

    async def program(ctx: Context, ops: list[Any]) -> int:
        trace.clear()
        try:
            return await Run(ctx, trace).block(ops)
        except FlowliError as error:
            trace.append(("ends in", str(error)))
            raise

    return program
