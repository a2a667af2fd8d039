"""Domain objects and entries as data and back; how small commits are."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any
from uuid import UUID

import msgpack
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowli import codec
from flowli.domain.channels import Message, WaitMarker
from flowli.domain.data import Data
from flowli.domain.entries import (
    ControlEntry,
    ExecutionCompleted,
    ExecutionStarted,
    FrameCompleted,
    FrameStarted,
    JournalEntry,
    UnknownBody,
)
from flowli.domain.errors import InvalidValue
from flowli.domain.execution import Execution
from flowli.domain.frames import FrameKind
from flowli.domain.ports import ArchivedExecution, Holder, LeaseRequest, StartClaim
from flowli.domain.provenance import Actor, ActorKind, Code, Provenance, Site
from flowli.domain.tasks import DeadTask, QueueSettings, Task, TaskKind, TaskLease
from flowli.domain.timers import Timer
from flowli.testing.strategies import control_entries, journal_entries, objects
from flowli.timestamp import Timestamp

OBJECTS: list[type[Any]] = [
    Execution,
    Provenance,
    Task,
    TaskLease,
    DeadTask,
    QueueSettings,
    Message,
    WaitMarker,
    Timer,
    StartClaim,
    LeaseRequest,
    Holder,
    JournalEntry,
    ControlEntry,
    ArchivedExecution,
]


quick = settings(max_examples=30, deadline=None)


def through_json(data: Data) -> Any:
    return orjson.loads(orjson.dumps(data))


def through_msgpack(data: Data) -> Any:
    return msgpack.unpackb(msgpack.packb(data, strict_types=True))


def _as_read(entry: JournalEntry, seq: int) -> JournalEntry:
    """An entry as a reader has it: numbered; all fields of a body that it does not know are the body's."""
    return replace(entry, seq=seq, more=None if isinstance(entry.body, UnknownBody) else entry.more)


@pytest.mark.parametrize("cls", OBJECTS, ids=lambda cls: cls.__name__)
@quick
@given(data=st.data())
def test_every_object_comes_back_equal(cls: type[Any], data: st.DataObject) -> None:
    written = data.draw(objects(cls))
    if isinstance(written, ArchivedExecution):
        written = replace(written, entries=tuple(_as_read(entry, seq) for seq, entry in enumerate(written.entries, 1)))
    for through in (through_json, through_msgpack):
        back = codec.load(cls, through(codec.dump(written)))
        assert back == written
        assert repr(back) == repr(written), "types too: True is not 1"


@quick
@given(st.lists(journal_entries(), max_size=6))
def test_journal_entries_of_a_commit_come_back_equal(entries: list[JournalEntry]) -> None:
    for through in (through_json, through_msgpack):
        back = codec.load_journal(through(codec.dump_entries(entries)), first=7)
        assert [entry.seq for entry in back] == list(range(7, 7 + len(entries)))
        assert repr([replace(entry, seq=0) for entry in back]) == repr(entries)


@quick
@given(st.lists(control_entries(), max_size=6))
def test_control_entries_of_a_commit_come_back_equal(entries: list[ControlEntry]) -> None:
    back = codec.load_control(through_msgpack(codec.dump_entries(entries)))
    assert repr([replace(entry, seq=0) for entry in back]) == repr(entries)


@quick
@given(st.lists(st.lists(journal_entries(), max_size=3), max_size=4))
def test_commits_can_be_joined(commits: list[list[JournalEntry]]) -> None:
    records = [record for commit in commits for record in codec.dump_entries(commit)]
    entries = [entry for commit in commits for entry in commit]
    assert [replace(entry, seq=0) for entry in codec.load_journal(records)] == entries


def test_defaults_are_left_out() -> None:
    small = Task("q", TaskKind.START, UUID(int=1), Timestamp(0), BY)
    assert set(codec.dump(small)) == {"queue", "kind", "target", "cause_at", "enqueued_by"}


BY = Provenance(Actor(ActorKind.WORKER, "w-1"), Site("w-1", "host-1", 4711, "a1b2c3d4", epoch=1), Timestamp(0))
SMALL_TASK: dict[str, Data] = {
    "queue": "q",
    "kind": "START",
    "target": str(UUID(int=1)),
    "cause_at": str(Timestamp(0)),
    "enqueued_by": {
        "actor": {"kind": "worker", "id": "w-1"},
        "site": {"worker_id": "w-1"},
        "at": str(Timestamp(0)),
        "tenant": "a field of a newer version",
    },
    "colour": "another one",
}


def test_unknown_fields_are_kept_for_the_next_writing() -> None:
    task = codec.load(Task, SMALL_TASK)
    assert (task.queue, task.target, task.priority) == ("q", UUID(int=1), 50)
    assert task.more == {"colour": "another one"}
    assert task.enqueued_by.more == {"tenant": "a field of a newer version"}
    assert codec.dump(replace(task, priority=7)) == {**SMALL_TASK, "priority": 7}


