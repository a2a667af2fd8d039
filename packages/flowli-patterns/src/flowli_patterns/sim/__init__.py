"""Scenarios of the patterns for the simulator: ``flowli sim --workloads flowli_patterns.sim.workloads:WORKLOADS``."""
