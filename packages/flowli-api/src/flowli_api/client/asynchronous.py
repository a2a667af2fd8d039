"""``AsyncClient``: the service from asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import TypeVar
from uuid import UUID

import httpx
from pydantic import BaseModel, JsonValue

from flowli.domain.errors import ResultTimeout
from flowli.world import SYSTEM, World
from flowli_api.client.base import ClientBase
from flowli_api.client.calls import Call, Calls
from flowli_api.client.errors import ApiError
from flowli_api.dto.catalog import MeOut, WorkflowOut
from flowli_api.dto.common import Written
from flowli_api.dto.executions import ExecutionOut, ExecutionPage, ExecutionSummary
from flowli_api.dto.insight import ExplanationOut
from flowli_api.dto.journal import EntryOut, FramesOut
from flowli_api.dto.queues import QueueOut
from flowli_api.routes.bulk import BulkOut
from flowli_api.routes.operating import Answered, Sent, Started
from flowli_api.routes.reading import ResultOut
from flowli_api.routes.shown import ShownOut, StreamOut

__all__ = ["AsyncClient"]

M = TypeVar("M", bound=BaseModel)

_WAIT_S = 20.0


class AsyncClient(ClientBase):
    """Calls a service. What may be repeated is tried again when the service is away for a moment; every write may be,
    since each carries an idempotency key.

    Args:
        url: of the service, with the path under which a proxy shows it.
        token: an access token or an API key.
        timeout_s: for one answer, beside what a call waits for on purpose.
        transport: how requests are sent; the network if None.
        world: clock and chance.

    Raises:
        UsageError: ``url`` is none.

    Example:
        >>> async with AsyncClient("https://flowli.example.org", token) as client:
        ...     started = await client.start("invoice_approval", "INV-7", key="INV-7")
        ...     result = await client.result(started.eid, timeout_s=60)
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout_s: float = 10.0,
        transport: httpx.AsyncBaseTransport | None = None,
        world: World = SYSTEM,
    ) -> None:
        super().__init__(url, token, world, timeout_s)
        self._http = httpx.AsyncClient(transport=transport)

    async def send(self, call: Call[M]) -> M:
        """Make a call.

        Raises:
            ApiError: the service answered with a problem.
            httpx.TransportError: it cannot be reached.
        """
        request, tried = self._request(call), 0
        while True:
            tried += 1
            try:
                return self._read(call, await self._http.send(request))
            except (ApiError, httpx.TransportError) as error:
                delay_s = self._delay_s(call, tried, error)
                if delay_s is None:
                    raise
            await self._world.sleep(delay_s)

    async def me(self) -> MeOut:
        """Who the token stands for, and what it permits."""
        return await self.send(Calls.me())

    async def workflows(self) -> list[WorkflowOut]:
        """The workflows of the service, with the schemas of their arguments."""
        return (await self.send(Calls.workflows())).items

    async def start(
        self,
        workflow: str,
        *args: object,
        kwargs: Mapping[str, object] | None = None,
        key: str | None = None,
        on_conflict: str = "join",
        version: str | None = None,
        queue: str | None = None,
        priority: int | None = None,
        timeout_s: float | None = None,
        idempotency_key: str | None = None,
    ) -> Started:
        """Start an execution.

        Args:
            args: by place, in their JSON form; ``kwargs`` by name.
            key: a business key: two starts with one key are one execution.
            idempotency_key: of this call; drawn if None.
        """
        options = {
            "key": key,
            "on_conflict": on_conflict,
            "version": version,
            "queue": queue,
            "priority": priority,
            "timeout_s": timeout_s,
            "idempotency_key": idempotency_key,
        }
        return await self.send(Calls.start(workflow, args, kwargs or {}, options))

    async def executions(
        self, filters: Mapping[str, object] | None = None, *, after: int | None = None
    ) -> ExecutionPage:
        """One page of the list.

        Args:
            filters: the query of ``GET /v1/executions``: ``{"status": ["failed"], "workflow": "orders"}``.
            after: the ``control_seq`` of a write that the page must show.
        """
        return await self.send(Calls.executions(filters or {}, after))

    async def each_execution(self, filters: Mapping[str, object] | None = None) -> AsyncIterator[ExecutionSummary]:
        """All executions that fit, the newest first."""
        page = await self.executions(filters)
        while True:
            for row in page.items:
                yield row
            if page.next_cursor is None:
                return
            page = await self.executions({**(filters or {}), "cursor": page.next_cursor})

    async def execution(self, eid: UUID | str, *, after: int | None = None) -> ExecutionOut:
        """Where an execution stands."""
        return await self.send(Calls.execution(eid, after))

    async def journal(self, eid: UUID | str) -> list[EntryOut]:
        """All entries of its journal."""
        found, after = list[EntryOut](), 0
        while True:
            page = await self.send(Calls.journal(eid, after))
            found += page.entries
            if page.next_after is None:
                return found
            after = page.next_after

    async def frames(self, eid: UUID | str) -> FramesOut:
        """Its frames."""
        return await self.send(Calls.frames(eid))

    async def explain(self, eid: UUID | str) -> ExplanationOut:
        """Why it stands where it stands."""
        return await self.send(Calls.explain(eid))

    async def result(self, eid: UUID | str, timeout_s: float | None = None) -> ResultOut:
        """How an execution ended, waited for.

        Args:
            timeout_s: None waits for ever.

        Raises:
            ResultTimeout: it has not ended in time; it goes on.
        """
        until_s = None if timeout_s is None else self._world.monotonic_s() + timeout_s
        while True:
            left_s = _WAIT_S if until_s is None else max(0.0, min(_WAIT_S, until_s - self._world.monotonic_s()))
            found = await self.send(Calls.result(eid, left_s))
            if found.ended:
                return found
            if until_s is not None and self._world.monotonic_s() >= until_s:
                raise ResultTimeout(f"execution {eid} has not ended within {timeout_s:g} s; it goes on, ask again")

    async def published(self, eid: UUID | str, name: str) -> ShownOut:
        """The value that an execution published last under a name."""
        return await self.send(Calls.published(eid, name))

    async def read_stream(self, eid: UUID | str, name: str, *, after: str | None = None) -> StreamOut:
        """What an execution wrote to a stream.

        Args:
            after: ``next_after`` of the page before.
        """
        return await self.send(Calls.read_stream(eid, name, after))

    async def signal(
        self,
        eid: UUID | str,
        channel: str,
        payload: object = None,
        *,
        correlation: str | None = None,
        key: str | None = None,
    ) -> Sent:
        """Send a message to an execution."""
        return await self.send(Calls.signal(eid, channel, payload, correlation, key))

    async def update(
        self, eid: UUID | str, name: str, payload: object = None, *, timeout_s: float = 10.0, key: str | None = None
    ) -> Answered:
        """Ask an execution for something, and wait for its answer."""
        return await self.send(Calls.update(eid, name, payload, timeout_s, key))

    async def cancel(self, eid: UUID | str, reason: str = "", *, key: str | None = None) -> Written:
        """Ask for the cancel of an execution."""
        return await self.send(Calls.act("cancel", eid, {"reason": reason}, key))

    async def terminate(self, eid: UUID | str, reason: str = "", *, key: str | None = None) -> Written:
        """End an execution without running its code."""
        return await self.send(Calls.act("terminate", eid, {"reason": reason}, key))

    async def pause(self, eid: UUID | str, reason: str = "", *, key: str | None = None) -> Written:
        """Hold an execution."""
        return await self.send(Calls.act("pause", eid, {"reason": reason}, key))

    async def resume(self, eid: UUID | str, reason: str = "", *, key: str | None = None) -> Written:
        """Let it go on."""
        return await self.send(Calls.act("resume", eid, {"reason": reason}, key))

    async def migrate(self, eid: UUID | str, version: str, reason: str = "", *, key: str | None = None) -> Written:
        """Run it on by another version."""
        return await self.send(Calls.act("migrate", eid, {"version": version, "reason": reason}, key))

    async def fork(self, eid: UUID | str, from_fid: str, reason: str = "", *, key: str | None = None) -> Written:
        """A new execution that goes on from a frame of a finished one; its id is in the answer."""
        return await self.send(Calls.act("fork", eid, {"from_fid": from_fid, "reason": reason}, key))

    async def retry(self, eid: UUID | str, reason: str = "", *, key: str | None = None) -> Written:
        """A new execution that goes on from the frame that failed."""
        return await self.send(Calls.act("retry", eid, {"reason": reason}, key))

    async def replay(
        self, eid: UUID | str, reason: str = "", *, version: str | None = None, key: str | None = None
    ) -> Written:
        """A new execution with the same input."""
        return await self.send(Calls.act("replay", eid, {"reason": reason, "version": version}, key))

    async def erase(self, eid: UUID | str, reason: str = "", *, key: str | None = None) -> Written:
        """Remove the payloads of a finished execution."""
        return await self.send(Calls.act("erase", eid, {"reason": reason}, key))

    async def bulk(
        self,
        action: str,
        *,
        eids: Sequence[UUID | str] | None = None,
        filter_by: Mapping[str, JsonValue] | None = None,
        reason: str = "",
        dry_run: bool = True,
        key: str | None = None,
    ) -> BulkOut:
        """One verb on many executions: those named, or those that a filter finds."""
        body: dict[str, JsonValue] = {"reason": reason, "dry_run": dry_run}
        if eids is not None:
            body["eids"] = [str(eid) for eid in eids]
        if filter_by is not None:
            body["filter"] = dict(filter_by)
        return await self.send(Calls.bulk(action, body, key))

    async def queues(self) -> list[QueueOut]:
        """The queues."""
        return (await self.send(Calls.queues())).items

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
