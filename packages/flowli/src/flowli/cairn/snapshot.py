"""Segments: 64 commits folded into one object, so that a long log is read in few requests.

They are written off the critical path and are a cache: without them the log reads the same. Segment k holds the commits
64(k-1)+1 to 64k. Stored form: ``{v: 1, first: number, commits: [bytes, ...]}`` as msgpack, equal whoever writes it.
"""

from __future__ import annotations

import asyncio
from typing import cast

from flowli.cairn.commit import Commit, commit_key, decode_commit, log_prefix
from flowli.cairn.errors import FormatTooNew, StoreDamaged
from flowli.cairn.objects import Created, Documents
from flowli.cairn.values import JSON, from_msgpack, to_msgpack

__all__ = ["SEGMENT", "Segments", "segment_of"]

SEGMENT = 64
"""Commits of one segment."""

_FORMAT = 1


def segment_of(number: int) -> int:
    """The segment that holds a commit number."""
    return (number + SEGMENT - 1) // SEGMENT


class Segments:
    """The segments of one log."""

    def __init__(self, documents: Documents, name: str) -> None:
        self._documents = documents
        self._name = name
        self._prefix = f"{log_prefix(name)}snapshots/segment/"
        self._listed = range(0)

    def key(self, segment: int) -> str:
        """The key of a segment."""
        return f"{self._prefix}{segment:012d}.msgpack"

    async def present(self, first: int) -> range:
        """The run of segments without a gap that begins with ``first``; empty if that one is missing.

        One listing, or none where an earlier one told of it.
        """
        if first in self._listed:
            return range(first, self._listed.stop)
        after = self.key(first - 1) if first > 1 else None
        page = await self._documents.list(self._prefix, after=after)
        end = first
        for item in page.items:
            if item.key != self.key(end):
                break
            end += 1
        self._listed = range(first, end)
        return self._listed

    def listed(self, segment: int) -> bool:
        """Whether a listing told of a segment. It may be gone since."""
        return segment in self._listed

    async def read(self, segment: int) -> tuple[Commit, ...] | None:
        """The commits of a segment, or None when it was never written. One request.

        Raises:
            StoreDamaged: it is no segment.
        """
        key = self.key(segment)
        found = await self._documents.read_bytes(key)
        if found is None:
            self._listed = range(0)
            return None
        body = from_msgpack(found.data, key)
        form, first, commits = body.get("v"), body.get("first"), body.get("commits")
        if isinstance(form, int) and form > _FORMAT:
            raise FormatTooNew(f"{key!r} has segment format {form} and this release reads {_FORMAT}", "Upgrade flowli")
        if not isinstance(first, int) or not isinstance(commits, list):
            raise StoreDamaged(f"The object {key!r} is not a segment of flowli", "Remove it; it is a cache")
        return tuple(decode_commit(key, first + offset, cast("bytes", data)) for offset, data in enumerate(commits))

    async def write(self, segment: int) -> bool:
        """Fold the commits of a segment. False when they are not all there, or it was written already."""
        first = (segment - 1) * SEGMENT + 1
        keys = [commit_key(self._name, number) for number in range(first, first + SEGMENT)]
        found = await asyncio.gather(*map(self._documents.read_bytes, keys))
        bodies = [one.data for one in found if one is not None]
        if len(bodies) < SEGMENT:
            return False
        body = cast("JSON", {"v": _FORMAT, "first": first, "commits": bodies})
        return isinstance(await self._documents.create_bytes(self.key(segment), to_msgpack(body)), Created)
