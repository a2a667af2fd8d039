"""Keys and bodies as LMDB keeps them: each body with its version, and keys that are too long for LMDB too.

LMDB takes keys up to 511 bytes, flowli makes some up to 900. The first 511 bytes of a key, its head, are the key for
LMDB. The rest, its tail, stands in the value, which holds a record for each key with that head, sorted. A short key has
an empty tail, and its record is alone. The order is kept: whatever has a tail has a head as long as heads can be.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

HEAD_BYTES = 511

_HEADER = struct.Struct(">H32sQ")


class Record(NamedTuple):
    """One object."""

    tail: bytes
    version: str
    data: bytes


def split(key: str) -> tuple[bytes, bytes]:
    """Head and tail of a key or a prefix."""
    raw = key.encode("ascii")
    return raw[:HEAD_BYTES], raw[HEAD_BYTES:]


def pack(records: Iterable[Record]) -> bytes:
    """A value of LMDB."""
    return b"".join(
        _HEADER.pack(len(one.tail), one.version.encode(), len(one.data)) + one.tail + one.data
        for one in sorted(records)
    )


def unpack(value: bytes | None) -> dict[bytes, Record]:
    """The records of a value by their tails."""
    found: dict[bytes, Record] = {}
    for tail, version, start, end in _places(memoryview(value or b"")):
        assert value is not None
        found[tail] = Record(tail, version, value[start:end])
    return found


def names(value: memoryview) -> Iterator[tuple[bytes, str]]:
    """Tail and version of each record, in order; no body is copied."""
    return ((tail, version) for tail, version, _, _ in _places(value))


def _places(value: memoryview) -> Iterator[tuple[bytes, str, int, int]]:
    at = 0
    while at < len(value):
        tail_size, version, size = _HEADER.unpack_from(value, at)
        at += _HEADER.size
        start = at + tail_size
        yield bytes(value[at:start]), version.decode(), start, start + size
        at = start + size
