"""``Mirror``: a real store beside the simulated bucket, which does all that the bucket does and must answer the same.

So a store of a plugin is tried under the traffic of the engine, faults and all: every write, delete, read and listing
that the bucket applies is applied to the store as well, and any difference is a problem of the run.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine
from typing import Any, TypeVar

from flowli.cairn.store import ObjectStore
from flowli.cairn.write import Gone, Lost, Unknown, Won
from flowli.testing.sim.loop import alone

__all__ = ["Mirror"]

T = TypeVar("T")

_RUNS = itertools.count(1)
_PROBE = "wf/probe/"  # its keys are as long as keys may be, and leave no room for a prefix


class Mirror:
    """See the module's docstring. Its keys stand under a prefix of their own, and are deleted in the end.

    Attributes:
        problems: where the store differed.
    """

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._loop = asyncio.new_event_loop()
        self._prefix = f"sim/{next(_RUNS)}/"
        self._versions: dict[str, str] = {}
        self.problems: list[str] = []

    def write(self, key: str, data: bytes, if_absent: bool, if_version: str | None, result: object) -> None:
        """The bucket has applied a put with ``result``."""
        if key.startswith(_PROBE):
            return
        version = None if if_version is None else self._versions.get(if_version, "0")
        put = self._store.put(self._prefix + key, data, if_absent=if_absent, if_version=version)
        self._same(f"put {key}", result, self._run(put))

    def erase(self, key: str, if_version: str | None, result: object) -> None:
        """The bucket has applied a delete with ``result``."""
        if key.startswith(_PROBE):
            return
        version = None if if_version is None else self._versions.get(if_version, "0")
        self._same(f"delete {key}", result, self._run(self._store.delete(self._prefix + key, if_version=version)))

    def read(self, key: str, data: bytes | None) -> None:
        """The bucket was read."""
        if key.startswith(_PROBE):
            return
        found = self._run(self._store.get(self._prefix + key))
        if (None if found is None else found.data) != data:
            self._differs(f"get {key}", "another body", "its own")

    def listed(self, prefix: str, keys: list[str]) -> None:
        """The whole listing under ``prefix`` was asked for."""
        if prefix.startswith(_PROBE):
            return
        told = self._keys(prefix)
        if told != keys:
            self._differs(f"list {prefix}", str(told[:5]), str(keys[:5]))

    def close(self) -> None:
        """Remove what is left."""
        left = [self._prefix + key for key in self._keys("")]
        if left:
            self._run(self._store.delete_many(left))
        self._loop.close()

    def _keys(self, prefix: str) -> list[str]:
        async def pages() -> list[str]:
            keys: list[str] = []
            while True:
                after = keys[-1] if keys else None
                page = await self._store.list(self._prefix + prefix, after=after)
                keys += [item.key for item in page.items]
                if not page.more or not page.items:
                    return keys

        return [key.removeprefix(self._prefix) for key in self._run(pages())]

    def _same(self, what: str, wanted: object, told: Won | Lost | Gone | Unknown) -> None:
        if type(told) is not type(wanted):
            self._differs(what, type(told).__name__, type(wanted).__name__)
        elif isinstance(told, Won) and isinstance(wanted, Won):
            self._versions[wanted.version] = told.version

    def _differs(self, what: str, told: str, wanted: str) -> None:
        self.problems.append(f"B: the store answered {what} with {told}, not {wanted}")

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return alone(self._loop, work, close=False)
