"""Every fault at every operation: the share of the matrix that ``--sim-budget`` allows."""

from __future__ import annotations

import pytest

from flowli.testing.sim.campaign import BUDGETS, Campaign
from flowli.testing.sim.modes import FREEZES, ORDERS, SINGLE, Case
from flowli.testing.sim.suite import SimulatorSuite, seed_of_commit
from flowli.testing.sim.workloads import WORKLOADS


class TestFlowli(SimulatorSuite):
    """The workloads of flowli itself."""

    workloads = WORKLOADS
    parts = 2


def drawn(mode: str) -> list[Case]:
    return list(Campaign(seed=seed_of_commit()).cases(mode, BUDGETS["default"]))


def test_the_default_budget_tries_each_fault_on_each_workload() -> None:
    sweep, freezes = drawn("sweep"), drawn("freeze")
    assert len(sweep) >= 2500
    struck = {(one.workload, one.strikes[0][1]) for one in sweep}
    assert struck == {(name, fault) for name in WORKLOADS for fault in SINGLE}
    assert len(freezes) >= 1500
    assert {(one.workload, one.strikes[0][1], one.order) for one in freezes} == {
        (name, fault, order) for name in WORKLOADS for fault in FREEZES for order in ORDERS
    }
    assert len(drawn("storm")) >= 500


def test_another_commit_draws_other_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    for seed in ("11", "12", "11"):
        monkeypatch.setenv("FLOWLI_SIM_SEED", seed)
        seed_of_commit.cache_clear()
        campaign = Campaign({"steps": WORKLOADS["steps"]}, seed_of_commit())
        seen.append([case.strikes for case in campaign.cases("sweep", BUDGETS["default"])])
    seed_of_commit.cache_clear()
    assert seen[0] == seen[2] != seen[1]
