"""The snapshot of a projection beside the control log: some parts, and one document that names them.

``logs/wf/snapshots/projection/{seq:015d}.{id}/{n:04d}`` are the parts; ``logs/wf/snapshots/projection/current`` names
those that count, with their digests.

1. Put the parts create-only under a new id. *Crash in it*: nobody reads them; the next snapshot removes them.
2. Put the document, or swap it. From here on readers take the new parts.
3. Delete the parts of earlier ones. *Crash before it*: the next snapshot does it. A reader whom this overtakes finds a
   part missing and folds the log.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Sequence
from typing import cast

from flowli.adapters.cairndb.scan import list_keys
from flowli.cairn.boundary import LogBoundary
from flowli.cairn.commit import START, Position, log_prefix
from flowli.cairn.errors import FormatTooNew, StoreDamaged
from flowli.cairn.log import Log
from flowli.cairn.objects import Changed, Created, Doc, Documents
from flowli.cairn.values import JSON
from flowli.domain.entries import Position as EntryPosition
from flowli.domain.ports.control import FoldedLog

__all__ = ["Folded"]

_FORMAT = 1
_log = logging.getLogger(__name__)


class Folded:
    """The snapshot beside one log."""

    def __init__(self, documents: Documents, log: Log) -> None:
        self._documents = documents
        self._log = log
        self._boundary = LogBoundary(documents, log.name)
        self._prefix = f"{log_prefix(log.name)}snapshots/projection/"
        self._current = f"{self._prefix}current"

    async def compacted(self) -> Position:
        """The boundary of the log. One request."""
        return await self._boundary.read() or START

    async def read(self) -> FoldedLog | None:
        """The snapshot that fits the log as it stands, or None. Three requests."""
        try:
            doc = await self._documents.read(self._current)
        except (StoreDamaged, FormatTooNew) as error:
            _log.warning("the snapshot %s is not used: %s", self._current, error)
            return None
        folded = None if doc is None else _folded(doc)
        if doc is None or folded is None:
            return None
        compacted, last = await asyncio.gather(self.compacted(), self._log.commit(folded.position.commit))
        told = None
        if _place(folded.compacted) != compacted:
            told = "the log was compacted since"
        elif folded.position.commit > compacted.commit and (last is None or last.id != doc.body.get("last")):
            told = "it is not of this log"
        if told is not None:
            _log.info("the snapshot %s is not used: %s", self._current, told)
            return None
        return folded

    async def part(self, folded: FoldedLog, number: int) -> bytes | None:
        """One part, if its digest is that of the document. One request."""
        found = await self._documents.read_bytes(self._part(folded, number))
        if found is None or _digest(found.data) != folded.digests[number]:
            _log.warning("part %d of the snapshot %s is missing or damaged", number, self._current)
            return None
        return found.data

    async def keep(self, folded: FoldedLog, parts: Sequence[bytes]) -> bool:
        """Put a snapshot in the place of the one that is there, unless that one is as good."""
        last, (there, newer) = await asyncio.gather(self._log.commit(folded.position.commit), self._look())
        if last is None or newer or (there is not None and not _better(folded, _folded(there))):
            return False
        for number, data in enumerate(parts):
            await self._documents.create_bytes(self._part(folded, number), data)
        body = _body(folded, last.id, parts)
        if there is None:
            won = isinstance(await self._documents.create(self._current, body), Created)
        else:
            won = not isinstance(await self._documents.swap(there, body), Changed)
        if won:
            await self._delete(lambda seq, made: seq <= folded.position.seq and made != folded.id)
        else:
            await self._delete(lambda _, made: made == folded.id)
        return won

    async def drop(self, before: int | None) -> None:
        """Remove the document first, then all parts; or those of snapshots that end before an entry."""
        doc, newer = await self._look()
        if newer and before is None:
            await self._documents.delete_many([self._current])
        elif doc is not None and (before is None or _seq(doc) < before):
            await self._documents.remove(doc)
        await self._delete(lambda seq, _: before is None or seq < before)

    async def _look(self) -> tuple[Doc | None, bool]:
        """The document, and whether there is one that a newer release wrote. One that is damaged is removed."""
        try:
            doc = await self._documents.read(self._current)
        except FormatTooNew:
            return None, True
        except StoreDamaged:
            await self._documents.delete_many([self._current])
            return None, False
        form = None if doc is None else doc.body.get("form")
        return doc, isinstance(form, int) and form > _FORMAT

    async def _delete(self, chosen: Callable[[int, str], bool]) -> None:
        """Delete the parts that are chosen by the number and the id of their snapshot."""
        old: list[str] = []
        for key in await list_keys(self._documents, self._prefix):
            seq, dot, made = key.removeprefix(self._prefix).partition("/")[0].partition(".")
            if dot and chosen(int(seq), made):
                old.append(key)
        await self._documents.delete_many(old)

    def _part(self, folded: FoldedLog, number: int) -> str:
        return f"{self._prefix}{folded.position.seq:015d}.{folded.id}/{number:04d}"


def _body(folded: FoldedLog, last: str, parts: Sequence[bytes]) -> dict[str, JSON]:
    return {
        "form": _FORMAT,
        "fold": folded.fold,
        "version": folded.version,
        "position": [folded.position.commit, folded.position.seq],
        "compacted": [folded.compacted.commit, folded.compacted.seq],
        "last": last,
        "id": folded.id,
        "digests": [_digest(data) for data in parts],
    }


def _folded(doc: Doc) -> FoldedLog | None:
    body = doc.body
    try:
        if body["form"] != _FORMAT:
            raise ValueError(f"it has form {body['form']} and this release reads {_FORMAT}")
        position, compacted = cast("list[int]", body["position"]), cast("list[int]", body["compacted"])
        return FoldedLog(
            cast("str", body["fold"]),
            cast("int", body["version"]),
            EntryPosition(*position),
            EntryPosition(*compacted),
            cast("str", body["id"]),
            tuple(cast("list[str]", body["digests"])),
        )
    except (KeyError, TypeError, ValueError) as error:
        _log.warning("the snapshot %s is not used: %s", doc.key, error)
        return None


def _better(new: FoldedLog, old: FoldedLog | None) -> bool:
    if old is None or old.fold != new.fold:
        return True
    if old.version != new.version:
        return new.version > old.version
    return (new.compacted, new.position) > (old.compacted, old.position)


def _seq(doc: Doc) -> int:
    folded = _folded(doc)
    return 0 if folded is None else folded.position.seq


def _place(position: EntryPosition) -> Position:
    return Position(position.commit, position.seq)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
