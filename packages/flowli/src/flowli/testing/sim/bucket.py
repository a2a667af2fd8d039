"""``Bucket``: the one map that all nodes share, and the ``ObjectStore`` through which each of them sees it."""

from __future__ import annotations

import bisect
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from flowli.adapters.cairndb import CairnBackend
from flowli.cairn.commit import decode_commit
from flowli.cairn.errors import StoreThrottled, StoreUnavailable
from flowli.cairn.store import Capabilities, Listed, Object, Page
from flowli.cairn.write import Gone, Lost, Unknown, Won
from flowli.domain.ids import Eid
from flowli.domain.ports import Ports
from flowli.stores.memory import MemoryStore
from flowli.testing.sim import faults
from flowli.testing.sim.loop import VirtualLoop, alone
from flowli.testing.sim.mirror import Mirror
from flowli.testing.sim.network import Answers, Network, Operation
from flowli.testing.sim.node import Node

__all__ = ["Bucket", "SimStore"]

T = TypeVar("T")
Result: TypeAlias = Won | Lost | Gone | Unknown


class Bucket(Network):
    """The map and its clock.

    Attributes:
        objects: key to (body, version, second of the last write).
        mirror: a real store that must answer the same.
    """

    def __init__(self, loop: VirtualLoop, seed: int, *, latency_s: tuple[float, float] = (0.004, 0.016)) -> None:
        super().__init__(loop, seed, latency_s)
        self.objects: dict[str, tuple[bytes, str, float]] = {}
        self.mirror: Mirror | None = None
        self._keys: list[str] = []
        self._versions = 0
        self._past: list[tuple[float, str, bool]] = []

    def store(self, node: Node) -> SimStore:
        """The bucket as ``node`` sees it."""
        return SimStore(self, node)

    def ports(self, node: Node, *, retire_grace_s: float) -> Ports:
        """The ports over the bucket."""
        backend = CairnBackend(self.store(node), world=node.world, retire_grace_s=retire_grace_s)
        return replace(backend.ports, fork=None)

    def read(self, work: Callable[[Ports], Awaitable[T]]) -> T:
        """Read a copy of the bucket on a loop of its own."""
        store, loop = MemoryStore(), VirtualLoop()

        async def main() -> T:
            for key, (data, _, _) in self.objects.items():
                await store.put(key, data)
            return await work(CairnBackend(store).ports)

        return alone(loop, main())

    def executions(self) -> list[Eid]:
        """By the names of the logs."""
        names = {key.split("/")[1] for key in self.keys("logs/wf.exec.")}
        return [Eid(name.removeprefix("wf.exec.")) for name in sorted(names)]

    def journal_state(self, eid: Eid) -> object:
        """How many commits there are; None if there is none."""
        return sum(1 for _ in self.keys(f"logs/wf.exec.{eid}/")) or None

    def durable_instants(self, eid: Eid) -> dict[int, float]:
        """By the operations that created the commits."""
        prefix = f"logs/wf.exec.{eid}/log/"
        instants: dict[int, float] = {}
        for operation in self.operations:
            if operation.verb == "create" and operation.key.startswith(prefix) and operation.applied_s is not None:
                found = self.objects.get(operation.key)
                if found is not None and found[0] == operation.data:
                    commit = decode_commit(operation.key, int(operation.key[-20:-8]), operation.data)
                    for seq in range(commit.first, commit.first + len(commit.records)):
                        # one that was sent again landed when the first of the two did
                        instants[seq] = min(operation.applied_s, instants.get(seq, operation.applied_s))
        return instants

    def left_of(self, received_on: Mapping[Eid, Collection[str] | None]) -> list[str]:
        """By the keys. A marker on a channel of its own, of which no entry of the execution tells, is of an owner that
        was overtaken before its first commit: nobody sends there any more, and it goes when the execution is retired.
        """
        left = []
        for key in (*self.keys("wf/queues/"), *self.keys("wf/waits/")):
            eid = next((eid for eid in received_on if str(eid) in key), None)
            known = None if eid is None else received_on[eid]
            if known is None or "/dead/" in key or not self.objects[key][0]:
                continue
            channel = key.removeprefix("wf/waits/").partition("/")[0]
            if not channel.startswith(f"{eid}.") or channel in known:
                left.append(key)
        return left

    def close(self) -> list[str]:
        """What the store beside it answered wrongly."""
        if self.mirror is None:
            return []
        self.mirror.close()
        return self.mirror.problems

    def write(self, key: str, data: bytes, if_absent: bool, if_version: str | None) -> Result:
        """Apply a put."""
        result = self._write(key, data, if_absent, if_version)
        if self.mirror is not None:
            self.mirror.write(key, data, if_absent, if_version, result)
        return result

    def erase(self, key: str, if_version: str | None) -> Result:
        """Apply a delete."""
        result = self._erase(key, if_version)
        if self.mirror is not None:
            self.mirror.erase(key, if_version, result)
        return result

    def _write(self, key: str, data: bytes, if_absent: bool, if_version: str | None) -> Result:
        found = self.objects.get(key)
        if if_absent and found is not None:
            return Lost()
        if if_version is not None and (found is None or found[1] != if_version):
            return Gone() if found is None else Lost()
        self._versions += 1
        version = f"v{self._versions}"
        if found is None:
            bisect.insort(self._keys, key)
            self._past.append((self.loop.time(), key, True))
        self.objects[key] = (data, version, self.loop.time())
        return Won(version)

    def _erase(self, key: str, if_version: str | None) -> Result:
        found = self.objects.get(key)
        if found is None:
            return Won() if if_version is None else Gone()
        if if_version is not None and found[1] != if_version:
            return Lost()
        del self.objects[key]
        del self._keys[bisect.bisect_left(self._keys, key)]
        self._past.append((self.loop.time(), key, False))
        return Won()

    def keys(self, prefix: str, *, age_s: float = 0.0) -> list[str]:
        """The keys under ``prefix`` as they were ``age_s`` ago."""
        first = bisect.bisect_left(self._keys, prefix)
        last = bisect.bisect_left(self._keys, prefix + "\uffff")
        keys = self._keys[first:last]
        if age_s <= 0:
            return keys
        then, shown = self.loop.time() - age_s, set(keys)
        for at_s, key, created in reversed(self._past):
            if at_s <= then:
                break
            if key.startswith(prefix):
                (shown.discard if created else shown.add)(key)
        return sorted(shown)


