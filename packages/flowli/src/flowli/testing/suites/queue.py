"""``QueueSuite``: the contract of ``flowli.domain.ports.Queue`` as tests."""

from __future__ import annotations

from flowli.testing.suites.queue_leases import QueueLeases
from flowli.testing.suites.queue_states import QueueStates
from flowli.testing.suites.queue_taking import QueueTaking

__all__ = ["QueueSuite"]


class QueueSuite(QueueTaking, QueueLeases, QueueStates):
    """Order, identity, leases, deaths, delays, the dead, settings."""
