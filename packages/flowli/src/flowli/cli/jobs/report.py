"""What one pass of a sweeper or of retention did, as lines or as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowli.cli.render.screen import Screen
    from flowli.domain.data import Data

__all__ = ["counts"]


def counts(screen: Screen, report: object) -> None:
    """Print each field of a report: a number as it is, a collection by its size and then its members."""
    assert is_dataclass(report)
    values = {one.name: _data(getattr(report, one.name)) for one in fields(report)}
    if screen.json_wanted:
        screen.json(values)
        return
    sizes = {name: len(value) if isinstance(value, list | dict) else value for name, value in values.items()}
    screen.fields([(name.replace("_", " "), str(size)) for name, size in sizes.items()])
    for name, value in values.items():
        for line in _members(value):
            screen.line(f"{name.replace('_', ' ')}: {line}")


def _members(value: Data) -> list[str]:
    if isinstance(value, dict):
        return [f"{key}: {one}" for key, one in value.items()]
    return [str(one) for one in value] if isinstance(value, list) else []


def _data(value: object) -> Data:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(key): _data(one) for key, one in value.items()}
        case Sequence() | AbstractSet():
            return [_data(one) for one in value]
        case _:
            return str(value)
