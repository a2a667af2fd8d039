"""``Campaign``: many cases in a row, what they found, and how much was tried."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from flowli.cairn.store import ObjectStore
from flowli.testing.sim.backends import OpenBackend
from flowli.testing.sim.modes import Case, freezes, run_case, storms, sweep
from flowli.testing.sim.workload import Workload
from flowli.testing.sim.workloads import WORKLOADS
from flowli.world import World

__all__ = ["BUDGETS", "MODES", "Budget", "Campaign", "Finding"]

MODES = ("sweep", "freeze", "storm")
"""The ways of striking, by name."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How much is tried with each workload.

    Attributes:
        sweep: single faults, every fault at least once; None for every fault at every operation.
        freezes: freezes, each length in each order of the TTLs at least once; None for all.
        storms: seeds of storms.
    """

    sweep: int | None
    freezes: int | None
    storms: int

    def times(self, share: float) -> Budget:
        """A ``share`` of this budget; all remains all."""
        sweep, freezes = (None if one is None else round(one * share) for one in (self.sweep, self.freezes))
        return Budget(sweep, freezes, max(1, round(self.storms * share)))


BUDGETS: dict[str, Budget] = {
    "small": Budget(14, 20, 3),
    "default": Budget(100, 60, 20),
    "full": Budget(None, None, 1000),
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
        seed: of the latencies, and of the choice among the cases.
        store: a real store that does all that the bucket does, and must answer the same.
        backend: opens ten ports that stand in the place of the bucket.
        tried: how many were run, by mode.
        operations: how many requests all of them made.
    """

    workloads: Mapping[str, Workload] = field(default_factory=lambda: WORKLOADS)
    seed: int = 1
    store: ObjectStore | None = None
    backend: OpenBackend | None = None
    tried: Counter[str] = field(default_factory=Counter)
    operations: int = 0
    findings: list[Finding] = field(default_factory=list)

    @property
    def runs(self) -> int:
        """How many were run."""
        return self.tried.total()

    def cases(self, mode: str, budget: Budget, names: Sequence[str] = ()) -> Iterator[Case]:
        """The cases of a mode: ``sweep``, ``freeze``, ``storm`` or ``all``.

        Raises:
            ValueError: there is no such mode.
        """
        chosen = {name: self.workloads[name] for name in names or self.workloads}
        modes: dict[str, Callable[[], Iterator[Case]]] = {
            "sweep": lambda: sweep(chosen, self.seed, most=budget.sweep, backend=self.backend),
            "freeze": lambda: freezes(chosen, self.seed, most=budget.freezes, backend=self.backend),
            "storm": lambda: storms(chosen, range(self.seed, self.seed + budget.storms)),
        }
        if mode == "all":
            return itertools.chain.from_iterable(make() for make in modes.values())
        if mode not in modes:
            raise ValueError(f"there is no mode '{mode}'; use sweep, freeze, storm or all")
        return modes[mode]()

    def drawn(self, cases: Iterable[Case], minutes: float, world: World) -> Iterator[Case]:
        """The same cases in an order that ``seed`` draws, for so many minutes of real time."""
        shuffled, end_s = list(cases), world.monotonic_s() + 60.0 * minutes
        random.Random(self.seed).shuffle(shuffled)
        return itertools.takewhile(lambda _: world.monotonic_s() < end_s, shuffled)

    def run(self, cases: Iterable[Case]) -> Iterator[Finding | None]:
        """Run cases one by one; yields a finding, or None for a good run."""
        for case in cases:
            outcome, _ = run_case(case, self.workloads, store=self.store, backend=self.backend)
            self.tried[case.mode] += 1
            self.operations += outcome.operations
            finding = Finding(case, tuple(outcome.problems)) if outcome.problems else None
            if finding is not None:
                self.findings.append(finding)
            yield finding
