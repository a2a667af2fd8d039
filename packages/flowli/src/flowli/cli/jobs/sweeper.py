"""``flowli sweeper``."""

from __future__ import annotations

from datetime import timedelta

import click

from flowli.cli.jobs.health import Pages, health_options
from flowli.cli.jobs.report import counts
from flowli.cli.jobs.stopping import draining
from flowli.cli.options import common, engine_options
from flowli.cli.session import Session, run
from flowli.cli.shell import FlowliCommand
from flowli.cli.values import DURATION

__all__ = ["sweeper"]


@click.command(cls=FlowliCommand)
@click.option("--interval", type=DURATION, default="1s", show_default=True, help="Time between two passes.")
@click.option("--once", is_flag=True, help="Do one pass, print what it did, and exit.")
@click.option("--eid", metavar="EID", help="Look after this execution only, at once, and exit.")
@health_options
@engine_options
@common()
def sweeper(
    interval: timedelta, once: bool, eid: str | None, health_port: int | None, health_host: str, lag_alert: float
) -> None:
    """Fire the timers that are due, and recover what a crash left behind.

    One sweeper is enough for a bucket, two do no harm. Without any, nothing that sleeps, times out or waits for a
    retry ever wakes. It needs no --app. With --eid it puts the task that moves an execution of which nobody was told
    that it can go on.
    """
    pages = Pages.at(health_host, health_port, lag_alert)

    async def body(session: Session) -> None:
        await session.check_bucket()
        if eid is not None:
            await _look_after(session, eid)
            return
        sweeping = session.engine.sweeper()
        if once:
            counts(session.screen, await sweeping.sweep_once())
            return
        async with pages.shown(session, None):
            with draining(sweeping.stop, session.engine.config.grace_s):
                await sweeping.run(interval_s=interval.total_seconds())

    run(body, log="info", create=True, requests=pages.requests)


async def _look_after(session: Session, text: str) -> None:
    from flowli.domain.provenance import ActorKind
    from flowli.runtime.protocols.look_after import look_after

    services, eid = session.engine.services, await session.eid(text)
    woken = await look_after(services, eid, services.provenance(kind=ActorKind.SYSTEM))
    if session.screen.json_wanted:
        session.screen.json({"eid": str(eid), "woken": woken})
    else:
        session.screen.line(f"{eid}  {'a task that moves it was put' if woken else 'nothing to do'}")
