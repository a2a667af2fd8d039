"""``flowli bench``: measure on the user's own bucket."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from flowli.cli.options import common, settings
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.cli.bench.measure import Figures, Plan, Times
    from flowli.cli.render.screen import Screen

__all__ = ["bench"]


@click.command(cls=FlowliCommand)
@click.option(
    "--executions", type=click.IntRange(1, 100_000), default=200, show_default=True, metavar="N", help="How many."
)
@click.option("--steps", type=click.IntRange(0, 1000), default=5, show_default=True, metavar="N", help="Of each.")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 1000),
    default=50,
    show_default=True,
    metavar="N",
    help="Executions that the one worker runs at once.",
)
@common()
def bench(executions: int, steps: int, concurrency: int) -> None:
    """Run executions of small steps on the bucket that --storage names, and say what they take and what they cost.

    It works under wf/probe/, beside whatever is in the bucket, and removes what it wrote. The worker runs in this
    process: the figures are those of one core, from where the command runs. 200 executions of 5 steps are about 3,000
    requests, one or two cents.
    """
    from flowli.cli.bench.measure import Plan
    from flowli.cli.render.screen import Screen
    from flowli.log import configure

    found = settings()
    configure(level=found.log_level or "error", json=found.json)
    screen, plan = Screen(json_wanted=found.json), Plan(executions, steps, concurrency)
    url, figures, removed = asyncio.run(_measured(found.storage, plan, screen))
    if screen.json_wanted:
        screen.json({"storage": url, **asdict(plan), **asdict(figures), "removed": removed})
    else:
        _show(screen, url, plan, figures)


async def _measured(storage: str | None, plan: Plan, screen: Screen) -> tuple[str, Figures, int]:
    from contextlib import nullcontext

    from flowli.cli.bench.corner import Corner
    from flowli.cli.bench.measure import measure
    from flowli.cli.opening import open_named
    from flowli.cli.render.progress import bar
    from flowli.world import SYSTEM

    store = open_named(storage)
    corner = Corner(store, f"wf/probe/{SYSTEM.token()}/")
    total = plan.executions + max(1, plan.executions // 10)
    shown = bar(screen, "Running executions", total) if screen.terminal else nullcontext(_nothing)
    try:
        try:
            with shown as progress:
                figures = await measure(corner, plan, SYSTEM, progress)
        finally:
            removed = await corner.clear()
        return store.url, figures, removed
    finally:
        await store.close()


def _nothing() -> None:
    return


def _show(screen: Screen, url: str, plan: Plan, found: Figures) -> None:
    price = "at the list prices of S3; requests cost nothing here" if found.free else "at list prices"
    screen.table(
        ("WHAT", url, ""),
        [
            ("durable create", _ms(found.create), f"{found.creates_per_s:,.0f}/s, {plan.concurrency} at once"),
            (f"{plan.steps} step{'' if plan.steps == 1 else 's'} alone", _ms(found.alone), "start to result"),
            ("executions", f"{found.executions_per_s:,.1f}/s", f"{plan.executions}, {plan.concurrency} at once"),
            ("steps", f"{found.steps_per_s:,.1f}/s", ""),
            ("writes", f"{found.writes:.2f} an execution", f"and {found.lists:.2f} listings"),
            ("reads", f"{found.reads:.2f} an execution", f"and {found.deletes:.2f} deletions"),
            ("bytes", f"{found.sent:,.0f} sent an execution", f"{found.received:,.0f} received"),
            ("price", f"${found.usd_per_million:,.2f} a million executions", price),
        ],
    )


def _ms(times: Times) -> str:
    return f"{times.p50_ms:.1f} ms; 9 of 10 in {times.p90_ms:.1f} ms"
