"""Every fault at every operation: the share of the matrix that the budget allows.

``FLOWLI_SIM_BUDGET`` is ``small``, ``default`` or ``full``; each workload and mode is one test, so that they run side
by side.
"""

from __future__ import annotations

import os

import pytest

from flowli.testing.sim.campaign import BUDGETS, Campaign
from flowli.testing.sim.workloads import WORKLOADS

BUDGET = BUDGETS[os.environ.get("FLOWLI_SIM_BUDGET", "small")]


@pytest.mark.parametrize("workload", sorted(WORKLOADS))
@pytest.mark.parametrize("mode", ["sweep", "freeze"])
def test_no_single_fault_violates_anything(workload: str, mode: str) -> None:
    campaign = Campaign()
    for _ in campaign.run(campaign.cases(mode, BUDGET, [workload])):
        pass
    assert campaign.runs > 0
    assert not campaign.findings, "\n".join(f"{one.case}  {one.problems[0]}" for one in campaign.findings[:10])


@pytest.mark.parametrize("part", range(4))
def test_no_storm_violates_anything(part: int) -> None:
    campaign = Campaign(seed=1 + part * BUDGET.storms)
    for _ in campaign.run(campaign.cases("storm", BUDGET)):
        pass
    assert campaign.runs == BUDGET.storms
    assert not campaign.findings, "\n".join(f"{one.case}  {one.problems[0]}" for one in campaign.findings[:10])


@pytest.mark.parametrize("workload", sorted(WORKLOADS))
def test_suspending_and_replaying_at_every_wait_changes_nothing(workload: str) -> None:
    from flowli.testing.sim.modes import Case, run_case

    outcome, _ = run_case(Case(workload, order="always-replay"))
    assert outcome.problems == []
