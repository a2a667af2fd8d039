"""``BackendSuite``: the suites of all ten ports, for a backend whose tests give one fixture.

Its test file::

    import pytest
    from flowli.testing.suites.backend import BackendSuite
    from my_backend import MyBackend

    class TestMyBackend(BackendSuite):
        @pytest.fixture
        async def ports(self, tmp_path):
            backend = MyBackend(tmp_path / "my.db")
            yield backend.ports
            await backend.close()

A class per port is made inside: pytest names ``TestMyBackend::TestJournal::test_…``, and ``-k TestJournal`` runs the
tests of one. What else the class holds (``elapse``, ``ttl_s``, other fixtures) holds for each of them; see
``PortSuite``. It needs pytest and pytest-asyncio.
"""

from __future__ import annotations

from typing import ClassVar

from flowli.testing.suites.archive import ArchiveSuite
from flowli.testing.suites.channel import ChannelSuite
from flowli.testing.suites.control import ControlLogSuite
from flowli.testing.suites.dispatch import DispatchSuite
from flowli.testing.suites.evidence import EvidenceSuite
from flowli.testing.suites.executions import ExecutionStoreSuite
from flowli.testing.suites.journal import JournalSuite
from flowli.testing.suites.ownership import OwnershipSuite
from flowli.testing.suites.port_suite import PortSuite
from flowli.testing.suites.queue import QueueSuite
from flowli.testing.suites.timers import TimersSuite

__all__ = ["SUITES", "BackendSuite"]

SUITES: tuple[type[PortSuite], ...] = (
    JournalSuite,
    ControlLogSuite,
    OwnershipSuite,
    DispatchSuite,
    QueueSuite,
    ChannelSuite,
    TimersSuite,
    ExecutionStoreSuite,
    ArchiveSuite,
    EvidenceSuite,
)
"""One for each port."""


class BackendSuite:
    """Subclass it and give the fixture ``ports``.

    Attributes:
        ports_to_test: a subclass may name fewer suites while its backend grows.
    """

    ports_to_test: ClassVar[tuple[type[PortSuite], ...]] = SUITES

    def __init_subclass__(cls) -> None:
        """Make the classes that pytest collects. Each holds the fixtures itself, so that it overrides the suite's."""
        own: dict[str, object] = {}
        for base in reversed([base for base in cls.__mro__ if issubclass(base, BackendSuite)]):
            own |= {name: value for name, value in vars(base).items() if not _made_here(name, value)}
        mixed_in = tuple(base for base in cls.__mro__ if base is not object and not issubclass(base, BackendSuite))
        fixtures = type("Fixtures", mixed_in, own)
        for suite in cls.ports_to_test:
            name = f"Test{suite.__name__.removesuffix('Suite')}"
            made = type(name, (fixtures, suite), {"__module__": cls.__module__, "__doc__": suite.__doc__})
            setattr(cls, name, made)


def _made_here(name: str, value: object) -> bool:
    return name.startswith("__") or (isinstance(value, type) and issubclass(value, PortSuite))
