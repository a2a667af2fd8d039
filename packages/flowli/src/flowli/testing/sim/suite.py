"""``SimulatorSuite``: workloads of your own under every fault, as tests.

How much is tried is told by ``--sim-budget`` of pytest, or by the environment variable ``FLOWLI_SIM_BUDGET``; which
cases are drawn follows the commit that is checked out, or ``FLOWLI_SIM_SEED``.
"""

from __future__ import annotations

import functools
import itertools
import os
import subprocess
from collections.abc import Mapping
from typing import ClassVar

import pytest

from flowli.testing.sim.backends import OpenBackend
from flowli.testing.sim.campaign import BUDGETS, MODES, Budget, Campaign
from flowli.testing.sim.modes import Case, run_case
from flowli.testing.sim.workload import Workload

__all__ = ["SimulatorSuite", "budget_of", "seed_of_commit"]


class SimulatorSuite:
    """Inherit from it, and name your workloads.

    Attributes:
        workloads: by name.
        share: how much of the budget is spent on each of them.
        parts: into how many tests a mode of a workload is split, so that they run side by side.

    Example::

        class TestVotes(SimulatorSuite):
            workloads = WORKLOADS
    """

    workloads: ClassVar[Mapping[str, Workload]]
    share: ClassVar[float] = 1.0
    parts: ClassVar[int] = 1

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One test for each workload, mode and part."""
        if "workload" in metafunc.fixturenames:
            metafunc.parametrize("workload", sorted(self.workloads))
        if "mode" in metafunc.fixturenames:
            metafunc.parametrize("mode", MODES)
            metafunc.parametrize("part", range(self.parts))

    @pytest.fixture
    def open_backend(self) -> OpenBackend | None:
        """Opens your own backend in the place of the simulated bucket, which None stands for."""
        return None

    def test_a_run_without_faults_violates_nothing(self, workload: str, open_backend: OpenBackend | None) -> None:
        self._run(Case(workload), open_backend)

    def test_suspending_and_replaying_at_every_wait_changes_nothing(
        self, workload: str, open_backend: OpenBackend | None
    ) -> None:
        self._run(Case(workload, order="always-replay"), open_backend)

    def test_no_fault_violates_anything(
        self, workload: str, mode: str, part: int, open_backend: OpenBackend | None, pytestconfig: pytest.Config
    ) -> None:
        budget = budget_of(pytestconfig).times(self.share)
        campaign = Campaign(self.workloads, seed_of_commit(), backend=open_backend)
        cases = campaign.cases(mode, budget, [workload])
        for _ in campaign.run(itertools.islice(cases, part, None, self.parts)):
            pass
        told = "\n".join(f"{one.case}  {one.problems[0]}" for one in campaign.findings[:10])
        assert not told, f"{told}\nits story: flowli sim --case '{campaign.findings[0].case}'"

    def _run(self, case: Case, open_backend: OpenBackend | None) -> None:
        outcome, _ = run_case(case, self.workloads, backend=open_backend)
        assert outcome.problems == []


def budget_of(config: pytest.Config) -> Budget:
    """The budget that the option or the environment names; the default one else.

    Raises:
        UsageError: there is none of that name.
    """
    name = config.getoption("--sim-budget", None) or os.environ.get("FLOWLI_SIM_BUDGET") or "default"
    if name not in BUDGETS:
        raise pytest.UsageError(f"there is no budget {name!r} of the simulator; use {', '.join(BUDGETS)}")
    return BUDGETS[name]


@functools.cache
def seed_of_commit() -> int:
    """Another seed for each commit, so that in time all is tried; ``FLOWLI_SIM_SEED`` repeats one.

    1 where no commit is known.
    """
    if given := os.environ.get("FLOWLI_SIM_SEED"):
        return int(given)
    try:
        found = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return 1
    return int(found.stdout.strip()[:6], 16)
