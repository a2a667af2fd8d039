"""``work_remotely``: the same handler as ``Runner`` has, in a ``RemoteConsumer``."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path

import structlog

from flowli.cli.jobs.stopping import draining
from flowli.domain.errors import BackendError, UsageError
from flowli.world import SYSTEM, World
from flowli_api.client.asynchronous import AsyncClient
from flowli_api.client.consumer import RemoteConsumer
from flowli_api.client.plane import WorkerPlane
from flowli_runner.remote.held import HeldTokens
from flowli_runner.remote.plane import RemotePlane
from flowli_runner.runner import make_handler
from flowli_runner.work.config import RunnerConfig
from flowli_runner.work.leftovers import put_leftovers_away
from flowli_runner.work.means import Means

__all__ = ["TOKEN", "RemoteRunner", "work_remotely"]

TOKEN = "FLOWLI_TOKEN"

_log = structlog.get_logger("flowli.runner")


class RemoteRunner:
    """Works on the delegates of one queue through a service.

    Args:
        config: what it works with; its ``storage`` is not used.
        client: of the service; its token holds ``tasks:consume:{queue}``.
        wait_s: how long one request waits for a task.

    Raises:
        UsageError: an agent's kind or setup is refused.
    """

    def __init__(
        self, config: RunnerConfig, client: AsyncClient, *, wait_s: float = 20.0, world: World = SYSTEM
    ) -> None:
        self._config = config
        held = HeldTokens(Path(config.work_dir).resolve() / "held", world)
        plane = RemotePlane(WorkerPlane(client, config.queue), held)
        handler, self._means = make_handler(config, plane, world=world)
        self._consumer = plane.consumer = RemoteConsumer(
            client,
            config.queue,
            handler,
            parallel=config.parallel,
            ttl_s=config.ttl_s,
            wait_s=wait_s,
            world=world,
            done=handler.done,
        )

    @property
    def means(self) -> Means:
        """What its handler works with."""
        return self._means

    async def run(self) -> None:
        """Put away what dead runners left, then work until ``drain``."""
        await self._put_away()
        await self._consumer.run()

    async def run_once(self) -> int:
        """Work on the tasks that can be taken now; returns how many."""
        await self._put_away()
        return await self._consumer.run_once()

    async def drain(self) -> None:
        """Take no more tasks; agents that have not ended after ``drain_s`` are left to the next runner."""
        self._means.leaving.set()
        await self._consumer.drain(self._config.drain_s)

    async def _put_away(self) -> None:
        try:
            await put_leftovers_away(self._means)
        except BackendError as error:
            _log.warning("what dead runners left stays until the next start", error=str(error))


async def work_remotely(config: RunnerConfig, url: str, *, once: bool = False, world: World = SYSTEM) -> None:
    """Work on the tasks of a queue through a service.

    Raises:
        UsageError: there is no token in ``FLOWLI_TOKEN``, or ``url`` is no address.
    """
    if TOKEN not in os.environ:
        raise UsageError(f"there is no token in {TOKEN}; put the one there that may consume queue {config.queue!r}")
    logging.getLogger("httpx").setLevel(logging.WARNING)  # a line for each renewal says nothing
    async with AsyncClient(url, os.environ[TOKEN], world=world) as client:
        runner = RemoteRunner(config, client, world=world)
        if once:
            await runner.run_once()
            return
        stops: list[asyncio.Task[None]] = []
        with draining(lambda: stops.append(asyncio.ensure_future(runner.drain())), config.drain_s):
            await runner.run()
        await asyncio.gather(*stops)
