"""``Bucket``: the one map that all nodes share, and the ``ObjectStore`` through which each of them sees it.

An operation takes virtual time to get there and back. It is applied by the bucket, not by the node: a node that dies
after sending does not take its request back. Each operation has a number; a plan gives some of them a fault.
"""

from __future__ import annotations

import asyncio
import bisect
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from flowli.cairn.errors import StoreThrottled, StoreUnavailable
from flowli.cairn.store import Capabilities, Listed, Object, Page
from flowli.cairn.write import Gone, Lost, Unknown, Won
from flowli.testing.sim import faults
from flowli.testing.sim.faults import Fault
from flowli.testing.sim.loop import VirtualLoop
from flowli.testing.sim.mirror import Mirror
from flowli.testing.sim.node import Node

__all__ = ["Bucket", "Operation", "SimStore"]

Result: TypeAlias = Won | Lost | Gone | Unknown
Chooser: TypeAlias = Callable[["Operation"], Fault | None]


@dataclass(slots=True)
class Operation:
    """One request, for the story and the invariants.

    Attributes:
        number: from 1, in the order of sending.
        at_s: virtual second of sending; ``applied_s`` of its effect, if it had one.
        outcome: what the client was told, "" if nothing.
        refused: it fell into an outage.
    """

    number: int
    at_s: float
    node: str
    verb: str
    key: str
    fault: Fault | None = None
    applied_s: float | None = None
    outcome: str = ""
    data: bytes = b""
    refused: bool = False


class Bucket:
    """The map, its clock and its record of operations.

    Attributes:
        objects: key to (body, version, second of the last write).
        operations: every request so far.
        choose: gives an operation its fault.
        on_kill: kills a node.
        mirror: a real store that must answer the same.
    """

    def __init__(self, loop: VirtualLoop, seed: int, *, latency_s: tuple[float, float] = (0.004, 0.016)) -> None:
        self.loop = loop
        self.objects: dict[str, tuple[bytes, str, float]] = {}
        self.operations: list[Operation] = []
        self.choose: Chooser = lambda operation: None
        self.on_kill: Callable[[Node], None] = lambda node: None
        self.mirror: Mirror | None = None
        self._keys: list[str] = []
        self._rng = random.Random(f"{seed}/bucket")
        self._latency_s = latency_s
        self._versions = 0
        self._out_until_s = 0.0
        self._past: list[tuple[float, str, bool]] = []

    def store(self, node: Node) -> SimStore:
        """The bucket as ``node`` sees it."""
        return SimStore(self, node)

    def one_way_s(self) -> float:
        """How long a request or an answer is under way."""
        return self._rng.uniform(*self._latency_s) / 2

    def begin(self, node: Node, verb: str, key: str, data: bytes = b"") -> Operation:
        """A node sends a request."""
        operation = Operation(len(self.operations) + 1, self.loop.time(), str(node), verb, key, data=data)
        self.operations.append(operation)
        operation.fault = self.choose(operation)
        if isinstance(operation.fault, faults.Outage):
            self._out_until_s = self.loop.time() + operation.fault.for_s
        operation.refused = self.loop.time() < self._out_until_s
        return operation

    def later(self, delay_s: float, call: Callable[[], None]) -> None:
        """Do something on the bucket's side, whatever becomes of the nodes."""
        self.loop.run_as(None, lambda: self.loop.call_later(delay_s, call))

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


class _Dead:
    """Nobody is left to be answered."""


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
        bucket, node, fault = self._bucket, self._node, operation.fault
        if node.dead:
            raise StoreUnavailable("The process is dead.", "")
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def tell(result: Any) -> None:
            if not answer.done():
                if isinstance(result, Exception):
                    answer.set_exception(result)
                else:
                    answer.set_result(result)

        def land() -> Any:
            result = apply()
            if not isinstance(result, Lost | Gone):
                operation.applied_s = bucket.loop.time()
            return result

        there_s, back_s = bucket.one_way_s(), bucket.one_way_s()

        def arrive() -> None:
            result = self._arrive(operation, land, apply, write)
            if not isinstance(result, _Dead):
                bucket.later(back_s, lambda: tell(result))

        if isinstance(fault, faults.DieBefore):
            bucket.on_kill(node)
            await answer
        if isinstance(fault, faults.Slow):
            there_s += fault.after_s
        bucket.later(there_s, arrive)
        if isinstance(fault, faults.Freeze):
            self._freeze(node, fault)
        try:
            result = await answer
        except Exception as error:
            operation.outcome = type(error).__name__
            raise
        operation.outcome = type(result).__name__
        return result

    def _arrive(self, operation: Operation, land: Callable[[], Any], apply: Callable[[], Any], write: bool) -> Any:
        """What the bucket does with a request, and answers."""
        bucket = self._bucket
        lost = Unknown("time-out") if write else StoreUnavailable("time-out", "Try again.")
        if operation.refused:
            return StoreUnavailable("The store cannot be reached.", "Try again.")
        match operation.fault:
            case faults.Refuse():
                return StoreUnavailable("The store cannot be reached.", "Try again.")
            case faults.Throttle():
                return StoreThrottled("The store asks for fewer requests.", "Slow down.")
            case faults.Vanish():
                land()
                return lost
            case faults.Late(after_s):
                bucket.later(after_s, land)
                return lost
            case faults.DieAfter():
                land()
                bucket.on_kill(self._node)
                return _Dead()
        result = land()
        if isinstance(operation.fault, faults.Echo) and write and isinstance(result, Won):
            return Unknown("refused after it was sent again")
        if isinstance(operation.fault, faults.Resent) and operation.verb in ("put", "delete"):
            bucket.later(operation.fault.after_s, apply)
        return result

    def _freeze(self, node: Node, fault: faults.Freeze) -> None:
        def thaw() -> None:
            if fault.suspend:
                node.slept_s += fault.for_s
            if not node.dead:
                self._bucket.loop.thaw(node)

        node.frozen = True
        self._bucket.later(fault.for_s, thaw)
