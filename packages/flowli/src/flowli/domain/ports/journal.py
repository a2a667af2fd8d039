"""``Journal``: the trace and the memo of one execution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flowli.domain.entries import START, JournalEntry, Position
from flowli.domain.ids import Eid

__all__ = ["Appended", "Journal", "JournalSlice", "Overtaken"]


@dataclass(frozen=True, slots=True)
class Appended:
    """The commit is durable; the journal now ends at ``position``."""

    position: Position


@dataclass(frozen=True, slots=True)
class Overtaken:
    """Another commit stands where this one should go. Nothing was written.

    Attributes:
        epoch: of the owner that wrote it. A higher one than the caller's means that the caller is fenced; a lower
            one that a former owner's commit landed late and must be replayed before trying again.
        entries: what it holds.
        position: the end of the journal after it.
    """

    epoch: int
    entries: tuple[JournalEntry, ...]
    position: Position


@dataclass(frozen=True, slots=True)
class JournalSlice:
    """The entries after some position, and the position of the journal's end."""

    entries: tuple[JournalEntry, ...]
    position: Position


class Journal(Protocol):
    """An append-only log per execution. Only the holder of the execution's lease appends.

    Order: entries are read in the order of their commits, numbered from 1 without a gap.
    Concurrency: of any number of appends after one position at most one is ``Appended``; this is the fence that makes
    ownership safe whatever two processes believe.
    Failure: an append that raises ``OutcomeUnknown`` may have landed; the owner treats itself as fenced.
    """

    async def append(
        self, eid: Eid, entries: Sequence[JournalEntry], *, after: Position, epoch: int, writer: str
    ) -> Appended | Overtaken:
        """Append ``entries`` as one commit directly after ``after``.

        Args:
            entries: at least one; their ``seq`` is set by the journal.
            after: the end of the journal as the writer knows it.
            epoch: of the writer's lease.
            writer: names the process, for people.
        """

    async def read(self, eid: Eid, *, after: Position = START) -> JournalSlice:
        """All entries after ``after``; an empty slice at ``after`` if there are none."""

    async def delete(self, eid: Eid) -> None:
        """Remove the whole journal (its archive must be durable)."""
