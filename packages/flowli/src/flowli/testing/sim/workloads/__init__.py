"""The scenarios that the simulator runs: small programs that together touch every protocol."""

from __future__ import annotations

from flowli.testing.sim.workload import Workload
from flowli.testing.sim.workloads import messages, queues, running, upkeep, verbs

__all__ = ["WORKLOADS"]

WORKLOADS: dict[str, Workload] = {
    workload.name: workload for module in (running, messages, verbs, queues, upkeep) for workload in module.WORKLOADS
}
"""By name."""
