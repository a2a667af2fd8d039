"""Dropping a warm coroutine: its clean-up code runs at once and changes nothing anywhere."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from flowli.domain.errors import ExecutionClosed
from flowli.runtime.context import Context
from flowli.testing.replay import replay

from .live import Live, calm
from .programs import value

mood: contextvars.ContextVar[str] = contextvars.ContextVar("mood", default="calm")


def dropped(fn: Any) -> Live:
    """An execution that waits for a message, and is dropped."""
    live = calm(fn)
    if live.session.frames:
        live.run()
    assert live.session.ending is None
    before = len(live.journal)
    live.session.loop.drop()
    assert live.session.take_buffer() == []
    assert live.session.fold.seq == before
    assert not live.session.launches
    assert not live.session.abandoned
    assert live.session.loop.idle
    gc.collect()
    return live


def test_clean_up_code_runs_once_and_its_frames_raise() -> None:
    """RPL-20."""
    said: list[str] = []

    async def waiting(ctx: Context) -> None:
        try:
            await ctx.receive("silent")
        finally:
            said.append("finally")
            try:
                ctx.step(value, 1)
            except ExecutionClosed:
                said.append("closed")
                raise

    live = dropped(waiting)
    assert said == ["finally", "closed"]
    live.session.loop.drop()
    assert said == ["finally", "closed"]


def test_one_that_nobody_drops_is_finished_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    async def waiting(ctx: Context) -> None:
        try:
            await ctx.receive("silent")
        finally:
            said.append("finally")
            await ctx.step(value, 1)
            said.append("ran on")

    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    live = calm(waiting)
    live.run()
    del live
    gc.collect()
    assert (said, told) == (["finally"], [])


def test_frames_made_before_cannot_be_started_any_more() -> None:
    said: list[str] = []

    async def waiting(ctx: Context) -> None:
        later = ctx.step(value, 1)
        try:
            await ctx.receive("silent")
        finally:
            try:
                await later
            except ExecutionClosed:
                said.append("closed")

    dropped(waiting)
    assert said == ["closed"]


def test_every_task_is_closed_in_the_order_of_its_creation_and_starts_no_other() -> None:
    said: list[str] = []

    async def waiting(ctx: Context) -> None:
        async def one(n: int) -> None:
            try:
                await ctx.receive("silent")
            finally:
                said.append(f"task {n}")
                try:
                    asyncio.ensure_future(one(9)).set_name("other")
                except ExecutionClosed:
                    said.append("no task")

        async with asyncio.TaskGroup() as group:
            for n in range(3):
                group.create_task(one(n))

    dropped(waiting)
    assert said == ["task 0", "no task", "task 1", "no task", "task 2", "no task"]


def test_timers_locks_and_queues_can_be_touched_without_effect() -> None:
    async def waiting(ctx: Context) -> None:
        event, queue = asyncio.Event(), asyncio.Queue[int]()
        lock = asyncio.Lock()

        async def other() -> None:
            await event.wait()
            raise AssertionError("it must not go on")

        async with asyncio.TaskGroup() as group:
            group.create_task(other())
            try:
                async with lock, asyncio.timeout(None) as limit:
                    limit.reschedule(None)
                    await ctx.receive("silent")
            finally:
                event.set()
                queue.put_nowait(1)
                await asyncio.sleep(5)

    dropped(waiting)


def test_code_that_awaits_while_it_is_dropped_is_closed_again_and_never_left_to_the_collector() -> None:
    said: list[str] = []

    async def stubborn(ctx: Context) -> None:
        for _ in range(3):
            try:
                await ctx.receive("silent")
            except BaseException as error:
                said.append(type(error).__name__)
                try:
                    await asyncio.get_running_loop().create_future()
                finally:
                    said.append("closed again")

    dropped(stubborn)
    assert said[:2] == ["GeneratorExit", "closed again"]
    count = len(said)
    gc.collect()
    assert len(said) == count


def test_code_that_cannot_be_closed_is_left_where_it_is() -> None:
    said: list[int] = []

    async def unkillable(ctx: Context) -> None:
        forever = asyncio.get_running_loop().create_future()
        await ctx.step(value, 1)
        while True:
            try:
                await forever
            except BaseException:
                said.append(1)

    dropped(unkillable)
    tries = len(said)
    assert 1 < tries <= 200
    gc.collect()
    assert len(said) == tries


def test_code_that_catches_everything_in_a_loop_does_not_hold_up_the_worker() -> None:
    said: list[str] = []

    async def catches_all(ctx: Context) -> None:
        while True:
            try:
                await ctx.receive("silent")
            except BaseException as error:
                said.append(type(error).__name__)

    dropped(catches_all)
    assert said[:2] == ["GeneratorExit", "ExecutionClosed"]
    assert len(said) <= 300


def test_generators_and_context_managers_are_closed_too() -> None:
    said: list[str] = []

    @contextmanager
    def plain() -> Iterator[None]:
        try:
            yield
        finally:
            said.append("plain")

    @asynccontextmanager
    async def managed(ctx: Context) -> AsyncIterator[None]:
        try:
            yield
        finally:
            said.append("managed")
            await ctx.step(value, 1)

    async def waiting(ctx: Context) -> None:
        async def numbers() -> AsyncIterator[int]:
            try:
                yield 1
                yield 2
            finally:
                said.append("generator")
                await asyncio.get_running_loop().create_future()

        with plain():
            async with managed(ctx):
                async for _ in numbers():
                    await ctx.receive("silent")

    dropped(waiting)
    assert sorted(said) == ["generator", "managed", "plain"]


def test_clean_up_code_runs_in_the_context_of_its_own_execution() -> None:
    said: list[str] = []

    async def waiting(ctx: Context) -> None:
        mood.set("mine")
        try:
            with ctx.scope("part"):
                await ctx.receive("silent")
        finally:
            said.append(mood.get())
            mood.set("left behind")

    dropped(waiting)
    assert said == ["mine"]
    assert mood.get() == "calm"


def test_no_other_execution_is_touched() -> None:
    """RPL-20."""
    shared: list[asyncio.Event] = []

    async def waiting(ctx: Context) -> str:
        event = asyncio.Event()
        shared.append(event)
        waiter = asyncio.ensure_future(event.wait())
        try:
            await ctx.receive("silent", timeout=5)
            return "undisturbed"
        finally:
            waiter.cancel()

    one, other = calm(waiting), calm(waiting)
    one.session.loop.drop()
    journal = other.run()
    assert other.session.ending is not None
    replay(waiting, journal).check()
