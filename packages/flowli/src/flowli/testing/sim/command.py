"""``flowli sim``: try faults on the engine, or on an application's own workloads."""

from __future__ import annotations

import importlib
import json
import shlex
import sys
from collections.abc import Mapping

import click

from flowli.adapters.opening import open_backend
from flowli.cairn.store import ObjectStore
from flowli.runtime import Registry
from flowli.stores import open_store
from flowli.testing.sim.application import application_workload
from flowli.testing.sim.backends import OpenBackend
from flowli.testing.sim.campaign import BUDGETS, MODES, Campaign
from flowli.testing.sim.modes import Case, run_case
from flowli.testing.sim.shrink import shrink
from flowli.testing.sim.story import story
from flowli.testing.sim.workload import Workload
from flowli.testing.sim.workloads import WORKLOADS
from flowli.world import SystemWorld

__all__ = ["sim"]


@click.command(name="sim")
@click.option(
    "--budget", type=click.Choice(sorted(BUDGETS)), default="small", show_default=True, help="How much to try."
)
@click.option("--mode", type=click.Choice(["all", *MODES]), default="all", show_default=True, help="How to strike.")
@click.option("--minutes", type=click.FloatRange(0), help="Try cases in the order that --seed draws, for so long.")
@click.option("--workload", "names", multiple=True, help="Only this workload; may be given again.")
@click.option("--workloads", "source", metavar="MODULE:ATTR", help="A dict of your own workloads, by name.")
@click.option("--app", metavar="MODULE:ATTR", help="A Registry: its workflows, as --start names them.")
@click.option("--start", "starts", multiple=True, metavar="NAME [JSON]", help="A workflow of --app, and its arguments.")
@click.option("--storage", metavar="URL", help="A store that does all that the bucket does, and must answer the same.")
@click.option("--backend", metavar="URL", help="A whole backend in the place of the bucket, with {run} in its URL.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of latencies, chance and the choice of cases.")
@click.option("--case", "line", metavar="LINE", help="Run one case again, as a finding names it, and tell its story.")
@click.option("--reads", is_flag=True, help="Tell of reads as well.")
def sim(
    budget: str,
    mode: str,
    minutes: float | None,
    names: tuple[str, ...],
    source: str | None,
    app: str | None,
    starts: tuple[str, ...],
    storage: str | None,
    backend: str | None,
    seed: int,
    line: str | None,
    reads: bool,
) -> None:
    """Run the engine on virtual time with a fault at every operation.

    Exit code 1 when something was violated; each finding prints one line
    that repeats it.
    """
    workloads = _application(app, starts) if app is not None else _workloads(source)
    unknown = [name for name in names if name not in workloads]
    if unknown:
        raise click.UsageError(f"there is no workload '{unknown[0]}'; known are {', '.join(sorted(workloads))}")
    if storage is not None and backend is not None:
        raise click.UsageError("--storage tries a store, --backend a whole backend; give one of them")
    store, opener = None if storage is None else open_store(storage), _opener(backend)
    if line is not None:
        _tell(line, workloads, store, opener, reads)
        return
    campaign = Campaign(workloads, seed, store, opener)
    cases = campaign.cases(mode, BUDGETS[budget], names)
    for finding in campaign.run(cases if minutes is None else campaign.drawn(cases, minutes, SystemWorld())):
        if finding is not None:
            click.echo(f"{finding.case}  {finding.problems[0]}")
    tried = ", ".join(f"{mode} {campaign.tried[mode]}" for mode in MODES)
    told = f"{campaign.runs} runs ({tried}), {campaign.operations} operations"
    click.echo(f"{told}, {len(campaign.findings)} with something violated")
    if campaign.findings:
        given = {"--workloads": (source,), "--app": (app,), "--start": starts}
        given |= {"--storage": (storage,), "--backend": (backend,)}
        options = [word for name, values in given.items() for value in values if value for word in (name, value)]
        smallest = shrink(campaign.findings[0].case, workloads, store=store, backend=opener)
        click.echo(f"tell the story of one: {shlex.join(['flowli', 'sim', *options, '--case', str(smallest)])}")
        sys.exit(1)


def _workloads(source: str | None) -> dict[str, Workload]:
    if source is None:
        return WORKLOADS
    found = _imported("--workloads", source)
    if not isinstance(found, dict) or not all(isinstance(one, Workload) for one in found.values()):
        raise click.UsageError(f"--workloads '{source}' is no dict of flowli.testing.sim.workload.Workload")
    return found


def _application(app: str, starts: tuple[str, ...]) -> dict[str, Workload]:
    found = _imported("--app", app)
    registry = found() if callable(found) else found
    if not isinstance(registry, Registry):
        raise click.UsageError(f"--app '{app}' is no Registry")
    if not starts:
        raise click.UsageError("--app needs --start NAME, or --start 'NAME [ARGUMENTS AS JSON]'")
    asked = []
    for start in starts:
        name, _, args = start.partition(" ")
        try:
            data = json.loads(args or "[]")
        except ValueError as error:
            raise click.UsageError(f"--start '{start}': the arguments are no JSON: {error}") from None
        asked.append((name, data if isinstance(data, list) else [data]))
    workload = application_workload(registry, asked)
    return {workload.name: workload}


def _opener(url: str | None) -> OpenBackend | None:
    if url is None:
        return None
    if "{run}" not in url:
        raise click.UsageError(
            f"--backend '{url}' needs {{run}} where each run has something new: rows:./try/{{run}}.db"
        )
    return lambda world, run: open_backend(url.replace("{run}", run), world=world)


def _imported(option: str, target: str) -> object:
    module, _, attribute = target.partition(":")
    sys.path.insert(0, "")
    try:
        found: object = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise click.UsageError(f"{option} '{target}' cannot be imported: {error}") from None
    finally:
        sys.path.remove("")
    return found


def _tell(
    line: str,
    workloads: Mapping[str, Workload],
    store: ObjectStore | None,
    backend: OpenBackend | None,
    reads: bool,
) -> None:
    try:
        case = Case.parse(line)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    outcome, cluster = run_case(case, workloads, store=store, backend=backend)
    click.echo(story(cluster, outcome.problems or ["nothing was violated"], reads=reads))
    if outcome.problems:
        sys.exit(1)
