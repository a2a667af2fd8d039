"""Many executions on one bucket, whose requests are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from flowli.domain.ids import role_eid
from flowli.testing.stores import CountingStore, Counts, Request

from ..running.fleet import Fleet, Process

SHARED = ("logs/wf/", "wf/queues/default/limits/", f"wf/exec/{role_eid('flowli:sign:queue:default')}/")
"""Shares: the control log, the settings of a queue, and the sign that somebody listens to it."""


class Meter:
    """Counts what one process asks of the store."""

    def __init__(self) -> None:
        self._stores: list[CountingStore] = []

    def wrap(self, store: Any) -> CountingStore:
        self._stores.append(CountingStore(store))
        return self._stores[-1]

    def clear(self) -> None:
        for store in self._stores:
            store.requests.clear()

    def requests(self, *skip: str) -> list[Request]:
        """All requests, but not those of keys that begin with one of ``skip``."""
        return [one for store in self._stores for one in store.requests if not one.key.startswith(skip)]

    def counts(self, *skip: str) -> Counts:
        return Counts.of(self.requests(*skip))

    def by_key(self, verb: str) -> Counter[str]:
        return Counter(one.key for one in self.requests() if one.verb == verb)


Metered = Callable[..., Any]


@pytest.fixture
async def cairn(tmp_path: Path) -> AsyncIterator[Fleet]:
    made = Fleet("cairn", tmp_path)
    yield made
    await made.close()


async def metered(fleet: Fleet, name: str, **settings: Any) -> tuple[Process, Meter]:
    """A process that has opened the bucket, and what counts its requests from here on."""
    meter = Meter()
    process = fleet.process(name, wrap=meter.wrap, **settings)
    await process.backend.check()
    meter.clear()
    return process, meter
