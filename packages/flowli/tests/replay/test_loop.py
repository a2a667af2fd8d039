"""What ordinary asyncio code meets in the private loop (RPL-6)."""

from __future__ import annotations

import asyncio
import contextvars
import decimal
import gc
import signal
import socket
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from flowli.domain.entries import ExecutionCancelled, ExecutionCompleted
from flowli.runtime.context import Context
from flowli.testing.replay import replay

from .live import Live, calm, ending_of, error_of
from .programs import value

seen: contextvars.ContextVar[str] = contextvars.ContextVar("seen", default="nothing")


def names(live: Live) -> list[str]:
    """The frames in the order of their start."""
    return list(live.session.fold.frames)


def test_as_completed_over_bare_coroutines_is_refused_with_a_hint() -> None:
    """RPL-15."""

    async def racing(ctx: Context) -> None:
        for first in asyncio.as_completed([asyncio.sleep(1), asyncio.sleep(2)]):
            await first

    async def racing_frames(ctx: Context) -> None:
        for first in asyncio.as_completed([ctx.step(value, 1), ctx.step(value, 2)]):
            await first

    for fn in (racing, racing_frames):
        error = error_of(fn)
        assert error.type == "flowli.domain.errors.NotDeterministic"
        assert "random order" in error.message
        assert "ctx.as_completed" in error.message


def test_as_completed_over_tasks_and_of_the_context_are_exact() -> None:
    """RPL-15."""

    async def racing(ctx: Context) -> list[int]:
        tasks = [asyncio.ensure_future(ctx.step(value, n)) for n in range(6)]
        first = [await one for one in asyncio.as_completed(tasks)]
        return first + await ctx.as_completed(*(ctx.step(value, n) for n in range(6)))

    orders = set()
    for seed in range(5):
        live = calm(racing, seed=seed)
        journal = live.run()
        replay(racing, journal).check()
        assert isinstance(live.session.ending, ExecutionCompleted)
        orders.add(str(live.session.ending.value))
    assert len(orders) > 1


def test_a_set_of_frames_is_walked_alike_on_every_run() -> None:
    async def walking(ctx: Context) -> list[int]:
        padding = [object() for _ in range(len(ballast))]
        frames = {ctx.step(value, n) for n in range(20)}
        return [await one for one in frames] + [0 for _ in padding if False]

    ballast: list[object] = []
    journal = calm(walking).run()
    ballast += [object() for _ in range(1000)]
    replay(walking, journal).check()


def test_frames_are_the_work_of_tasks_and_task_groups() -> None:
    async def grouped(ctx: Context) -> list[int]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ctx.step(value, n)) for n in range(3)]
        return [one.result() for one in tasks] + [await asyncio.create_task(ctx.step(value, 3))]

    assert ending_of(grouped) == ExecutionCompleted([0, 1, 2, 3])


def test_each_execution_has_a_fresh_context() -> None:
    """RPL-17."""

    async def looking(ctx: Context) -> list[str]:
        before = seen.get()
        seen.set("mine")
        decimal.getcontext().prec = 5
        await ctx.step(value, 1)
        inner = await asyncio.create_task(inherited())
        return [before, seen.get(), inner, str(decimal.getcontext().prec)]

    async def inherited() -> str:
        return seen.get()

    token = seen.set("the worker's")
    decimal.getcontext().prec = 9
    try:
        for _ in range(2):
            assert ending_of(looking) == ExecutionCompleted(["nothing", "mine", "mine", "5"])
        assert seen.get() == "the worker's"
        assert decimal.getcontext().prec == 9
    finally:
        seen.reset(token)
        decimal.getcontext().prec = 28


def test_async_generators_left_early_are_closed_at_the_end_in_order() -> None:
    """RPL-28."""

    async def leaving(ctx: Context) -> str:
        async def numbers(name: str) -> AsyncIterator[int]:
            try:
                yield await ctx.step(value, 1)
                yield 2
            finally:
                await ctx.step(value, 3, name=f"clean-{name}")

        for name in ("a", "b"):
            async for _ in numbers(name):
                break
            gc.collect()
        await ctx.step(value, 4, name="last")
        return "done"

    hooks = sys.get_asyncgen_hooks()
    live = calm(leaving)
    journal = live.run()
    assert names(live) == ["root/value#1", "root/value#2", "root/last#1", "root/clean-a#1", "root/clean-b#1"]
    assert live.session.ending == ExecutionCompleted("done")
    replay(leaving, journal).check()
    assert sys.get_asyncgen_hooks() == hooks


def test_the_hooks_of_async_generators_are_those_of_the_loop_only_during_a_slice() -> None:
    """RPL-28."""
    found = []

    async def looking(ctx: Context) -> None:
        found.append(sys.get_asyncgen_hooks())
        await ctx.step(value, 1)
        found.append(sys.get_asyncgen_hooks())

    outer = sys.get_asyncgen_hooks()
    live = calm(looking)
    assert sys.get_asyncgen_hooks() == outer
    live.run()
    assert sys.get_asyncgen_hooks() == outer
    assert found[0] == found[1] != outer


