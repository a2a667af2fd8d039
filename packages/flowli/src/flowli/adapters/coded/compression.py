"""Compression steps: zlib, which is always there, and zstd, if the library is."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable
from typing import Any

from flowli.descriptors import Coded
from flowli.domain.errors import UsageError, ValueUnreadable

__all__ = ["Zlib", "Zstd"]

_WORTH_IT = 0.7
"""Inline the bytes stand in base64, which takes a third more."""


class _Compression:
    """What both have in common.

    Args:
        from_bytes: smaller values are left as they are.
    """

    name = ""

    def __init__(self, *, from_bytes: int = 1024) -> None:
        self._from_bytes = from_bytes

    def encode(self, data: bytes, context: bytes) -> Coded | None:
        """Compress, if that makes it much smaller."""
        if len(data) < self._from_bytes:
            return None
        small = self._compress(data)
        return Coded(small) if len(small) <= _WORTH_IT * len(data) else None

    def decode(self, data: bytes, context: bytes, note: str) -> bytes:
        """Decompress."""
        try:
            return self._decompress(data)
        except Exception as error:
            raise ValueUnreadable(f"a value does not decompress with {self.name} ({error}): it was changed") from error

    def _compress(self, data: bytes) -> bytes:
        raise NotImplementedError

    def _decompress(self, data: bytes) -> bytes:
        raise NotImplementedError


class Zlib(_Compression):
    """Compression by zlib.

    Args:
        level: 1 (fast) to 9 (small).
        from_bytes: smaller values are left as they are.
    """

    name = "zlib"

    def __init__(self, *, level: int = 6, from_bytes: int = 1024) -> None:
        super().__init__(from_bytes=from_bytes)
        self._level = level

    def _compress(self, data: bytes) -> bytes:
        return zlib.compress(data, self._level)

    def _decompress(self, data: bytes) -> bytes:
        return zlib.decompress(data)


class Zstd(_Compression):
    """Compression by zstd: faster than zlib, and smaller.

    Args:
        level: 1 (fast) to 19 (small).
        from_bytes: smaller values are left as they are.

    Raises:
        UsageError: neither this Python nor an installed distribution brings zstd.
    """

    name = "zstd"

    def __init__(self, *, level: int = 3, from_bytes: int = 1024) -> None:
        super().__init__(from_bytes=from_bytes)
        self._make_compress, self._make_decompress = _zstd()
        self._level = level

    def _compress(self, data: bytes) -> bytes:
        return self._make_compress(data, self._level)

    def _decompress(self, data: bytes) -> bytes:
        return self._make_decompress(data)


def _zstd() -> tuple[Callable[[bytes, int], bytes], Callable[[bytes], bytes]]:
    for name in ("compression.zstd", "zstandard"):
        try:
            library: Any = importlib.import_module(name)
        except ImportError:
            continue
        return library.compress, library.decompress
    raise UsageError("zstd needs Python 3.14 or the distribution zstandard; run: pip install 'flowli[compression]'")
