"""One event of the live view: an entry of a log as a line for people."""

from __future__ import annotations

from dataclasses import dataclass

from flowli.cli.render import words
from flowli.cli.render.screen import Cell
from flowli.domain import entries
from flowli.domain.entries import ControlEntry, JournalEntry
from flowli.domain.ids import Eid
from flowli.timestamp import Timestamp

__all__ = ["Event", "control_event", "journal_event", "status_text"]

_GOOD, _BAD, _WAIT, _DIM = "green", "bold red", "cyan", "dim"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened.

    Attributes:
        text: one line.
        style: of the line on a terminal.
    """

    at: Timestamp
    eid: Eid | None
    workflow: str
    text: str
    style: str = ""

    def cells(self, eid: str | None = None) -> list[Cell]:
        """The line: time, execution, workflow, what happened.

        Args:
            eid: how the execution is named; by its whole id if None.
        """
        name = eid or (str(self.eid) if self.eid else f"{'-':<36}")
        time = str(self.at)[11:23]
        return [(f"{time}  {name}  ", _DIM), f"{self.workflow:<12}  ", (self.text, self.style)]


def control_event(entry: ControlEntry, workflow: str) -> Event | None:
    """The event of a control entry; None for one whose twin in a journal says it better."""
    match body := entry.body:
        case entries.ExecutionCreated(eid):
            key = f" under key {body.dispatch_key}" if body.dispatch_key else ""
            child = " as a child" if body.parent else ""
            return Event(entry.at, eid, body.workflow, f"created{key}{child}")
        case entries.Announced(topic, data):
            return Event(entry.at, body.eid, workflow, f"announces {topic}: {words.short(data, 80)}", _WAIT)
        case entries.OperatorActed(verb, eid, reason):
            why = f": {reason}" if reason else ""
            return Event(entry.at, eid, workflow, f"{verb} by {words.actor(entry.by.actor)}{why}")
        case entries.TaskEnqueued(eid, queue, kind):
            return Event(entry.at, eid, workflow, f"{kind} task on queue {queue}")
        case entries.ExecutionArchived(eid):
            return Event(entry.at, eid, workflow, "archived", _DIM)
        case _:
            return None


def journal_event(eid: Eid, workflow: str, entry: JournalEntry, started: dict[str, Timestamp]) -> Event | None:
    """The event of a journal entry; None for one that says nothing new.

    Args:
        started: when each frame began; kept up to date.
    """
    found = _execution(entry) or _frame(entry, started)
    return None if found is None else Event(entry.at, eid, workflow, *found)


def status_text(body: entries.StatusChanged) -> str:
    """What a change of status says, until the journal is read."""
    if body.error is not None:
        return f"failed: {_one_line(str(body.error))}"
    if body.on:
        return words.waits(body.on, body.others)
    return body.reason


def _execution(entry: JournalEntry) -> tuple[str, str] | None:
    match entry.body:
        case entries.ExecutionStarted():
            return f"started on {entry.by.site.worker_id}", ""
        case entries.ExecutionResumed(epoch):
            return f"taken over by {entry.by.site.worker_id} (epoch {epoch})", "yellow"
        case entries.ExecutionSuspended(on, _, others):
            return words.waits(on, others), _WAIT
        case entries.ExecutionPaused(reason):
            return _with_reason("paused", reason), "yellow"
        case entries.ExecutionUnpaused(reason):
            return _with_reason("unpaused", reason), ""
        case entries.ExecutionCancelRequested(reason):
            return _with_reason("cancel delivered", reason), "yellow"
        case entries.ExecutionMigrated(before, after):
            return f"migrated from version {before} to {after}", "yellow"
        case entries.ExecutionCompleted(value):
            return f"completed: {words.short(value, 80)}", _GOOD
        case entries.ExecutionFailed(error):
            return f"failed: {_one_line(str(error))}", _BAD
        case entries.ExecutionCancelled(reason):
            return _with_reason("cancelled", reason), "yellow"
        case _:
            return None


def _frame(entry: JournalEntry, started: dict[str, Timestamp]) -> tuple[str, str] | None:
    match entry.body:
        case entries.FrameStarted(fid):
            started[fid] = entry.at
            return None
        case entries.FrameCompleted(fid):
            took = words.duration(entry.at - started.get(fid, entry.at))
            return f"{_name(fid)} completed in {took}", _GOOD
        case entries.FrameFailed(fid, attempt, error, _, retry_at):
            again = f"; again at {words.instant(retry_at)}" if retry_at else ""
            return f"{_name(fid)} attempt {attempt} failed: {_one_line(str(error))}{again}", _BAD
        case entries.FrameDeferred(fid, _, until):
            return f"{_name(fid)} deferred until {words.instant(until)}", _WAIT
        case _:
            return None


def _name(fid: str) -> str:
    return fid.removeprefix("root/")


def _with_reason(text: str, reason: str) -> str:
    return f"{text}: {reason}" if reason else text


def _one_line(text: str) -> str:
    return " ".join(text.split())
