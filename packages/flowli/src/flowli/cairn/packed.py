"""A file as compressed parts, each readable by itself."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

__all__ = ["PART_BYTES", "packed", "unpack"]

PART_BYTES = 32 * 1024 * 1024
"""Bytes of the file that one part holds."""

_LEVEL = 1


def packed(path: str) -> Iterator[bytes]:
    """The parts of a file. It blocks: it belongs into a thread."""
    with open(path, "rb") as file:
        while piece := file.read(PART_BYTES):
            yield zlib.compress(piece, _LEVEL)


def unpack(part: bytes, path: str) -> None:
    """Append what a part holds to a file.

    Raises:
        zlib.error: it is no such part.
    """
    with open(path, "ab") as file:
        file.write(zlib.decompress(part))
