"""Execution ids as people type them: whole, or a prefix that fits one execution only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flowli.cli.exits import CommandFailed, ExitCode
from flowli.domain.ids import Eid, parse_eid

if TYPE_CHECKING:
    from flowli.cli.index import Index
    from flowli.timestamp import Timestamp

__all__ = ["resolve", "whole"]

_WHOLE = 36
_PREFIX = re.compile(r"[0-9a-f-]{1,35}", re.ASCII)
_SHOWN = 5
_NEWEST = 1000


def whole(text: str) -> Eid | None:
    """The execution that ``text`` names, or None if it may be the beginning of an id.

    Raises:
        InvalidName: it cannot even be that.
    """
    return parse_eid(text) if len(text) >= _WHOLE or not _PREFIX.fullmatch(text.lower()) else None


async def resolve(index: Index, text: str, now: Timestamp) -> Eid:
    """The execution that ``text`` names. Whether one that is named whole exists is for the engine to say.

    Raises:
        CommandFailed: a prefix that fits none or several; the near ids are listed.
        InvalidName: ``text`` cannot begin an id.
    """
    named = whole(text)
    if named is not None:
        return named
    from flowli.cli.filters import Chosen

    prefix = text.lower()
    found = await index.beginning_with(prefix, limit=_SHOWN + 1)
    if len(found) == 1:
        return found[0].eid
    if not found:
        newest = await index.rows(Chosen(), now, limit=_NEWEST)
        near = _near([str(row.eid) for row in newest.rows], prefix)
        hint = f"; the nearest are {', '.join(near)}" if near else "; `flowli list` shows those that exist"
        raise CommandFailed(f"no execution begins with {text!r}{hint}", ExitCode.REFUSED, "UnknownExecution")
    ids = ", ".join(str(row.eid) for row in found[:_SHOWN])
    more = " and others" if len(found) > _SHOWN else ""
    raise CommandFailed(f"{text!r} fits {ids}{more}; type more of it", ExitCode.REFUSED, "AmbiguousId")


def _near(ids: list[str], prefix: str) -> list[str]:
    """Up to three ids that share the longest beginning with ``prefix``, or end with what was typed."""

    def common(one: str) -> int:
        return next((n for n, (a, b) in enumerate(zip(one, prefix, strict=False)) if a != b), len(prefix))

    ending = [one for one in ids if one.endswith(prefix)]
    rest = sorted((one for one in ids if one not in ending and common(one) >= 2), key=common, reverse=True)
    return (ending + rest)[:3]
