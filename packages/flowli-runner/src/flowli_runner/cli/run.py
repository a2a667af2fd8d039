"""``flowli-runner run``."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from flowli.domain.errors import UsageError
from flowli_runner.cli.options import config_options, configured, url_option
from flowli_runner.work.config import RunnerConfig

__all__ = ["run"]


@click.command()
@config_options
@url_option
@click.option("--once", is_flag=True, help="Work on what is ready now, then exit.")
@click.option("--log-json", is_flag=True, help="Log one JSON object a line.")
def run(
    path: Path,
    storage: str | None,
    queue: str | None,
    worker_id: str | None,
    parallel: int | None,
    url: str | None,
    once: bool,
    log_json: bool,
) -> None:
    """Work on the tasks of the queue.

    SIGTERM and Ctrl-C drain: nothing new is taken; agents that have not ended after drain_s go on by themselves, and
    the next runner on this host goes on with them. A second signal quits at once, with the same end.
    """
    from flowli import log

    log.configure(json=log_json)
    config = configured(path, storage=storage, queue=queue, worker_id=worker_id, parallel=parallel)
    if url is not None:
        try:
            from flowli_runner.remote.run import work_remotely
        except ImportError:
            raise UsageError("the HTTP service needs its client; run: pip install flowli-api") from None
        asyncio.run(work_remotely(config, url, once=once))
        return
    if not config.storage:
        raise UsageError("no storage is named; write storage = 'file:./bucket' into the file or give --storage")
    asyncio.run(_work(config, once))


async def _work(config: RunnerConfig, once: bool) -> None:
    from flowli.adapters.opening import open_backend
    from flowli.cli.jobs.stopping import draining
    from flowli_runner.runner import Runner

    backend = open_backend(config.storage)
    try:
        runner = Runner(config, backend.ports)
        if once:
            await runner.run_once()
            return
        stops: list[asyncio.Task[None]] = []
        with draining(lambda: stops.append(asyncio.ensure_future(runner.drain())), config.drain_s):
            await runner.run()
        await asyncio.gather(*stops)
    finally:
        await backend.close()
