"""``flowli schedules``: define, pause and look at schedules, and start what they would start."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from flowli.cli.options import common
from flowli.cli.session import Session, operator, run
from flowli.cli.shell import FlowliCommand
from flowli.cli.values import json_value, key_values
from flowli_patterns.schedule.shown import view_data

if TYPE_CHECKING:
    from flowli.domain.data import Data
    from flowli_patterns.schedule.verbs import Schedules, ScheduleView
    from flowli_patterns.schedule.when import When

__all__ = ["schedules"]

_INSTANT = "an instant with its zone, such as 2026-01-31T23:59:59Z"


@click.group()
def schedules() -> None:
    """Define, pause and look at schedules.

    Sweepers start what is due, each slot once in the whole fleet. What is missed while none runs is made up for as the
    schedule says.
    """


def _instant(text: str | None, option: str) -> datetime | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is no instant; write {_INSTANT}", param_hint=option) from None
    if found.tzinfo is None:
        raise click.BadParameter(f"{text!r} has no zone; write {_INSTANT}", param_hint=option)
    return found.astimezone(UTC)


def _ask(act: Callable[[Session, Schedules], Awaitable[None]], *, starts: bool = False) -> None:
    async def body(session: Session) -> None:
        from flowli_patterns.schedule.verbs import Schedules

        await act(session, Schedules(session.engine))

    run(body, uses_app=starts)


def _show(session: Session, view: ScheduleView) -> None:
    if session.screen.json_wanted:
        session.screen.json(view_data(view))
        return
    screen, schedule = session.screen, view.schedule
    screen.line(f"{schedule.id}  {schedule.workflow}  {schedule.when}  {'paused' if schedule.paused else 'active'}")
    screen.line(f"  overlap {schedule.overlap}, catch up {schedule.catch_up} within {schedule.catch_up_window_s:g} s")
    if schedule.note:
        screen.line(f"  {schedule.note}")
    if view.left_out:
        screen.line(f"  left out {view.left_out} so far; the last reason: {view.why}")
    for one in view.runs:
        screen.line(f"  ran   {one.slot}  {one.eid}")
    for slot in view.next:
        screen.line(f"  next  {slot}")


@schedules.command("list", cls=FlowliCommand)
@common()
def list_(**_: object) -> None:
    """List all schedules with their next slot."""

    async def act(session: Session, verbs: Schedules) -> None:
        found = await verbs.list()
        if session.screen.json_wanted:
            session.screen.json([view_data(view) for view in found])
        elif found:
            rows = [
                [
                    view.schedule.id,
                    view.schedule.workflow,
                    str(view.schedule.when),
                    "paused" if view.schedule.paused else str(view.next[0]) if view.next else "none any more",
                    str(view.runs[-1].slot) if view.runs else "-",
                ]
                for view in found
            ]
            session.screen.table(("SCHEDULE", "WORKFLOW", "WHEN", "NEXT", "LAST"), rows)
        else:
            session.screen.note("flowli: no schedule is defined; `flowli schedules add` defines one")

    _ask(act)


@schedules.command("show", cls=FlowliCommand)
@click.argument("name", metavar="SCHEDULE")
@click.option("--slots", type=click.IntRange(1, 1000), default=5, show_default=True, help="How many coming slots.")
@common()
def show(name: str, slots: int) -> None:
    """Show one schedule: its policies, what it started, what comes next."""

    async def act(session: Session, verbs: Schedules) -> None:
        _show(session, await verbs.get(name, slots=slots))

    _ask(act)


_POLICIES = (
    click.option(
        "--overlap",
        type=click.Choice(["skip", "queue", "cancel_previous", "allow"]),
        metavar="POLICY",
        help="While an earlier run goes on: skip (default), queue, cancel_previous or allow.",
    ),
    click.option(
        "--catch-up",
        type=click.Choice(["skip", "last", "all"]),
        metavar="POLICY",
        help="What was missed: skip, last (default) or all.",
    ),
    click.option(
        "--catch-up-window",
        "catch_up_window_s",
        type=click.FloatRange(0),
        metavar="SECONDS",
        help="Never make up for older slots; a day by default.",
    ),
    click.option("--catch-up-limit", type=click.IntRange(1), metavar="N", help="Make up for so many; 100 by default."),
    click.option("--jitter", "jitter_s", type=click.FloatRange(0), metavar="SECONDS", help="Start up to so late."),
    click.option("--queue", metavar="NAME", help="Where the executions go; the workflow's own queue by default."),
    click.option("--note", metavar="TEXT", help="For people."),
)


def _policies(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_POLICIES):
        command = option(command)
    return command


def _given(options: dict[str, Any]) -> dict[str, Any]:
    from flowli_patterns.schedule.model import CatchUp, Overlap

    given = {name: value for name, value in options.items() if value is not None}
    if "overlap" in given:
        given["overlap"] = Overlap(given["overlap"])
    if "catch_up" in given:
        given["catch_up"] = CatchUp(given["catch_up"])
    return given


def _when(cron: str | None, zone: str, every: float | None, at: tuple[str, ...], ticks: bool) -> When:
    from flowli_patterns.schedule.when import At, Cron, Every, Ticks

    if sum((cron is not None, every is not None, bool(at), ticks)) != 1:
        raise click.UsageError("say when: one of --cron, --every, --at and --ticks")
    if cron is not None:
        return Cron(cron, zone)
    if every is not None:
        return Every(every)
    if ticks:
        return Ticks()
    return At(tuple(sorted(found for text in at if (found := _instant(text, "--at")) is not None)))


@schedules.command("add", cls=FlowliCommand)
@click.argument("name", metavar="SCHEDULE")
@click.argument("workflow", metavar="WORKFLOW")
@click.option("--cron", metavar="EXPRESSION", help="Five fields, or @daily and its like.")
@click.option("--zone", default="UTC", show_default=True, metavar="ZONE", help="Time zone of --cron.")
@click.option("--every", type=click.FloatRange(1), metavar="SECONDS", help="A fixed distance.")
@click.option("--at", multiple=True, metavar="INSTANT", help="A single instant; repeatable.")
@click.option("--ticks", is_flag=True, help="An external scheduler delivers each tick.")
@click.option("--arg", "pairs", multiple=True, metavar="KEY=VALUE", help="One argument of the workflow; repeatable.")
@click.option("--args", "data", metavar="JSON", help="All arguments: a JSON object, @file, or - for standard input.")
@click.option("--slot-argument", metavar="KEY", help="The parameter that is given the slot.")
@click.option("--version", "version", metavar="V", help="Of the workflow; needed if the application is not given.")
@_policies
@common()
def add(
    name: str,
    workflow: str,
    cron: str | None,
    zone: str,
    every: float | None,
    at: tuple[str, ...],
    ticks: bool,
    pairs: tuple[str, ...],
    data: str | None,
    slot_argument: str | None,
    version: str | None,
    **policies: Any,
) -> None:
    """Define the schedule SCHEDULE, which starts WORKFLOW.

    \b
    flowli schedules add nightly close_books --cron @daily --zone Europe/Rome
    flowli schedules add poll fetch_mail --every 300 --arg box=inbox
    """
    if data is not None and pairs:
        raise click.UsageError("--args and --arg both give the arguments; use one of them")
    arguments = json_value("--args", data) if data is not None else key_values(pairs)
    if not isinstance(arguments, dict):
        raise click.BadParameter("write an object with the arguments", param_hint="--args")

    async def act(session: Session, verbs: Schedules) -> None:
        when = _when(cron, zone, every, at, ticks)
        options = _given({**policies, "slot_argument": slot_argument, "version": version})
        _show(session, await verbs.add(name, workflow, when, actor=operator(), kwargs=arguments, **options))

    _ask(act, starts=True)


@schedules.command("update", cls=FlowliCommand)
@click.argument("name", metavar="SCHEDULE")
@click.option("--cron", metavar="EXPRESSION", help="Another expression.")
@click.option("--zone", default="UTC", show_default=True, metavar="ZONE", help="Time zone of --cron.")
@click.option("--every", type=click.FloatRange(1), metavar="SECONDS", help="Another distance.")
@_policies
@common()
def update(name: str, cron: str | None, zone: str, every: float | None, **policies: Any) -> None:
    """Change a schedule. Slots until now are past; the new definition begins to count now."""

    async def act(session: Session, verbs: Schedules) -> None:
        changes = _given(policies)
        if cron is not None or every is not None:
            changes["when"] = _when(cron, zone, every, (), False)
        if not changes:
            raise click.UsageError("say what to change; `flowli schedules update --help` lists what can be")
        _show(session, await verbs.update(name, actor=operator(), **changes))

    _ask(act)


@schedules.command("pause", cls=FlowliCommand)
@click.argument("name", metavar="SCHEDULE")
@click.option("--reason", default="", metavar="TEXT", help="Why; it is recorded.")
@common()
def pause(name: str, reason: str) -> None:
    """Start nothing until it is resumed; what becomes due meanwhile is not made up for."""

    async def act(session: Session, verbs: Schedules) -> None:
        _show(session, await verbs.pause(name, reason, actor=operator()))

    _ask(act)


@schedules.command("resume", cls=FlowliCommand)
@click.argument("name", metavar="SCHEDULE")
@click.option("--reason", default="", metavar="TEXT", help="Why; it is recorded.")
@common()
def resume(name: str, reason: str) -> None:
    """Go on with the next slot."""

    async def act(session: Session, verbs: Schedules) -> None:
        _show(session, await verbs.resume(name, reason, actor=operator()))

    _ask(act)


@schedules.command("run", cls=FlowliCommand)
@click.argument("name", metavar="SCHEDULE")
@click.option("--key", metavar="KEY", help="The same key starts one execution.")
@common()
def run_(name: str, key: str | None) -> None:
    """Start its workflow now, beside its slots; prints the execution id."""

    async def act(session: Session, verbs: Schedules) -> None:
        eid = await verbs.run(name, key=key, actor=operator())
        if session.screen.json_wanted:
            session.screen.json({"eid": str(eid)})
        else:
            session.screen.line(str(eid))

    _ask(act, starts=True)


@schedules.command("tick", cls=FlowliCommand)
@click.argument("name", metavar="SCHEDULE")
@click.option("--slot", metavar="INSTANT", required=True, help="The instant that the tick is for: its identity.")
@common()
def tick(name: str, slot: str) -> None:
    """Deliver a tick of an external scheduler; the same slot leads to the same execution."""

    async def act(session: Session, verbs: Schedules) -> None:
        eid = await verbs.tick(name, _instant(slot, "--slot"), actor=operator())
        if session.screen.json_wanted:
            session.screen.json({"eid": str(eid)})
        else:
            session.screen.line(str(eid))

    _ask(act, starts=True)


@schedules.command("backfill", cls=FlowliCommand)
@click.argument("name", metavar="SCHEDULE")
@click.option("--from", "start", required=True, metavar="INSTANT", help="The first instant.")
@click.option("--to", "end", required=True, metavar="INSTANT", help="The last instant; not in the future.")
@click.option("--limit", type=click.IntRange(1), default=1000, show_default=True, help="Refuse more slots than this.")
@click.option("--queue", metavar="NAME", help="Where these executions go.")
@click.option("--dry-run", is_flag=True, help="Only list the slots.")
@common()
def backfill(name: str, start: str, end: str, limit: int, queue: str | None, dry_run: bool) -> None:
    """Start the slots of a time that is past; those that were started before are not started again."""

    async def act(session: Session, verbs: Schedules) -> None:
        first, last = _instant(start, "--from"), _instant(end, "--to")
        assert first is not None
        assert last is not None
        found = await verbs.backfill(name, first, last, limit=limit, queue=queue, dry_run=dry_run)
        if session.screen.json_wanted:
            rows: list[Data] = [
                {"slot": str(one.slot), "eid": None if one.eid is None else str(one.eid)} for one in found
            ]
            session.screen.json(rows)
            return
        for one in found:
            session.screen.line(f"{one.slot}  {one.eid or 'would start'}")
        if not found:
            session.screen.note("flowli: the schedule has no slot there")

    _ask(act, starts=True)


@schedules.command("rm", cls=FlowliCommand)
@click.argument("name", metavar="SCHEDULE")
@click.option("--reason", default="", metavar="TEXT", help="Why; it is recorded.")
@common()
def rm(name: str, reason: str) -> None:
    """Remove a schedule; its executions stay."""

    async def act(session: Session, verbs: Schedules) -> None:
        await verbs.remove(name, reason, actor=operator())
        session.screen.note(f"flowli: schedule '{name}' is removed")

    _ask(act)
