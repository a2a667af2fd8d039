"""Slices of workflow code are run from plain callbacks of the worker's loop, outside every task."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from flowli.runtime.replay.session import Session
from flowli.world import World

__all__ = ["outside_tasks", "run_slices"]

_BREATH_S = 0.01


async def run_slices(session: Session, world: World) -> None:
    """Let the code run until nothing is ready; the worker gets its turn every 10 ms."""
    while not session.settled and session.divergence is None:
        until_s = world.monotonic_s() + _BREATH_S
        await outside_tasks(lambda until_s=until_s: session.advance(lambda: world.monotonic_s() >= until_s))  # type: ignore[misc]


async def outside_tasks(call: Callable[[], object]) -> None:
    """Run ``call`` in a callback of the loop; what it raises comes out here."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def run() -> None:
        try:
            call()
        except BaseException as error:
            if not done.cancelled():
                done.set_exception(error)
        else:
            if not done.cancelled():
                done.set_result(None)

    loop.call_soon(run)
    await done
