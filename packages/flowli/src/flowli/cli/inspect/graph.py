"""``flowli graph``: what an execution did as nodes and edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from flowli.cli.options import common
from flowli.cli.session import Session, run
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.cli.render.screen import Cell
    from flowli.runtime.insight import Graph

__all__ = ["graph"]


@click.command(cls=FlowliCommand)
@click.argument("eid", metavar="EID")
@click.option("--mermaid", "drawn", is_flag=True, help="Print a Mermaid flowchart, for Markdown and its viewers.")
@common()
def graph(eid: str, drawn: bool) -> None:
    """Show what the execution EID did as nodes and edges, inferred from its journal.

    EID may be an unambiguous prefix. An edge leads from a frame to each one that the code made next, knowing its
    outcome; `-->` is a way that was gone, `-.->` one that is open.
    """

    async def body(session: Session) -> None:
        from flowli.runtime.insight import mermaid

        found = await session.engine.graph(await session.eid(eid))
        if session.screen.json_wanted:
            session.screen.json(found.to_data())
        elif drawn:
            click.echo(mermaid(found), nl=False)
        else:
            _print(session, found)

    run(body)


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
