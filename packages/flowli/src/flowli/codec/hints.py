"""Type hints: which of them need no conversion, and which JSON form the others take."""

from __future__ import annotations

import collections.abc as abc
import dataclasses
import types
import typing
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from pathlib import PurePath
from typing import TypeAlias, TypeVar
from uuid import UUID

import attrs

from flowli.timestamp import Timestamp

__all__ = [
    "Hint",
    "Kind",
    "enum_by_value",
    "is_model",
    "is_namedtuple",
    "is_plain",
    "is_union",
    "kind",
    "shown",
    "strip",
]

Hint: TypeAlias = object
"""Anything that may stand as an annotation: a class, ``list[int]``, ``A | None``, ``typing.Any``."""

Kind: TypeAlias = typing.Literal["null", "bool", "number", "string", "list", "object", "any"]

_TEXTS = (bytes, datetime, date, time, timedelta, UUID, Decimal, PurePath, Timestamp)
_LISTS = (list, tuple, set, frozenset, abc.Sequence, abc.MutableSequence, abc.Iterable, abc.Collection, abc.Set)
_PLAIN_LISTS = (list, abc.Sequence, abc.MutableSequence, abc.Iterable, abc.Collection)
_PLAIN_MAPS = (dict, abc.Mapping, abc.MutableMapping)
_NATIVE: dict[object, Kind] = {type(None): "null", bool: "bool", int: "number", float: "number", str: "string"}


def strip(hint: Hint) -> Hint:
    """The hint without ``Annotated``, ``NewType``, ``Final``, ``Required`` and named aliases."""
    while True:
        origin = typing.get_origin(hint)
        if hint is None:
            return type(None)
        if origin in (typing.Annotated, typing.Final, typing.Required, typing.NotRequired, typing.ClassVar):
            hint = typing.get_args(hint)[0]
        elif isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":
            hint = hint.__value__  # type: ignore[attr-defined]
        else:
            return hint


def is_union(hint: Hint) -> bool:
    """Whether the hint is ``A | B`` in either of its two forms."""
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def is_plain(hint: Hint) -> bool:
    """Whether values under this hint are stored as they are: nothing in it says otherwise."""
    try:
        return _is_plain(hint)
    except TypeError:  # a hint that cannot be hashed: Literal[[1]], Annotated[int, {}]
        return _plain(hint)


@lru_cache(maxsize=4096)
def _is_plain(hint: Hint) -> bool:
    return _plain(hint)


def _plain(hint: Hint) -> bool:
    hint = strip(hint)
    if hint in (typing.Any, object) or hint in _NATIVE or isinstance(hint, TypeVar | typing.ForwardRef | str):
        return True
    origin, args = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin is typing.Literal:
        return all(type(arg) in _NATIVE for arg in args)
    if is_union(hint) or origin in _PLAIN_LISTS:
        return all(is_plain(arg) for arg in args)
    if origin in _PLAIN_MAPS:
        return not args or (strip(args[0]) in (str, typing.Any, object) and is_plain(args[1]))
    return False


def is_model(hint: Hint) -> bool:
    """Whether the hint is a pydantic model class, without importing pydantic."""
    return isinstance(hint, type) and hasattr(hint, "model_validate_json") and hasattr(hint, "model_dump")


def is_namedtuple(hint: Hint) -> bool:
    """Whether the hint is a class made by ``NamedTuple`` or ``namedtuple``."""
    return isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields")


def enum_by_value(cls: type[Enum]) -> bool:
    """Whether members are stored by value (all texts, or all integers) and not by name."""
    values = {type(member._value_) for member in cls.__members__.values()}
    return values in ({str}, {int})


def kind(hint: Hint) -> Kind:
    """The one JSON form that all data under this hint takes, or ``any``."""
    hint = strip(hint)
    native = _NATIVE.get(hint) if isinstance(hint, abc.Hashable) else None
    if native is not None:
        return native
    origin = typing.get_origin(hint) or hint
    if origin is typing.Literal:
        kinds: set[Kind] = {_NATIVE.get(type(arg), "any") for arg in typing.get_args(hint)}
        return kinds.pop() if len(kinds) == 1 else "any"
    if not isinstance(origin, type):
        return "any"
    if issubclass(origin, Enum):
        by_number = enum_by_value(origin) and type(next(iter(origin)).value) is int
        return "number" if by_number else "string"
    if issubclass(origin, _TEXTS):
        return "string"
    if dataclasses.is_dataclass(origin) or attrs.has(origin) or typing.is_typeddict(origin) or is_model(origin):
        return "object"
    if issubclass(origin, abc.Mapping):
        return "object"
    if origin in _LISTS or issubclass(origin, tuple | list | set | frozenset):
        return "list"
    return "any"


def shown(hint: Hint) -> str:
    """The hint as a message names it."""
    if hint is type(None):
        return "None"
    if isinstance(hint, type) and not typing.get_args(hint):
        return hint.__qualname__
    return str(hint).replace("typing.", "").replace("__main__.", "")
