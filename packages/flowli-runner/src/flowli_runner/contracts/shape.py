"""Frozen dataclasses as JSON data and back, strictly, and their JSON Schema: one walk over the types serves all three.

A contract crosses from one program to another, so nothing is guessed: a field that is unknown, missing or of another
type is refused by its path (``envelope.checks[0].argv``).
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar, cast

from flowli.domain.data import Data

__all__ = ["ContractError", "from_data", "json_schema", "to_data"]

T = TypeVar("T")

_NAMES: dict[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


class ContractError(ValueError):
    """Data does not keep to a contract.

    Attributes:
        path: of the field: ``envelope.checks[0].argv``.
    """

    def __init__(self, path: str, fact: str) -> None:
        super().__init__(f"{path}: {fact}")
        self.path = path


def from_data(cls: type[T], data: object, path: str) -> T:
    """The object that ``data`` describes.

    Args:
        path: what the object is called in errors.

    Raises:
        ContractError: a field is missing, unknown, of another type, or refused by the class.
    """
    return cast("T", _read(cls, data, path))


def to_data(obj: object) -> dict[str, Data]:
    """The JSON form of a contract object; every field is written."""
    return cast("dict[str, Data]", _write(obj))


def json_schema(cls: type) -> dict[str, Data]:
    """The JSON Schema (2020-12) of a contract class; classes inside it stand in ``$defs``."""
    defs: dict[str, Data] = {}
    body = _class_schema(cls, defs)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": cls.__name__, **body, "$defs": defs}


def _read(kind: Any, data: object, path: str) -> object:
    if dataclasses.is_dataclass(kind):
        return _read_class(cast("type", kind), data, path)
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return None if data is None else _read(_without_none(args), data, path)
    if origin is tuple:
        if not isinstance(data, list):
            raise ContractError(path, f"a list is needed, not {_said(data)}")
        return tuple(_read(args[0], one, f"{path}[{at}]") for at, one in enumerate(data))
    if origin is dict:
        if not isinstance(data, dict):
            raise ContractError(path, f"an object is needed, not {_said(data)}")
        return {_read(str, key, path): _read(args[1], one, f"{path}.{key}") for key, one in data.items()}
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        if not isinstance(data, str) or data not in list(kind):
            raise ContractError(path, f"one of {', '.join(kind)} is needed, not {_said(data)}")
        return kind(data)
    return _read_plain(kind, data, path)


def _read_plain(kind: Any, data: object, path: str) -> object:
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if type(data) is not kind:
        raise ContractError(path, f"a value of type {_NAMES[kind]} is needed, not {_said(data)}")
    return data


def _read_class(cls: type, data: object, path: str) -> object:
    if not isinstance(data, Mapping):
        raise ContractError(path, f"an object is needed, not {_said(data)}")
    hints, fields = typing.get_type_hints(cls), {one.name: one for one in dataclasses.fields(cls)}
    for name in data:
        if name not in fields:
            raise ContractError(f"{path}.{name}", f"there is no such field; there are {', '.join(fields)}")
    given: dict[str, object] = {}
    for name, one in fields.items():
        if name in data:
            given[name] = _read(hints[name], data[name], f"{path}.{name}")
        elif _is_required(one):
            raise ContractError(f"{path}.{name}", "the field is missing")
    try:
        return cls(**given)
    except ContractError as error:
        raise ContractError(f"{path}.{error.path}", str(error).partition(": ")[2]) from None


def _write(value: object) -> Data:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: _write(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [_write(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _write(one) for key, one in value.items()}
    return value.value if isinstance(value, StrEnum) else cast("Data", value)


def _class_schema(cls: type, defs: dict[str, Data]) -> dict[str, Data]:
    hints = typing.get_type_hints(cls)
    fields = dataclasses.fields(cls)
    return {
        "type": "object",
        "description": (cls.__doc__ or "").partition("\n")[0],
        "properties": {one.name: _schema(hints[one.name], defs) for one in fields},
        "required": [one.name for one in fields if _is_required(one)],
        "additionalProperties": False,
    }


def _schema(kind: Any, defs: dict[str, Data]) -> Data:
    if dataclasses.is_dataclass(kind):
        name = cast("type", kind).__name__
        if name not in defs:
            defs[name] = None  # its place, while its own fields are walked
            defs[name] = _class_schema(cast("type", kind), defs)
        return {"$ref": f"#/$defs/{name}"}
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return {"anyOf": [_schema(_without_none(args), defs), {"type": "null"}]}
    if origin is tuple:
        return {"type": "array", "items": _schema(args[0], defs)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(args[1], defs)}
    if issubclass(kind, StrEnum):
        return {"enum": [one.value for one in kind]}
    return {"type": _NAMES[kind]}


def _without_none(args: tuple[Any, ...]) -> Any:
    return next(one for one in args if one is not type(None))


def _is_required(one: dataclasses.Field[Any]) -> bool:
    return one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING


def _said(data: object) -> str:
    text = repr(data)
    return text if len(text) <= 60 else f"{text[:57]}..."
