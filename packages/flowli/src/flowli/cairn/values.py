"""What the cairn stores: JSON-compatible values, as canonical JSON (documents) or msgpack (commits)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, cast

import msgpack
import orjson

from flowli.cairn.errors import NotStorable, StoreDamaged

__all__ = ["JSON", "from_json", "from_msgpack", "to_json", "to_msgpack"]

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
"""A value with a JSON form. Integers fit 64 bits."""


def to_json(value: Mapping[str, JSON]) -> bytes:
    """Canonical JSON: sorted keys, no spaces, UTF-8. Equal values give equal bytes.

    Raises:
        NotStorable: the value has no JSON form.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, RecursionError) as error:
        raise NotStorable(f"The value cannot be stored as JSON: {error}", "Store JSON-compatible data") from error


def from_json(data: bytes, key: str) -> dict[str, JSON]:
    """Read what ``to_json`` wrote.

    Raises:
        StoreDamaged: ``data`` is not a JSON object.
    """
    try:
        value = orjson.loads(data)
    except ValueError as error:
        raise _damaged(key, "JSON") from error
    if not isinstance(value, dict):
        raise _damaged(key, "JSON")
    return cast("dict[str, JSON]", value)


def to_msgpack(value: JSON) -> bytes:
    """Msgpack of one value.

    Raises:
        NotStorable: the value has no msgpack form.
    """
    try:
        return cast("bytes", msgpack.packb(value, strict_types=True))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise NotStorable(f"The record cannot be stored: {error}", "Store JSON-compatible data") from error


def from_msgpack(data: bytes, key: str) -> dict[str, JSON]:
    """Read a msgpack map.

    Raises:
        StoreDamaged: ``data`` is not one msgpack map.
    """
    try:
        value = msgpack.unpackb(data, strict_map_key=False)
    except (ValueError, msgpack.UnpackException, RecursionError) as error:
        raise _damaged(key, "msgpack") from error
    if not isinstance(value, dict):
        raise _damaged(key, "msgpack")
    return cast("dict[str, JSON]", value)


def _damaged(key: str, form: str) -> StoreDamaged:
    return StoreDamaged(
        f"The object {key!r} is not the {form} that flowli writes",
        "Find out what else writes to this bucket; restore the object or remove it",
    )
