"""Commits: the objects that a log is made of, and positions in it.

Stored form: ``{v: 1, first, writer, epoch, at, id, records: [...]}`` as msgpack, under
``logs/{name}/log/{N:012d}.msgpack``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import msgpack

from flowli.cairn.errors import FormatTooNew, KeyRefused, StoreDamaged
from flowli.cairn.keys import MAX_KEY_BYTES, check_key
from flowli.cairn.values import JSON, from_msgpack, to_msgpack

__all__ = [
    "START",
    "Commit",
    "Position",
    "check_log_name",
    "commit_key",
    "decode_commit",
    "encode_commit",
    "log_prefix",
    "rewrite_commit",
]

_FORMAT = 1
_LONGEST_NAME = MAX_KEY_BYTES - len("logs//snapshots/segment/000000000000.msgpack")


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a log, after a commit.

    Attributes:
        commit: number of the last commit before it; 0 at the start.
        seq: number of the last record before it; 0 at the start.
    """

    commit: int
    seq: int


START = Position(0, 0)
"""Before the first commit."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One object of a log: records that became durable together.

    Attributes:
        number: its place, dense from 1.
        first: number of its first record; records are numbered densely from 1 over the whole log.
        writer: who wrote it.
        epoch: under which lease; 0 where none is needed.
        at: when, by the writer's clock, as the text of a Timestamp.
        id: drawn for each attempt to write; tells one's own commit from another's.
        records: JSON-compatible maps.
    """

    number: int
    first: int
    writer: str
    epoch: int
    at: str
    id: str
    records: tuple[dict[str, JSON], ...]

    @property
    def position(self) -> Position:
        """The place right after this commit."""
        return Position(self.number, self.first + len(self.records) - 1)


def check_log_name(name: str) -> str:
    """Return ``name`` if it may name a log: one part of a key, short enough for the keys below it.

    Raises:
        KeyRefused: it may not.
    """
    check_key(name, _LONGEST_NAME)
    if "/" in name:
        raise KeyRefused(f"The log name {name!r} has a slash", "Name a log with dots, such as wf.ch.orders")
    return name


def log_prefix(name: str) -> str:
    """Under what all objects of a log stand."""
    return f"logs/{name}/"


def commit_key(name: str, number: int) -> str:
    """The key of one commit."""
    return f"logs/{name}/log/{number:012d}.msgpack"


def encode_commit(*, first: int, writer: str, epoch: int, at: str, token: str, records: Sequence[bytes]) -> bytes:
    """The stored form of a commit whose records are msgpack already."""
    packer = msgpack.Packer(autoreset=False)
    packer.pack_map_header(7)
    for name, value in (
        ("v", _FORMAT),
        ("first", first),
        ("writer", writer),
        ("epoch", epoch),
        ("at", at),
        ("id", token),
    ):
        packer.pack(name)
        packer.pack(value)
    packer.pack("records")
    packer.pack_array_header(len(records))
    return b"".join((packer.bytes(), *records))


def rewrite_commit(key: str, data: bytes, change: Callable[[list[JSON]], list[JSON]]) -> bytes:
    """A commit with other records in the place of its own; number, writer and identity stay.

    Raises:
        StoreDamaged: it is none.
    """
    body = from_msgpack(data, key)
    return to_msgpack({**body, "records": change(cast("list[JSON]", body.get("records")))})


def decode_commit(key: str, number: int, data: bytes) -> Commit:
    """Read a commit.

    Raises:
        StoreDamaged: it is none.
        FormatTooNew: a newer release wrote it.
    """
    body = from_msgpack(data, key)
    form, records = body.get("v"), body.get("records")
    if isinstance(form, int) and form > _FORMAT:
        raise FormatTooNew(f"{key!r} has commit format {form} and this release reads {_FORMAT}", "Upgrade flowli")
    try:
        if not isinstance(records, list) or not all(isinstance(one, dict) for one in records):
            raise TypeError
        return Commit(
            number,
            cast("int", body["first"]),
            cast("str", body["writer"]),
            cast("int", body["epoch"]),
            cast("str", body["at"]),
            cast("str", body["id"]),
            tuple(cast("list[dict[str, JSON]]", records)),
        )
    except (KeyError, TypeError):
        raise StoreDamaged(
            f"The object {key!r} is not a commit of flowli", "Find out what else writes to this bucket"
        ) from None
