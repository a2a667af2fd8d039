"""Hooks for values that take the form of one text or number, and for pydantic models."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, get_args, get_origin
from uuid import UUID

import orjson
from cattrs import Converter

from flowli.codec.containers import expect
from flowli.codec.hints import enum_by_value, is_model
from flowli.codec.plain import Refused
from flowli.timestamp import Timestamp

__all__ = ["register", "register_natives"]

_DURATION = re.compile(
    r"([-+]?)P(?=[\dT])(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,](\d{1,6}))?S)?)?", re.ASCII
)
_MICROSECOND = timedelta(microseconds=1)


def register(made: Converter) -> None:
    """Teach the scalars to a converter."""
    texts: dict[type, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
        datetime: (datetime.isoformat, datetime.fromisoformat),
        date: (date.isoformat, date.fromisoformat),
        time: (time.isoformat, time.fromisoformat),
        timedelta: (_duration, _parse_duration),
        UUID: (str, UUID),
        Decimal: (str, Decimal),
        bytes: (_base64, lambda text: base64.b64decode(text, validate=True)),
        Timestamp: (str, Timestamp.parse),
    }
    for cls, (dump, load) in texts.items():
        made.register_unstructure_hook(cls, _dumping(cls, dump))
        made.register_structure_hook(cls, _loading(cls, load))
    made.register_unstructure_hook(Enum, _dump_enum)
    made.register_structure_hook(Enum, _load_enum)
    made.register_unstructure_hook_factory(_is_literal, lambda _: _dump_literal)
    made.register_structure_hook_factory(_is_literal, _literal)
    made.register_unstructure_hook_factory(is_model, _dump_model)
    made.register_structure_hook_factory(is_model, _load_model)


def register_natives(made: Converter, load: Callable[[type], Callable[[Any, Any], Any]]) -> None:
    """Teach the classes that JSON has: cattrs looks these up before it asks predicates, for their subclasses too.

    Args:
        load: gives the hook of each class.
    """

    def loading(cls: type) -> Callable[[Any, Any], Any]:
        plain = load(cls)
        return lambda data, hint: _load_enum(data, hint) if issubclass(hint, Enum) else plain(data, hint)

    for cls in (bool, int, float, str):
        made.register_unstructure_hook(cls, lambda value: _dump_enum(value) if isinstance(value, Enum) else value)
        made.register_structure_hook(cls, loading(cls))


def _dumping(cls: type, dump: Callable[[Any], str]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        expect(value, cls, cls)
        return dump(value)

    return run


def _loading(cls: type, load: Callable[[str], Any]) -> Callable[[Any, Any], Any]:
    def run(data: Any, _: Any) -> Any:
        expect(data, str, cls)
        try:
            return load(data)
        except (ValueError, ArithmeticError):
            raise Refused(f"{data!r:.60} is no {cls.__name__}") from None

    return run


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _duration(value: timedelta) -> str:
    us = value // _MICROSECOND
    whole, rest = divmod(abs(us), 1_000_000)
    fraction = f".{rest:06d}".rstrip("0") if rest else ""
    return f"{'-' if us < 0 else ''}PT{whole}{fraction}S"


def _parse_duration(text: str) -> timedelta:
    """Any duration of ISO 8601 but years and months, whose length the calendar tells."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(text)
    sign, *parts, fraction = found.groups()
    weeks, days, hours, minutes, whole = (int(part or 0) for part in parts)
    us = int((fraction or "").ljust(6, "0"))
    size = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=whole, microseconds=us)
    return -size if sign == "-" else size


def _dump_enum(value: Any) -> Any:
    expect(value, Enum, Enum)
    return value._value_ if enum_by_value(type(value)) else value.name


def _load_enum(data: Any, cls: Any) -> Any:
    try:
        return cls(data) if enum_by_value(cls) else cls[data]
    except (ValueError, KeyError):
        raise Refused(f"{data!r:.60} is no {cls.__name__}; one of {', '.join(cls.__members__)}") from None


def _is_literal(hint: Any) -> bool:
    return get_origin(hint) is Literal


def _dump_literal(value: Any) -> Any:
    return value.name if isinstance(value, Enum) else value


def _literal(hint: Any) -> Callable[[Any, Any], Any]:
    """Literals that hold enum members; plain ones need no hook."""
    known = {arg.name if isinstance(arg, Enum) else arg: arg for arg in get_args(hint)}

    def load(data: Any, _: Any) -> Any:
        if data not in known:
            raise Refused(f"{data!r:.60} is none of {', '.join(map(str, known))}")
        return known[data]

    return load


def _dump_model(cls: Any) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        expect(value, cls, cls)
        return value.model_dump(mode="json", by_alias=True, round_trip=True)

    return run


def _load_model(cls: Any) -> Callable[[Any, Any], Any]:
    def run(data: Any, _: Any) -> Any:
        try:
            return cls.model_validate_json(orjson.dumps(data))
        except ValueError as error:
            errors = getattr(error, "errors", None)
            if errors is None:
                raise
            first = errors()[0]
            where = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]]
            raise Refused(first["msg"], *where) from None

    return run
