"""One scenario or two for each pattern, and what must hold whatever fault strikes."""

from __future__ import annotations

from flowli.testing.sim import Workload
from flowli_patterns.sim.coordinating import COORDINATING
from flowli_patterns.sim.deciding import DECIDING
from flowli_patterns.sim.doing import DOING
from flowli_patterns.sim.limiting import LIMITING
from flowli_patterns.sim.scheduling import SCHEDULING

__all__ = ["WORKLOADS"]

WORKLOADS: dict[str, Workload] = {
    workload.name: workload for workload in (*DOING, *DECIDING, *SCHEDULING, *COORDINATING, *LIMITING)
}
"""By name."""
