"""The engine on this backend, with a fault at each call of a port."""

from typing import ClassVar

import pytest

from flowli.testing.sim.suite import SimulatorSuite
from flowli.testing.sim.workloads import WORKLOADS
from flowli_backend_sqlite.backend import SqliteBackend


class TestSqliteUnderFaults(SimulatorSuite):
    workloads: ClassVar = {"receive": WORKLOADS["receive"]}
    share = 0.05

    @pytest.fixture
    def open_backend(self, tmp_path):
        return lambda world, run: SqliteBackend(f"{tmp_path}/{run}.db", world, "os")
