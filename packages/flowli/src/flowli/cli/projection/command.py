"""``flowli projection``: the view of the control log that lists are read from, and its snapshot in the bucket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from flowli.cli.exits import CommandFailed, ExitCode
from flowli.cli.options import common
from flowli.cli.session import Session, run
from flowli.cli.shell import FlowliCommand, FlowliParts

if TYPE_CHECKING:
    from flowli.adapters.projection import WrittenSnapshot
    from flowli.domain.data import Data

__all__ = ["projection", "written"]


@click.group(cls=FlowliParts)
def projection() -> None:
    """The view of the control log that lists are read from.

    It is a small file in the cache of the user, brought up to date by each command that needs it.
    """


@projection.command(cls=FlowliCommand, under="projection")
@common()
def snapshot() -> None:
    """Put a snapshot of the whole control log into the bucket, so that a new file need not fold it from the start.

    `flowli retention` does the same whenever the log has grown by a quarter, and by 20,000 entries at least.
    """

    async def body(session: Session) -> None:
        from flowli.adapters.projection import write_snapshot

        made = await write_snapshot(session.engine.ports.control, world=session.engine.world)
        if made is None:
            raise CommandFailed(
                "this bucket keeps no snapshot: its control log is empty, or its backend has none",
                ExitCode.REFUSED,
                "NoSnapshot",
            )
        written(session, made)

    run(body)


@projection.command(cls=FlowliCommand, under="projection")
@common()
def rebuild() -> None:
    """Throw this user's file away and fold the control log from its start, without the snapshot."""

    async def body(session: Session) -> None:
        from flowli.cli.index import opened
        from flowli.cli.render.progress import spinner

        async with opened(session) as index:
            entries = 0
            if index.projection is not None:
                with spinner(session.screen, "Folding the control log"):
                    entries = (await index.projection.rebuild()).seq
        if session.screen.json_wanted:
            session.screen.json({"entries": entries})
        else:
            session.screen.line(f"{entries:,} entries folded")

    run(body)


def written(session: Session, made: WrittenSnapshot) -> None:
    """Print what was put into the bucket."""
    if session.screen.json_wanted:
        seq, commit = made.position.seq, made.position.commit
        told: dict[str, Data] = {
            "entries": seq,
            "commits": commit,
            "parts": made.parts,
            "bytes": made.size,
            "kept": made.kept,
        }
        session.screen.json(told)
        return
    if made.kept:
        state = "in the bucket; a new file begins with it"
    else:
        state = "not kept: the one that is there reaches as far, or an execution was erased meanwhile"
    session.screen.fields(
        [
            ("entries", f"{made.position.seq:,} in {made.position.commit:,} commits"),
            ("size", f"{made.size:,} bytes in {made.parts} part{'s' if made.parts > 1 else ''}"),
            ("state", state),
        ]
    )
