"""Objects of the domain as JSON and back. ``flowli.codec`` knows the form; a backend only stores bytes."""

from __future__ import annotations

import json
from typing import TypeVar

from flowli.codec import canonical, dump, load
from flowli.domain.data import Data

T = TypeVar("T")


def pack(obj: object) -> bytes:
    """A task, message, marker, record, ... as bytes."""
    return canonical(dump(obj))


def unpack(kind: type[T], body: bytes) -> T:
    """What ``pack`` was given. Fields that a newer release of flowli wrote are kept where the class has a ``more``."""
    return load(kind, json.loads(body))


def pack_data(data: Data) -> bytes:
    """Any JSON-compatible value as bytes."""
    return canonical(data)


def unpack_data(body: bytes | str) -> Data:
    """What ``pack_data`` was given."""
    data: Data = json.loads(body)
    return data
