"""Histories of the examples, kept from when they were recorded: today's code still goes along them."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from flowli.domain.errors import NondeterminismError
from flowli.domain.memo import JournalFold
from flowli.testing.histories import Histories

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
KEPT = Histories(EXAMPLES / "histories")


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    yield import_module("app").registry
    del sys.modules["app"]


@pytest.mark.parametrize("name", KEPT.names)
def test_a_kept_history_replays(registry, name):
    KEPT.replay(name, registry).check()


def test_what_is_kept_shows_every_workflow_waiting_and_ended(registry):
    folds = [JournalFold(KEPT.load(name)) for name in KEPT.names]
    assert {fold.execution.workflow for fold in folds} == {workflow.name for workflow in registry}
    assert {fold.end is None for fold in folds} == {True, False}
    assert any(frame.attempt > 1 for fold in folds for frame in fold.frames.values())
    assert [anomaly for fold in folds for anomaly in fold.anomalies] == []


def test_a_history_is_found_that_the_code_no_longer_goes_along(registry, monkeypatch):
    monkeypatch.setattr(sys.modules["invoices.workflow"], "ROLES", ("head of finance",))
    with pytest.raises(NondeterminismError, match="ask_for_decision"):
        KEPT.replay("invoice-escalated", registry).check()


def test_they_can_be_recorded_anew(registry, tmp_path):
    made = tmp_path / "histories"
    script = f"import make_histories; from pathlib import Path; make_histories.main(Path({str(made)!r}))"
    path = os.pathsep.join([str(EXAMPLES), *filter(None, [os.environ.get("PYTHONPATH")])])
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path, env=os.environ | {"PYTHONPATH": path})
    assert Histories(made).names == KEPT.names
    for name in KEPT.names:
        Histories(made).replay(name, registry).check()
