"""Deterministic simulation: production code, unmodified, on virtual time, with every fault at every operation.

``loop`` is an event loop whose time only passes when nothing is ready; ``node`` is a process that can be killed,
frozen, restarted and whose clocks can be wrong; ``bucket`` is the store that all nodes share, and that carries the
faults; ``cluster`` puts them together and runs a ``workload``; ``invariants`` says what must hold whatever happened;
``modes`` tries faults one by one, in pairs or by chance; ``story`` tells what happened; ``suite`` is all of it as
tests of your own workloads.
"""

from flowli.testing.sim.campaign import BUDGETS, Budget, Campaign, Finding
from flowli.testing.sim.cluster import Cluster, Outcome
from flowli.testing.sim.fleet import Client
from flowli.testing.sim.modes import Case, run_case
from flowli.testing.sim.workload import Expected, Workload

__all__ = [
    "BUDGETS",
    "Budget",
    "Campaign",
    "Case",
    "Client",
    "Cluster",
    "Expected",
    "Finding",
    "Outcome",
    "Workload",
    "run_case",
]
