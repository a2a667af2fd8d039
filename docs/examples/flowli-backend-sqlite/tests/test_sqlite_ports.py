"""The promises of the ten ports, on a clock that the test moves."""

import pytest

from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.suites.backend import BackendSuite
from flowli_backend_sqlite.backend import SqliteBackend


class TestSqliteBackend(BackendSuite):
    ttl_s = 30.0

    @pytest.fixture
    def clock(self):
        return ManualClock()

    @pytest.fixture
    def elapse(self, clock):
        return clock.advance

    @pytest.fixture
    async def ports(self, tmp_path, clock):
        backend = SqliteBackend(f"{tmp_path}/flowli.db", ManualWorld(clock), "os")
        yield backend.ports
        await backend.close()
