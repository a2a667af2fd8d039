"""How a workflow ends, what it may not leave behind, and what is no workflow (RPL-3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from flowli.domain.entries import ExecutionCompleted, ExecutionFailed, FrameCancelled, FrameStarted
from flowli.domain.errors import UsageError
from flowli.runtime.context import Context
from flowli.runtime.registry import Registry
from flowli.testing.replay import replay

from .live import calm, ending_of, error_of
from .programs import value


def test_a_step_left_under_way_is_an_error_that_names_it() -> None:
    """RPL-21."""

    async def careless(ctx: Context) -> int:
        left = asyncio.create_task(ctx.step(value, 1, name="charge"))
        result = await ctx.step(value, 2)
        return result if not left.done() else -1

    for seed in range(4):
        live = calm(careless, seed=seed)
        journal = live.run()
        replay(careless, journal).check()
        if live.session.ending != ExecutionCompleted(-1):
            error = live.session.ending.error
            assert error.message == (
                "the workflow returned while step 'charge' as root/charge#1 was still under way; await it or cancel "
                "its task"
            )
            assert any(isinstance(entry.body, FrameCancelled) for entry in journal)
            return
    raise AssertionError("the step never came last")


def test_a_step_that_was_given_up_is_not_left_behind() -> None:
    async def timed_out(ctx: Context) -> str:
        try:
            async with asyncio.timeout(1):
                await asyncio.gather(ctx.step(value, 1), ctx.receive("silent"))
        except TimeoutError:
            return "in time"
        return "never"

    async def gives_up(ctx: Context) -> str:
        task = asyncio.create_task(ctx.receive("silent"))
        step = asyncio.create_task(ctx.step(value, 1))
        await ctx.sleep(1)
        task.cancel()
        step.cancel()
        return "in time"

    for fn in (timed_out, gives_up):
        for seed in range(6):
            live = calm(fn, seed=seed)
            journal = live.run()
            assert live.session.ending == ExecutionCompleted("in time")
            replay(fn, journal).check()


def test_tasks_left_alive_are_cancelled_and_drained_before_the_end() -> None:
    """RPL-21."""
    said: list[str] = []

    async def leaving(ctx: Context) -> str:
        async def background(n: int) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                said.append(f"finally {n}")
                await ctx.step(value, n, name="clean-up")

        tasks = [asyncio.create_task(background(n)) for n in range(3)]
        await ctx.step(value, 1)
        return f"{len(tasks)} left"

    live = calm(leaving)
    journal = live.run()
    assert said == ["finally 0", "finally 1", "finally 2"]
    assert live.session.ending == ExecutionCompleted("3 left")
    started = [entry.body.name for entry in journal if isinstance(entry.body, FrameStarted)]
    assert started[-3:] == ["clean-up"] * 3
    assert journal[-1].body == ExecutionCompleted("3 left")
    replay(leaving, journal).check()


@pytest.mark.parametrize("waits", ["receive", "sleep", "asyncio.sleep"])
def test_a_wait_left_under_way_is_an_error_that_names_it(waits: str) -> None:
    async def leaving(ctx: Context) -> str:
        calls = {
            "receive": lambda: ctx.receive("silent"),
            "sleep": lambda: ctx.sleep(1_000),
            "asyncio.sleep": lambda: asyncio.sleep(1_000),
        }

        async def wait() -> None:
            await calls[waits]()

        task = asyncio.create_task(wait())
        await ctx.step(value, 1)
        return "done" if not task.done() else "?"

    live = calm(leaving)
    journal = live.run()
    assert isinstance(live.session.ending, ExecutionFailed)
    assert "the workflow returned while" in live.session.ending.error.message
    named = {"receive": "root/silent#1", "sleep": "root/sleep#1", "asyncio.sleep": "root/timer#1"}
    assert named[waits] in live.session.ending.error.message
    replay(leaving, journal).check()


def test_a_frame_that_was_never_awaited_is_an_error_that_names_it() -> None:
    async def forgetful(ctx: Context) -> str:
        ctx.step(value, 1, name="charge")
        await ctx.step(value, 2)
        return "done"

    error = error_of(forgetful)
    assert error.message == "step 'charge' as root/charge#1 was made but never awaited; write `await` before it"


def test_what_was_not_awaited_because_of_a_cancel_or_an_error_is_no_further_error() -> None:
    async def cancelled(ctx: Context) -> str:
        async def two() -> None:
            second = ctx.step(value, 2)
            await ctx.receive("silent")
            await second

        task = asyncio.create_task(two())
        await ctx.step(value, 1)
        task.cancel()
        return "done"

    async def fails(ctx: Context) -> str:
        ctx.step(value, 1)
        raise ValueError("the reason")

    assert ending_of(cancelled) == ExecutionCompleted("done")
    assert error_of(fails).message == "the reason"


def test_a_result_that_cannot_be_recorded_fails_with_its_path() -> None:
    async def answers(ctx: Context) -> dict[str, Any]:
        return {"items": [1, float("nan")]}

    assert "result.items[1]" in error_of(answers).message


async def _generator(ctx: Context) -> AsyncIterator[int]:
    yield 1


def _plain_generator(ctx: Context) -> Iterator[int]:
    yield 1


def _plain(ctx: Context) -> int:
    return 1


@pytest.mark.parametrize("fn", [_generator, _plain_generator, _plain])
def test_only_an_async_function_is_a_workflow(fn: Any) -> None:
    with pytest.raises(UsageError, match=f"'{fn.__name__}' (is not an async function|yields)"):
        Registry().add(fn)


def test_a_coroutine_as_result_is_refused() -> None:
    async def forgets(ctx: Context) -> Any:
        async def inner() -> int:
            return 1

        made = inner()
        try:
            return made
        finally:
            made.close()

    assert "result" in error_of(forgets).message


def test_a_repeated_key_is_refused_and_names_both() -> None:
    """RPL-3."""

    async def twice(ctx: Context) -> None:
        await ctx.step(value, 1, key="INV-7")
        await ctx.step(value, 2, key="INV-7")

    error = error_of(twice)
    assert error.type == "flowli.domain.errors.DuplicateFrameError"
    assert error.message == "frame key 'INV-7' is used twice for 'value' under root; give each its own"


def test_one_key_under_two_scopes_or_two_names_is_two_frames() -> None:
    """RPL-3."""

    async def apart(ctx: Context) -> list[int]:
        found = [await ctx.step(value, 1, key="k"), await ctx.step(value, 2, key="k", name="other")]
        for n in (3, 4):
            with ctx.scope("part"):
                found.append(await ctx.step(value, n, key="k"))
        return found

    live = calm(apart)
    live.run()
    assert live.session.ending == ExecutionCompleted([1, 2, 3, 4])
    assert list(live.session.fold.frames) == [
        "root/value:k",
        "root/other:k",
        "root/part#1/value:k",
        "root/part#2/value:k",
    ]


def test_only_workflow_code_can_make_frames() -> None:
    leaked: list[Context] = []

    async def leaks(ctx: Context) -> int:
        leaked.append(ctx)
        return await ctx.step(sneaks, 1)

    def sneaks(n: int) -> int:
        for make in (lambda: leaked[0].step(value, n), lambda: leaked[0].scope("x").__enter__()):
            with pytest.raises(UsageError, match="outside its workflow"):
                make()
        with pytest.raises(UsageError, match="outside its workflow"):
            leaked[0].patched("change")
        return n

    live = calm(leaks)
    journal = live.run()
    assert live.session.ending == ExecutionCompleted(1)
    assert list(live.session.fold.frames) == ["root/sneaks#1"]
    replay(leaks, journal).check()


def test_what_the_code_does_to_a_value_changes_no_entry() -> None:
    async def changes(ctx: Context) -> list[Any]:
        message = await ctx.receive("a")
        message["n"] = "changed"
        claimed = await ctx.claim("key", 1)
        return [claimed]

    live = calm(changes)
    journal = live.run()
    assert "changed" not in str([entry.body for entry in journal])
    replay(changes, journal).check()


def test_a_frame_awaited_twice_is_one_frame() -> None:
    async def again(ctx: Context) -> int:
        frame = ctx.step(value, 21)
        return await frame + await frame

    live = calm(again)
    live.run()
    assert live.session.ending == ExecutionCompleted(42)
    assert list(live.session.fold.frames) == ["root/value#1"]
