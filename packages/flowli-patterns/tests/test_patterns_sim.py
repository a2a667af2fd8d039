"""The patterns under every kind of fault."""

from flowli.testing.sim.suite import SimulatorSuite
from flowli_patterns.sim.workloads import WORKLOADS


class TestPatterns(SimulatorSuite):
    workloads = WORKLOADS
    share = 0.1
