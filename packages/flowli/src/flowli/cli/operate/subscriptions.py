"""``flowli subscriptions``: who is told of changes outside, how far behind they are, what could not be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from flowli.cli.jobs.stopping import draining
from flowli.cli.options import common, engine_options
from flowli.cli.session import Session, operator, run
from flowli.cli.shell import FlowliCommand, FlowliParts

if TYPE_CHECKING:
    from flowli.cli.render.screen import Cell
    from flowli.domain.data import Data
    from flowli.runtime.observe.listing import SubscriptionView
    from flowli.runtime.observe.subscription import Handler

__all__ = ["subscriptions"]


@click.group(cls=FlowliParts, invoke_without_command=True)
@common()
@click.pass_context
def subscriptions(context: click.Context) -> None:
    """List the subscriptions: who delivers, how far behind, what was put among the dead letters."""
    if context.invoked_subcommand is None:
        run(_list)


@subscriptions.command("list", cls=FlowliCommand, under="subscriptions")
@common()
def list_all() -> None:
    """List the subscriptions."""
    run(_list)


@subscriptions.command("run", cls=FlowliCommand, under="subscriptions")
@click.argument("name", metavar="NAME")
@click.option("--url", metavar="URL", help="Where each change is posted, as a CloudEvent.")
@click.option("--secret", metavar="TEXT", help="Signs each request; better set in the environment.")
@click.option("--sink", metavar="URL", help="In place of --url: a sink of a plugin, such as sql:sqlite:///host.db.")
@click.option("--change", "changes", multiple=True, metavar="CHANGE", help="Only this change; repeatable.")
@click.option("--workflow", "workflows", multiple=True, metavar="NAME", help="Only of this workflow; repeatable.")
@click.option("--once", is_flag=True, help="Deliver what there is now, and exit.")
@engine_options
@common()
def run_one(
    name: str,
    url: str | None,
    secret: str | None,
    sink: str | None,
    changes: tuple[str, ...],
    workflows: tuple[str, ...],
    once: bool,
) -> None:
    """Give every change of an execution to a webhook or a sink, at least once and in order per execution.

    Any number of processes may run one NAME: one delivers at a time, another one follows it. It needs no --app.
    """

    async def body(session: Session) -> None:
        from flowli.runtime.observe.events import Change
        from flowli.runtime.observe.subscription import Subscription

        wanted = [_change(one, [known.value for known in Change]) for one in changes]
        subscription = Subscription(
            name,
            _handler(url, secret, sink, source=session.storage or "/flowli"),
            changes=[Change(one) for one in wanted] or None,
            workflows=workflows or None,
            ttl_s=session.engine.config.task_ttl_s,
        )
        await session.check_bucket()
        if once:
            _delivered(session, name, await subscription.deliver(session.engine))
            return
        with draining(subscription.stop, session.engine.config.grace_s):
            await subscription.run(session.engine)

    run(body, log="info")


@subscriptions.command("rm", cls=FlowliCommand, under="subscriptions")
@click.argument("name", metavar="NAME")
@common()
def remove(name: str) -> None:
    """Forget NAME and how far it is. Run again, it begins at the beginning."""

    async def body(session: Session) -> None:
        from flowli.domain.provenance import Provenance
        from flowli.runtime.observe.listing import remove_subscription

        services = session.engine.services
        await remove_subscription(services, name, Provenance(operator(), services.site, services.world.now()))
        if session.screen.json_wanted:
            session.screen.json({"name": name, "removed": True})
        else:
            session.screen.line(f"{name}  removed")

    run(body)


def _handler(url: str | None, secret: str | None, sink: str | None, *, source: str) -> Handler:
    from flowli.cli.exits import CommandFailed, ExitCode
    from flowli.runtime.observe.sinks import Published, open_sink
    from flowli.runtime.observe.webhook import Webhook

    if (url is None) == (sink is None):
        raise CommandFailed("changes go to one place; give either --url or --sink.", ExitCode.USAGE)
    if sink is not None:
        return Published(open_sink(sink), source=source)
    if url is None or secret is None:
        raise CommandFailed("a webhook needs a --secret; set FLOWLI_SUBSCRIPTIONS_RUN_SECRET.", ExitCode.USAGE)
    return Webhook(url, secret, source=source)


def _change(text: str, known: list[str]) -> str:
    from flowli._suggest import near
    from flowli.cli.exits import CommandFailed, ExitCode

    if text not in known:
        raise CommandFailed(f"there is no change {text!r}{near(text, known) or '.'}", ExitCode.USAGE)
    return text


def _delivered(session: Session, name: str, delivered: int | None) -> None:
    if session.screen.json_wanted:
        session.screen.json({"name": name, "delivered": delivered})
    elif delivered is None:
        session.screen.line(f"{name}  another process delivers")
    else:
        session.screen.line(f"{name}  {delivered} delivered")


async def _list(session: Session) -> None:
    from flowli.runtime.observe.listing import list_subscriptions

    found = await list_subscriptions(session.engine.services)
    if session.screen.json_wanted:
        session.screen.json([_data(one) for one in found])
    elif not found:
        session.screen.note("flowli: there is no subscription")
    else:
        rows: list[list[Cell]] = [
            [
                one.name,
                one.holder or "-",
                str(one.done),
                str(one.behind),
                (str(len(one.dead)), "red" if one.dead else ""),
            ]
            for one in found
        ]
        session.screen.table(("SUBSCRIPTION", "DELIVERED BY", "DONE UP TO", "BEHIND", "DEAD"), rows)


def _data(one: SubscriptionView) -> dict[str, Data]:
    dead: list[Data] = [dict(letter) for letter in one.dead]
    return {"name": one.name, "holder": one.holder, "done": one.done, "behind": one.behind, "dead": dead}
