"""The same few workflows on each engine, each as its own documentation writes them, with its default settings.

A program is opened on a folder of its own and offers what ``measure.py`` times. Steps call ``mark``, so that the moment
at which user code runs is read in the same way everywhere.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

__all__ = ["PROGRAMS", "Marks", "Program"]

STEPS = 5


class Marks:
    """When user code ran, in seconds of the monotonic clock; safe to call from any thread."""

    def __init__(self) -> None:
        self.at_s: list[float] = []
        self._seen = threading.Condition()

    def mark(self, n: int = 0) -> int:
        with self._seen:
            self.at_s.append(time.perf_counter())
            self._seen.notify_all()
        return n

    def clear(self) -> None:
        self.at_s.clear()

    async def reached(self, count: int, limit_s: float = 120.0) -> float:
        """When the mark of this number was made."""

        def wait() -> None:
            with self._seen:
                if not self._seen.wait_for(lambda: len(self.at_s) >= count, limit_s):
                    raise TimeoutError(f"{len(self.at_s)} of {count} marks after {limit_s} s")

        await asyncio.to_thread(wait)
        return self.at_s[count - 1]


class Program(Protocol):
    """One engine, opened."""

    marks: Marks

    async def open(self, folder: Path) -> None: ...

    async def close(self) -> None: ...

    async def run(self, steps: int) -> int:
        """Start an execution of this many steps, each with a mark, and wait for its result."""

    async def run_many(self, count: int) -> None:
        """Start this many executions of five steps and wait for all of them."""

    async def enqueue(self) -> None:
        """Put an execution of one step on a queue and do not wait for it."""

    async def waiting(self) -> Callable[[], Awaitable[None]]:
        """An execution that waits for a signal, then makes a mark; returns what signals it."""

    async def fan_out(self, children: int) -> int:
        """An execution that starts this many children of one step and adds up what they return."""

    async def asleep(self, count: int) -> None:
        """This many executions that have gone to sleep for an hour."""


class Flowli:
    """flowli on a bucket of one kind; one process starts and works."""

    def __init__(self, url: str) -> None:
        self.url, self.marks = url, Marks()

    async def open(self, folder: Path) -> None:
        import logging

        import structlog

        from flowli import CairnBackend, Context, Engine, Registry, Site

        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
        registry = Registry()

        async def note(n: int) -> int:
            return self.marks.mark(n)

        @registry.workflow
        async def steps(ctx: Context, count: int) -> int:
            return sum([await ctx.step(note, n) for n in range(count)])

        @registry.workflow
        async def waits(ctx: Context) -> None:
            await ctx.receive("go")
            await ctx.step(note, 0)

        @registry.workflow
        async def leaf(ctx: Context, n: int) -> int:
            return await ctx.step(note, n)

        @registry.workflow
        async def fans(ctx: Context, count: int) -> int:
            return sum(await ctx.gather(*(ctx.child(leaf, n) for n in range(count))))

        @registry.workflow
        async def sleeps(ctx: Context) -> None:
            await ctx.step(note, 0)
            await ctx.sleep(3600)

        self.backend = CairnBackend.open(self.url.format(folder=folder))
        self.engine = Engine(self.backend.ports, Site.local("bench"), registry=registry)
        self.worker = self.engine.worker(sweeper=True)
        self.working = asyncio.create_task(self.worker.run())

    async def close(self) -> None:
        self.worker.stop()
        await self.working
        await self.backend.close()

    async def run(self, steps: int) -> int:
        return await self.engine.run("steps", steps)

    async def run_many(self, count: int) -> None:
        await asyncio.gather(*(self.run(STEPS) for _ in range(count)))

    async def enqueue(self) -> None:
        await self.engine.start("steps", 1)

    async def waiting(self) -> Callable[[], Awaitable[None]]:
        eid = await self.engine.start("waits")
        for _ in range(1000):
            if (await self.engine.status(eid)).status == "suspended":
                break
            await asyncio.sleep(0.02)

        async def signal() -> None:
            await self.engine.signal(eid, "go", None)

        return signal

    async def fan_out(self, children: int) -> int:
        return await self.engine.run("fans", children)

    async def asleep(self, count: int) -> None:
        await asyncio.gather(*(self.engine.start("sleeps") for _ in range(count)))
        await self.marks.reached(count)
        await asyncio.sleep(2)


class Dbos:
    """DBOS on a database of one kind."""

    def __init__(self, url: str) -> None:
        self.url, self.marks = url, Marks()

    async def open(self, folder: Path) -> None:
        from dbos import DBOS

        self.dbos = DBOS
        DBOS(
            config={
                "name": "bench",
                "system_database_url": self.url.format(folder=folder, name=f"bench_{uuid.uuid4().hex[:12]}"),
                "log_level": "CRITICAL",
            }
        )

        @DBOS.step()
        async def note(n: int) -> int:
            return self.marks.mark(n)

        @DBOS.workflow()
        async def steps(count: int) -> int:
            return sum([await note(n) for n in range(count)])

        @DBOS.workflow()
        async def waits() -> None:
            await DBOS.recv_async("go", timeout_seconds=120)
            await note(0)

        @DBOS.workflow()
        async def leaf(n: int) -> int:
            return await note(n)

        @DBOS.workflow()
        async def fans(count: int) -> int:
            handles = [await DBOS.start_workflow_async(leaf, n) for n in range(count)]
            return sum([await handle.get_result() for handle in handles])

        @DBOS.workflow()
        async def sleeps() -> None:
            await note(0)
            await DBOS.sleep_async(3600)

        self.steps, self.waits, self.fans, self.sleeps = steps, waits, fans, sleeps
        await asyncio.to_thread(DBOS.launch)
        self.queue = await asyncio.to_thread(DBOS.register_queue, "bench")

    async def close(self) -> None:
        await asyncio.to_thread(self.dbos.destroy)

    async def run(self, steps: int) -> int:
        handle = await self.dbos.start_workflow_async(self.steps, steps)
        return await handle.get_result()

    async def run_many(self, count: int) -> None:
        await asyncio.gather(*(self.run(STEPS) for _ in range(count)))

    async def enqueue(self) -> None:
        await self.queue.enqueue_async(self.steps, 1)

    async def waiting(self) -> Callable[[], Awaitable[None]]:
        handle = await self.dbos.start_workflow_async(self.waits)
        await asyncio.sleep(0.5)

        async def signal() -> None:
            await self.dbos.send_async(handle.get_workflow_id(), "now", topic="go")

        return signal

    async def fan_out(self, children: int) -> int:
        handle = await self.dbos.start_workflow_async(self.fans, children)
        return await handle.get_result()

    async def asleep(self, count: int) -> None:
        for _ in range(count):
            await self.dbos.start_workflow_async(self.sleeps)
        await self.marks.reached(count)
        await asyncio.sleep(2)


class Unhinged:
    """unhinged on its file. What is timed by itself goes through a worker, which polls; many go through ``work_batch``
    on the threads that are told, which does not.
    """

    def __init__(self) -> None:
        self.marks = Marks()
        self.thread: threading.Thread | None = None

    async def open(self, folder: Path) -> None:
        from unhinged import Unhinged as App

        self.app = App(str(folder / "bench.db"))
        self.app.create_queue()

        @self.app.register_task("steps")
        def steps(params: Any, ctx: Any) -> int:
            return sum(ctx.step(f"note-{n}", lambda n=n: self.marks.mark(n)) for n in range(params))

        @self.app.register_task("waits")
        def waits(params: Any, ctx: Any) -> None:
            ctx.await_event(f"go:{params}", timeout=120)
            ctx.step("note", self.marks.mark)

    async def close(self) -> None:
        if self.thread is not None:
            self.app.stop_worker()
            await asyncio.to_thread(self.thread.join, 10)

    async def run(self, steps: int) -> int:
        def whole() -> int:
            self._work()
            task = self.app.spawn("steps", steps)["task_id"]
            return int(self.app.await_task_result(task, timeout=120).result)

        return await asyncio.to_thread(whole)

    async def run_many(self, count: int) -> None:
        def whole() -> None:
            for _ in range(count):
                self.app.spawn("steps", STEPS)
            assert self.app.run_until_idle(max_iterations=count * 10) >= count

        await asyncio.to_thread(whole)

    async def enqueue(self) -> None:
        self._work()
        await asyncio.to_thread(self.app.spawn, "steps", 1)

    async def waiting(self) -> Callable[[], Awaitable[None]]:
        self._work()
        name = uuid.uuid4().hex
        await asyncio.to_thread(self.app.spawn, "waits", name)
        await asyncio.sleep(1)

        async def signal() -> None:
            await asyncio.to_thread(self.app.emit_event, f"go:{name}", 1)

        return signal

    async def fan_out(self, children: int) -> int:
        raise NotImplementedError

    async def asleep(self, count: int) -> None:
        raise NotImplementedError

    def _work(self) -> None:
        if self.thread is None:
            self.thread = threading.Thread(target=self.app.start_worker, kwargs={"concurrency": 4}, daemon=True)
            self.thread.start()


PROGRAMS: dict[str, Callable[[], Program]] = {
    "flowli, SQLite": lambda: Flowli("sqlite:{folder}/bucket.db"),
    "flowli, folder": lambda: Flowli("file:{folder}/bucket"),
    "DBOS, SQLite": lambda: Dbos("sqlite:///{folder}/bench.db"),
    "DBOS, PostgreSQL": lambda: Dbos(os.environ["BENCH_POSTGRES"] + "/{name}"),
    "unhinged": Unhinged,
}
