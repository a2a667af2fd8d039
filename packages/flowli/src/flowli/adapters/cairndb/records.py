"""Entries in commits: one record of a log is one entry, so that sequence numbers of entries are those of the log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from flowli.cairn.log import Commit
from flowli.cairn.log import Position as LogPosition
from flowli.cairn.values import JSON
from flowli.codec import dump_entries, load_control, load_journal
from flowli.domain.data import Data
from flowli.domain.entries import ControlEntry, JournalEntry, Position

__all__ = ["control_entries", "from_log", "journal_entries", "to_log", "to_records"]

_ENTRY = "e"


def to_records(entries: Sequence[JournalEntry] | Sequence[ControlEntry]) -> list[Mapping[str, JSON]]:
    """The records of one commit."""
    return [{_ENTRY: record} for record in dump_entries(entries)]


def journal_entries(commits: Iterable[Commit]) -> tuple[JournalEntry, ...]:
    """The entries of some commits of a journal."""
    return tuple(entry for commit in commits for entry in load_journal(_entries(commit), first=commit.first))


def control_entries(commit: Commit) -> tuple[ControlEntry, ...]:
    """The entries of one commit of the control log."""
    return load_control(_entries(commit), first=commit.first)


def to_log(position: Position) -> LogPosition:
    """A position of the domain as one of the cairn."""
    return LogPosition(position.commit, position.seq)


def from_log(position: LogPosition) -> Position:
    """A position of the cairn as one of the domain."""
    return Position(position.commit, position.seq)


def _entries(commit: Commit) -> list[Data]:
    return [record[_ENTRY] for record in commit.records]
