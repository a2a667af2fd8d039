"""Write scopes: which paths an attempt may change, and the leases that keep two attempts off the same ones."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence

__all__ = ["lease_names", "outside"]

_SHELVES = 8


def outside(paths: Iterable[str], scopes: Sequence[str]) -> tuple[str, ...]:
    """Those of ``paths`` that no scope allows.

    ``*`` and ``?`` stand for characters of one part of a path, ``**`` for any number of parts; a scope without them
    allows the path and all that lies under it.
    """
    allowed = [_pattern(scope) for scope in scopes]
    return tuple(path for path in paths if not any(one.fullmatch(path) for one in allowed))


def lease_names(repository: str, scopes: Iterable[str]) -> tuple[str, ...]:
    """The leases of scopes, in the order in which everybody takes them.

    Two scopes that can meet in one path always share a lease: a scope takes the shelf of its first part, and every
    shelf if that part is a pattern. Two that cannot meet may share one by chance, and then wait for each other.
    """
    shelves: set[int] = set()
    for scope in scopes:
        first = scope.partition("/")[0]
        shelves |= set(range(_SHELVES)) if _is_pattern(first) else {zlib.crc32(first.encode()) % _SHELVES}
    return tuple(f"scope:tree:{repository}:{shelf}" for shelf in sorted(shelves))


def _is_pattern(text: str) -> bool:
    return "*" in text or "?" in text


def _pattern(scope: str) -> re.Pattern[str]:
    made = "".join(_WILD.get(part, re.escape(part)) for part in re.split(r"(\*\*/|\*\*|\*|\?)", scope))
    return re.compile(made if _is_pattern(scope) else f"{made}(/.*)?", re.DOTALL)


_WILD = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
