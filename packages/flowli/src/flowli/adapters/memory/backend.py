"""The backend: one object for each port."""

from __future__ import annotations

from flowli.adapters.memory.archive import MemoryArchive
from flowli.adapters.memory.channel import MemoryChannel
from flowli.adapters.memory.control import MemoryControlLog
from flowli.adapters.memory.dispatch import MemoryDispatch
from flowli.adapters.memory.evidence import MemoryEvidence
from flowli.adapters.memory.executions import MemoryExecutionStore
from flowli.adapters.memory.journal import MemoryJournal
from flowli.adapters.memory.ownership import MemoryOwnership
from flowli.adapters.memory.queue import MemoryQueue
from flowli.adapters.memory.timers import MemoryTimers
from flowli.domain.ports import Ports
from flowli.world import SYSTEM, World

__all__ = ["MemoryBackend"]


class MemoryBackend:
    """All ten ports in the memory of one process, on one event loop. What it holds ends with it.

    Args:
        world: the clock by which leases expire.
    """

    def __init__(self, world: World = SYSTEM) -> None:
        self._ports = Ports(
            journal=MemoryJournal(),
            control=MemoryControlLog(),
            ownership=MemoryOwnership(world),
            dispatch=MemoryDispatch(),
            queue=MemoryQueue(world),
            channel=MemoryChannel(),
            timers=MemoryTimers(),
            executions=MemoryExecutionStore(),
            archive=MemoryArchive(),
            evidence=MemoryEvidence(),
            poll_hint_s=0.02,
        )

    @property
    def ports(self) -> Ports:
        """The ports, always the same objects."""
        return self._ports
