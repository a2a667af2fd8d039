"""Working through the HTTP service, where the bucket cannot be reached: the same handler, in a ``RemoteConsumer``.

Records are kept in files of this host. Evidence and the leases of write scopes are not written.
"""

from __future__ import annotations

import os

from flowli.cli.jobs.stopping import draining
from flowli.domain.errors import UsageError
from flowli.world import SYSTEM, World
from flowli_runner.runner import make_handler
from flowli_runner.work.config import RunnerConfig

__all__ = ["TOKEN", "work_remotely"]

TOKEN = "FLOWLI_TOKEN"


async def work_remotely(config: RunnerConfig, url: str, *, once: bool = False, world: World = SYSTEM) -> None:
    """Work on the tasks of a queue through a service.

    Raises:
        UsageError: ``flowli-api`` is not installed, or there is no token in ``FLOWLI_TOKEN``.
    """
    try:
        from flowli_api.client.asynchronous import AsyncClient
        from flowli_api.client.consumer import RemoteConsumer
    except ImportError:
        raise UsageError("the HTTP service needs its client; run: pip install flowli-api") from None
    if TOKEN not in os.environ:
        raise UsageError(f"there is no token in {TOKEN}; put the one there that may consume queue {config.queue!r}")
    handler, _ = make_handler(config, None, world=world)
    async with AsyncClient(url, os.environ[TOKEN], world=world) as client:
        consumer = RemoteConsumer(
            client, config.queue, handler, parallel=config.parallel, ttl_s=config.ttl_s, world=world
        )
        if once:
            await consumer.run_once()
            return
        with draining(consumer.stop, config.drain_s):
            await consumer.run()
