"""``Journal`` over one named log per execution."""

from __future__ import annotations

from collections.abc import Sequence

from flowli.adapters.cairndb.archive import ArchiveBoundary
from flowli.adapters.cairndb.opened import CairnPort, port_method
from flowli.adapters.cairndb.records import from_log, journal_entries, to_log, to_records
from flowli.adapters.cairndb.scan import delete_prefix
from flowli.cairn.commit import log_prefix
from flowli.cairn.log import Appended as LogAppended
from flowli.cairn.log import Log
from flowli.cairn.reader import read_forward
from flowli.cairn.snapshot import SEGMENT
from flowli.domain import keys
from flowli.domain.entries import START, JournalEntry, Position
from flowli.domain.ids import Eid
from flowli.domain.ports.journal import Appended, JournalSlice, Overtaken

__all__ = ["CairnJournal"]


class CairnJournal(CairnPort):
    """Journals. An append is one put-if-absent at the next number: no listing, no read."""

    @port_method
    async def append(
        self, eid: Eid, entries: Sequence[JournalEntry], *, after: Position, epoch: int, writer: str
    ) -> Appended | Overtaken:
        log = self._log(eid)
        # an owner knows the tail from under its lease; what was not written then cannot be deleted yet
        verify = False if self._opened.acquired_lately(eid, epoch) else None
        outcome = await log.append(to_records(entries), after=to_log(after), writer=writer, epoch=epoch, verify=verify)
        if isinstance(outcome, LogAppended):
            if outcome.position.commit % SEGMENT == 0:
                self._opened.aside(log.segments.write(outcome.position.commit // SEGMENT))
            return Appended(from_log(outcome.position))
        first = outcome.commits[0]
        return Overtaken(first.epoch, journal_entries(outcome.commits), from_log(outcome.commits[-1].position))

    @port_method
    async def read(self, eid: Eid, *, after: Position = START) -> JournalSlice:
        log = self._log(eid)
        # the boundary is not asked: what was deleted behind the archive reads as an empty journal, by contract
        chunk = await read_forward(log.commit, log.segments, to_log(after), None)
        return JournalSlice(journal_entries(chunk.commits), from_log(chunk.position))

    @port_method
    async def delete(self, eid: Eid) -> None:
        await delete_prefix(self._documents, log_prefix(keys.journal_log(eid)))

    def _log(self, eid: Eid) -> Log:
        return self._cairn.log(keys.journal_log(eid), boundary=ArchiveBoundary(self._documents, eid))
