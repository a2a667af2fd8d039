"""The ways of striking: every fault at every operation one at a time, freezes, storms, and the same seed twice.

Each run is named by one line, ``workload:seed:order:hosts:storm:fault@operation``, which ``Case.parse`` reads.
"""

from __future__ import annotations

import contextlib
import logging
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from flowli.cairn.store import ObjectStore
from flowli.testing.sim import faults
from flowli.testing.sim.backends import OpenBackend
from flowli.testing.sim.bucket import Bucket
from flowli.testing.sim.cluster import Cluster, Outcome, Plan
from flowli.testing.sim.faults import Fault
from flowli.testing.sim.mirror import Mirror
from flowli.testing.sim.network import Operation
from flowli.testing.sim.workload import Workload
from flowli.testing.sim.workloads import WORKLOADS

__all__ = ["ALL", "FREEZES", "SINGLE", "Case", "freezes", "operations_of", "run_case", "storms", "sweep"]

SINGLE: dict[str, Fault] = {
    "refuse": faults.Refuse(),
    "throttle": faults.Throttle(),
    "vanish": faults.Vanish(),
    "echo": faults.Echo(),
    "late-short": faults.Late(0.5),
    "late": faults.Late(8.0),
    "slow": faults.Slow(3.0),
    "slow-long": faults.Slow(15.0),
    "resent": faults.Resent(2.0),
    "outage": faults.Outage(13.0),
    "die-before": faults.DieBefore(),
    "die-after": faults.DieAfter(),
    "stale-list": faults.StaleList(2.0),
    "torn-list": faults.TornList(),
}
"""Faults of the sweep, by the name they have in the line that repeats a run."""

OF_BUCKETS = ("stale-list", "torn-list", "resent")
"""Faults that only a bucket has: a port promises that they do not happen."""

FREEZES: dict[str, Fault] = {
    "freeze-short": faults.Freeze(2.0),
    "freeze-between": faults.Freeze(8.0),
    "freeze-long": faults.Freeze(25.0),
    "suspend-between": faults.Freeze(8.0, suspend=True),
}

ALL: dict[str, Fault] = {**SINGLE, **FREEZES}
"""Every fault by name."""

ORDERS: dict[str, dict[str, float]] = {
    "ttl": {"exec_ttl_s": 6.0, "task_ttl_s": 6.0},
    "exec-first": {"exec_ttl_s": 5.0, "task_ttl_s": 11.0},
    "task-first": {"exec_ttl_s": 11.0, "task_ttl_s": 5.0},
    "patient": {"exec_ttl_s": 30.0, "task_ttl_s": 30.0},
    "always-replay": {"exec_ttl_s": 6.0, "task_ttl_s": 6.0, "hold_s": 0.0, "warm_limit": 0},
}
"""Both orders of the TTLs, and none; TTLs that outlast every storage error; and executions that suspend at every wait
and are replayed at every wake-up."""


@dataclass(frozen=True, slots=True)
class Case:
    """One run.

    Attributes:
        workload: its name.
        seed: of the latencies and the chance of every node.
        strikes: operation number and name of the fault.
        order: which TTL is shorter.
        one_host: whether dead processes are seen at once.
        storm: seed of a storm; 0 for none.
    """

    workload: str
    seed: int = 1
    strikes: tuple[tuple[int, str], ...] = ()
    order: str = "ttl"
    one_host: bool = False
    storm: int = 0

    def __str__(self) -> str:
        strikes = ",".join(f"{fault}@{operation}" for operation, fault in self.strikes)
        host = "one-host" if self.one_host else "hosts"
        return f"{self.workload}:{self.seed}:{self.order}:{host}:{self.storm}:{strikes}"

    @property
    def mode(self) -> str:
        """How it strikes: ``sweep``, ``freeze`` or ``storm``."""
        if self.storm:
            return "storm"
        return "freeze" if any(fault in FREEZES for _, fault in self.strikes) else "sweep"

    @classmethod
    def parse(cls, line: str) -> Case:
        """Read the line of a run.

        Raises:
            ValueError: it is none.
        """
        try:
            workload, seed, order, host, storm, strikes = line.strip().split(":")
            found = tuple(
                (int(number), fault) for fault, _, number in (one.partition("@") for one in strikes.split(",") if one)
            )
            if order not in ORDERS or any(fault not in ALL for _, fault in found):
                raise ValueError(line)
            return cls(workload, int(seed), found, order, host == "one-host", int(storm))
        except ValueError:
            raise ValueError(f"{line!r} names no run; it has the form steps:1:ttl:hosts:0:vanish@17") from None


