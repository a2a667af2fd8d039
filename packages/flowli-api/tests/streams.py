"""Reading event streams in process: an ASGI client that is given each piece as it is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from .conftest import Shop, token_of


@dataclass
class Told:
    """One event."""

    name: str
    data: Any
    id: str | None


@dataclass
class Stream:
    """An open stream."""

    pieces: asyncio.Queue[dict[str, Any]]
    gone: asyncio.Event
    started: dict[str, Any] = field(default_factory=dict)
    text: str = ""

    async def next(self) -> Told | None:
        """The next event; None at the end."""
        while True:
            head, end, rest = self.text.partition("\n\n")
            if end:
                self.text = rest
                lines = dict(line.split(": ", 1) for line in head.splitlines() if not line.startswith(":"))
                if "event" in lines:
                    return Told(lines["event"], json.loads(lines["data"]), lines.get("id"))
                continue
            piece = await self.pieces.get()
            if piece["type"] == "http.response.start":
                self.started = piece
            elif piece["type"] == "closed" or not piece.get("more_body"):
                self.text += piece.get("body", b"").decode()
                return None
            else:
                self.text += piece["body"].decode()

    async def until(self, name: str) -> list[Told]:
        """All events up to the first of that name, or to the end."""
        told: list[Told] = []
        while (one := await self.next()) is not None:
            told.append(one)
            if one.name == name:
                break
        return told


@asynccontextmanager
async def listening(shop: Shop, path: str, who: str = "root", last_id: str | None = None) -> AsyncIterator[Stream]:
    """A stream that is closed in the end as by a caller that goes away."""
    pieces: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    stream = Stream(pieces, asyncio.Event())
    path, _, query = path.partition("?")
    headers = [(b"authorization", f"Bearer {token_of(who)}".encode())]
    if last_id is not None:
        headers.append((b"last-event-id", last_id.encode()))
    asked = False

    async def receive() -> dict[str, Any]:
        nonlocal asked
        if not asked:
            asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await stream.gone.wait()
        return {"type": "http.disconnect"}

    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("flowli.test", 80),
        "root_path": "",
    }

    async def run() -> None:
        try:
            await shop.app(scope, receive, pieces.put)
        finally:
            await pieces.put({"type": "closed"})

    serving = asyncio.ensure_future(run())
    try:
        yield stream
    finally:
        stream.gone.set()
        await serving
