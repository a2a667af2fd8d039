"""``shrink``: the smallest case that still fails: fewer strikes of a storm, then an earlier operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from flowli.cairn.store import ObjectStore
from flowli.testing.sim.backends import OpenBackend
from flowli.testing.sim.cluster import Cluster, Outcome
from flowli.testing.sim.modes import ALL, Case, run_case
from flowli.testing.sim.workload import Workload
from flowli.testing.sim.workloads import WORKLOADS

__all__ = ["shrink"]


def shrink(
    case: Case,
    workloads: Mapping[str, Workload] = WORKLOADS,
    *,
    runs: int = 200,
    store: ObjectStore | None = None,
    backend: OpenBackend | None = None,
) -> Case:
    """A case with as few strikes as can be found within ``runs`` runs; ``case`` itself if none is smaller."""
    left = _Left(runs, lambda case: run_case(case, workloads, store=store, backend=backend))
    if case.storm:
        _, cluster = left.run(case)
        names = {fault: name for name, fault in ALL.items()}
        struck = tuple((one.number, names[one.fault]) for one in cluster.bucket.operations if one.fault is not None)
        plain = replace(case, storm=0, strikes=struck)
        case = plain if left.fails(plain) else case
    size = max(1, len(case.strikes) // 2)
    while size >= 1 and len(case.strikes) > 1 and left.runs > 0:
        smaller = left.without(case, size)
        case, size = (case, size // 2) if smaller is None else (smaller, size)
    return case


class _Left:
    """What may still be run."""

    def __init__(self, runs: int, run: Callable[[Case], tuple[Outcome, Cluster]]) -> None:
        self.run = run
        self.runs = runs

    def fails(self, case: Case) -> bool:
        if self.runs <= 0:
            return False
        self.runs -= 1
        return bool(self.run(case)[0].problems)

    def without(self, case: Case, size: int) -> Case | None:
        """The case without some ``size`` of its strikes, if it still fails."""
        for first in range(0, len(case.strikes), size):
            kept = case.strikes[:first] + case.strikes[first + size :]
            if kept and self.fails(replace(case, strikes=kept)):
                return replace(case, strikes=kept)
        return None
