"""``flowli sim``: try faults on the engine, or on an application's own workloads."""

from __future__ import annotations

import importlib
import sys

import click

from flowli.testing.sim.campaign import BUDGETS, MODES, Campaign
from flowli.testing.sim.modes import Case, run_case
from flowli.testing.sim.shrink import shrink
from flowli.testing.sim.story import story
from flowli.testing.sim.workload import Workload
from flowli.testing.sim.workloads import WORKLOADS

__all__ = ["sim"]


@click.command(name="sim")
@click.option(
    "--budget", type=click.Choice(sorted(BUDGETS)), default="small", show_default=True, help="How much to try."
)
@click.option(
    "--mode",
    type=click.Choice(["all", *MODES]),
    default="all",
    show_default=True,
    help="How to strike.",
)
@click.option("--workload", "names", multiple=True, help="Only this workload; may be given again.")
@click.option("--workloads", "source", metavar="MODULE:ATTR", help="A dict of your own workloads, by name.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of latencies, chance and the choice of cases.")
@click.option("--case", "line", metavar="LINE", help="Run one case again, as a finding names it, and tell its story.")
@click.option("--reads", is_flag=True, help="Tell of reads as well.")
def sim(
    budget: str, mode: str, names: tuple[str, ...], source: str | None, seed: int, line: str | None, reads: bool
) -> None:
    """Run the engine on virtual time with a fault at every operation.

    Exit code 1 when something was violated; each finding prints one line
    that repeats it.
    """
    workloads = _workloads(source)
    unknown = [name for name in names if name not in workloads]
    if unknown:
        raise click.UsageError(f"there is no workload '{unknown[0]}'; known are {', '.join(sorted(workloads))}")
    if line is not None:
        _tell(line, workloads, reads)
        return
    campaign = Campaign(workloads, seed)
    for finding in campaign.run(campaign.cases(mode, BUDGETS[budget], names)):
        if finding is not None:
            click.echo(f"{finding.case}  {finding.problems[0]}")
    click.echo(
        f"{campaign.runs} runs, {campaign.operations} operations, {len(campaign.findings)} with something violated"
    )
    if campaign.findings:
        smallest = shrink(campaign.findings[0].case, workloads)
        click.echo(f"tell the story of one: flowli sim --case '{smallest}'")
        sys.exit(1)


def _workloads(source: str | None) -> dict[str, Workload]:
    if source is None:
        return WORKLOADS
    module, _, attribute = source.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise click.UsageError(f"--workloads '{source}' cannot be imported: {error}") from None
    if not isinstance(found, dict) or not all(isinstance(one, Workload) for one in found.values()):
        raise click.UsageError(f"--workloads '{source}' is no dict of flowli.testing.sim.workload.Workload")
    return found


def _tell(line: str, workloads: dict[str, Workload], reads: bool) -> None:
    try:
        case = Case.parse(line)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    outcome, cluster = run_case(case, workloads)
    click.echo(story(cluster, outcome.problems or ["nothing was violated"], reads=reads))
    if outcome.problems:
        sys.exit(1)
