"""Coded ports keep the contract of each port, whatever backend is under them."""

from __future__ import annotations

import pytest

from flowli.adapters.coded import ValueCodec
from flowli.domain.ports import Ports
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.suites.archive import ArchiveSuite
from flowli.testing.suites.channel import ChannelSuite
from flowli.testing.suites.control import ControlLogSuite
from flowli.testing.suites.dispatch import DispatchSuite
from flowli.testing.suites.evidence import EvidenceSuite
from flowli.testing.suites.executions import ExecutionStoreSuite
from flowli.testing.suites.journal import JournalSuite
from flowli.testing.suites.ownership import OwnershipSuite
from flowli.testing.suites.port_suite import Elapse
from flowli.testing.suites.queue import QueueSuite
from flowli.testing.suites.timers import TimersSuite


class _Ports:
    ttl_s = 30.0

    @pytest.fixture
    def ports(self, plain: Ports, codec: ValueCodec, world: ManualWorld) -> Ports:
        return codec.wrap(plain, world=world)

    @pytest.fixture
    def elapse(self, clock: ManualClock) -> Elapse:
        return clock.advance


class TestJournal(_Ports, JournalSuite):
    pass


class TestControlLog(_Ports, ControlLogSuite):
    pass


class TestTimers(_Ports, TimersSuite):
    pass


class TestExecutionStore(_Ports, ExecutionStoreSuite):
    pass


class TestArchive(_Ports, ArchiveSuite):
    pass


class TestEvidence(_Ports, EvidenceSuite):
    pass


class TestChannel(_Ports, ChannelSuite):
    pass


class TestDispatch(_Ports, DispatchSuite):
    pass


class TestOwnership(_Ports, OwnershipSuite):
    pass


class TestQueue(_Ports, QueueSuite):
    pass
