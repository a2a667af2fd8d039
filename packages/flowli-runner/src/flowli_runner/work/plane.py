"""``Plane``: what a handler does beside its answer, wherever its bucket is reached: evidence, records, scopes."""

from __future__ import annotations

import re
from typing import Protocol

from flowli.domain.channels import scoped_channel
from flowli.domain.delegate import Delegate
from flowli.domain.errors import BackendError, NotAllowed, UnknownExecution
from flowli.domain.ids import parse_eid
from flowli.domain.ports import Ports
from flowli.domain.provenance import Site
from flowli.runtime.protocols.deliver import check_receiver
from flowli.world import World
from flowli_runner.work.records import PortRecords, Records
from flowli_runner.work.scopes import PortScopes, Scopes

__all__ = ["Plane", "PortPlane", "evidence_prefix"]

_LOOK = 10_000
_SIGNS = {"/": "~", "#": "="}


class Plane(Protocol):
    """See the module's docstring."""

    @property
    def records(self) -> Records:
        """Where records are kept."""

    @property
    def scopes(self) -> Scopes:
        """The leases of write scopes."""

    async def begin(self, delegate: Delegate) -> None:
        """A task was handed to this process."""

    async def done(self, delegate: Delegate) -> None:
        """Its answer is durable, and it is acked."""

    async def keep(self, delegate: Delegate, what: str, body: bytes, media_type: str) -> str:
        """Keep a body beside the execution; returns the name under which it stands, "" if there is no execution."""

    async def wanted(self, delegate: Delegate) -> bool:
        """Whether an answer could still be received, as far as is known."""

    async def stands(self, task_id: str, eid: str) -> bool:
        """Whether a task is still in its queue: then whoever takes it goes on with its work."""

    async def recover(self) -> None:
        """Give back what dead runners of this host held; called when a runner starts."""


class PortPlane:
    """Through the ports of a bucket."""

    def __init__(self, ports: Ports, queue: str, site: Site, world: World) -> None:
        self._ports, self._queue = ports, queue
        self.records: Records = PortRecords(ports.ownership, site, world)
        self.scopes: Scopes = PortScopes(ports.ownership, site)

    async def begin(self, delegate: Delegate) -> None:
        """The lease of the task says it already."""

    async def done(self, delegate: Delegate) -> None:
        """The lease of the task is gone already."""

    async def keep(self, delegate: Delegate, what: str, body: bytes, media_type: str) -> str:
        if delegate.eid is None:
            return ""
        name = evidence_prefix(delegate) + what
        await self._ports.evidence.put(delegate.eid, name, body)
        return name

    async def wanted(self, delegate: Delegate) -> bool:
        reply_to = delegate.reply_to
        if reply_to is None:
            return True
        try:
            channel = scoped_channel(reply_to.eid, reply_to.channel.removeprefix(f"{reply_to.eid}."))
            await check_receiver(self._ports, reply_to.eid, channel)
        except (NotAllowed, UnknownExecution):
            return False
        except BackendError:
            return True
        return True

    async def stands(self, task_id: str, eid: str) -> bool:
        views = await self._ports.queue.find(self._queue, parse_eid(eid), limit=_LOOK)
        return any(view.task.task_id == task_id for view in views)

    async def recover(self) -> None:
        """Leases name the process that holds them: those of the dead are free."""


def evidence_prefix(delegate: Delegate) -> str:
    """Under which the evidence of a delivery stands: ``delegate-{key}.{delivery}.{delivery}/``."""
    key = delegate.task_id.split(":", 2)[2] if delegate.task_id.count(":") > 1 else ""
    part = re.sub("[/#]", lambda found: _SIGNS[found[0]], key) or "task"
    return f"delegate-{part}.{delegate.delivery}.{delegate.delivery}/"
