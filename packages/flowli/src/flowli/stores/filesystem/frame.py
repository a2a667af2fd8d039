"""How a body stands in its file: a header of 32 bytes (mark, random version, checksum, length), then the body."""

from __future__ import annotations

import struct
import zlib

from flowli.cairn.errors import StoreDamaged

__all__ = ["HEADER_BYTES", "framed", "unframed", "version_in"]

_MARK = b"flw1"
_HEADER = struct.Struct(">4s16sIQ")

HEADER_BYTES = _HEADER.size
"""Length of the header."""


def framed(data: bytes, version: str) -> bytes:
    """The content of the file of an object; ``version`` is 32 hexadecimal digits."""
    return _HEADER.pack(_MARK, bytes.fromhex(version), zlib.crc32(data), len(data)) + data


def unframed(content: bytes, key: str) -> tuple[bytes, str]:
    """The body and the version in the content of a file.

    Raises:
        StoreDamaged: the content is not what was written.
    """
    version = version_in(content, key)
    _, _, checksum, length = _HEADER.unpack_from(content)
    data = content[HEADER_BYTES:]
    if len(data) != length or zlib.crc32(data) != checksum:
        raise _damaged(key)
    return data, version


def version_in(header: bytes, key: str) -> str:
    """The version in a header.

    Raises:
        StoreDamaged: it is none.
    """
    if len(header) < HEADER_BYTES or not header.startswith(_MARK):
        raise _damaged(key)
    return header[4:20].hex()


def _damaged(key: str) -> StoreDamaged:
    return StoreDamaged(f"The file of the object {key!r} is damaged", "Restore it from a copy; check the disk")