def test_unknown_fields_of_entries_are_kept_when_they_are_copied() -> None:
    by = codec.dump_entries([JournalEntry(FrameCompleted("root", 1, 3), BY)])[0][3]  # type: ignore[index,call-overload]
    body: Data = {"fid": "root", "attempt": 1, "value": 4, "colour": "red"}
    newer: list[Data] = [
        ["frame.completed", 0, body, {**by, "tenant": "a", "shard": 1}],
        ["frame.completed", 5, body],
        ["frame.completed", 5, {"fid": "root", "attempt": 1, "value": 4}, {"tenant": "b"}],
    ]
    first, second, third = codec.load_journal(newer)
    assert [entry.more for entry in (first, second, third)] == [{"colour": "red"}, {"colour": "red"}, None]
    assert first.by.more == second.by.more == {"tenant": "a", "shard": 1}
    assert third.by.more == {"tenant": "b", "shard": 1}
    assert codec.load_journal(codec.dump_entries([first, second, third])) == (first, second, third)
    assert codec.load_journal(codec.dump_entries([third])) == (replace(third, seq=1),)


@pytest.mark.parametrize(
    "data", [{}, {"queue": "q"}, {**SMALL_TASK, "kind": "SING"}, {**SMALL_TASK, "target": "x"}, [], 3]
)
def test_what_is_no_object_is_refused(data: Any) -> None:
    with pytest.raises(InvalidValue, match=r"^Task"):
        codec.load(Task, data)


def test_an_entry_of_a_newer_version_is_kept_as_it_is() -> None:
    first = codec.dump_entries([JournalEntry(FrameCompleted("root", 1, 3), BY)])[0]
    newer: list[Data] = ["frame.moved", 5, {"fid": "root", "to": [1]}]
    odd: list[Data] = ["frame.suspended", 5, {"fid": "root", "attempt": 1, "on": {"tag": "moon", "phase": 3}}]
    more: list[Data] = ["frame.completed", 5, {"fid": "root", "attempt": 1, "value": 4, "colour": "red"}]
    entries = codec.load_journal([first, newer, odd, more])
    assert entries[1].body == UnknownBody("frame.moved", {"fid": "root", "to": [1]})
    assert entries[2].body == UnknownBody(
        "frame.suspended", {"fid": "root", "attempt": 1, "on": {"tag": "moon", "phase": 3}}
    )
    assert entries[3].body == FrameCompleted("root", 1, 4)
    assert [entry.at.us for entry in entries] == [0, 5, 10, 15]
    again = codec.load_journal(codec.dump_entries(entries))
    assert again == entries


@pytest.mark.parametrize("records", [[["x", 0, {}]], [3], [["frame.completed"]], [["x", 0, {}, {"at": 1}]]])
def test_records_that_are_no_entries_are_refused(records: Any) -> None:
    with pytest.raises(InvalidValue, match=r"^entries\[0\]"):
        codec.load_journal(records)


def five_steps() -> list[list[JournalEntry]]:
    """The commits of an execution of five steps."""
    code = Code("order", "1", "", "", "sha256:0123456789abcdef", "3.11")
    at = map(Timestamp, itertools.count(1_780_000_000_000_000, 1_000))

    def by(kind: str = "", name: str = "") -> Provenance:
        return replace(BY, at=next(at), code=replace(code, frame_kind=kind, frame_name=name), attempt=1 if kind else 0)

    def started(n: int) -> JournalEntry:
        return JournalEntry(FrameStarted(f"root/charge#{n}", FrameKind.STEP, "charge", "ab" * 32), by("step", "charge"))

    def completed(n: int) -> JournalEntry:
        return JournalEntry(FrameCompleted(f"root/charge#{n}", 1, {"ok": True}), by("step", "charge"))

    record = Execution(UUID(int=1), "order", "1", {"args": ["INV-7"], "kwargs": {}}, replace(BY, at=next(at)))
    commits = [[JournalEntry(ExecutionStarted(record), by()), started(1), completed(1), started(2)]]
    commits += [[completed(n), started(n + 1)] for n in range(2, 5)]
    return [*commits, [completed(5), JournalEntry(ExecutionCompleted({"total": 3}), by())]]


def test_the_commits_of_five_steps_stay_small() -> None:
    sizes = [len(msgpack.packb(codec.dump_entries(commit), strict_types=True)) for commit in five_steps()]
    assert max(sizes[1:]) <= 420, "one step"
    assert sum(sizes) <= 2_420, "five steps in all"


def test_an_error_is_described_whatever_it_does() -> None:
    """STP-12."""

    class TwoArguments(Exception):
        def __init__(self, code: int, message: str) -> None:
            super().__init__(message)

    class Silent(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    try:
        raise TwoArguments(3, "half \ud800 a pair")
    except TwoArguments as error:
        info = codec.error_info(error)
    assert info.type.endswith("TwoArguments")
    assert info.message == "half \\ud800 a pair"
    assert "raise TwoArguments" in info.traceback
    assert codec.load(type(info), through_json(codec.dump(info))) == info
    assert "cannot be shown" in codec.error_info(Silent()).message
    long = codec.error_info(ValueError("x" * 100_000))
    assert len(long.message) < 10_000
    assert len(long.traceback) < 20_000
    assert codec.error_info(KeyboardInterrupt()).type == "builtins.KeyboardInterrupt"
