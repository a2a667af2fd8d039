"""The simulator itself: it repeats itself, it sees what is planted, it tells a story that a person can read."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import warnings

import pytest

from flowli.cairn.write import Won
from flowli.testing.sim.modes import SINGLE, Case, run_case
from flowli.testing.sim.shrink import shrink
from flowli.testing.sim.story import story
from flowli.testing.sim.workloads import WORKLOADS

_TRACE = """
import hashlib, logging, structlog, sys
structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
from flowli.testing.sim.modes import Case, run_case
digest = hashlib.sha256()
for line in sys.argv[1:]:
    outcome, cluster = run_case(Case.parse(line))
    for one in cluster.bucket.operations:
        digest.update(f"{one.at_s} {one.node} {one.verb} {one.key} {one.outcome}".encode() + one.data)
print(digest.hexdigest())
"""


def test_one_seed_gives_one_trace_whatever_the_hash_seed() -> None:
    lines = ["parallel:3:ttl:hosts:0:", "children:3:ttl:hosts:0:die-after@60", "receive:7:ttl:one-host:7:"]
    found = set()
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", _TRACE, *lines], env=env, capture_output=True, text=True, check=True, timeout=120
        )
        found.add(done.stdout)
    assert len(found) == 1


@pytest.mark.parametrize("workload", sorted(WORKLOADS))
def test_a_run_without_faults_violates_nothing(workload: str) -> None:
    outcome, _ = run_case(Case(workload))
    assert outcome.problems == []


def test_the_line_of_a_case_names_the_same_case() -> None:
    for case in (
        Case("steps"),
        Case("receive", 7, ((12, "vanish"), (40, "freeze-long")), "exec-first", one_host=True),
        Case("cancel", 3, (), "task-first", storm=9),
    ):
        assert Case.parse(str(case)) == case


@pytest.mark.parametrize(
    "line", ["", "steps", "steps:1:ttl:hosts:0:nonsense@3", "steps:x:ttl:hosts:0:", "a:1:b:hosts:0:"]
)
def test_a_line_that_names_no_case_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="names no run"):
        Case.parse(line)


def test_a_planted_failure_is_found_told_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    from flowli.testing.sim.bucket import Bucket

    whole = Bucket.write

    def forgetful(self: Bucket, key: str, data: bytes, if_absent: bool, if_version: str | None) -> object:
        if key.startswith("logs/wf.exec.") and key.endswith("2.msgpack"):
            return Won("never stored")
        return whole(self, key, data, if_absent, if_version)

    monkeypatch.setattr(Bucket, "write", forgetful)
    case = Case("steps", 1, ((60, "slow"), (70, "refuse")))
    outcome, cluster = run_case(case)
    assert outcome.problems
    told = story(cluster, outcome.problems)
    assert "worker-1" in told
    assert outcome.problems[0].split(":")[0] in told
    assert len(shrink(case, runs=10).strikes) == 1


@pytest.mark.parametrize("fault", sorted(SINGLE))
def test_every_fault_can_strike(fault: str) -> None:
    outcome, cluster = run_case(Case("steps", 1, ((30, fault),)))
    assert [one.number for one in cluster.bucket.operations if one.fault is not None] == [30]
    assert outcome.problems == []


def test_a_run_leaves_nothing_of_which_python_warns() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for seed in range(1, 13):
            run_case(Case("deadly" if seed % 2 else "retention", seed, storm=seed))
        gc.collect()
    assert [str(one.message) for one in caught] == []


def test_a_worker_that_is_killed_while_it_takes_up_a_warm_coroutine_leaves_it_to_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    outcome, cluster = run_case(Case("cancel", 513, order="task-first", storm=513))
    assert outcome.problems == []
    del cluster
    gc.collect()
    assert told == []
