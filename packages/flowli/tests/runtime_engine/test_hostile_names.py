"""Names and ids that walk out of their prefix are refused at every entry, before any request (K41)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from flowli import CairnBackend, Context, Engine, Registry, Site
from flowli.domain.errors import UsageError
from flowli.stores.memory import MemoryStore
from flowli.testing.stores import CountingStore

HOSTILE = [
    "../x",
    "%2e%2e%2f",
    "..\\",
    ".hidden",
    "nul\0byte",
    ".locks",
    "",
    "/",
    "a/../b",
    "a/b",
    "\u2024\u2024/x",
    "\u0430lpha",
    "x" * 300,
    "line\nbreak",
    " ",
]
EID = "0197a1b2-0000-7000-8000-000000000000"

registry = Registry()


@registry.workflow
async def main(ctx: Context, n: int = 0) -> int:
    return n


Entry = Callable[[Engine, str], Awaitable[Any]]


async def _worker(engine: Engine, text: str) -> None:
    engine.worker([text])


ENTRIES: dict[str, Entry] = {
    "workflow": lambda engine, text: engine.start(text, version="1"),
    "key of a start": lambda engine, text: engine.start(main, key=text),
    "queue of a start": lambda engine, text: engine.start(main, queue=text),
    "version": lambda engine, text: engine.start(main, version=text),
    "eid of a signal": lambda engine, text: engine.signal(text, "channel"),
    "channel of a signal": lambda engine, text: engine.signal(EID, text),
    "key of a signal": lambda engine, text: engine.signal(EID, "channel", key=text),
    "channel of a broadcast": lambda engine, text: engine.broadcast(text),
    "eid of a cancel": lambda engine, text: engine.cancel(text),
    "key of a cancel": lambda engine, text: engine.cancel(EID, key=text),
    "eid of a terminate": lambda engine, text: engine.terminate(text),
    "eid of a pause": lambda engine, text: engine.pause(text),
    "eid of a resume": lambda engine, text: engine.resume(text),
    "version of a migrate": lambda engine, text: engine.migrate(EID, text),
    "eid of a status": lambda engine, text: engine.status(text),
    "eid of a journal": lambda engine, text: engine.journal(text),
    "eid of a result": lambda engine, text: engine.result(text, timeout=0.1),
    "queue of a worker": _worker,
}


@pytest.mark.parametrize("entry", ENTRIES)
async def test_a_hostile_text_is_refused_without_a_request(entry: str) -> None:
    """STA-5."""
    store = CountingStore(MemoryStore())
    engine = Engine(CairnBackend(store).ports, Site.local("w"), registry=registry)
    for text in HOSTILE:
        with pytest.raises(UsageError):
            await ENTRIES[entry](engine, text)
    assert store.requests == []


@pytest.mark.parametrize("text", [text for text in HOSTILE if text])
def test_a_hostile_name_is_not_registered(text: str) -> None:
    async def flow(ctx: Context) -> None:
        return None

    with pytest.raises(UsageError):
        Registry().add(flow, name=text)
