"""The stored form of a value that went through a codec, and the escape for user values that look like one.

A stored form is a map with the one key ``$coded``::

    {"$coded": {"v": 1, "steps": ["zlib", "aes-gcm:2026-06"], "data": "<base64>"}}
    {"$coded": {"v": 1, "steps": ["zlib"], "body": "~values/<sha256>", "size": 1234567}}
    {"$coded": {"v": 1, "value": {"$coded": "a user's own map with that key"}}}

Every other value stands for itself. So a bucket that was written without a codec is read with one, and the small
values of one that only compresses are read without.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TypeAlias

import orjson

from flowli.domain.data import Data
from flowli.domain.errors import ValueUnreadable

__all__ = ["FORM", "KEY", "Escaped", "Inline", "Offloaded", "Stored", "from_text", "parse", "to_text"]

KEY = "$coded"
FORM = 1
_TEXT = f"{KEY}:"


@dataclass(frozen=True, slots=True)
class Inline:
    """The bytes of a value stand in its place.

    Attributes:
        steps: those it went through, in order, as ``name`` or ``name:note``.
    """

    steps: tuple[str, ...]
    data: bytes

    def to_data(self) -> dict[str, Data]:
        """The stored form."""
        return _form(steps=list(self.steps), data=base64.b64encode(self.data).decode("ascii"))


@dataclass(frozen=True, slots=True)
class Offloaded:
    """The bytes of a value are a body of its own.

    Attributes:
        body: name of the evidence that holds them; its last part is their sha256.
        size: how many.
    """

    steps: tuple[str, ...]
    body: str
    size: int

    def to_data(self) -> dict[str, Data]:
        """The stored form."""
        return _form(steps=list(self.steps), body=self.body, size=self.size)


@dataclass(frozen=True, slots=True)
class Escaped:
    """A user's own map that would else be taken for a stored form."""

    value: Data

    def to_data(self) -> dict[str, Data]:
        """The stored form."""
        return _form(value=self.value)


Stored: TypeAlias = Inline | Offloaded | Escaped


def parse(data: Data) -> Stored | None:
    """The stored form in ``data``; None if it stands for itself.

    Raises:
        ValueUnreadable: a newer release wrote it.
    """
    if type(data) is not dict or len(data) != 1 or KEY not in data:
        return None
    match data[KEY]:
        case {"v": int(form)} if form > FORM:
            raise ValueUnreadable(f"a value is stored in form {form} and this release reads {FORM}; upgrade flowli")
        case {"v": 1, "value": value, **rest} if not rest:
            return Escaped(value)
        case {"v": 1, "steps": [*steps], "data": str(text)}:
            try:
                return Inline(tuple(map(str, steps)), base64.b64decode(text, validate=True))
            except binascii.Error:
                return None
        case {"v": 1, "steps": [*steps], "body": str(body), "size": int(size)}:
            return Offloaded(tuple(map(str, steps)), body, size)
        case _:
            return None  # somebody's own map, from the time before there was a codec


def to_text(stored: dict[str, Data]) -> str:
    """A stored form where only a text can stand: in the message of an error."""
    return _TEXT + orjson.dumps(stored).decode()


def from_text(text: str) -> dict[str, Data] | None:
    """The stored form that ``to_text`` wrote; None for any other text."""
    if not text.startswith(_TEXT):
        return None
    try:
        data = orjson.loads(text[len(_TEXT) :])
    except orjson.JSONDecodeError:
        return None
    return data if isinstance(data, dict) and KEY in data else None


def _form(**fields: Data) -> dict[str, Data]:
    return {KEY: {"v": FORM, **fields}}
