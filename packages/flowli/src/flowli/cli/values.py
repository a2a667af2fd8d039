"""Values typed into a shell: ``--arg key=value``, ``--json``, durations."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flowli.domain.data import Data

__all__ = ["DURATION", "Duration", "json_value", "key_values"]

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhdw]?)", re.ASCII)


if TYPE_CHECKING:
    _DurationType = click.ParamType[timedelta]
else:  # older versions of click have no parameter there
    _DurationType = click.ParamType


class Duration(_DurationType):
    """A duration as people write it: ``90``, ``30s``, ``15m``, ``12h``, ``7d``, ``2w``, ``1h30m``."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """Read one."""
        if isinstance(value, timedelta):
            return value
        text = str(value).strip().lower()
        parts = _DURATION.findall(text)
        if (
            not parts
            or "".join(number + unit for number, unit in parts) != text
            or (len(parts) > 1 and not parts[0][1])
        ):
            self.fail(f"{value!r} is not a duration; write for example 90, 30s, 15m, 12h or 7d", param, ctx)
        try:
            return timedelta(seconds=sum(float(number) * _UNITS[unit or "s"] for number, unit in parts))
        except OverflowError:
            self.fail(f"{value!r} is too long", param, ctx)


DURATION = Duration()


def json_value(option: str, text: str) -> Data:
    """Read JSON from an option: the text itself, ``@file``, or ``-`` for standard input.

    Raises:
        click.BadParameter: it cannot be read or is no JSON; says where.
    """
    source = "standard input" if text == "-" else text[1:] if text.startswith("@") else option
    try:
        if text == "-":
            text = sys.stdin.read()
        elif text.startswith("@"):
            text = Path(source).read_text(encoding="utf-8")
        value: Data = json.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        problem = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise click.BadParameter(f"{source} cannot be read: {problem}", param_hint=option) from None
    except (json.JSONDecodeError, RecursionError) as error:
        where = (
            f"{error.msg} at line {error.lineno} column {error.colno}" if isinstance(error, ValueError) else "too deep"
        )
        hint = "" if source != option else "; put it in single quotes, or use @file or - for standard input"
        raise click.BadParameter(f"{source} is not JSON: {where}{hint}", param_hint=option) from None
    return value


def key_values(pairs: Iterable[str], texts: Iterable[str] = ()) -> dict[str, Data]:
    """Read ``key=value`` pairs. A value that is JSON is taken as JSON, anything else as text.

    Args:
        pairs: as typed.
        texts: the keys whose values are text whatever they look like.

    Raises:
        click.BadParameter: a pair without ``=`` or without key, or a key that stands twice.
    """
    verbatim = frozenset(texts)
    found: dict[str, Data] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{pair!r} is not of the form key=value", param_hint="--arg")
        if key in found:
            raise click.BadParameter(f"{key!r} is given twice", param_hint="--arg")
        found[key] = text if key in verbatim else _loose(text)
    return found


def _loose(text: str) -> Data:
    try:
        value: Data = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value