def test_many_async_generators_are_not_all_kept() -> None:
    """RPL-28."""

    async def many(ctx: Context) -> int:
        async def one() -> AsyncIterator[int]:
            yield 1

        for _ in range(1000):
            async for _ in one():
                pass
        return 1

    live = calm(many)
    live.run()
    assert len(live.session.loop._generators._begun) < 200


@pytest.mark.parametrize("leaving", [SystemExit(3), KeyboardInterrupt()])
def test_leaving_the_process_is_a_failed_outcome(leaving: BaseException) -> None:
    """RPL-18."""

    async def quits(ctx: Context) -> None:
        await ctx.step(value, 1)
        raise leaving

    async def in_a_task(ctx: Context) -> None:
        await ctx.step(value, 1)
        async with asyncio.TaskGroup() as group:
            group.create_task(quits(ctx))

    for fn in (quits, in_a_task):
        assert error_of(fn).type == f"builtins.{type(leaving).__name__}"


async def _in_thread() -> None:
    await asyncio.to_thread(print)


async def _executor() -> None:
    await asyncio.get_running_loop().run_in_executor(None, print)


async def _connection() -> None:
    await asyncio.open_connection("127.0.0.1", 1)


async def _server() -> None:
    await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)


async def _names() -> None:
    await asyncio.get_running_loop().getaddrinfo("localhost", 80)


async def _process() -> None:
    await asyncio.create_subprocess_exec("true")


async def _shell() -> None:
    await asyncio.create_subprocess_shell("true")


async def _signals() -> None:
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, print)


async def _reader() -> None:
    asyncio.get_running_loop().add_reader(0, print)


async def _socket() -> None:
    one, other = socket.socketpair()
    with one, other:
        await asyncio.get_running_loop().sock_recv(one, 1)


async def _factory() -> None:
    asyncio.get_running_loop().set_task_factory(None)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (_in_thread, "asyncio.to_thread"),
        (_executor, "run_in_executor"),
        (_connection, "create_connection"),
        (_server, "create_server"),
        (_names, "getaddrinfo"),
        (_process, "subprocess_exec"),
        (_shell, "subprocess_shell"),
        (_signals, "add_signal_handler"),
        (_reader, "add_reader"),
        (_socket, "sock"),
        (_factory, "set_task_factory"),
    ],
)
def test_io_threads_and_signals_are_refused_by_name(call: Any, name: str) -> None:
    """RPL-19."""

    async def doing(ctx: Context) -> None:
        await call()

    error = error_of(doing)
    assert error.type == "flowli.domain.errors.NotDeterministic"
    assert name in error.message
    assert "ctx.step" in error.message


def test_time_stands_still_between_outcomes_and_moves_with_them() -> None:
    """RPL-16."""

    async def timing(ctx: Context) -> list[float]:
        loop = asyncio.get_running_loop()
        first = [loop.time(), loop.time()]
        await asyncio.sleep(30)
        second = loop.time()
        async with asyncio.timeout(20) as limit:
            assert limit.when() == second + 20
            await asyncio.sleep(0)
        return [first[1] - first[0], second - first[0], ctx.now.timestamp() - second]

    ending = ending_of(timing)
    assert isinstance(ending, ExecutionCompleted)
    still, slept, apart = ending.value
    assert still == 0
    assert slept >= 30
    assert abs(apart) < 1e-6


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 1e12])
def test_a_timer_that_can_never_come_is_refused_with_a_way_out(seconds: float) -> None:
    async def forever(ctx: Context) -> None:
        await asyncio.sleep(seconds)

    error = error_of(forever)
    assert "sleep" in error.traceback
    assert "asyncio.Event" in error.message or error.type == "builtins.ValueError"  # asyncio itself refuses nan


def test_sleeping_into_the_past_ends_at_once() -> None:
    async def late(ctx: Context) -> str:
        before = ctx.now
        await asyncio.sleep(-5)
        await asyncio.sleep(0)
        await ctx.sleep_until(before.replace(year=2001))
        assert ctx.now >= before
        return "done"

    live = calm(late)
    journal = live.run()
    assert live.session.ending == ExecutionCompleted("done")
    assert names(live) == ["root/sleep#1"]
    replay(late, journal).check()


def test_what_fails_unheard_is_reported_and_ends_nothing() -> None:
    async def careless_task(ctx: Context) -> str:
        async def breaks() -> None:
            raise ValueError("unheard")

        asyncio.ensure_future(breaks()).set_name("careless")
        await ctx.step(value, 1)
        gc.collect()
        return "done"

    async def careless_callback(ctx: Context) -> str:
        asyncio.get_running_loop().call_soon(int, "no number")
        await ctx.step(value, 1)
        return "done"

    for fn in (careless_task, careless_callback):
        live = calm(fn)
        live.run()
        assert live.session.ending == ExecutionCompleted("done")
        assert [type(one["exception"]) for one in live.session.loop.unhandled] == [ValueError]


def test_a_cancel_that_nobody_asked_for_is_a_failure() -> None:
    async def cancels_itself(ctx: Context) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await ctx.step(value, 1)

    ending = ending_of(cancels_itself)
    assert not isinstance(ending, ExecutionCancelled)
    assert ending.error.message == "the workflow cancelled itself"
