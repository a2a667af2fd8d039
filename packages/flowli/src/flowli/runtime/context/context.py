"""``Context``: what workflow code is given as its first parameter."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from flowli.runtime.context.base import nothing
from flowli.runtime.context.facts import FactCalls
from flowli.runtime.context.work import WorkCalls
from flowli.runtime.replay.calls import FrameCall

__all__ = ["Context"]

T = TypeVar("T")


class Context(WorkCalls, FactCalls):
    """The workflow's view of its execution."""

    async def gather(self, *frames: Awaitable[Any]) -> list[Any]:
        """Await several things at once; the results come in the order of the arguments."""
        return list(await asyncio.gather(*frames))

    def checkpoint_and_yield(self) -> FrameCall[None]:
        """Make everything so far durable, and give the other executions of the worker their turn.

        Steps need none: what a step is given is durable before it runs. It is for code that computes for long between
        frames, and before something that must not be computed anew after a crash.
        """
        return self._effect("checkpoint", None, self._effects.nothing(), nothing)

    async def as_completed(self, *frames: Awaitable[T]) -> list[T]:
        """Await several things at once; the results come in the order in which they were ready."""
        done: list[T] = []

        async def collect(frame: Awaitable[T]) -> None:
            done.append(await frame)

        async with asyncio.TaskGroup() as group:
            for frame in frames:
                group.create_task(collect(frame))
        return done
