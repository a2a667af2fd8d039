"""``flowli graph``: what an execution did as nodes and edges; or what all of a workflow did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from flowli.cli.exits import CommandFailed, ExitCode
from flowli.cli.options import common
from flowli.cli.session import Session, run
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.cli.render.screen import Cell
    from flowli.runtime.insight import Graph, Shape

__all__ = ["graph"]


@click.command(cls=FlowliCommand)
@click.argument("eid", metavar="[EID]", required=False)
@click.option("--workflow", metavar="NAME", help="Instead: what the recorded executions of this workflow did.")
@click.option("--of-version", metavar="VERSION", help="With --workflow: only those that ran this version.")
@click.option(
    "--newest",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    metavar="N",
    help="With --workflow: read at most so many executions.",
)
@click.option("--mermaid", "drawn", is_flag=True, help="Print a Mermaid flowchart, for Markdown and its viewers.")
@common()
def graph(eid: str | None, workflow: str | None, of_version: str | None, newest: int, drawn: bool) -> None:
    """Show what the execution EID did as nodes and edges, inferred from its journal.

    EID may be an unambiguous prefix. An edge leads from a frame to each one that the code made next, knowing its
    outcome; `-->` is a way that was gone, `-.->` one that is open.

    With --workflow NAME the newest recorded executions of it are laid over each other: a node is all frames of one
    name, and each way says how often it was gone.
    """
    if (eid is None) == (workflow is None):
        raise CommandFailed("name an execution, or a workflow by --workflow", ExitCode.USAGE, "NoTarget")

    async def body(session: Session) -> None:
        from flowli.runtime.insight import mermaid

        if eid is None:
            assert workflow is not None
            _print_shape(session, await _shape(session, workflow, of_version, newest), drawn=drawn)
            return
        found = await session.engine.graph(await session.eid(eid))
        if session.screen.json_wanted:
            session.screen.json(found.to_data())
        elif drawn:
            click.echo(mermaid(found), nl=False)
        else:
            _print(session, found)

    run(body)


async def _shape(session: Session, workflow: str, version: str | None, newest: int) -> Shape:
    from flowli.cli.filters import Chosen
    from flowli.cli.index import opened
    from flowli.domain.execution import ExecutionStatus
    from flowli.runtime.insight import shape

    engine = session.engine
    async with opened(session) as index:
        chosen = Chosen(workflow=workflow, of_version=version)
        page = await index.rows(chosen, engine.world.now(), limit=newest)
    begun = [row for row in page.rows if not row.erased and row.status is not ExecutionStatus.PENDING]
    if not begun:
        message = f"nothing that workflow {workflow!r} did is recorded; `flowli list` shows what there is"
        raise CommandFailed(message, ExitCode.REFUSED, "NoExecution")
    # the oldest first, so that the nodes come in the order in which the code first made them
    return shape(workflow, [await engine.graph(row.eid) for row in reversed(begun)])


def _print_shape(session: Session, found: Shape, *, drawn: bool) -> None:
    from flowli.runtime.insight import shape_mermaid

    if session.screen.json_wanted:
        session.screen.json(found.to_data())
        return
    if drawn:
        click.echo(shape_mermaid(found), nl=False)
        return
    after: dict[str, list[str]] = {}
    for edge in found.edges:
        after.setdefault(edge.source, []).append(f"--> {edge.target} x{edge.times}")
    rows: list[list[Cell]] = [
        [
            found.workflow if node.kind == "start" else node.id,
            node.kind,
            str(node.executions),
            str(node.times),
            ", ".join(f"{many} {status}" for status, many in node.statuses.items()),
            "  ".join(after.get(node.id, [])),
        ]
        for node in found.nodes
    ]
    session.screen.table(("NODE", "KIND", "IN", "FRAMES", "STATUS", "NEXT"), rows)


def _print(session: Session, found: Graph) -> None:
    from flowli.cli.render import words

    after: dict[str, list[str]] = {}
    labels = {node.id: node.label or node.id for node in found.nodes}
    for edge in found.edges:
        arrow = "-->" if edge.status.value == "selected" else "-.->"
        after.setdefault(edge.source, []).append(f"{arrow} {labels[edge.target]}")
    rows: list[list[Cell]] = [
        [
            ("* " if node.current else "  ") + labels[node.id],
            node.kind,
            words.status(node.status.value),
            "  ".join(after.get(node.id, [])),
        ]
        for node in found.nodes
    ]
    session.screen.table(("NODE", "KIND", "STATUS", "NEXT"), rows)
