"""``flowli worker``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from flowli.cli.jobs.health import Pages, health_options
from flowli.cli.jobs.stopping import draining
from flowli.cli.options import common, engine_options
from flowli.cli.session import Session, run
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.runtime import Worker

__all__ = ["worker"]


@click.command(cls=FlowliCommand)
@click.option(
    "--queue",
    "queues",
    multiple=True,
    default=("default",),
    show_default=True,
    metavar="QUEUE",
    help="Queue to serve; repeatable.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    metavar="N",
    help="Executions that run here at once.",
)
@click.option(
    "--worker-id",
    metavar="NAME",
    envvar="FLOWLI_WORKER_ID",
    help="Names this process in all that it writes; host and pid by default.",
)
@click.option("--with-sweeper", is_flag=True, help="Run a sweeper in the same process.")
@click.option("--until-idle", is_flag=True, help="Exit when nothing is ready to run.")
@health_options
@engine_options
@common()
def worker(
    queues: tuple[str, ...],
    concurrency: int,
    worker_id: str | None,
    with_sweeper: bool,
    until_idle: bool,
    health_port: int | None,
    health_host: str,
    lag_alert: float,
) -> None:
    """Run the executions of the application --app.

    Any number of workers may share a bucket. SIGTERM and Ctrl-C drain: nothing new is taken, what can wait is
    suspended, the rest is finished or given back within --grace; then the exit code is 0. A second signal quits at
    once. A worker that dies in any way loses no finished step: another one goes on.
    """
    pages = Pages.at(health_host, health_port, lag_alert)

    async def body(session: Session) -> None:
        engine = session.engine
        await session.check_bucket()
        names = tuple(dict.fromkeys(queues))
        working = engine.worker(names, concurrency=concurrency, sweeper=with_sweeper)
        _tell(session, names)
        async with pages.shown(session, names, concurrency) as drains:
            if until_idle:
                await _until_idle(working, engine.config.grace_s)
                return

            def stop() -> None:
                drains()
                working.stop()

            with draining(stop, engine.config.grace_s):
                await working.run()

    run(
        body,
        needs_app="worker",
        worker_id=worker_id or _local_id(),
        log="info",
        create=True,
        requests=pages.requests,
    )


def _tell(session: Session, queues: tuple[str, ...]) -> None:
    import structlog

    workflows = sorted({workflow.name for workflow in session.engine.registry})
    log = structlog.get_logger("flowli.worker")
    log.info("working", storage=session.storage, queues=list(queues), workflows=workflows)
    if not workflows:
        log.warning("the application registers no workflow: nothing can run here")


async def _until_idle(working: Worker, grace_s: float) -> None:
    async with working:
        work = asyncio.ensure_future(working.run_until_idle())
        with draining(work.cancel, grace_s):
            await asyncio.wait({work})
    if not work.cancelled():
        work.result()


def _local_id() -> str:
    from flowli.world import SYSTEM

    process = SYSTEM.process()
    return f"{process.host}-{process.pid}"
