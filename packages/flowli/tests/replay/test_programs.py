"""Random programs, live in any order of outcomes, replay from every prefix of their journal (RPL-1, RPL-2, RPL-4)."""

from __future__ import annotations

import os
import random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flowli.domain.entries import (
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionResumed,
    ExecutionSuspended,
    FrameStarted,
    JournalBody,
    JournalEntry,
)
from flowli.runtime.replay.session import Session
from flowli.testing.replay import new_session

from .live import Live, execution_of, is_command, settle
from .programs import programs, registry, workflow

EXAMPLES = int(os.environ.get("FLOWLI_TEST_EXAMPLES", "150"))
ENDS = (ExecutionCompleted, ExecutionFailed, ExecutionCancelled)
BY_OWNERS = (ExecutionResumed, ExecutionSuspended)


def replayed(ops: list[Any], journal: list[JournalEntry]) -> tuple[Session, list[Any]]:
    """A fresh session that has gone through ``journal``, and what its code has seen."""
    trace: list[Any] = []
    fn = workflow(trace)
    session = new_session(fn, execution_of(fn, ops), registry=registry)
    session.load(journal)
    settle(session)
    return session, trace


def next_commands(journal: list[JournalEntry], n: int) -> list[JournalBody]:
    """What the code asked for after entry ``n``, before anything came to it."""
    started = {entry.body.fid for entry in journal[:n] if isinstance(entry.body, FrameStarted)}
    found = []
    for entry in journal[n:]:
        if isinstance(entry.body, BY_OWNERS):
            continue
        if not is_command(entry.body) or (isinstance(entry.body, FrameStarted) and entry.body.fid in started):
            break
        found.append(entry.body)
    return found


def check(ops: list[Any], live: Live, trace: list[Any]) -> None:
    journal = live.run()
    ended = isinstance(journal[-1].body, ENDS)
    recorded = journal[:-1] if ended else journal
    for n in range(1, len(recorded) + 1):
        session, seen = replayed(ops, recorded[:n])
        assert session.divergence is None, f"prefix {n}: {session.divergence}"
        assert seen == trace[: len(seen)], f"prefix {n}"
        made = [entry.body for entry in session.take_buffer()]
        assert made == next_commands(recorded, n), f"prefix {n}"
        if n == len(recorded):
            assert seen == trace
            assert made == []
            assert list(session.frames) == [frame.fid for frame in session.fold.live_frames()]
            if ended:
                assert type(session.ending) is type(journal[-1].body)
                if isinstance(session.ending, ExecutionFailed):
                    assert session.ending.error.message == journal[-1].body.error.message
                else:
                    assert session.ending == journal[-1].body
            else:
                assert session.ending is None
        session.loop.drop()
        assert session.take_buffer() == []
    live.session.loop.drop()


@given(ops=programs(), seed=st.integers(0, 2**32), cancels=st.integers(0, 2), crashes=st.integers(0, 2))
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_program_replays_from_every_prefix(ops: list[Any], seed: int, cancels: int, crashes: int) -> None:
    """RPL-1, RPL-2, RPL-6, RPL-14."""
    trace: list[Any] = []
    live = Live(workflow(trace), [ops], random.Random(seed), cancels=cancels, crashes=crashes)
    check(ops, live, trace)
