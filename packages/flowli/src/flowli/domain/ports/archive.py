"""``Archive``: the folded finished executions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from flowli.domain.entries import JournalEntry, Position
from flowli.domain.execution import Execution
from flowli.domain.ids import Eid
from flowli.timestamp import Timestamp

__all__ = ["Archive", "ArchivedExecution"]


@dataclass(frozen=True, slots=True)
class ArchivedExecution:
    """A finished execution in one object: its record, its whole journal and where that ended.

    It is also the boundary of its journal: whoever still believes in owning the execution finds it here.
    """

    execution: Execution
    entries: tuple[JournalEntry, ...]
    position: Position
    archived_at: Timestamp


class Archive(Protocol):
    """One object per finished execution, written once."""

    async def put(self, archived: ArchivedExecution) -> bool:
        """Write an archive if there is none; False if there is."""

    async def get(self, eid: Eid) -> ArchivedExecution | None:
        """Read an archive."""

    async def replace(self, archived: ArchivedExecution) -> None:
        """Put a scrubbed archive in the place of the one that stands (erase)."""

    async def delete(self, eid: Eid) -> None:
        """Remove an archive that is older than its time to live."""
