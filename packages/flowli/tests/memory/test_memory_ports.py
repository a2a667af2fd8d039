"""MemoryBackend keeps the contract of each port."""

from __future__ import annotations

import pytest

from flowli.adapters.memory import MemoryBackend
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


class MemoryPorts:
    ttl_s = 30.0

    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def ports(self, clock: ManualClock) -> Ports:
        return MemoryBackend(ManualWorld(clock)).ports

    @pytest.fixture
    def elapse(self, clock: ManualClock) -> Elapse:
        return clock.advance


class TestJournal(MemoryPorts, JournalSuite): ...


class TestControlLog(MemoryPorts, ControlLogSuite): ...


class TestExecutionStore(MemoryPorts, ExecutionStoreSuite): ...


class TestArchive(MemoryPorts, ArchiveSuite): ...


class TestEvidence(MemoryPorts, EvidenceSuite): ...


class TestTimers(MemoryPorts, TimersSuite): ...


class TestChannel(MemoryPorts, ChannelSuite): ...


class TestDispatch(MemoryPorts, DispatchSuite): ...


class TestOwnership(MemoryPorts, OwnershipSuite): ...


class TestQueue(MemoryPorts, QueueSuite): ...
