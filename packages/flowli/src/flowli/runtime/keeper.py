"""``Keeper``: which old entries of the control log a new observer still needs."""

from __future__ import annotations

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

    Of an execution that is not ``done``: its creation, when it started, the twin of its latest entry and the latest one
    that names a version, its erasing, each attribute as it was set last, all that it announced, its archiving, what
    operators did to it. Of no execution: definitions, and the code that workers have come with. Entries of a newer
    version are kept as they are.
    """

    def __init__(self, done: set[Eid]) -> None:
        self._done = done
        self._kept: dict[object, ControlEntry] = {}
        self._attributes: dict[tuple[Eid, str], int] = {}
        self._workers: list[int] = []
        self._seen = 0

    @property
    def dropped(self) -> int:
        """How many of the entries so far are not kept."""
        return self._seen - len(self.kept())

    def add(self, entry: ControlEntry) -> None:
        """Take the next entry."""
        self._seen += 1
        body = entry.body
        match body:
            case ExecutionCreated(eid):
                self._once(eid, ("created", eid), entry)
            case StatusChanged():
                self._status(body, entry)
            case AttributesSet(eid, attributes):
                for name in attributes:
                    self._attributes[eid, name] = entry.seq
                self._last(eid, ("attributes", entry.seq), entry)
            case Announced(_, _, None):
                self._last(None, ("announced", entry.seq), entry)
                if codes_of(body):
                    self._workers.append(entry.seq)
            case Announced(_, _, eid) | ExecutionArchived(eid):
                self._last(eid, entry.seq, entry)
            case OperatorActed(_, eid):
                if eid is not None:
                    self._last(eid, entry.seq, entry)
            case UnknownBody():
                self._last(None, entry.seq, entry)
            case TaskEnqueued():
                pass
            case _:
                assert_never(body)

    def kept(self) -> list[ControlEntry]:
        """The entries to be kept, in order."""
        setters = set(self._attributes.values())
        old = set(self._workers[:-_WORKERS])
        kept = {
            entry.seq: entry
            for entry in self._kept.values()
            if entry.seq not in old and (not isinstance(entry.body, AttributesSet) or entry.seq in setters)
        }
        return [kept[seq] for seq in sorted(kept)]

    def _status(self, body: StatusChanged, entry: ControlEntry) -> None:
        if body.entry in (ExecutionStarted.tag, ExecutionErased.tag):
            self._once(body.eid, (body.entry, body.eid), entry)
        self._later(("status", body.eid), body, entry)
        if body.version is not None:
            self._later(("version", body.eid), body, entry)

    def _later(self, key: object, body: StatusChanged, entry: ControlEntry) -> None:
        """Keep the twin of the later journal entry."""
        known = self._kept.get(key)
        if known is None or (isinstance(known.body, StatusChanged) and known.body.journal_seq < body.journal_seq):
            self._last(body.eid, key, entry)

    def _once(self, eid: Eid, key: object, entry: ControlEntry) -> None:
        if key not in self._kept:
            self._last(eid, key, entry)

    def _last(self, eid: Eid | None, key: object, entry: ControlEntry) -> None:
        if eid is None or eid not in self._done:
            self._kept[key] = entry
