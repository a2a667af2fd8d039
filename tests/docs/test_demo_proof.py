"""The proof of the demo finds what it is there to find."""

import sys
from uuid import UUID

import pytest

from flowli.domain.entries import ExecutionCompleted, ExecutionStarted, FrameCompleted, FrameStarted, JournalEntry
from flowli.domain.execution import Execution
from flowli.domain.frames import FrameKind
from flowli.domain.memo import JournalFold
from flowli.domain.provenance import Actor, ActorKind, Provenance, Site
from flowli.timestamp import Timestamp

EID = UUID("0197a1b2-0000-7000-8000-000000000001")
BY = Provenance(Actor(ActorKind.WORKER, "w"), Site("w", epoch=1), Timestamp(1))


@pytest.fixture
def proof(examples, monkeypatch):
    monkeypatch.syspath_prepend(str(examples))
    import demo_proof

    yield demo_proof
    for name in ("demo_proof", "demo_snapshot", "outside"):
        sys.modules.pop(name, None)


@pytest.fixture
def line(proof):
    def make(fid: str):
        from outside import Line

        return Line("charge", "SO-1", str(EID), fid, 1, "key", 1)

    return make


def fold(*steps: str, ended: bool = False, value: object = 1) -> JournalFold:
    bodies = [ExecutionStarted(Execution(EID, "w", "1", {"args": [], "kwargs": {}}, BY))]
    for fid in steps:
        bodies += [FrameStarted(fid, FrameKind.STEP, "charge", "d"), FrameCompleted(fid, 1, value)]
    if ended:
        bodies.append(ExecutionCompleted(None))
    return JournalFold(JournalEntry(body, BY, seq) for seq, body in enumerate(bodies, 1))


@pytest.fixture
def compare(proof):
    def run(before: JournalFold, lines_before: list, after: JournalFold, lines_after: list):
        return proof.prove(
            proof.Snapshot({EID: before}, (EID,), tuple(lines_before)),
            proof.Snapshot({EID: after}, (EID,), tuple(lines_after)),
        )

    return run


def test_a_clean_run_holds(compare, line):
    found = compare(
        fold("root/a#1"),
        [line("root/a#1")],
        fold("root/a#1", "root/b#1", ended=True),
        [line("root/a#1"), line("root/b#1")],
    )
    assert (found.finished_at_kill, found.finished, found.rerun, found.violations) == (1, 2, [], [])


def test_a_finished_step_that_ran_again_is_a_violation(compare, line):
    twice = [line("root/a#1"), line("root/a#1")]
    found = compare(fold("root/a#1"), twice[:1], fold("root/a#1", ended=True), twice)
    assert len(found.violations) == 1
    assert "2 lines" in found.violations[0]


def test_a_step_cut_off_between_effect_and_entry_may_run_again(compare, line):
    twice = [line("root/a#1"), line("root/a#1")]
    found = compare(fold(), twice[:1], fold("root/a#1", ended=True), twice)
    assert found.rerun == [(str(EID), "root/a#1")]
    assert found.violations == []


def test_a_step_that_ran_twice_after_the_kill_is_a_violation(compare, line):
    assert compare(fold(), [], fold("root/a#1", ended=True), [line("root/a#1")] * 2).violations


def test_a_finished_step_without_its_effect_is_a_violation(compare):
    assert compare(fold("root/a#1"), [], fold("root/a#1", ended=True), []).violations


def test_another_result_of_a_finished_step_is_a_violation(compare, line):
    one = [line("root/a#1")]
    assert compare(fold("root/a#1"), one, fold("root/a#1", ended=True, value=2), one).violations


def test_an_effect_of_no_finished_step_is_a_violation(compare, line):
    assert compare(fold(), [], fold(ended=True), [line("root/ghost#1")]).violations


def test_an_execution_that_has_not_ended_is_a_violation(compare):
    assert compare(fold(), [], fold(), []).violations
