"""``flowli doctor``: examine the bucket, and say go or no-go."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from flowli.cli.exits import CommandFailed, ExitCode
from flowli.cli.options import common, settings
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.cli.doctor.check import Finding, Wishes

__all__ = ["doctor"]


@click.command(cls=FlowliCommand)
@click.option(
    "--for",
    "process",
    type=click.Choice(["worker", "sweeper", "consumer", "service", "reader"]),
    default="worker",
    show_default=True,
    help="The process whose rights must suffice.",
)
@click.option("--samples", type=click.IntRange(1, 1000), default=20, show_default=True, help="Requests timed of each.")
@click.option("--racers", type=click.IntRange(2, 100), default=8, show_default=True, help="Writers that race.")
@click.option("--per-day", type=click.IntRange(0), default=1000, show_default=True, help="Executions a day, to bill.")
@click.option("--steps", type=click.IntRange(1), default=5, show_default=True, help="Steps of each execution, to bill.")
@click.option("--workers", type=click.IntRange(0), default=2, show_default=True, help="Waiting workers, to bill.")
@common()
def doctor(process: str, samples: int, racers: int, per_day: int, steps: int, workers: int) -> None:
    """Examine the bucket that --storage names, and say go or no-go.

    It tries out, under wf/probe/, whether conditions are evaluated and races have one winner, which rights the
    credentials have, how long requests take; it reads the settings of the bucket (versions, lifecycle rules, public
    access, retention), and estimates the bill. What it writes it removes. The exit code is 0 for go and 3 for no-go.
    """
    from flowli.cli.doctor.check import Level, Wishes
    from flowli.cli.doctor.render import document, is_go, show
    from flowli.cli.render.screen import Screen
    from flowli.log import configure

    found = settings()
    configure(level=found.log_level or "error", json=found.json)
    wishes = Wishes(process, samples, racers, per_day, steps, workers)
    url, findings = asyncio.run(_examined(found.storage, wishes))
    screen = Screen(json_wanted=found.json)
    if screen.json_wanted:
        screen.json(document(url, wishes, findings))
    else:
        show(screen, url, wishes, findings)
    if not is_go(findings):
        worst = next(one.text for one in findings if one.level is Level.BAD)
        raise CommandFailed(f"no-go: {worst}", ExitCode.STORAGE, "NoGo")


async def _examined(storage: str | None, wishes: Wishes) -> tuple[str, list[Finding]]:
    from flowli.cairn.observe import ObservedRequest, observed
    from flowli.cli.doctor.check import Patient
    from flowli.cli.doctor.checks import examine
    from flowli.cli.opening import open_named
    from flowli.world import SYSTEM

    requests: list[ObservedRequest] = []
    store = observed(open_named(storage), requests.append)
    try:
        return store.url, await examine(Patient(store, SYSTEM, wishes, requests))
    finally:
        await store.close()
