"""Server-sent events on the wire: one stream, from its first byte to its end.

A stream ends when its caller goes away, when the token expires, after a while (so that the token is looked at again),
and at once when the process shuts down. Whoever reads it connects again with the id of the last event, at any process,
and misses nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from flowli_api.auth.identity import Identity
from flowli_api.dto.base import Out
from flowli_api.problems import Problem
from flowli_api.service import Service

__all__ = ["EVENTS", "EndOut", "Event", "EventStream"]

EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
        "description": "Events, until it ends",
    }
}
"""How the document describes the answer of a route that streams."""

_LONGEST_S = 900.0
_RETRY_MS = 1000


class EndOut(Out):
    """Nothing follows."""

    eid: str


@dataclass(frozen=True, slots=True)
class Event:
    """One event.

    Attributes:
        name: its kind.
        data: what it tells.
        id: where to go on behind it; None if more events belong to the same place.
    """

    name: str
    data: BaseModel
    id: str | None = None

    def encoded(self) -> bytes:
        """The lines of it."""
        head = f"id: {self.id}\n" if self.id is not None else ""
        return f"{head}event: {self.name}\ndata: {self.data.model_dump_json()}\n\n".encode()


class EventStream(Response):
    """The answer that goes on.

    Args:
        events: what to send; it is closed with the stream.

    Raises:
        Problem: as many streams as the process takes are open, or it is shutting down.
    """

    media_type = "text/event-stream"

    def __init__(self, service: Service, caller: Identity, events: AsyncIterator[Event]) -> None:
        if service.closing.is_set():
            raise Problem("closing", "This process is shutting down.")
        if service.streams >= service.config.max_streams:
            raise Problem("rate_limited", "Too many event streams are open here; ask by polling instead.")
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._service = service
        self._events = events
        expires = caller.expires_at
        left_s = _LONGEST_S if expires is None else (expires - service.world.now()).total_seconds()
        self._limit_s = max(0.0, min(_LONGEST_S, left_s))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the stream ends."""
        self._service.streams += 1
        ends = [
            _task(self._service.closing.wait()),
            _task(_gone(receive)),
            _task(self._service.world.sleep(self._limit_s)),
        ]
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await self._send(send, f"retry: {_RETRY_MS}\n\n".encode())
            await self._pump(send, ends)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except OSError:  # the caller went away between two looks
            return
        finally:
            self._service.streams -= 1
            for task in ends:
                task.cancel()

    async def _pump(self, send: Send, ends: list[asyncio.Task[Any]]) -> None:
        nothing: list[Event] = []
        coming = _task(self._next())
        try:
            while True:
                await asyncio.wait(
                    {coming, *ends}, timeout=self._service.config.heartbeat_s, return_when=asyncio.FIRST_COMPLETED
                )
                if any(task.done() for task in ends):
                    return
                found = coming.result() if coming.done() else nothing
                if found is None:
                    return
                if coming.done():
                    coming = _task(self._next())
                await self._send(send, b"".join(one.encoded() for one in found) or b": alive\n\n")
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
            closing = getattr(self._events, "aclose", None)
            if closing is not None:
                await closing()

    async def _next(self) -> list[Event] | None:
        try:
            return [await anext(self._events)]
        except StopAsyncIteration:
            return None

    @staticmethod
    async def _send(send: Send, body: bytes) -> None:
        await send({"type": "http.response.body", "body": body, "more_body": True})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _task(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    return asyncio.ensure_future(work)
