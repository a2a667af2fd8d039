"""The scenarios that the simulator runs: small programs that together touch every protocol."""

from __future__ import annotations

from flowli.testing.sim.workload import Workload
from flowli.testing.sim.workloads import facts, messages, queues, running, upkeep, verbs

__all__ = ["WORKLOADS"]

_MODULES = (running, messages, facts, verbs, queues, upkeep)

WORKLOADS: dict[str, Workload] = {workload.name: workload for module in _MODULES for workload in module.WORKLOADS}
"""By name."""
