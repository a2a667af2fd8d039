"""Every known bug is found by the simulator, with its invariant named. Run by ``nox -s mutations``, not by the
tests.
"""

from __future__ import annotations

import itertools
import random
import time
from dataclasses import replace

import pytest
from mutations import MUTATIONS, Mutation

from flowli.testing.sim.campaign import Budget, Campaign

BUDGET = Budget(sweep=600, freezes=300, storms=200)
LIMIT_S = 20.0


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[one.name.replace(" ", "-") for one in MUTATIONS])
def test_the_mutation_is_found(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [
        list(Campaign(seed=seed).cases(mode, BUDGET, [workload]))
        for seed in (1, 2)
        for workload in mutation.workloads
        for mode in mutation.modes
    ]
    for row in cases:
        random.Random(mutation.name).shuffle(row)
    in_turn = [case for row in itertools.zip_longest(*cases) for case in row if case is not None]
    if mutation.order:
        in_turn = [replace(case, order=mutation.order) for case in in_turn]
    mutation.patch(monkeypatch)
    campaign, began_s = Campaign(), time.monotonic()
    for finding in campaign.run(in_turn):
        if finding is not None:
            named = [problem for problem in finding.problems if problem.split(":")[0].split("/")[0] in mutation.finds]
            if named:
                return
        if time.monotonic() - began_s > LIMIT_S:
            break
    seen = [str(one.case) + " " + one.problems[0] for one in campaign.findings[:3]]
    pytest.fail(f"{mutation.name}: not found in {campaign.runs} runs; seen instead: {seen}")
