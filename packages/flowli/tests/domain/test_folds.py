"""The fold of a journal: memo rule, status, epochs; it never raises, whatever it is given."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from flowli.domain.entries import (
    ExecutionCancelled,
    ExecutionCancelRequested,
    ExecutionCompleted,
    ExecutionErased,
    ExecutionFailed,
    ExecutionMigrated,
    ExecutionPatched,
    ExecutionPaused,
    ExecutionResumed,
    ExecutionStarted,
    ExecutionSuspended,
    ExecutionUnpaused,
    FrameCancelled,
    FrameCompleted,
    FrameDeferred,
    FrameFailed,
    FrameFulfilled,
    FrameStarted,
    FrameSuspended,
    JournalBody,
    JournalEntry,
    UnknownBody,
)
from flowli.domain.errors import ErrorInfo
from flowli.domain.execution import TRANSITIONS, ExecutionStatus
from flowli.domain.frames import FrameKind, FrameStatus
from flowli.domain.memo import JournalFold
from flowli.domain.waits import OnChannel, OnOperator, OnTimer
from flowli.testing.strategies import journal_entries
from flowli.testing.suites.port_suite import after_s, by, record

quick = settings(max_examples=150, deadline=None)

EXECUTION = record()
BOOM = ErrorInfo("builtins.ValueError", "boom")
STEP = FrameStarted("root/a#1", FrameKind.STEP, "a", "ab" * 32)


def fold(*bodies: JournalBody | tuple[int, JournalBody]) -> JournalFold:
    """Fold bodies written by the owner of epoch 1, or of the epoch that stands before a body."""
    entries = []
    for seq, given_body in enumerate(bodies, 1):
        epoch, body = given_body if isinstance(given_body, tuple) else (1, given_body)
        entries.append(JournalEntry(body, by(after_s(seq), epoch=epoch), seq))
    return JournalFold(entries)


STARTED = ExecutionStarted(EXECUTION)


@quick
@given(st.lists(journal_entries(), max_size=25))
def test_a_fold_never_raises_and_nothing_leaves_an_end(entries: list[JournalEntry]) -> None:
    """JRN-6."""
    folded = JournalFold()
    for seq, entry in enumerate(entries, 1):
        ended, status, epoch = folded.end, folded.status, folded.epoch
        outcomes = {fid: (f.status, f.value, f.outcome_seq) for fid, f in folded.frames.items() if f.status.ended}
        folded.add(replace(entry, seq=seq))
        assert folded.seq == seq
        assert folded.epoch >= epoch
        if ended is not None:
            assert folded.end is ended
            assert folded.status is status
        for fid, outcome in outcomes.items():
            frame = folded.frames[fid]
            assert (frame.status, frame.value, frame.outcome_seq) == outcome
    assert folded.status.terminal == (folded.end is not None)
    assert all(frame.status.ended == (frame.outcome_seq is not None) for frame in folded.frames.values())
    assert len(folded.live_frames()) == sum(not frame.status.ended for frame in folded.frames.values())


@quick
@given(st.lists(journal_entries(), max_size=15), st.data())
def test_folding_in_two_parts_is_folding_at_once(entries: list[JournalEntry], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(entries)))
    at_once, in_parts = JournalFold(entries), JournalFold(entries[:cut])
    for entry in entries[cut:]:
        in_parts.add(entry)
    assert vars(at_once) == vars(in_parts)


def test_an_empty_journal() -> None:
    folded = fold()
    assert (folded.status, folded.epoch, folded.released_epoch) == (ExecutionStatus.PENDING, 0, None)


def test_the_memo_of_a_frame_is_its_first_completion() -> None:
    """JRN-4."""
    folded = fold(STARTED, STEP, FrameCompleted(STEP.fid, 1, "first"), FrameCompleted(STEP.fid, 1, "second"))
    frame = folded.frames[STEP.fid]
    assert (frame.status, frame.value, frame.outcome_seq) == (FrameStatus.COMPLETED, "first", 3)
    assert [anomaly.seq for anomaly in folded.anomalies] == [4]


def test_an_outcome_without_a_start_is_an_anomaly() -> None:
    """JRN-15."""
    folded = fold(STARTED, FrameCompleted("root/never#1", 1, 1))
    assert folded.frames == {}
    assert "never started" in folded.anomalies[0].problem


def test_attempts_until_success() -> None:
    folded = fold(
        STARTED,
        STEP,
        FrameFailed(STEP.fid, 1, BOOM, True, after_s(10)),
        replace(STEP, attempt=2),
        FrameDeferred(STEP.fid, 2, after_s(20)),
        replace(STEP, attempt=2),
        FrameCompleted(STEP.fid, 2, "ok"),
    )
    frame = folded.frames[STEP.fid]
    assert (frame.status, frame.value, frame.attempt) == (FrameStatus.COMPLETED, "ok", 2)
    assert [(a.number, a.error) for a in frame.attempts] == [(1, BOOM), (2, None), (2, None)]
    assert folded.anomalies == []


def test_a_failure_without_another_try_is_the_outcome() -> None:
    frame = fold(STARTED, STEP, FrameFailed(STEP.fid, 1, BOOM, False)).frames[STEP.fid]
    assert (frame.status, frame.error, frame.ended_at) == (FrameStatus.FAILED, BOOM, after_s(3))


def test_a_cancelled_frame_has_its_outcome() -> None:
    folded = fold(STARTED, STEP, FrameCancelled(STEP.fid, 1, "timeout"), FrameCompleted(STEP.fid, 1, "late"))
    assert (folded.frames[STEP.fid].status, folded.frames[STEP.fid].why) == (FrameStatus.CANCELLED, "timeout")


def test_waiting_and_being_fulfilled() -> None:
    receive = FrameStarted("root/receive#1", FrameKind.RECEIVE, "receive", "cd" * 32)
    on = OnChannel("orders")
    waiting = (STARTED, receive, FrameSuspended(receive.fid, 1, on), ExecutionSuspended((on,), 1))
    folded = fold(*waiting)
    assert folded.frames[receive.fid].waits_on == on
    assert (folded.status, folded.released_epoch) == (ExecutionStatus.SUSPENDED, 1)
    done = fold(*waiting, (2, FrameFulfilled(receive.fid, 1, on, 3)), (2, FrameCompleted(receive.fid, 1, "hello")))
    assert done.frames[receive.fid].waits_on is None
    assert done.frames[receive.fid].message_seq == 3
    assert (done.status, done.epoch, done.released_epoch) == (ExecutionStatus.RUNNING, 2, None)


def test_a_clean_hand_over_needs_no_resumed() -> None:
    """OWN-11."""
    folded = fold(STARTED, STEP, ExecutionSuspended((OnTimer(after_s(9)),), 1), (2, FrameCompleted(STEP.fid, 1, 1)))
    assert (folded.epoch, folded.status, folded.released_epoch) == (2, ExecutionStatus.RUNNING, None)
    assert folded.anomalies == []


def test_a_takeover_is_announced_by_resumed() -> None:
    """OWN-6."""
    folded = fold(STARTED, STEP, (3, ExecutionResumed(3, ("expired",))))
    assert (folded.epoch, folded.released_epoch, folded.lifecycle_seq) == (3, None, 3)


def test_an_older_epoch_after_a_newer_one_is_an_anomaly() -> None:
    """OWN-19."""
    folded = fold(STARTED, (3, ExecutionResumed(3)), (2, ExecutionSuspended((), 2)))
    assert folded.epoch == 3
    assert any("epoch 2 after epoch 3" in anomaly.problem for anomaly in folded.anomalies)


def test_an_end_releases_the_epoch_under_which_it_was_written() -> None:
    """OWN-5: be it that of an operator who took the execution from its owner."""
    folded = fold(STARTED, (2, ExecutionCancelled("enough")))
    assert (folded.epoch, folded.released_epoch, folded.anomalies) == (2, 2, [])
    late = fold(STARTED, (3, ExecutionResumed(3)), (2, ExecutionCancelled("too late")))
    assert any("epoch 2 after epoch 3" in anomaly.problem for anomaly in late.anomalies)


def test_a_start_out_of_its_place_lowers_no_epoch() -> None:
    assert fold((3, ExecutionResumed(3)), STARTED).epoch == 3


def test_every_end_is_final_and_releases_the_lease() -> None:
    """JRN-5."""
    for end, status in (
        (ExecutionCompleted("value"), ExecutionStatus.COMPLETED),
        (ExecutionFailed(BOOM), ExecutionStatus.FAILED),
        (ExecutionCancelled("asked", "r-1"), ExecutionStatus.CANCELLED),
    ):
        folded = fold(STARTED, end, ExecutionCompleted("another"), STEP, ExecutionErased("asked"))
        assert (folded.status, folded.end, folded.released_epoch) == (status, end, 1)
        assert folded.erased
        assert STEP.fid not in folded.frames
        assert [anomaly.seq for anomaly in folded.anomalies] == [3, 4]


def test_requests_are_known_once_they_are_journaled() -> None:
    folded = fold(
        STARTED,
        ExecutionPaused("look", "r-1"),
        ExecutionUnpaused("seen", "r-2"),
        ExecutionCancelRequested("asked", "r-3"),
        ExecutionMigrated("1", "2", "new", "r-4"),
        ExecutionCancelled("asked", "r-5"),
    )
    assert folded.applied >= {"r-1", "r-2", "r-3", "r-4", "r-5"}
    assert (folded.paused, folded.cancel_requested, folded.version) == (None, "asked", "2")


def test_pause_lasts_until_unpaused() -> None:
    assert fold(STARTED, ExecutionPaused("look", "r-1")).paused == "look"


def test_the_first_answer_of_patched_counts() -> None:
    folded = fold(STARTED, ExecutionPatched("faster", False), ExecutionPatched("faster", True))
    assert folded.patches == {"faster": False}


def test_a_parked_execution_tells_why() -> None:
    on = OnOperator("nondeterminism", "the code differs", "sha256:abc")
    assert fold(STARTED, ExecutionSuspended((on,), 1)).parked == on
    assert fold(STARTED, ExecutionSuspended((on,), 1), (2, ExecutionResumed(2))).parked is None


def test_an_unknown_entry_is_an_anomaly_for_the_operator() -> None:
    """JRN-15."""
    folded = fold(STARTED, UnknownBody("frame.moved", {}))
    assert folded.anomalies[0].seq == 2
    assert "frame.moved" in folded.anomalies[0].problem
    assert folded.status is ExecutionStatus.RUNNING


def test_a_gap_is_an_anomaly() -> None:
    """JRN-15."""
    folded = JournalFold([JournalEntry(STARTED, by(), 1), JournalEntry(STEP, by(), 3)])
    assert "entry 3 follows entry 1" in folded.anomalies[0].problem


def test_nothing_leaves_a_terminal_status_and_all_can_be_reached() -> None:
    """JRN-5."""
    terminal = {status for status in ExecutionStatus if status.terminal}
    assert terminal == {ExecutionStatus.COMPLETED, ExecutionStatus.FAILED, ExecutionStatus.CANCELLED}
    reached, todo = set[ExecutionStatus](), [ExecutionStatus.PENDING]
    while todo:
        status = todo.pop()
        reached.add(status)
        todo += [following for following in TRANSITIONS[status] if following not in reached]
    assert reached == set(ExecutionStatus)
