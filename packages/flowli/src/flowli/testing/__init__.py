"""What tests of workflows and of backends use: clocks, suites of the ports, simulation."""
