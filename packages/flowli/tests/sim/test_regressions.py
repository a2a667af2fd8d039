"""Cases that once violated something, each the smallest of its kind. Their operations shift as the engine changes."""

from __future__ import annotations

import pytest

from flowli.testing.sim.modes import Case, run_case

KEPT = {
    "receive:1:ttl:one-host:0:slow-long@182": "a takeover appended after an end that landed meanwhile",
    "send:1:ttl:hosts:0:die-after@225": "a message was sent again to a receiver that it had ended",
    "cancel:1:always-replay:hosts:0:freeze-between@99": "a cancel was delivered and never run",
    "pause:1:always-replay:hosts:0:freeze-between@110": "a pause that was overtaken stayed unanswered",
    "timeouts:195:exec-first:one-host:195:": "a wake-up shared the fate of another and was acked unread",
    "send:117:always-replay:one-host:117:": "the task that carried an execution was acked unread",
    "send:772:exec-first:one-host:772:": "an owner appended below the epoch that it had read",
    "receive:1:ttl:hosts:0:die-after@124": "the marker of an owner that died was left",
}


@pytest.mark.parametrize("line", KEPT, ids=list(KEPT.values()))
def test_what_once_went_wrong_goes_right(line: str) -> None:
    outcome, _ = run_case(Case.parse(line))
    assert outcome.problems == []
