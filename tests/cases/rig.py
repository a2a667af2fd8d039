"""The fleet of the core's own tests, for cases that run on each backend."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from flowli import Registry
from flowli.adapters.cairndb import CairnBackend
from flowli.cairn.store import ObjectStore
from flowli.domain.entries import JournalEntry
from flowli.domain.provenance import Site
from flowli.runtime.config import EngineConfig
from flowli.runtime.engine import Engine
from flowli.stores.filesystem import FilesystemStore
from flowli.stores.memory import MemoryStore
from flowli.testing.stores import Fault, FaultStore, Hold, Request

ROOT = Path(__file__).parents[2]
KINDS = {"memory": "cairn", "filesystem": "files"}
"""The store of ``memory:`` and that of ``file:``, both under the backend of production."""


def _load() -> ModuleType:
    spec = spec_from_file_location("flowli_fleet", ROOT / "packages/flowli/tests/running/fleet.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_FLEET: Any = _load()
Fleet = _FLEET.Fleet
Died = _FLEET.Died


def new_fleet(kind: str, folder: Path) -> Any:
    """A fleet in a folder of its own."""
    folder.mkdir()
    return Fleet(kind, folder)


@asynccontextmanager
async def real(
    kind: str, folder: Path, registry: Registry, wrap: Callable[[ObjectStore], ObjectStore], **settings: Any
) -> AsyncIterator[Engine]:
    """An engine on the clock of the machine, for much work that waits for nothing."""
    store = MemoryStore() if kind == "cairn" else FilesystemStore.from_url(f"file:{folder}?durability=os")
    backend = CairnBackend(wrap(store))
    yield Engine(backend.ports, Site("real"), registry=registry, config=EngineConfig(**settings))
    await backend.close()


class Wire:
    """The stores of one process, with what goes wrong there."""

    def __init__(self, *script: Fault) -> None:
        self.script = script
        self.stores: list[FaultStore] = []

    def wrap(self, store: ObjectStore) -> ObjectStore:
        self.stores.append(FaultStore(store, self.script))
        return self.stores[-1]

    @property
    def requests(self) -> list[Request]:
        return [request for store in self.stores for request in store.requests]

    def clear(self) -> None:
        for store in self.stores:
            store.requests.clear()

    def freeze(self, until: Hold) -> None:
        """The process stands still at its next request, whichever that is, until the gate is opened."""
        for store in self.stores:
            store.script.append(Fault(until, verb="*", times=1_000_000))


def tags(entries: tuple[JournalEntry, ...]) -> list[str]:
    return [entry.body.tag for entry in entries]


class Calls(Counter[Any]):
    """How often the body of a step ran, by its argument."""

    async def once(self, n: Any) -> Any:
        self[n] += 1
        return n
