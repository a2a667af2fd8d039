"""Real processes on the filesystem store, killed, stopped, on a full disk and on a read-only one.

At which operations is drawn by the commit; ``--sim-budget full`` strikes at every one.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from flowli.testing.sim.campaign import BUDGETS
from flowli.testing.sim.suite import budget_of, seed_of_commit

if TYPE_CHECKING:
    from conftest import Drive

DRAWN = {
    ("kill-before", "worker"): 6,
    ("kill-after", "worker"): 8,
    ("kill-before", "client"): 3,
    ("kill-after", "client"): 4,
    ("stop", "worker"): 3,
    ("full", "worker"): 3,
    ("full", "client"): 2,
    ("read-only", "worker"): 3,
    ("read-only", "client"): 1,
}


@pytest.mark.parametrize(("strike", "victim"), list(DRAWN), ids=["-".join(one) for one in DRAWN])
def test_a_process_that_is_struck_at_any_operation_loses_nothing(
    strike: str, victim: str, drive: Drive, counted: dict[str, int], pytestconfig: pytest.Config
) -> None:
    """WRK-8."""
    # a worker makes more operations when it waits; those that begin the work are all among the first
    every = range(1, min(counted[victim], 120) + 1)
    budget = budget_of(pytestconfig)
    most = len(every) if budget is BUDGETS["full"] else 1 if budget is BUDGETS["small"] else DRAWN[strike, victim]
    numbers = sorted(random.Random(f"{seed_of_commit()}/{strike}/{victim}").sample(every, most))
    told = drive("chaos_driver.py", *(f"{strike}@{number}:{victim}" for number in numbers))
    assert len(told) == most
    assert [one for one in told if one["problems"]] == []


def test_what_once_went_wrong_goes_right(drive: Drive) -> None:
    """A control entry that was refused was no reason not to ack, and a sweeper that was refused once swept no more."""
    told = drive("chaos_driver.py", "read-only@76:worker", "full@77:worker")
    assert [one for one in told if one["problems"]] == []


def test_two_fleets_on_one_bucket_run_what_they_know(drive: Drive) -> None:
    (told,) = drive("fleets_driver.py")
    assert told["problems"] == [], told["log"]
