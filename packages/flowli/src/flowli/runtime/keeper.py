"""``Keeper``: which old entries of the control log a new observer still needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from flowli.domain.entries import (
    Announced,
    AttributesSet,
    ControlEntry,
    ExecutionArchived,
    ExecutionCreated,
    ExecutionErased,
    ExecutionStarted,
    OperatorActed,
    StatusChanged,
    TaskEnqueued,
    UnknownBody,
)
from flowli.domain.ids import Eid
from flowli.runtime.signs import codes_of

__all__ = ["Keeper"]

_WORKERS = 20


class Keeper:
    """Takes entries in order, and keeps of each execution what its later entries do not say better.

    Of an execution: its creation, when it started, the twin of its latest entry and the latest one
    that names a version, its erasing, each attribute as it was set last, all that it announced, its archiving, what
    operators did to it. Of no execution: definitions, and the code that workers have come with. Entries of a newer
    version are kept as they are.

    Args:
        done: executions of which nothing is left, with the number of the last entry about each: nothing is kept of them
            once that was taken.
    """

    def __init__(self, done: Mapping[Eid, int]) -> None:
        self._done = done
        self._last_seq = 0
        self._kept: dict[tuple[Eid | None, str | int], ControlEntry] = {}
        self._attributes: dict[tuple[Eid, str], int] = {}
        self._epochs: dict[Eid, int] = {}
        self._workers: list[int] = []
        self._seen = 0

    @property
    def dropped(self) -> int:
        """How many of the entries so far are not kept."""
        return self._seen - len(self.kept())

    def add(self, entry: ControlEntry) -> None:
        """Take the next entry."""
        self._seen += 1
        self._last_seq = entry.seq
        body = entry.body
        match body:
            case ExecutionCreated(eid):
                self._kept.setdefault((eid, body.tag), entry)
            case StatusChanged():
                self._status(body, entry)
            case AttributesSet(eid, attributes):
                if not entry.is_late(self._epochs.get(eid, 0)):
                    for name in attributes:
                        self._attributes[eid, name] = entry.seq
                    self._kept[eid, entry.seq] = entry
            case Announced(_, _, eid):
                self._kept[eid, entry.seq] = entry
                if codes_of(body):
                    self._workers.append(entry.seq)
            case ExecutionArchived(eid):
                self._kept[eid, entry.seq] = entry
            case OperatorActed(_, eid):
                if eid is not None:
                    self._kept[eid, entry.seq] = entry
            case UnknownBody():
                self._kept[None, entry.seq] = entry
            case TaskEnqueued():
                pass
            case _:
                assert_never(body)

    def kept(self) -> list[ControlEntry]:
        """The entries to be kept, in order."""
        kept = {entry.seq: entry for (eid, _), entry in self._kept.items() if not self._is_done(eid)}
        setters, workers = set(self._attributes.values()), set(self._workers[:-_WORKERS])
        return [
            kept[seq]
            for seq in sorted(kept)
            if seq not in workers and (seq in setters or not isinstance(kept[seq].body, AttributesSet))
        ]

    def _is_done(self, eid: Eid | None) -> bool:
        return eid is not None and self._done.get(eid, self._last_seq + 1) <= self._last_seq

    def _status(self, body: StatusChanged, entry: ControlEntry) -> None:
        if body.entry in (ExecutionStarted.tag, ExecutionErased.tag):
            self._kept.setdefault((body.eid, body.entry), entry)
        self._epochs[body.eid] = max(body.epoch, self._epochs.get(body.eid, 0))
        self._later((body.eid, "status"), body, entry)
        if body.version is not None:
            self._later((body.eid, "version"), body, entry)

    def _later(self, key: tuple[Eid, str], body: StatusChanged, entry: ControlEntry) -> None:
        """Keep the twin of the later journal entry."""
        known = self._kept.get(key)
        if known is None or (isinstance(known.body, StatusChanged) and known.body.journal_seq < body.journal_seq):
            self._kept[key] = entry
