"""``Campaign``: many cases in a row, what they found, and how much was tried."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from flowli.testing.sim.modes import Case, freezes, run_case, storms, sweep
from flowli.testing.sim.workload import Workload
from flowli.testing.sim.workloads import WORKLOADS

__all__ = ["BUDGETS", "Budget", "Campaign", "Finding"]


@dataclass(frozen=True, slots=True)
class Budget:
    """How much is tried: shares of all single faults and of all freezes, and a number of storms."""

    sweep: float
    freezes: float
    storms: int


BUDGETS: dict[str, Budget] = {
    "small": Budget(0.01, 0.002, 40),
    "default": Budget(0.1, 0.06, 500),
    "full": Budget(1.0, 1.0, 20_000),
}
"""By name."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A case that violated something."""

    case: Case
    problems: tuple[str, ...]


@dataclass(slots=True)
class Campaign:
    """Runs cases and keeps what they found.

    Attributes:
        runs: how many were run.
        operations: how many requests all of them made.
    """

    workloads: dict[str, Workload] = field(default_factory=lambda: WORKLOADS)
    seed: int = 1
    runs: int = 0
    operations: int = 0
    findings: list[Finding] = field(default_factory=list)

    def cases(self, mode: str, budget: Budget, names: Sequence[str] = ()) -> Iterator[Case]:
        """The cases of a mode: ``sweep``, ``freeze``, ``storm`` or ``all``.

        Raises:
            ValueError: there is no such mode.
        """
        chosen = list(names) or list(self.workloads)
        modes: dict[str, Callable[[], Iterator[Case]]] = {
            "sweep": lambda: sweep(chosen, self.seed, share=budget.sweep),
            "freeze": lambda: freezes(chosen, self.seed, share=budget.freezes),
            "storm": lambda: storms(chosen, range(self.seed, self.seed + budget.storms)),
        }
        if mode == "all":
            return itertools.chain.from_iterable(make() for make in modes.values())
        if mode not in modes:
            raise ValueError(f"there is no mode '{mode}'; use sweep, freeze, storm or all")
        return modes[mode]()

    def run(self, cases: Iterable[Case]) -> Iterator[Finding | None]:
        """Run cases one by one; yields a finding, or None for a good run."""
        for case in cases:
            outcome, _ = run_case(case, self.workloads)
            self.runs += 1
            self.operations += outcome.operations
            finding = Finding(case, tuple(outcome.problems)) if outcome.problems else None
            if finding is not None:
                self.findings.append(finding)
            yield finding
