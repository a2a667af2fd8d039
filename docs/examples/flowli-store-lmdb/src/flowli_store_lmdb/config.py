"""What a URL or a mapping says about the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from flowli.cairn.errors import StoreConfigError

_FORM = "Write for example lmdb:./bucket.lmdb or lmdb:./bucket.lmdb?max_mb=4096"


@dataclass(frozen=True, slots=True)
class LmdbConfig:
    """Where the file is and how it is opened.

    Attributes:
        path: of the file; it is made by its first use, and a lock file beside it.
        max_mb: the size that it cannot outgrow, in MiB: address space, not disk.
        durability: ``full``, or ``os`` to leave it to the system when data reaches the disk (tests, throw-away).
    """

    path: str
    max_mb: int = 1024
    durability: str = "full"

    @classmethod
    def parse(cls, url: str) -> LmdbConfig:
        """Read ``lmdb:PATH?max_mb=…&durability=…``."""
        path, _, query = url.partition(":")[2].partition("?")
        return cls.of({"path": path, **dict(parse_qsl(query, keep_blank_values=True))})

    @classmethod
    def of(cls, config: Mapping[str, object]) -> LmdbConfig:
        """Read a mapping; its ``type`` was looked at already.

        Raises:
            StoreConfigError: a field is unknown, missing or of the wrong kind.
        """
        unknown = sorted(set(config) - {"type", "path", "max_mb", "durability"})
        if unknown:
            raise StoreConfigError(f"An LMDB store has no setting {unknown[0]!r}", _FORM)
        path, durability = config.get("path"), config.get("durability", "full")
        if not isinstance(path, str) or not path:
            raise StoreConfigError("An LMDB store needs the path of its file", _FORM)
        if durability not in ("full", "os"):
            raise StoreConfigError(f"The durability of an LMDB store is {durability!r}", "Write full or os")
        max_mb = str(config.get("max_mb", 1024))
        if not max_mb.isdecimal() or int(max_mb) == 0:
            raise StoreConfigError(f"The max_mb of an LMDB store is {max_mb!r}", "Write a number of MiB above 0")
        return cls(path, int(max_mb), str(durability))