class SimStore:
    """One node's client; see ``ObjectStore``."""

    url = "sim:"

    def __init__(self, bucket: Bucket, node: Node) -> None:
        self._bucket = bucket
        self._node = node

    @property
    def capabilities(self) -> Capabilities:
        """Those of a cloud store, with small pages."""
        return Capabilities(poll_hint_s=1.0, page_size=1000)

    async def get(self, key: str) -> Object | None:
        """Read."""

        def apply() -> Object | None:
            found = self._bucket.objects.get(key)
            if self._bucket.mirror is not None:
                self._bucket.mirror.read(key, None if found is None else found[0])
            return None if found is None else Object(found[0], found[1], self._bucket.loop.time() - found[2])

        result: Object | None = await self._request("get", key, apply)
        return result

    async def put(self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None) -> Result:
        """Write."""
        verb = "create" if if_absent else "put" if if_version is None else "swap"
        result: Result = await self._request(
            verb, key, lambda: self._bucket.write(key, data, if_absent, if_version), data=data, write=True
        )
        return result

    async def delete(self, key: str, *, if_version: str | None = None) -> Result:
        """Delete."""
        result: Result = await self._request("delete", key, lambda: self._bucket.erase(key, if_version), write=True)
        return result

    async def delete_many(self, keys: Iterable[str]) -> None:
        """Delete several."""
        some = list(keys)

        def apply() -> Result:
            for key in some:
                self._bucket.erase(key, None)
            return Won()

        await self._request("delete_many", some[0] if some else "", apply)

    async def list(
        self, prefix: str, *, after: str | None = None, limit: int | None = None, versions: bool = False
    ) -> Page:
        """List a page."""

        def apply() -> Page:
            fault = operation.fault
            keys = self._bucket.keys(prefix, age_s=fault.age_s if isinstance(fault, faults.StaleList) else 0.0)
            if self._bucket.mirror is not None:
                self._bucket.mirror.listed(prefix, self._bucket.keys(prefix))
            if after is not None:
                keys = keys[bisect.bisect_right(keys, after) :]
            most = min(limit or self.capabilities.page_size, self.capabilities.page_size)
            if isinstance(fault, faults.TornList):
                most = 1
            now = self._bucket.loop.time()
            items = []
            for key in keys[:most]:
                body = self._bucket.objects.get(key)
                items.append(Listed(key, body[1] if body else "gone", now - body[2] if body else 0.0))
            return Page(tuple(items), len(keys) > most)

        operation = self._bucket.begin(self._node, "list", prefix)
        page: Page = await self._carry(operation, apply, write=False)
        return page

    def fork(self) -> SimStore:
        """The same client: a node has one loop."""
        return self

    async def close(self) -> None:
        """Nothing to close."""

    async def _request(
        self, verb: str, key: str, apply: Callable[[], Any], *, data: bytes = b"", write: bool = False
    ) -> Any:
        return await self._carry(self._bucket.begin(self._node, verb, key, data), apply, write=write)

    async def _carry(self, operation: Operation, apply: Callable[[], Any], *, write: bool) -> Any:
        """Take one request there and its answer back, with its fault."""
        operation.write = write
        answers = Answers(
            unreachable=StoreUnavailable("The store cannot be reached.", "Try again."),
            throttled=StoreThrottled("The store asks for fewer requests.", "Slow down."),
            lost=Unknown("time-out") if write else StoreUnavailable("time-out", "Try again."),
            echo=Unknown("refused after it was sent again"),
            had_effect=lambda result: not isinstance(result, Lost | Gone),
            unconditional=operation.verb in ("put", "delete"),
        )
        return await self._bucket.carry(self._node, operation, apply, answers)
