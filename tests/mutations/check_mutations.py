"""Every known bug is found by the simulator, with its invariant named. Run by ``nox -s mutations``, not by the
tests.

The search is aimed: each bug says in which workloads, by which faults and at which operations it shows.
"""

from __future__ import annotations

import itertools
import random
import re
import time
from collections.abc import Callable, Iterator

import pytest
from mutations import MUTATIONS, Mutation

from flowli.testing.sim.campaign import Campaign
from flowli.testing.sim.modes import Case, run_case, storms
from flowli.testing.sim.workloads import WORKLOADS

LIMIT_S = 20.0
"""Seconds of this process, whatever else the machine does."""


def aimed(mutation: Mutation) -> Iterator[Case]:
    """The cases to try: those of all workloads in turn."""
    rows = [_single(mutation, workload) if mutation.faults else _stormy(workload) for workload in mutation.workloads]
    return (case for row in itertools.zip_longest(*rows) for case in row if case is not None)


def _stormy(workload: str) -> list[Case]:
    return list(storms({workload: WORKLOADS[workload]}, range(1, 400)))


def _single(mutation: Mutation, workload: str) -> list[Case]:
    found = []
    for seed in range(1, 6):
        _, cluster = run_case(Case(workload, seed, order=mutation.order))
        calm = next(at_s for at_s, who, _ in cluster.notes if who == "calm")
        for one in cluster.bucket.operations:
            if one.at_s < calm and re.search(mutation.at, f"{one.verb} {one.key}"):
                found += [Case(workload, seed, strikes, mutation.order) for strikes in _strikes(mutation, one.number)]
    random.Random(mutation.name).shuffle(found)
    return found


def _strikes(mutation: Mutation, number: int) -> Iterator[tuple[tuple[int, str], ...]]:
    for fault in mutation.faults:
        first, _, second = fault.partition("+")
        for later in range(1, 9) if second else ():
            yield (number, first), (number + later, second)
        if not second:
            yield ((number, first),)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[one.name.replace(" ", "-") for one in MUTATIONS])
def test_the_mutation_is_found(
    mutation: Mutation, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    cases = list(aimed(mutation))
    mutation.patch(monkeypatch)
    campaign, began_s = Campaign(), time.process_time()
    for finding in campaign.run(cases):
        spent_s = time.process_time() - began_s
        if finding is not None:
            named = {problem.split(":")[0].split("/")[0] for problem in finding.problems} & set(mutation.finds)
            if named:
                told = f"{', '.join(sorted(named))} in {campaign.runs} runs, {spent_s:.1f} s: {finding.case}"
                record_property(mutation.name, told)
                return
        if spent_s > LIMIT_S:
            break
    seen = [str(one.case) + " " + one.problems[0] for one in campaign.findings[:3]]
    pytest.fail(f"{mutation.name}: not found in {campaign.runs} of {len(cases)} runs; seen instead: {seen}")
