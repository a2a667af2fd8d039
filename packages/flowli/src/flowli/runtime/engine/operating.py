"""Operator verbs: cancel, terminate, pause, resume, migrate.

Each takes who asks, why, and an optional key that makes it once-only; each leaves an ``operator.acted`` in the
control log and returns when that, and what it asked for, is durable.
"""

from __future__ import annotations

import asyncio

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.entries import ControlEntry, OperatorActed
from flowli.domain.ids import Eid, check_key
from flowli.domain.ports import Holder
from flowli.domain.provenance import Actor, Provenance
from flowli.runtime.engine.base import EngineBase, as_eid
from flowli.runtime.protocols.cancel import cancel
from flowli.runtime.protocols.migrate import migrate
from flowli.runtime.protocols.pause import pause, unpause
from flowli.runtime.protocols.standing import Standing, read_standing
from flowli.runtime.protocols.take import Taker
from flowli.runtime.protocols.terminate import terminate

__all__ = ["OperatorVerbs"]


class OperatorVerbs(EngineBase):
    """``cancel``, ``terminate``, ``pause``, ``resume``, ``migrate``."""

    async def cancel(
        self, eid: Eid | str, reason: str = "", *, key: str | None = None, actor: Actor | None = None
    ) -> None:
        """Ask for the cancel of an execution: its code is told and its clean-up runs. Asking again tells it again.

        Args:
            eid: the execution.
            reason: why, for people and for the journal.
            key: the same cancel with the same key is one; None for a new one.
            actor: who asks; this process if None.

        Raises:
            UnknownExecution: no such execution.
            NotAllowed: it has ended.
            DispatchConflict: the key was used for something else.
        """
        eid, request, by = self._request(eid, key, actor)
        await cancel(self.ports, self.hub, eid, request=request, reason=reason, by=by)
        await self._acted("cancel", eid, reason, key, by)

    async def pause(
        self, eid: Eid | str, reason: str = "", *, key: str | None = None, actor: Actor | None = None
    ) -> None:
        """Ask that an execution not go on until ``resume``; arguments and errors are those of ``cancel``."""
        eid, request, by = self._request(eid, key, actor)
        await pause(self.ports, self.hub, eid, request=request, reason=reason, by=by)
        await self._acted("pause", eid, reason, key, by)

    async def resume(
        self, eid: Eid | str, reason: str = "", *, key: str | None = None, actor: Actor | None = None
    ) -> None:
        """Let a paused execution go on, and try a parked one again; arguments and errors are those of ``cancel``."""
        eid, request, by = self._request(eid, key, actor)
        await unpause(self.ports, self.hub, eid, request=request, reason=reason, by=by)
        await self._acted("resume", eid, reason, key, by)

    async def terminate(
        self, eid: Eid | str, reason: str = "", *, key: str | None = None, actor: Actor | None = None
    ) -> None:
        """End an execution as cancelled without running its code, if need be against its owner after ``grace_s``.

        Arguments and errors are those of ``cancel``; it returns when the end is durable.
        """
        eid, request, by = self._request(eid, key, actor)
        await self._terminate(await read_standing(self.ports, eid), request, reason, by)
        await self._acted("terminate", eid, reason, key, by)

    async def migrate(
        self, eid: Eid | str, version: str, reason: str = "", *, key: str | None = None, actor: Actor | None = None
    ) -> None:
        """Have an execution run on by another version of its workflow; releases one that is parked by a code change.

        Args:
            version: of the same workflow. It must be registered here, unless this process knows nothing
                of the workflow.

        Raises:
            UnknownWorkflow: the workflow has no such version here.
            UnknownExecution: no such execution.
            NotAllowed: it has ended.
        """
        check_key("version", version)
        eid, request, by = self._request(eid, key, actor)
        standing = await read_standing(self.ports, eid)
        name = standing.execution.workflow
        if self.registry.find(name) is not None:
            self.registry.get(name, version)
        await migrate(self._taker(), standing, version, request=request, reason=reason, by=by)
        await self._acted("migrate", eid, reason, key, by, version=version)

    async def _terminate(self, standing: Standing, request: str, reason: str, by: Provenance) -> None:
        await terminate(self._taker(), standing, request=request, reason=reason, by=by)

    def _taker(self) -> Taker:
        holder = Holder(f"{self.site.worker_id}/{self.world.token()}", self.site)
        return Taker(self.services, holder, ttl_s=self.config.exec_ttl_s, grace_s=self.config.grace_s)

    def _request(self, eid: Eid | str, key: str | None, actor: Actor | None) -> tuple[Eid, str, Provenance]:
        request = self.world.token() if key is None else check_key("key", key)
        return as_eid(eid), request, self._by(actor)

    async def _acted(
        self, verb: str, eid: Eid | None, reason: str, key: str | None, by: Provenance, **content: Data
    ) -> None:
        """Leave the receipt, and wait until it is durable."""
        digest = codec.digest({"verb": verb, "reason": reason, **content})
        acted = OperatorActed(verb, eid, reason, key, digest)
        await asyncio.shield(self.announcer.post([ControlEntry(acted, by)]))
