"""The options that choose executions: those of ``flowli list``, and of every verb that acts on many at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

import click

from flowli.cli.values import DURATION, key_values

if TYPE_CHECKING:
    from flowli.domain.data import Scalar
    from flowli.timestamp import Timestamp

    _MomentType = click.ParamType["datetime | timedelta"]
else:  # older versions of click have no parameter there
    _MomentType = click.ParamType

__all__ = ["MOMENT", "STATUSES", "Chosen", "filters"]

STATUSES = ("pending", "running", "suspended", "completed", "failed", "cancelled")

F = TypeVar("F", bound=Callable[..., object])

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class Moment(_MomentType):
    """An instant as people write it: ``2026-01-31``, ``2026-01-31T12:00``, or how long ago: ``2h``."""

    name = "moment"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime | timedelta:
        """Read one; an instant without a zone is UTC."""
        if isinstance(value, datetime | timedelta):
            return value
        text = str(value).strip()
        if not _DAY.match(text):
            return DURATION.convert(text, param, ctx)
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            self.fail(f"{text!r} is no instant; write for example 2026-01-31, 2026-01-31T12:00Z or 2h", param, ctx)
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


MOMENT = Moment()


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which executions; what is not given is None or empty."""

    statuses: tuple[str, ...] = ()
    workflow: str | None = None
    of_version: str | None = None
    of_queue: str | None = None
    of_key: str | None = None
    attributes: tuple[str, ...] = ()
    created_after: datetime | timedelta | None = None
    created_before: datetime | timedelta | None = None
    updated_after: datetime | timedelta | None = None
    updated_before: datetime | timedelta | None = None
    waiting_on: str | None = None
    text: str | None = None
    parent: str | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing was chosen."""
        return self == Chosen()

    def instant(self, name: str, now: Timestamp) -> Timestamp | None:
        """One of the instants; a duration counts back from ``now``."""
        from flowli.timestamp import Timestamp

        found = getattr(self, name)
        if isinstance(found, timedelta):
            return now + -found
        return None if found is None else Timestamp.from_datetime(found)

    def scalars(self) -> dict[str, Scalar]:
        """The attributes with their values.

        Raises:
            click.BadParameter: one is not ``NAME=VALUE``, or its value is no scalar.
        """
        found: dict[str, Scalar] = {}
        for name, value in key_values(self.attributes).items():
            if isinstance(value, list | dict):
                raise click.BadParameter(f"the value of {name!r} is no scalar", param_hint="--attribute")
            found[name] = value
        return found


def filters(function: F) -> F:
    """Add the options that choose executions; the command takes them as one argument ``chosen``."""
    options = (
        click.option(
            "--status",
            "statuses",
            multiple=True,
            type=click.Choice(STATUSES),
            metavar="STATUS",
            help="pending, running, suspended, completed, failed or cancelled; repeatable.",
        ),
        click.option("--workflow", metavar="NAME", help="Only executions of this workflow."),
        click.option("--of-version", metavar="VERSION", help="Only executions that run this version."),
        click.option("--of-queue", metavar="QUEUE", help="Only executions of this queue."),
        click.option("--of-key", metavar="KEY", help="Only the one started under this business key."),
        click.option(
            "--attribute",
            "attributes",
            multiple=True,
            metavar="NAME=VALUE",
            help="Only with this attribute; repeatable.",
        ),
        click.option(
            "--created-after", type=MOMENT, metavar="MOMENT", help="2026-01-31, 2026-01-31T12:00Z, or 2h ago."
        ),
        click.option("--created-before", type=MOMENT, metavar="MOMENT", help="Created before that instant."),
        click.option("--updated-after", type=MOMENT, metavar="MOMENT", help="Changed after that instant."),
        click.option("--updated-before", type=MOMENT, metavar="MOMENT", help="Not changed since that instant."),
        click.option(
            "--waiting-on",
            metavar="WHAT",
            help="channel, timer, child, step, operator, or a name: channel:approval, paused.",
        ),
        click.option("--parent", metavar="EID", help="Only the children of this execution; a prefix will do."),
        click.option("--text", metavar="TEXT", help="Part of the id, workflow, key, reason, error or an attribute."),
    )
    decorated = _collected(function)
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def _collected(function: F) -> F:
    from functools import wraps

    names = tuple(Chosen.__dataclass_fields__)

    @wraps(function)
    def call(*args: object, **kwargs: object) -> object:
        given = {name: kwargs.pop(name) for name in names if name in kwargs}
        return function(*args, chosen=Chosen(**given), **kwargs)  # type: ignore[arg-type]

    return call  # type: ignore[return-value]
