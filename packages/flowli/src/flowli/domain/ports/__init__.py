"""The ten ports: everything the engine asks of a backend. There is no eleventh.

Common to all of them:

* Every method may raise ``BackendUnavailable`` (nothing was written; try again), ``BackendRefused`` (the operator
  must act) or ``OutcomeUnknown`` (a write was sent and its fate could not be learnt; the same call again is safe).
* A write has happened, durably, when the method returns.
* A read that starts after a write returned sees it, from any process.
* Any number of calls may be under way at once on one event loop; another thread uses ``Ports.fork()``.
* Arguments were checked by the engine; a backend checks again only what it builds keys from.

Each port's conformance suite is in ``flowli.testing.suites``, under the port's name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flowli.domain.ports.archive import Archive, ArchivedExecution
from flowli.domain.ports.channel import Channel, Messages
from flowli.domain.ports.control import ControlLog, ControlSlice, ControlSnapshots, FoldedLog
from flowli.domain.ports.dispatch import Claim, Dispatch, StandingClaim, StartClaim
from flowli.domain.ports.evidence import Evidence
from flowli.domain.ports.executions import ExecutionStore
from flowli.domain.ports.journal import Appended, Journal, JournalSlice, Overtaken
from flowli.domain.ports.ownership import Acquired, Held, Holder, Lease, LeaseRequest, Ownership
from flowli.domain.ports.queue import Queue
from flowli.domain.ports.timers import Timers

__all__ = [
    "Acquired",
    "Appended",
    "Archive",
    "ArchivedExecution",
    "Channel",
    "Claim",
    "ControlLog",
    "ControlSlice",
    "ControlSnapshots",
    "Dispatch",
    "Evidence",
    "ExecutionStore",
    "FoldedLog",
    "Held",
    "Holder",
    "Journal",
    "JournalSlice",
    "Lease",
    "LeaseRequest",
    "Messages",
    "Overtaken",
    "Ownership",
    "Ports",
    "Queue",
    "StandingClaim",
    "StartClaim",
    "Timers",
]


@dataclass(frozen=True, slots=True)
class Ports:
    """A backend: one object for each port.

    Attributes:
        fork: opens the same backend for another thread with its own event loop; None if the backend lives on one loop.
        poll_hint_s: how often an idle worker should look for work.
    """

    journal: Journal
    control: ControlLog
    ownership: Ownership
    dispatch: Dispatch
    queue: Queue
    channel: Channel
    timers: Timers
    executions: ExecutionStore
    archive: Archive
    evidence: Evidence
    fork: Callable[[], Ports] | None = None
    poll_hint_s: float = 0.2
