"""``flowli retention``."""

from __future__ import annotations

from datetime import timedelta

import click

from flowli.cli.jobs.report import counts
from flowli.cli.options import common
from flowli.cli.session import Session, run
from flowli.cli.shell import FlowliCommand
from flowli.cli.values import DURATION

__all__ = ["retention"]


@click.command(cls=FlowliCommand)
@click.option("--older-than", type=DURATION, required=True, help="Only executions that ended longer ago than this.")
@click.option("--workflow", metavar="NAME", help="Only executions of this workflow.")
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice(["completed", "failed", "cancelled"]),
    metavar="STATUS",
    help="Only those that ended completed, failed or cancelled; repeatable. All by default.",
)
@click.option("--dry-run", is_flag=True, help="Change nothing; print what would be done.")
@common()
def retention(older_than: timedelta, workflow: str | None, statuses: tuple[str, ...], dry_run: bool) -> None:
    """Fold finished executions into their archives, and delete what the archives hold.

    Runs once; call it from cron. `flowli journal` reads the archive afterwards. When the control log has grown by a
    quarter since the last one, it also puts a snapshot for `flowli list` and the like into the bucket.
    """

    async def body(session: Session) -> None:
        from flowli.domain.execution import ExecutionStatus

        wanted = tuple(ExecutionStatus(one) for one in statuses) or None
        folding = session.engine.retention(older_than, workflow=workflow, statuses=wanted, dry_run=dry_run)
        counts(session.screen, await folding.run_once())
        if not dry_run:
            await _snapshot(session, folding.position.seq)

    run(body, log="info")


async def _snapshot(session: Session, seq: int) -> None:
    from flowli.adapters.projection import snapshot_due, write_snapshot

    control = session.engine.ports.control
    if await snapshot_due(control, seq):
        made = await write_snapshot(control, world=session.engine.world)
        if made is not None and made.kept:
            session.screen.note(f"flowli: a snapshot of {made.position.seq:,} entries is in the bucket")
