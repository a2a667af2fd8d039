"""``shrink``: the smallest case that still fails: fewer strikes of a storm, then an earlier operation."""

from __future__ import annotations

from dataclasses import replace

from flowli.testing.sim.modes import ALL, Case, run_case

__all__ = ["shrink"]


def shrink(case: Case, *, runs: int = 200) -> Case:
    """A case with as few strikes as can be found within ``runs`` runs; ``case`` itself if none is smaller."""
    budget = [runs]
    if case.storm:
        _, cluster = run_case(case)
        names = {fault: name for name, fault in ALL.items()}
        struck = tuple(
            (operation.number, names[operation.fault])
            for operation in cluster.bucket.operations
            if operation.fault is not None
        )
        plain = replace(case, storm=0, strikes=struck)
        case = plain if _fails(plain, budget) else case
    return _fewer(case, budget)


def _fewer(case: Case, budget: list[int]) -> Case:
    size = max(1, len(case.strikes) // 2)
    while size >= 1 and len(case.strikes) > 1:
        for first in range(0, len(case.strikes), size):
            kept = case.strikes[:first] + case.strikes[first + size :]
            smaller = replace(case, strikes=kept)
            if kept and _fails(smaller, budget):
                case = smaller
                break
        else:
            size //= 2
        if budget[0] <= 0:
            break
    return case


def _fails(case: Case, budget: list[int]) -> bool:
    if budget[0] <= 0:
        return False
    budget[0] -= 1
    return bool(run_case(case)[0].problems)
