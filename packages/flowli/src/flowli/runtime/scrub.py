"""What stays of an erased execution: names, instants and who did what; no values, arguments, messages or reasons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from flowli.domain.data import Data
from flowli.domain.entries import (
    ExecutionCancelled,
    ExecutionCancelRequested,
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionMigrated,
    ExecutionPaused,
    ExecutionStarted,
    ExecutionUnpaused,
    FrameCompleted,
    FrameFailed,
    FrameStarted,
    JournalBody,
    JournalEntry,
    UnknownBody,
)
from flowli.domain.errors import ErrorInfo, UsageError

__all__ = ["Scrub", "scrub_entry", "scrubbed"]

Scrub: TypeAlias = Callable[[JournalEntry], JournalEntry]
"""Gives what stays of one entry: the same kind of body, with the same number."""

_KEPT_METADATA = ("channel", "deadline", "due_at", "eid", "irreversible", "lease", "releases")


def scrub_entry(entry: JournalEntry) -> JournalEntry:
    """The default: what is shown in the module's docstring."""
    body = _scrubbed_body(entry.body)
    if entry.more is not None:  # whatever a newer release put there may be a value
        return replace(entry, body=body, more=None)
    return entry if body is entry.body else replace(entry, body=body)


def scrubbed(entries: tuple[JournalEntry, ...], scrub: Scrub) -> tuple[JournalEntry, ...]:
    """All entries after ``scrub``.

    Raises:
        UsageError: it made another entry of one.
    """
    kept = tuple(map(scrub, entries))
    for before, after in zip(entries, kept, strict=True):
        if (before.seq, before.body.tag, before.by.at) != (after.seq, after.body.tag, after.by.at):
            raise UsageError(
                f"scrub made {after.body.tag} number {after.seq} of entry {before.seq}, {before.body.tag}; it may "
                "change the values of an entry, and neither its kind, nor its number, nor its instant"
            )
    return kept


def _scrubbed_body(body: JournalBody) -> JournalBody:
    match body:
        case ExecutionStarted(execution):
            return replace(body, execution=replace(execution, args={}, more=None))
        case ExecutionCompleted() | FrameCompleted():
            return replace(body, value=None)
        case ExecutionFailed(error) | FrameFailed(error=error):
            return replace(body, error=ErrorInfo(error.type, ""))
        case FrameStarted(metadata=metadata):
            kept: dict[str, Data] = {name: metadata[name] for name in _KEPT_METADATA if name in metadata}
            return replace(body, digest="", metadata=kept)
        case (
            ExecutionCancelled()
            | ExecutionCancelRequested()
            | ExecutionMigrated()
            | ExecutionPaused()
            | ExecutionUnpaused()
        ):
            return replace(body, reason="")
        case UnknownBody():
            return replace(body, data={})
        case _:
            return body
