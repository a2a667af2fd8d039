"""``PortSuite``: what the suites of the ten ports share, and the objects they store.

A backend that has all ports subclasses ``BackendSuite`` once. One that is tested port by port holds one class per port
and gives them one fixture::

    import pytest
    from flowli.testing.suites.journal import JournalSuite
    from flowli.testing.suites.queue import QueueSuite
    from my_backend import MyBackend

    class MyPorts:
        @pytest.fixture
        async def ports(self):
            backend = await MyBackend.open("my://…")
            yield backend.ports
            await backend.close()

    class TestJournal(MyPorts, JournalSuite): ...
    class TestQueue(MyPorts, QueueSuite): ...

Each test gets a backend that holds nothing yet. A backend that runs on a clock which the test moves overrides
``elapse`` too, and may set ``ttl_s`` higher. It needs pytest and pytest-asyncio.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import ClassVar, TypeAlias

import pytest

from flowli.domain.data import Data
from flowli.domain.entries import FrameCompleted, JournalEntry
from flowli.domain.execution import Execution
from flowli.domain.ids import Eid, FrameRef
from flowli.domain.ports import Ports
from flowli.domain.provenance import Actor, ActorKind, Code, Provenance, Site
from flowli.testing.stores import Counts
from flowli.testing.suites.running import COUNTS
from flowli.timestamp import Timestamp
from flowli.world import SYSTEM

__all__ = ["T0", "Elapse", "PortSuite", "after_s", "by", "entry", "new_eid", "record"]

Elapse: TypeAlias = Callable[[float], Awaitable[None]]

T0 = Timestamp.parse("2026-01-31T23:59:59.999999Z")
"""The instant around which the suites' objects lie."""


class PortSuite:
    """The base of the suites.

    Attributes:
        flowli_suite: tells the pytest plugin that its tests are promises.
        ttl_s: for the leases of the tests. On a real clock long enough for a slow machine, short enough to wait for.
    """

    flowli_suite: ClassVar[bool] = True
    ttl_s: float = 1.0

    @pytest.fixture
    def counts(self) -> Callable[[], Counts] | None:
        """How many requests the backend made of its storage so far, for the report of ``--flowli-requests``.

        None counts the calls of the ports instead. Over a ``CountingStore`` it is the store's method ``since``.
        """
        return None

    @pytest.fixture(autouse=True)
    def _noted(self, request: pytest.FixtureRequest, counts: Callable[[], Counts] | None) -> None:
        request.node.stash[COUNTS] = counts

    @pytest.fixture
    def ports(self) -> Ports:
        """The backend under test, holding nothing."""
        raise NotImplementedError("give the suite a fixture named ports")

    @pytest.fixture
    def elapse(self) -> Elapse:
        """Lets seconds pass on the backend's clock."""
        return SYSTEM.sleep


def new_eid() -> Eid:
    """An id that nothing has yet."""
    return SYSTEM.uuid7()


def after_s(seconds: float) -> Timestamp:
    """An instant so many seconds after ``T0``."""
    return T0 + timedelta(seconds=seconds)


def by(at: Timestamp = T0, *, epoch: int = 0, worker: str = "w-1") -> Provenance:
    """A provenance with everything in it."""
    return Provenance(
        Actor(ActorKind.WORKER, worker, on_behalf_of="alice"),
        Site(worker, "host", 4711, "i-1", "eu", epoch),
        at,
        Code("order", "1", "step", "charge", "sha256:abc", "3.11"),
        attempt=1,
    )


def entry(value: Data = None, *, epoch: int = 1, at: Timestamp = T0, fid: str = "root/charge#1") -> JournalEntry:
    """A journal entry that holds ``value``."""
    return JournalEntry(FrameCompleted(fid, 1, value), by(at, epoch=epoch))


def record(eid: Eid | None = None) -> Execution:
    """An execution record."""
    return Execution(
        eid or new_eid(),
        "order",
        "1",
        {"args": ["INV-7", {"ü": [1, 2.5, None, True]}], "kwargs": {"n": 2**63}},
        by(),
        queue="finance",
        priority=7,
        parent=FrameRef(new_eid(), "root/pay#1"),
        dispatch_key="order:17@eu",
        timeout_s=3600.0,
    )
