"""``flowli check``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from flowli.cli.exits import CommandFailed, ExitCode
from flowli.cli.options import common, settings
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.cli.check.examine import Examined
    from flowli.cli.check.finding import Finding
    from flowli.cli.render.screen import Screen
    from flowli.domain.data import Data

__all__ = ["check"]


@click.command(cls=FlowliCommand)
@click.option("--repair", is_flag=True, help="Repair what is safe to repair; say what is not.")
@common()
def check(repair: bool) -> None:
    """Verify every invariant of the bucket that --storage names, and print what does not hold, with the evidence.

    Reads everything and writes nothing without --repair; workers may run meanwhile. A repair writes only what a sweeper
    or a sender would have written: it never touches a journal or an archive. The exit code is 0 if everything holds, or
    was repaired, and 1 if something is left.
    """
    from flowli.cli.render.screen import Screen
    from flowli.log import configure

    found = settings()
    configure(level=found.log_level or "error", json=found.json)
    screen = Screen(json_wanted=found.json)
    examined, repaired = asyncio.run(_run(found.storage, repair=repair))
    left = [finding for finding in examined.findings if finding not in repaired]
    if screen.json_wanted:
        screen.json(_document(examined, repaired, left))
    else:
        _show(screen, examined, repaired, repair=repair)
    if left:
        count = f"{len(left)} thing{'s do' if len(left) > 1 else ' does'} not hold"
        hint = "" if repair or not any(finding.repair for finding in left) else "; --repair repairs what is safe"
        raise CommandFailed(f"{count}; the first: {left[0].problem}{hint}", ExitCode.REFUSED, "Unsound")


async def _run(storage: str | None, *, repair: bool) -> tuple[Examined, list[Finding]]:
    from flowli.adapters.cairndb import CairnBackend
    from flowli.cli.check.examine import examine
    from flowli.cli.check.repair import Repairs
    from flowli.cli.opening import open_named
    from flowli.cli.session import operator
    from flowli.domain.provenance import Site
    from flowli.runtime import Engine
    from flowli.world import SYSTEM

    async with CairnBackend(open_named(storage)) as backend:
        examined = await examine(backend, SYSTEM)
        if not repair or not examined.findings:
            return examined, []
        engine = Engine(backend.ports, Site.local("cli-check"))
        return examined, await Repairs(backend, engine, operator(), examined).run(examined.findings)


def _document(examined: Examined, repaired: list[Finding], left: list[Finding]) -> Data:
    return {
        "objects": examined.keys,
        "logs": examined.logs,
        "executions": len(examined.executions),
        "sound": not left,
        "findings": [finding.to_data(repaired=finding in repaired) for finding in examined.findings],
    }


def _show(screen: Screen, examined: Examined, repaired: list[Finding], *, repair: bool) -> None:
    for finding in examined.findings:
        screen.line((finding.check, "bold red"), f"  {finding.subject}: {finding.problem}")
        for evidence in finding.evidence:
            screen.line(f"    {evidence}")
        if finding in repaired:
            screen.line("    ", ("repaired", "green"), f": {finding.repair}")
        elif finding.repair and not repair:
            screen.line(f"    --repair would {finding.repair}")
        else:
            screen.line(f"    not repaired by flowli. {finding.advice}".rstrip())
    counts = f"{examined.keys} objects, {examined.logs} logs, {len(examined.executions)} executions"
    screen.line(f"{counts}: {len(examined.findings)} found, {len(repaired)} repaired.")
