"""A vote under every kind of fault."""

from flowli.testing.sim.suite import SimulatorSuite
from flowli_pattern_vote.sim import WORKLOADS


class TestVote(SimulatorSuite):
    workloads = WORKLOADS
    share = 0.02
