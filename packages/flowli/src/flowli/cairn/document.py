"""What documents are: their values in memory, and their stored form.

Stored form: ``{"v": 1, "write_ids": [...], ...body}`` as canonical JSON. Every write brings a fresh write id, so that
equal bodies never are equal bytes (a version may follow content, and A-B-A would go unseen), and so that a write
whose answer was lost finds itself again; the last eight are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from flowli.cairn.errors import FormatTooNew, NotStorable, StoreDamaged
from flowli.cairn.store import Object
from flowli.cairn.values import JSON, from_json, to_json

__all__ = [
    "HISTORY",
    "PASSED",
    "TOMBSTONE",
    "Changed",
    "Created",
    "Doc",
    "Exists",
    "Raw",
    "Swapped",
    "decode",
    "encode",
    "is_tombstone",
    "raw",
    "write_ids_of",
]

T = TypeVar("T")

HISTORY = 8
"""How many write ids a document keeps."""

PASSED = "passed"
"""The version of a body that was stored by its writer and overwritten before the writer could learn its version."""

TOMBSTONE = b"\x00flowli-removed:"
"""How the body of a removed object begins where the store has no conditional delete. It reads as absent."""

_FORMAT = 1
_OWN = frozenset({"v", "write_ids"})


@dataclass(frozen=True, slots=True)
class Doc:
    """A document as read or written.

    Attributes:
        key: where it is.
        body: its fields. Treat it as frozen; give a changed copy to ``swap``.
        version: what ``swap`` and ``remove`` compare.
        age_s: seconds since it was written by the store's own clock, at the moment it was read; None where it has none.
        write_ids: the last eight writes, newest last.
    """

    key: str
    body: dict[str, JSON]
    version: str
    age_s: float | None = None
    write_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Raw:
    """An object of plain bytes as read or written; fields as in ``Doc``."""

    key: str
    data: bytes
    version: str
    age_s: float | None = None


@dataclass(frozen=True, slots=True)
class Created(Generic[T]):
    """The object was created by this call."""

    doc: T


@dataclass(frozen=True, slots=True)
class Exists(Generic[T]):
    """Another one is there; nothing was written."""

    doc: T


@dataclass(frozen=True, slots=True)
class Swapped(Generic[T]):
    """The new body was stored by this call."""

    doc: T


@dataclass(frozen=True, slots=True)
class Changed(Generic[T]):
    """Nothing was written: the object is another one now (``doc``) or gone (None)."""

    doc: T | None


def encode(body: Mapping[str, JSON], write_ids: tuple[str, ...]) -> bytes:
    """The stored form of a document.

    Raises:
        NotStorable: ``body`` has no JSON form, or a field of the cairn's own.
    """
    taken = _OWN & body.keys()
    if taken:
        raise NotStorable(f"A document body may not have the field {min(taken)!r}", "Rename it; the cairn uses it")
    return to_json({**body, "v": _FORMAT, "write_ids": list(write_ids)})


def decode(key: str, found: Object) -> Doc:
    """Read a document.

    Raises:
        StoreDamaged: it is none.
        FormatTooNew: a newer release wrote it.
    """
    body = from_json(found.data, key)
    form = body.pop("v", None)
    write_ids = body.pop("write_ids", None)
    if not isinstance(form, int) or not isinstance(write_ids, list):
        raise StoreDamaged(
            f"The object {key!r} is not a document of flowli", "Find out what else writes to this bucket"
        )
    if form > _FORMAT:
        raise FormatTooNew(f"{key!r} has document format {form} and this release reads {_FORMAT}", "Upgrade flowli")
    return Doc(key, body, found.version, found.age_s, tuple(str(one) for one in write_ids))


def raw(key: str, found: Object) -> Raw:
    """The object as plain bytes."""
    return Raw(key, found.data, found.version, found.age_s)


def is_tombstone(found: Object) -> bool:
    """Whether the object stands for an absent one."""
    return found.data.startswith(TOMBSTONE)


def write_ids_of(key: str, found: Object) -> tuple[str, ...]:
    """The write ids of a document; none if the object is no document."""
    try:
        return () if is_tombstone(found) else decode(key, found).write_ids
    except StoreDamaged:
        return ()
