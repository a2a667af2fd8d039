"""The boundary of a trimmed log: commits up to it may be deleted, and their numbers are never acknowledged again."""

from __future__ import annotations

from typing import Protocol

from flowli.cairn.commit import Position, commit_key, log_prefix
from flowli.cairn.errors import StoreDamaged
from flowli.cairn.objects import Changed, Created, Doc, Documents
from flowli.cairn.values import JSON

__all__ = ["Boundary", "LogBoundary"]


class Boundary(Protocol):
    """Tells up to where a log may have been deleted. A journal's is its archive; other logs have a ``LogBoundary``."""

    async def read(self) -> Position | None:
        """The boundary that is durable now, or None when nothing was ever trimmed."""


class LogBoundary:
    """The boundary kept beside the log, as ``logs/{name}/snapshots/boundary``.

    Fields: ``commit`` and ``seq`` of the boundary, and ``deleted``: the number up to which commits are deleted already.
    """

    def __init__(self, documents: Documents, name: str) -> None:
        self._documents = documents
        self._name = name
        self._key = f"{log_prefix(name)}snapshots/boundary"

    async def read(self) -> Position | None:
        """The boundary, or None. One request."""
        doc = await self._documents.read(self._key)
        return None if doc is None else _position(doc)

    async def advance(self, up_to: Position) -> Position:
        """Move the boundary up to ``up_to``, never back. Nothing is deleted.

        Returns:
            The boundary that is durable now.
        """
        body: dict[str, JSON] = {"commit": up_to.commit, "seq": up_to.seq, "deleted": 0}
        outcome = await self._documents.create(self._key, body)
        if isinstance(outcome, Created):
            return up_to
        doc = outcome.doc
        while _position(doc) < up_to:
            swapped = await self._documents.swap(doc, {**doc.body, "commit": up_to.commit, "seq": up_to.seq})
            if not isinstance(swapped, Changed):
                return up_to
            if swapped.doc is None:
                return await self.advance(up_to)
            doc = swapped.doc
        return _position(doc)

    async def delete(self, limit: int = 10_000, *, up_to: int | None = None) -> int:
        """Delete commits up to the boundary. The caller has waited out the time in which old writers may still answer.

        Args:
            limit: the most commits of one call.
            up_to: number of the last commit that may be deleted; None for the boundary's.

        Returns:
            How many numbers were gone through; 0 when nothing is left to delete.
        """
        doc = await self._documents.read(self._key)
        if doc is None:
            return 0
        start = _number(doc, "deleted") + 1
        last = _position(doc).commit
        end = min(last if up_to is None else min(last, up_to), start + limit - 1)
        if end < start:
            return 0
        keys = [commit_key(self._name, number) for number in range(start, end + 1)]
        await self._documents.delete_many(keys)
        while True:
            swapped = await self._documents.swap(doc, {**doc.body, "deleted": max(end, _number(doc, "deleted"))})
            if not isinstance(swapped, Changed) or swapped.doc is None:
                return len(keys)
            doc = swapped.doc


def _position(doc: Doc) -> Position:
    return Position(_number(doc, "commit"), _number(doc, "seq"))


def _number(doc: Doc, name: str) -> int:
    value = doc.body.get(name)
    if not isinstance(value, int):
        raise StoreDamaged(f"The boundary {doc.key!r} has no number {name!r}", "Restore it from a copy of the bucket")
    return value
