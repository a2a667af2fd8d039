"""The comparison behind every recorded value: equal, and of the same type, all the way down."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime, time
from decimal import Decimal
from enum import Enum
from typing import cast

import attrs

from flowli.codec.hints import is_model
from flowli.codec.plain import Refused, described, key_part

__all__ = ["check_same"]


def check_same(value: object, back: object) -> None:
    """Check that ``back``, which was read from the data of ``value``, cannot be told from it.

    Raises:
        Refused: with the path of the first difference.
    """
    if type(value) is not type(back):
        raise Refused(f"{described(value)} would come back as {described(back)}; annotate what it is, or convert it")
    if isinstance(value, list | tuple):
        _sequences(value, cast("list[object]", back))
    elif isinstance(value, Mapping):
        _maps(value, cast("dict[object, object]", back))
    elif isinstance(value, set | frozenset):
        other = cast("set[object]", back)
        _equal({(type(item), item) for item in value} == {(type(item), item) for item in other}, value, back)
    elif (names := _fields(value)) and not isinstance(value, Enum):
        _objects(value, back, names)
    else:
        _equal(_same_atom(value, back), value, back)


def _same_atom(value: object, back: object) -> bool:
    if isinstance(value, datetime | time):
        return value == back and value.utcoffset() == cast("datetime", back).utcoffset()
    if isinstance(value, Decimal):
        return value.as_tuple() == cast("Decimal", back).as_tuple()
    return value == back


def _objects(value: object, back: object, names: list[str]) -> None:
    for name in names:
        try:
            check_same(getattr(value, name), getattr(back, name))
        except Refused as refused:
            refused.under(f".{name}")
            raise


def _fields(value: object) -> list[str]:
    if dataclasses.is_dataclass(value):
        return [field.name for field in dataclasses.fields(value) if field.compare]
    if attrs.has(cls := type(value)):
        return [field.name for field in attrs.fields(cls) if field.eq]
    return list(vars(value)) if is_model(type(value)) else []


def _sequences(value: Sequence[object], back: Sequence[object]) -> None:
    if len(value) != len(back):
        raise Refused(f"{len(value)} items would come back as {len(back)}")
    for index, (item, other) in enumerate(zip(value, back, strict=True)):
        try:
            check_same(item, other)
        except Refused as refused:
            refused.under(f"[{index}]")
            raise


def _maps(value: Mapping[object, object], back: Mapping[object, object]) -> None:
    if len(value) != len(back):
        raise Refused(f"{len(value)} keys would come back as {len(back)}; two of them have one JSON form")
    others = {(type(key), key): item for key, item in back.items()}
    for key, item in value.items():
        if (type(key), key) not in others:
            raise Refused(f"{described(key)} as a key would not come back", key_part(key))
        try:
            check_same(item, others[type(key), key])
        except Refused as refused:
            refused.under(key_part(key))
            raise


def _equal(equal: bool, value: object, back: object) -> None:
    if not equal:
        raise Refused(f"{value!r:.80} would come back as {back!r:.80}")
