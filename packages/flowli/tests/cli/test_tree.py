"""The frame tree: nesting by path, failed attempts below their frame, guides on terminals only."""

from datetime import timedelta
from uuid import UUID

import pytest

from flowli.cli.render.screen import plain
from flowli.cli.render.tree import frame_rows
from flowli.domain.entries import (
    FrameCancelled,
    FrameCompleted,
    FrameFailed,
    FrameStarted,
    FrameSuspended,
    JournalEntry,
)
from flowli.domain.errors import ErrorInfo
from flowli.domain.frames import FrameKind
from flowli.domain.memo import JournalFold
from flowli.domain.provenance import Actor, ActorKind, Provenance, Site
from flowli.domain.waits import OnChannel
from flowli.timestamp import Timestamp

T0 = Timestamp.parse("2026-01-31T12:00:00.000000Z")
EID = UUID(int=7)
BOOM = ErrorInfo("builtins.ValueError", "boom\nand more")


def started(fid: str, kind: FrameKind = FrameKind.STEP, attempt: int = 1) -> FrameStarted:
    return FrameStarted(fid, kind, fid.rpartition("/")[2].partition("#")[0], "d", attempt)


@pytest.fixture
def fold() -> JournalFold:
    """One body a second."""
    bodies = [
        started("root/charge#1"),
        FrameFailed("root/charge#1", 1, BOOM, True, T0 + timedelta(seconds=2)),
        started("root/charge#1", attempt=2),
        FrameCompleted("root/charge#1", 2, {"id": 9}),
        started("root/approval#1/ask#1", FrameKind.EFFECT),
        FrameCompleted("root/approval#1/ask#1", 1, None),
        started("root/approval#1/answer#1", FrameKind.RECEIVE),
        FrameSuspended("root/approval#1/answer#1", 1, OnChannel(f"{EID}.answers")),
        started("root/late#1", FrameKind.SLEEP),
        FrameCancelled("root/late#1", 1, "disarmed"),
    ]
    entries = []
    for seq, body in enumerate(bodies):
        by = Provenance(Actor(ActorKind.WORKER, "w"), Site("w", epoch=1), T0 + timedelta(seconds=seq))
        entries.append(JournalEntry(body, by, seq + 1))
    return JournalFold(entries)


NOW = T0 + timedelta(seconds=20)


def lines(fold: JournalFold, **options) -> list[tuple[str, ...]]:
    return [(row.label, row.kind, plain(row.status), row.time, row.detail) for row in frame_rows(fold, NOW, **options)]


def test_piped_frames_are_indented_under_their_scope(fold):
    assert lines(fold, guides=False, values=False) == [
        ("charge#1", "step", "completed", "3.00s", ""),
        ("  attempt 1", "", "failed", "1.00s", "ValueError: boom and more"),
        ("  attempt 2", "", "ended", "1.00s", ""),
        ("approval#1", "scope", "", "", ""),
        ("  ask#1", "effect", "completed", "1.00s", ""),
        ("  answer#1", "receive", "waiting", "14s", "a message on channel answers"),
        ("late#1", "sleep", "cancelled", "1.00s", "disarmed"),
    ]


def test_a_terminal_gets_guides(fold):
    assert [label for label, *_ in lines(fold, guides=True, values=False)] == [
        "├─ charge#1",
        "│  ├─ attempt 1",
        "│  └─ attempt 2",
        "├─ approval#1",
        "│  ├─ ask#1",
        "│  └─ answer#1",
        "└─ late#1",
    ]


def test_values_are_shown_when_asked_for(fold):
    details = {label: detail for label, *_, detail in lines(fold, guides=False, values=True)}
    assert details["charge#1"] == '{"id": 9}'


def test_a_frame_between_two_attempts_says_so(fold):
    by = Provenance(Actor(ActorKind.WORKER, "w"), Site("w", epoch=1), T0)
    failed = [started("root/a#1"), FrameFailed("root/a#1", 1, BOOM, True, T0)]
    rows = lines(JournalFold(JournalEntry(body, by, 1) for body in failed), guides=False, values=False)
    assert rows[0] == ("a#1", "step", "running", "20s", "to be tried again")
