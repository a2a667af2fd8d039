"""The live view: which events it shows, and that a terminal and a pipe see the same."""

import io
import json
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from rich.console import Console

from flowli import MemoryBackend
from flowli.cli.dev.feed import Feed
from flowli.cli.dev.view import LinesView, TerminalView
from flowli.cli.render.screen import Screen
from flowli.domain.entries import (
    START,
    Announced,
    ControlEntry,
    ExecutionCompleted,
    ExecutionCreated,
    ExecutionStarted,
    ExecutionSuspended,
    FrameCompleted,
    FrameFailed,
    FrameStarted,
    JournalEntry,
    OperatorActed,
    StatusChanged,
)
from flowli.domain.errors import ErrorInfo
from flowli.domain.execution import Execution, ExecutionStatus
from flowli.domain.frames import FrameKind
from flowli.domain.provenance import Actor, ActorKind, Provenance, Site
from flowli.domain.waits import OnChannel
from flowli.timestamp import Timestamp

EID = UUID("0197a1b2-0000-7000-8000-000000000000")
T0 = Timestamp.parse("2026-01-31T12:00:00.000000Z")
NOW = T0 + timedelta(minutes=1)


def by(seconds: float = 0) -> Provenance:
    return Provenance(Actor(ActorKind.HUMAN, "ada"), Site("w-1", epoch=1), T0 + timedelta(seconds=seconds))


RECORD = Execution(EID, "purchase", "1", {}, by())
CREATED = ExecutionCreated(EID, "purchase", "1", "d", "default", T0, dispatch_key="A-1")


def changed(status: ExecutionStatus, seq: int) -> StatusChanged:
    return StatusChanged(EID, status, f"execution.{status.value}", 1, seq)


class Bucket:
    """Memory ports, written as a worker would."""

    def __init__(self) -> None:
        self.ports = MemoryBackend().ports
        self.end = START

    async def control(self, *bodies, seconds: float = 0) -> None:
        await self.ports.control.append([ControlEntry(body, by(seconds)) for body in bodies])

    async def journal(self, *bodies, seconds: float = 0) -> None:
        entries = [JournalEntry(body, by(seconds)) for body in bodies]
        done = await self.ports.journal.append(EID, entries, after=self.end, epoch=1, writer="w-1")
        self.end = done.position


@pytest.fixture
def bucket() -> Bucket:
    return Bucket()


FIRST = FrameStarted("root/charge#1", FrameKind.STEP, "charge", "d")


async def test_an_execution_is_told_from_its_creation_to_its_end(bucket):
    feed = Feed(bucket.ports)
    await bucket.control(CREATED)
    assert [event.text for event in await feed.round()] == ["created under key A-1"]
    await bucket.journal(ExecutionStarted(RECORD), FIRST, seconds=1)
    await bucket.control(changed(ExecutionStatus.RUNNING, 1), seconds=1)
    assert [event.text for event in await feed.round()] == ["started on w-1"]
    await bucket.journal(
        FrameFailed("root/charge#1", 1, ErrorInfo("builtins.ValueError", "no\nway"), True, NOW), seconds=2
    )
    await bucket.journal(replace(FIRST, attempt=2), FrameCompleted("root/charge#1", 2, 1), seconds=3)
    assert [event.text for event in await feed.round()] == [
        "charge#1 attempt 1 failed: ValueError: no way; again at 2026-01-31T12:01:00Z",
        "charge#1 completed in 0.0ms",
    ]
    await bucket.journal(ExecutionSuspended((OnChannel(f"{EID}.parcels"),), 1), seconds=4)
    await bucket.control(changed(ExecutionStatus.SUSPENDED, 6), seconds=4)
    await bucket.control(OperatorActed("pause", EID, "audit"), Announced("shipped", {"n": 1}, EID), seconds=5)
    assert [event.text for event in await feed.round()] == [
        "waits on a message on channel parcels",
        "pause by human ada: audit",
        'announces shipped: {"n": 1}',
    ]
    await bucket.journal(ExecutionCompleted("ok"), seconds=6)
    await bucket.control(changed(ExecutionStatus.COMPLETED, 7), seconds=6)
    assert [event.text for event in await feed.round()] == ['completed: "ok"']
    assert await feed.round() == []
    assert feed.executions[EID].status is ExecutionStatus.COMPLETED


async def test_what_happened_before_is_known_but_not_told(bucket):
    await bucket.control(CREATED)
    await bucket.journal(ExecutionStarted(RECORD), seconds=1)
    await bucket.control(changed(ExecutionStatus.RUNNING, 1))
    feed = Feed(bucket.ports)
    await feed.skip_history()
    assert await feed.round() == []
    assert feed.executions[EID].workflow == "purchase"


async def test_who_asked_is_told_although_a_worker_was_faster(bucket):
    feed = Feed(bucket.ports)
    await bucket.journal(ExecutionStarted(RECORD), seconds=1)
    await bucket.control(changed(ExecutionStatus.RUNNING, 1), seconds=1)
    assert [event.text for event in await feed.round()] == ["started on w-1"]
    await bucket.control(CREATED, CREATED, seconds=2)
    assert [event.text for event in await feed.round()] == ["created under key A-1"]
    assert feed.executions[EID].workflow == "purchase"


async def test_what_the_log_repeats_is_told_once(bucket):
    await bucket.control(CREATED, CREATED)
    await bucket.control(CREATED)
    await bucket.journal(ExecutionStarted(RECORD), ExecutionCompleted(1))
    await bucket.control(changed(ExecutionStatus.COMPLETED, 2), changed(ExecutionStatus.COMPLETED, 2))
    feed = Feed(bucket.ports)
    texts = [event.text for event in await feed.round()]
    assert texts == ["created under key A-1", "started on w-1", "completed: 1"]


async def test_a_pipe_gets_lines_and_a_script_gets_objects(bucket, capsys):
    await bucket.control(CREATED)
    feed = Feed(bucket.ports)
    events = await feed.round()
    with LinesView(Screen()) as view:
        view.update(feed, events, NOW)
    assert capsys.readouterr().out == f"12:00:00.000  {EID}  purchase      created under key A-1\n"
    with LinesView(Screen(json_wanted=True)) as view:
        view.update(feed, events, NOW)
    assert json.loads(capsys.readouterr().out)["text"] == "created under key A-1"


async def test_a_terminal_gets_a_table_and_the_latest_events(bucket):
    await bucket.control(CREATED)
    await bucket.journal(ExecutionStarted(RECORD), FIRST, seconds=1)
    await bucket.control(changed(ExecutionStatus.RUNNING, 1), seconds=1)
    feed = Feed(bucket.ports)
    events = await feed.round()
    screen, written = Screen(), io.StringIO()
    screen.__dict__["console"] = Console(file=written, force_terminal=True, width=140, legacy_windows=False)
    with TerminalView(screen, "flowli dev  file:./bucket") as view:
        view.update(feed, events, NOW)
    text = written.getvalue()
    assert "flowli dev  file:./bucket" in text
    assert f"{str(EID)[:13]}  purchase" in text
    assert "started on w-1" in text
    assert "\x1b[34mrunning" in text
