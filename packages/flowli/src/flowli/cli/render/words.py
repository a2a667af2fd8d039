"""Instants, durations, waits, statuses and values as people read them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import timedelta
from typing import assert_never

from flowli.cli.render.screen import Cell
from flowli.domain.data import Data
from flowli.domain.errors import ErrorInfo
from flowli.domain.ids import Eid
from flowli.domain.provenance import Actor
from flowli.domain.waits import On, OnChannel, OnChild, OnOperator, OnStep, OnTimer
from flowli.timestamp import Timestamp

__all__ = [
    "actor",
    "ago",
    "brief",
    "brief_error",
    "duration",
    "error",
    "instant",
    "on",
    "prefixes",
    "short",
    "status",
    "waits",
]

_PREFIX = 13

_STYLES = {
    "completed": "green",
    "failed": "bold red",
    "cancelled": "yellow",
    "suspended": "cyan",
    "waiting": "cyan",
    "running": "blue",
    "pending": "dim",
}

_STEP_FAILED = re.compile(r"step root/(\S+) failed after \d+ attempts?: (.+)", re.DOTALL)


def status(name: str) -> Cell:
    """A status in its colour."""
    return (name, _STYLES.get(name, ""))


def instant(at: Timestamp | None) -> str:
    """``2026-01-31T23:59:59Z``; ``-`` for none."""
    return "-" if at is None else f"{str(at)[:19]}Z"


def duration(delta: timedelta) -> str:
    """The two greatest units that count: ``0.6ms``, ``21ms``, ``1.25s``, ``42s``, ``3m 20s``, ``2h 5m``, ``4d 3h``."""
    seconds = max(0.0, delta.total_seconds())
    if seconds < 0.00995:
        return f"{seconds * 1000:.1f}ms"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 9.995:
        return f"{seconds:.2f}s"
    if seconds < 59.5:
        return f"{seconds:.0f}s"
    parts: list[str] = []
    rest = round(seconds)
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)):
        amount, rest = divmod(rest, size)
        if amount or parts:
            parts.append(f"{amount}{unit}")
    return " ".join(part for part in parts[:2] if not part.startswith("0"))


def ago(at: Timestamp, now: Timestamp) -> str:
    """How long before ``now``."""
    return f"{duration(now - at)} ago"


def on(wait: On, now: Timestamp | None = None) -> str:
    """What something waits on; ``now`` adds how far away a timer is."""
    match wait:
        case OnChannel(channel):
            eid, dot, name = channel.partition(".")
            return f"a message on channel {name if dot else eid}"
        case OnTimer(due_at):
            if now is None:
                return f"timer {instant(due_at)}"
            late = due_at <= now
            return f"timer {instant(due_at)} ({'due since ' if late else 'in '}{duration(_distance(due_at, now))})"
        case OnChild(eid):
            return f"child {eid}"
        case OnStep(fid, attempt):
            return f"step {fid} attempt {attempt} in another worker"
        case OnOperator(cause, reason):
            return f"an operator: {cause}" + (f" ({reason})" if reason else "")
        case _:
            assert_never(wait)


def brief(wait: On, now: Timestamp) -> str:
    """What something waits on, where there is little room: what tells it from others comes first."""
    match wait:
        case OnChannel(channel):
            return f"channel {channel.partition('.')[2] or channel}"
        case OnTimer(due_at):
            return f"timer {'due since' if due_at <= now else 'in'} {duration(_distance(due_at, now))}"
        case OnStep(fid):
            return f"step {fid.removeprefix('root/')} in another worker"
        case _:
            return on(wait, now)


def brief_error(found: ErrorInfo) -> str:
    """An error on one line; of a step that failed, the step and its last error."""
    step = _STEP_FAILED.fullmatch(found.message)
    return " ".join(f"{step[1]}: {step[2]}".split()) if step else error(found)


def waits(on_these: Iterable[On], others: int) -> str:
    """What an execution waits on, of which ``others`` are not named."""
    return "waits on " + ", ".join(map(on, on_these)) + (f" and {others} more" if others else "")


def error(found: ErrorInfo) -> str:
    """An error on one line, its class without the module."""
    name = found.type.rpartition(".")[2]
    return " ".join(f"{name}: {found.message}".split()) if found.message else name


def actor(who: Actor) -> str:
    """Who acted."""
    behalf = f" on behalf of {who.on_behalf_of}" if who.on_behalf_of else ""
    return f"{who.kind.value} {who.id}{behalf}"


def prefixes(ids: Iterable[Eid]) -> dict[Eid, str]:
    """For each id a beginning that tells it from the others, where a line has no room for the whole."""
    whole = sorted({str(eid): eid for eid in ids}.items())
    found: dict[Eid, str] = {}
    for number, (text, eid) in enumerate(whole):
        near = [other for other, _ in whole[max(0, number - 1) : number + 2] if other != text]
        shared = max((_shared(text, other) for other in near), default=0)
        found[eid] = text[: max(_PREFIX, shared + 1)]
    return found


def short(value: Data, limit: int = 120) -> str:
    """A value as JSON on one line, cut after ``limit`` characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _shared(one: str, other: str) -> int:
    """How many characters two ids have in common at their beginning."""
    return next(n for n, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)


def _distance(one: Timestamp, other: Timestamp) -> timedelta:
    return one - other if one >= other else other - one