def run_case(
    case: Case,
    workloads: Mapping[str, Workload] | None = None,
    *,
    store: ObjectStore | None = None,
    backend: OpenBackend | None = None,
) -> tuple[Outcome, Cluster]:
    """Run one case.

    Args:
        store: a real store that does all that the bucket does, and must answer the same.
        backend: opens ten ports that stand in the place of the bucket.
    """
    known = workloads or WORKLOADS
    if case.workload not in known:
        raise ValueError(f"there is no workload {case.workload!r}; known are {sorted(known)}")
    workload = known[case.workload]
    strikes = dict(case.strikes)
    storm = random.Random(f"storm/{case.storm}") if case.storm else None

    def choose(operation: Operation) -> Fault | None:
        if operation.number in strikes:
            return ALL[strikes[operation.number]]
        return _storm_fault(storm, operation) if storm is not None else None

    skews = {} if storm is None else {name: storm.uniform(-20, 20) for name in ("worker-1", "worker-2", "sweeper-1")}
    settings: dict[str, Any] = dict(ORDERS[case.order])
    plan = Plan(choose, one_host=case.one_host, settings=settings, skews_s=skews, open_backend=backend)
    cluster = Cluster(workload, plan, case.seed)
    if store is not None and isinstance(cluster.bucket, Bucket):
        cluster.bucket.mirror = Mirror(store)
    with _quiet():
        return cluster.run(), cluster


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """The engine logs nothing meanwhile: it is struck all the time, and findings are what counts."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.configure(**before)


def _storm_fault(storm: random.Random, operation: Operation) -> Fault | None:
    if storm.random() >= 0.04:
        return None
    return ALL[storm.choice(sorted(ALL))]


def operations_of(workload: Workload, seed: int = 1, backend: OpenBackend | None = None) -> int:
    """How many operations a run without faults makes until everything has ended.

    Raises:
        AssertionError: it fails without any fault.
    """
    if (workload, seed, backend) not in _COUNTED:
        case = Case(workload.name, seed)
        outcome, cluster = run_case(case, {workload.name: workload}, backend=backend)
        if outcome.problems:
            raise AssertionError(f"{case} fails without any fault: {outcome.problems}")
        calm = next((at_s for at_s, who, _ in cluster.notes if who == "calm"), None)
        counted = sum(1 for operation in cluster.bucket.operations if calm is None or operation.at_s <= calm)
        _COUNTED[workload, seed, backend] = counted
    return _COUNTED[workload, seed, backend]


_COUNTED: dict[tuple[Workload, int, OpenBackend | None], int] = {}


def sweep(
    workloads: Mapping[str, Workload], seed: int = 1, *, most: int | None = None, backend: OpenBackend | None = None
) -> Iterator[Case]:
    """Every fault at every operation, one at a time; of each workload about ``most``, drawn by ``seed``, every fault at
    least once.
    """
    known = [fault for fault in SINGLE if backend is None or fault not in OF_BUCKETS]
    for workload in workloads.values():
        pairs = [(fault, "ttl") for fault in known]
        yield from _one_by_one(workload, seed, pairs, most, operations_of(workload, seed, backend))


def freezes(
    workloads: Mapping[str, Workload], seed: int = 1, *, most: int | None = None, backend: OpenBackend | None = None
) -> Iterator[Case]:
    """A process stands still after sending each operation, for less than, between and beyond the TTLs, in each
    order.
    """
    pairs = [(fault, order) for order in ORDERS for fault in FREEZES]
    for workload in workloads.values():
        yield from _one_by_one(workload, seed, pairs, most, operations_of(workload, seed, backend))


def _one_by_one(
    workload: Workload, seed: int, pairs: Sequence[tuple[str, str]], most: int | None, count: int
) -> Iterator[Case]:
    """Of each pair of fault and order its share of ``most``, among ``count`` operations."""
    name = workload.name
    for number, (fault, order) in enumerate(pairs):
        rng = random.Random(f"{seed}/{name}/{order}/{fault}")
        numbers: Sequence[int] = range(1, count + 1)
        if most is not None:
            wanted = (number + 1) * most // len(pairs) - number * most // len(pairs)
            numbers = sorted(rng.sample(numbers, min(count, max(1, wanted))))
        for operation in numbers:
            yield Case(name, seed, ((operation, fault),), order, one_host=rng.random() < 0.5)


def storms(workloads: Mapping[str, Workload], seeds: range) -> Iterator[Case]:
    """Mixtures of faults by chance, with wrong clocks."""
    for seed in seeds:
        for name in workloads:
            rng = random.Random(f"{seed}/{name}/storm")
            yield Case(name, seed, (), rng.choice(list(ORDERS)), rng.random() < 0.5, storm=seed)
