"""Signs of life: what sweepers and workers show of themselves, so that operators see what is missing.

``Sign`` keeps the state of a named lease fresh, one write a period at most, however many processes show the same
thing: as long as one of them lives, the others only look. ``sweeper`` is shown by sweepers, ``queue:{queue}`` by the
workers that take from a queue. What a worker's code is, it announces once in the control log when it starts (topic
``worker``, of no execution), where sweepers find it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import cast

import structlog

from flowli.domain.data import Data
from flowli.domain.entries import Announced
from flowli.domain.errors import BackendError, LeaseLost
from flowli.domain.ids import Eid, role_eid
from flowli.domain.ports import Acquired, Holder, Lease, Ports
from flowli.runtime.registry import Registry
from flowli.runtime.services import Services
from flowli.timestamp import Timestamp

__all__ = [
    "SWEEPER",
    "WORKER_TOPIC",
    "Codes",
    "Seen",
    "Sign",
    "codes_of",
    "last_seen",
    "queue_sign",
    "seen",
    "worker_announcement",
]

SWEEPER = "sweeper"
"""The sign that sweepers show."""

_PERIOD_S = 60.0
WORKER_TOPIC = "worker"
"""Of the announcements in which workers tell their code."""

_REMEMBERED = 4

_log = structlog.get_logger("flowli.signs")


def queue_sign(queue: str) -> str:
    """The sign that the workers of a queue show."""
    return f"queue:{queue}"


class Sign:
    """The signs of one process. ``beat`` costs nothing while none is due.

    Args:
        names: what it shows; each is written once in ``60 s * len(names)`` at most.
    """

    def __init__(self, services: Services, names: Iterable[str]) -> None:
        self._services = services
        self._names = tuple(names)
        self._period_s = _PERIOD_S * len(self._names)
        self._holder = Holder(f"{services.site.worker_id}/{services.world.token()[:8]}", services.site)
        self._held: dict[str, Lease] = {}
        self._due_s = services.world.monotonic_s()

    async def run(self) -> None:
        """Show what is due, until cancelled."""
        while True:
            await self.beat()
            await self._services.world.sleep(self._period_s)

    async def beat(self) -> None:
        """Show what is due. A sign that cannot be written is no reason to stop."""
        now_s = self._services.world.monotonic_s()
        if now_s < self._due_s:
            return
        self._due_s = now_s + self._period_s
        for name in self._names:
            try:
                await self._show(name)
            except (BackendError, LeaseLost) as error:
                self._held.pop(name, None)
                _log.warning("a sign of life could not be written", sign=name, error=str(error))

    async def _show(self, name: str) -> None:
        ports, eid = self._services.ports, _eid(name)
        state: Data = {"at": str(self._services.world.now()), "worker": self._services.site.worker_id}
        held = self._held.pop(name, None)
        if held is not None:
            self._held[name] = await ports.ownership.renew(held, state=state)
            return
        seen = await ports.ownership.read(eid)
        if seen is not None and seen.holder is not None and seen.idle_s < seen.ttl_s:
            return  # another one shows it
        got = await ports.ownership.acquire(eid, self._holder, 1.5 * self._period_s, seen=seen, state=state)
        if isinstance(got, Acquired):
            self._held[name] = got.lease


@dataclass(frozen=True, slots=True)
class Seen:
    """A sign of life as it was last shown.

    Attributes:
        at: when, by the clock of who showed it.
        worker: who.
        ttl_s: after so many seconds it would have been shown again, had anybody been there.
        eid: the synthetic id under which it stands.
    """

    at: Timestamp
    worker: str
    ttl_s: float
    eid: Eid

    def fresh(self, now: Timestamp) -> bool:
        """Whether who showed it, or another one like it, can be there now."""
        return now <= self.at + timedelta(seconds=self.ttl_s)


async def seen(ports: Ports, name: str) -> Seen | None:
    """How a sign was last shown; None if it never was."""
    eid = _eid(name)
    lease = await ports.ownership.read(eid)
    match lease.state if lease is not None else None:
        case {"at": str(at), "worker": str(worker)} if lease is not None:
            return Seen(Timestamp.parse(at), worker, lease.ttl_s, eid)
        case _:
            return None


async def last_seen(ports: Ports, name: str) -> Timestamp | None:
    """When a sign was last shown, by the clock of who showed it; None if it never was."""
    found = await seen(ports, name)
    return None if found is None else found.at


class Codes:
    """The code that workers have come with: for each workflow and version the latest few."""

    def __init__(self) -> None:
        self._refs: dict[tuple[str, str], list[str]] = {}
        self.fresh: set[tuple[str, str]] = set()

    def add(self, codes: Mapping[tuple[str, str], str]) -> None:
        """A worker has come; ``fresh`` names the workflows and versions for which its code is a new one."""
        for what, ref in codes.items():
            refs = self._refs.setdefault(what, [])
            if ref in refs:
                refs.remove(ref)
            else:
                self.fresh.add(what)
            refs.append(ref)
            del refs[:-_REMEMBERED]

    def of(self, workflow: str, version: str) -> Iterator[str]:
        """The codes for a workflow and version, the latest first."""
        return reversed(self._refs.get((workflow, version), []))


def worker_announcement(registry: Registry, queues: Iterable[str], worker_id: str) -> Announced:
    """What a worker says of itself when it starts."""
    codes: dict[str, Data] = {}
    for workflow in registry:
        cast("dict[str, Data]", codes.setdefault(workflow.name, {}))[workflow.version] = workflow.code_ref
    return Announced(WORKER_TOPIC, {"worker": worker_id, "queues": list(queues), "codes": codes})


def codes_of(announced: Announced) -> dict[tuple[str, str], str]:
    """The code that a worker announced, by workflow and version; empty if this is another announcement."""
    data = announced.data
    if announced.topic != WORKER_TOPIC or announced.eid is not None or not isinstance(data, dict):
        return {}
    codes = cast("dict[str, dict[str, str]]", data.get("codes", {}))
    return {(name, version): ref for name, versions in codes.items() for version, ref in versions.items()}


def _eid(name: str) -> Eid:
    return role_eid(f"flowli:sign:{name}")
