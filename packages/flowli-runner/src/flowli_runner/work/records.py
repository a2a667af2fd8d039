"""What a runner writes down about a piece of work, so that another one can go on with it.

The record stands in the state of a lease that belongs to the task: whoever holds the task takes it by force, which
raises its epoch, so that a runner which lost the task can write no more. It is removed after the ack.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Protocol

from flowli.domain.data import Data
from flowli.domain.errors import BackendUnavailable, LeaseLost
from flowli.domain.ids import Eid, role_eid
from flowli.domain.ports import Acquired, Holder, Lease, Ownership
from flowli.domain.provenance import Site
from flowli.world import World
from flowli_runner.contracts import Report, from_data, to_data
from flowli_runner.contracts.shape import ContractError

__all__ = ["PortRecords", "Record", "Records", "record_eid", "record_of"]

_TTL_S = 60.0


@dataclass(frozen=True, slots=True)
class Record:
    """How far a piece of work has come.

    Attributes:
        attempt: its name.
        agent: name of the agent.
        host: on which the tree stands.
        tree: folder of the tree; "" before it was made.
        branch: of the attempt.
        base: the commit it began from.
        handle: of the agent's adapter, as JSON text; "" before it was started.
        report: of work that has ended.
        begun_at: the instant of the start.
        attempts: how often the work has been begun.
    """

    attempt: str
    agent: str
    host: str
    tree: str = ""
    branch: str = ""
    base: str = ""
    handle: str = ""
    report: Report | None = None
    begun_at: str = ""
    attempts: int = 1

    def with_report(self, report: Report) -> Record:
        """The record of work that has ended."""
        return replace(self, report=report)


class Records(Protocol):
    """Where records are kept."""

    async def take(self, task_id: str) -> Record | None:
        """Take the record of a task over, and read what the last runner wrote."""

    async def write(self, task_id: str, record: Record) -> None:
        """Write it anew.

        Raises:
            LeaseLost: another runner has taken it over.
        """

    async def read(self, task_id: str) -> Record | None:
        """Read it without taking it."""

    async def mine(self, task_id: str) -> bool:
        """Whether nobody has taken it over since."""

    async def clear(self, task_id: str) -> None:
        """Remove it, unless another runner has taken it over. One whose work an earlier runner did is taken first."""


class PortRecords:
    """Records in a bucket."""

    def __init__(self, ownership: Ownership, site: Site, world: World) -> None:
        self._ownership, self._site, self._world = ownership, site, world
        self._held: dict[str, Lease] = {}

    async def take(self, task_id: str) -> Record | None:
        eid = record_eid(task_id)
        holder = Holder(f"{self._site.worker_id}/{self._world.token()}", self._site)
        for _ in range(5):
            got = await self._ownership.acquire(eid, holder, _TTL_S, force=True)
            if isinstance(got, Acquired):
                self._held[task_id] = got.lease
                return record_of(got.lease.state)
        raise BackendUnavailable(f"the record of task {task_id} changes all the time; it is tried again later")

    async def write(self, task_id: str, record: Record) -> None:
        self._held[task_id] = await self._ownership.renew(self._held[task_id], state=to_data(record))

    async def read(self, task_id: str) -> Record | None:
        found = await self._ownership.read(record_eid(task_id))
        return None if found is None else record_of(found.state)

    async def mine(self, task_id: str) -> bool:
        held, found = self._held.get(task_id), await self._ownership.read(record_eid(task_id))
        return held is not None and found is not None and found.epoch == held.epoch

    async def clear(self, task_id: str) -> None:
        try:
            if task_id not in self._held and await self._ownership.read(record_eid(task_id)) is None:
                return
            if task_id not in self._held:
                await self.take(task_id)
            await self._ownership.renew(self._held.pop(task_id))
            await self._ownership.remove(record_eid(task_id))
        except LeaseLost:
            return


def record_eid(task_id: str) -> Eid:
    """The lease of a task's record."""
    return role_eid(f"work:{hashlib.sha256(task_id.encode()).hexdigest()[:32]}")


def record_of(state: Data) -> Record | None:
    """The record in the state of a lease; None if there is none."""
    try:
        return None if not state else from_data(Record, state, "record")
    except ContractError:
        return None  # of another release: the work begins anew
